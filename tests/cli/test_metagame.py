"""Equilibria on the command line: of studies and payoff files, with options and cautions."""

import html
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cheaptalk as ct
from cheaptalk.cli.results.metagame import advising_options
from cheaptalk.models import ModelCall, Reply
from cheaptalk.rules.errors import Advice
from tests.cli import CASES
from tests.conftest import Command
from tests.fakes import Canned, broken, legal

BASELINES = """,soft,tough,walk
soft,303,49.995,303.5
tough,574.693,291.481,303.5
walk,303.5,303.5,303.5
"""
HEURISTICS = "item-bargaining-heuristics"


@pytest.fixture
def payoffs(tmp_path: Path) -> Path:
    """Return a file with the heuristics' expected payoffs, computed by formula."""
    file = tmp_path / "baselines.csv"
    file.write_text(BASELINES, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def heuristics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store in which the heuristics have played five instances."""
    study = ct.preset(HEURISTICS)
    assert study is not None
    path = tmp_path_factory.mktemp("metagame") / "study.sqlite"
    with ct.Store.open(path, create=True) as opened:
        ct.run(study.model_copy(update={"instances": 5}), opened)
    return path


def test_payoff_file_is_solved(cheaptalk: Command, payoffs: Path) -> None:
    done = cheaptalk("metagame", str(payoffs))
    assert (done.status, done.said) == (0, "")
    lines = done.out.splitlines()
    assert lines[:3] == [
        "baselines: 3 strategies",
        "1 symmetric equilibrium, and no others",
        "  walk 1.000: payoff 303.50, regret 0",
    ]
    assert lines[4].split()[:4] == ["walk", "1.000", "303.50", "0.00"]
    assert "No intervals: the payoffs were given without matches." in lines


TWO_SEATS = 'NFG 1 R "t" { "A" "B" } { 2 2 }\n'
SOLVED = {
    "small payoffs are not rounded to zero": (
        ("tiny.csv", ",a,b\na,1e-12,3e-12\nb,2e-12,0\n"),
        ["  a 0.750, b 0.250: payoff 1.500e-12, regret 0\n"],
        "1.500e-12",
    ),
    "rounding causes no regret, and numeric names are quoted": (
        ("game.nfg", f"{TWO_SEATS}.1 .3 .3 .1 .7 .2 .2 .9\n"),
        ['  A "1" 0.889, "2" 0.111; B "1" 0.714, "2" 0.286: payoffs ', "regrets 0 and 0"],
        "0.889",
    ),
    "large payoffs are shown in scientific notation": (
        ("huge.nfg", f"{TWO_SEATS}5e299 5e299 0 0 0 0 1e300 1e300\n"),
        ['  "1" 0.667, "2" 0.333: payoff 3.333e+299, regret 0\n'],
        ">5.00e+299<",
    ),
    "long lists of equilibria are truncated": (
        ("identity.csv", ",a,b,c\na,1,0,0\nb,0,1,0\nc,0,0,1\n"),
        [
            "7 symmetric equilibria, and no others",
            "  a 0.333, b 0.333, c 0.333: payoff 0.33",
            "  and 2 more",
        ],
        "0.333",
    ),
    "a continuum is labelled": (
        ("same.csv", ",a,b\na,1,1\nb,1,1\n"),
        [
            "1 continuum of symmetric equilibria, and no others",
            "  a 0.500, b 0.500: payoff 1.000, regret 0, of a continuum",
            "  Every payoff is 1.000: no deviation gains anything.\n",
            "several strategies do equally well against a, b.\n",
        ],
        "continuum",
    ),
}
"""Payoff files, with texts of the terminal output and of the page."""


def test_equilibria_are_described(cheaptalk: Command, tmp_path: Path) -> None:
    for case, ((name, payoffs), texts, on_page) in SOLVED.items():
        (tmp_path / name).write_text(payoffs, encoding="utf-8")
        done = cheaptalk("metagame --out page.html", name)
        assert [text for text in texts if text not in done.out] == [], case
        assert on_page in (tmp_path / "page.html").read_text(encoding="utf-8"), case


def test_search_limit_is_reported(cheaptalk: Command, tmp_path: Path) -> None:
    game = np.random.default_rng(4).random((20, 20))
    names = tuple("abcdefghijklmnopqrst")
    table = ct.equilibrium.PayoffTable(names, names, game, game.T)
    ct.equilibrium.write_payoffs(table, tmp_path / "many.csv")
    limited = cheaptalk("metagame many.csv --max-supports 1000").out
    assert "and perhaps others" in limited
    assert "  The search stopped at its limit: an unlisted equilibrium has an entropy" in limited
    assert "and no others" in cheaptalk("metagame many.csv --max-supports 0").out


def test_study_is_solved_with_intervals(
    cheaptalk: Command, heuristics: Path, tmp_path: Path
) -> None:
    page, file = tmp_path / "page.html", tmp_path / "bg5.nfg"
    line = f"metagame {HEURISTICS} --store {heuristics} --draws 40 --game BG5"
    done = cheaptalk(line, "--seed", "3", "--out", str(page), "--save-payoffs", str(file))
    assert done.status == 0
    assert done.out.startswith("BG5: 5 strategies, 125 matches\n")
    assert re.search(r"\d \(\d+\.\d+ to \d+\.\d+\)", done.out)
    draws = "40 bootstrap draws of at least 5 instances per cell (the same instances in all cells"
    assert draws in done.out
    assert f"Page written to {page}" in done.out
    assert "40 draws with the seed 3" in page.read_text(encoding="utf-8")
    table = ct.equilibrium.read_payoffs(file)
    result, again, other = (cheaptalk(line, "--json", "--seed", seed) for seed in "334")
    (game,) = result.json
    assert [row[0]["estimate"] for row in game["payoffs"]] == pytest.approx(table.a[:, 0].tolist())
    assert result.out == again.out != other.out


def test_strategies_can_be_excluded(cheaptalk: Command, heuristics: Path) -> None:
    options = "--draws 0 --json --exclude aspire --exclude random"
    games = cheaptalk(f"metagame {HEURISTICS} --store {heuristics} {options}").json
    assert [game["game"] for game in games] == ["BG4", "BG5", "BG6", "BGS0"]
    assert {tuple(game["strategies"]) for game in games} == {("soft", "tough", "walk")}


def test_invalid_study_options_print_errors(cheaptalk: Command, heuristics: Path) -> None:
    for arguments, message in CASES["invalid_study_options_print_errors"]:
        done = cheaptalk(f"metagame {HEURISTICS} --store {heuristics} --draws 0", *arguments)
        assert message in done.rejection


def test_invalid_files_and_options_of_files_are_rejected(cheaptalk: Command, payoffs: Path) -> None:
    for option in CASES["study_options_are_rejected_for_payoff_files"]:
        done = cheaptalk("metagame", str(payoffs), option)
        assert "a payoff file, which contains one game and no matches" in done.rejection
        assert done.out == ""
    for option in ("--save-payoffs", "--out"):
        assert "is the input file" in cheaptalk(f"metagame {payoffs} {option} {payoffs}").rejection
    assert payoffs.read_text(encoding="utf-8") == BASELINES
    payoffs.with_suffix(".txt").write_text(BASELINES, encoding="utf-8")
    other = cheaptalk("metagame baselines.txt").rejection
    assert "baselines.txt is not a payoff file" in other
    payoffs.write_text(BASELINES.replace("303,", ",", 1), encoding="utf-8")
    assert "the cell is empty" in cheaptalk("metagame", str(payoffs)).rejection


def test_analysis_prints_the_same_in_python(cheaptalk: Command, payoffs: Path) -> None:
    table = ct.equilibrium.read_payoffs(payoffs)
    symmetric = ct.equilibrium.analyse_payoffs("baselines", table)
    assert cheaptalk("metagame", str(payoffs)).out == f"{symmetric}\n\n"
    assert repr(symmetric) == "<Analysis of baselines: 1 symmetric equilibrium, and no others>"
    assert "{walk: 1.0000}" in str(symmetric.solution)
    bimatrix = ct.equilibrium.analyse_bimatrix("baselines", table)
    assert cheaptalk("metagame", str(payoffs), "--two-populations").out == f"{bimatrix}\n\n"
    assert repr(bimatrix).startswith("<SeatsAnalysis of baselines: 1 continuum of equilibria")


STUDY = {
    "name": "few",
    "seed": 1,
    "instances": 6,
    "games": [{"game": "item_bargaining", "fixed": {"quantities": [7, 4, 1], "discount": 0.9}}],
    "players": {
        label: {"strategies": {"item_bargaining": label}} for label in ("soft", "tough", "aspire")
    },
}
SELF_PAIRS = [[label, label] for label in ("soft", "tough", "aspire")]
TO_ASPIRE = [["soft", "aspire"], ["tough", "aspire"]]
PROVIDERS = ("--provider", "soft=Acme", "--provider", "tough = Bolt", "--provider", "aspire=Acme")


def make_store(folder: Path, **changes: object) -> Path:
    path = folder / "study.sqlite"
    with ct.Store.open(path, create=True) as store:
        ct.run(ct.Study.model_validate(STUDY | changes), store)
    return path


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store in which three heuristics have met in both orders."""
    return make_store(tmp_path_factory.mktemp("metagame"))


def command(store: Path, *more: str) -> list[str]:
    return ["metagame", "few", "--store", str(store), "--draws", "20", *more]


def test_providers_are_compared_as_mixtures_and_single_strategies(
    cheaptalk: Command, store: Path
) -> None:
    done = cheaptalk(*command(store, *PROVIDERS))
    assert done.status == 0
    assert "Providers: each provider mixes its strategies" in done.out
    assert "Providers: each provider uses one strategy" in done.out
    assert "Best response to Bolt" in " ".join(done.out.split())
    (game,) = cheaptalk(*command(store, *PROVIDERS, "--json")).json
    assert game["providers"]["members"] == {"Acme": ["aspire", "soft"], "Bolt": ["tough"]}
    assert "Providers" not in cheaptalk(*command(store)).out


def test_unavailable_value_given_is_explained(cheaptalk: Command, tmp_path: Path) -> None:
    walk = {"soft": "soft", "walk": "walk"}
    players = {label: {"strategies": {"item_bargaining": label}} for label in walk}
    store = make_store(tmp_path, players=players)
    done = cheaptalk(*command(store, "--provider", "soft=A", "--provider", "walk=B"))
    assert "Value given is not available: walk never makes an offer." in done.out


def test_invalid_providers_print_errors(cheaptalk: Command, store: Path) -> None:
    for entries, message in CASES["invalid_providers_print_errors"]:
        options = [word for entry in entries for word in ("--provider", entry)]
        done = cheaptalk(*command(store, *options))
        assert message in done.rejection


def test_cells_to_play_next_are_proposed(cheaptalk: Command, store: Path) -> None:
    done = cheaptalk(*command(store, "--propose", "60"))
    assert "Standard error of all regrets (root of the variances summed over" in done.out
    assert "if spread evenly" in done.out
    (game,) = cheaptalk(*command(store, "--propose", "60", "--json")).json
    assert 0 < sum(cell["add_matches"] for cell in game["next"]["cells"]) <= 60


def test_payoff_file_explains_why_no_cells_are_proposed(cheaptalk: Command, tmp_path: Path) -> None:
    file = tmp_path / "doves.csv"
    file.write_text(",hawk,dove\nhawk,-1,2\ndove,0,1\n", encoding="utf-8")
    done = cheaptalk("metagame", str(file), "--propose", "60")
    assert "No pairings can be proposed: A bootstrap resamples matches" in done.out
    providers = cheaptalk("metagame", str(file), "--provider", "hawk=A", "--provider", "dove=B")
    assert "Best response to A" in " ".join(providers.out.split())


def test_instances_are_resampled_jointly_or_separately(cheaptalk: Command, store: Path) -> None:
    for options, text in [
        ((), "the same instances in all cells"),
        (("--unpaired",), "instances resampled separately for each cell"),
        (("--paired",), "the same instances in all cells"),
    ]:
        assert text in cheaptalk(*command(store, *options)).out


def test_included_study_is_pooled_with_the_first(cheaptalk: Command, tmp_path: Path) -> None:
    store = make_store(tmp_path, instances=20)
    more = STUDY | {"name": "more", "instances": 25, "swap": True, "pairing": SELF_PAIRS[:2]}
    with ct.Store.open(store) as opened:
        ct.run(ct.Study.model_validate(more), opened)
    page = tmp_path / "page.html"
    pooled = cheaptalk(*command(store, "--include-study", "more", "--out", str(page)))
    assert "20 instances of 25 are in all, seed 0" in pooled.out
    (game,) = cheaptalk(*command(store, "--include-study", "more", "--json")).json
    assert (game["instances_in_all_cells"], game["instances_in_some_cell"]) == (20, 25)
    assert sorted(game["instances"][at][at] for at in range(3)) == [20, 25, 25]
    assert "few and more combined" in page.read_text(encoding="utf-8")
    assert cheaptalk(*command(store, "--include-study", "nothing")).status == 2


def test_incomplete_pairs_suggest_options(cheaptalk: Command, tmp_path: Path) -> None:
    store = make_store(tmp_path, pairing=[*SELF_PAIRS, ["soft", "tough"], *TO_ASPIRE])
    rejection = cheaptalk(*command(store)).rejection
    assert "use --allow-single-order if the seats are identical" in rejection
    page = tmp_path / "page.html"
    assert cheaptalk(*command(store, "--allow-single-order", "--out", str(page))).status == 0
    assert "In 3 pairs, the players never swapped seats" in page.read_text(encoding="utf-8")
    store.unlink()
    make_store(tmp_path, swap=True, pairing=[*SELF_PAIRS, ["soft", "tough"]])
    rejection = cheaptalk(*command(store)).rejection
    assert "--exclude aspire leaves only strategies that have" in rejection
    assert cheaptalk(*command(store, "--exclude", "aspire")).status == 0


def test_python_advice_is_translated_to_options() -> None:
    labels = ["it's me", "b"]
    error = ct.CheaptalkError(
        "too few instances; ",
        Advice("say paired=False", "paired", False),
        ", or ",
        Advice(f"without({labels})", "without", labels),
        " will do",
    )
    assert str(error).endswith("""say paired=False, or without(["it's me", 'b']) will do""")
    with pytest.raises(ct.CheaptalkError) as raised, advising_options():
        raise error
    advice = "use --unpaired, or --exclude 'it'\"'\"'s me' --exclude b will do"
    assert str(raised.value) == f"too few instances; {advice}"


SMALL: dict[str, Any] = CASES["study_of_a_small_metagame"]
FEW = "the pair with the fewest has 3 instances; at least 6 are needed"


def failing_models(matches: int) -> Canned:
    """Return models that fail in the first ``matches`` matches."""
    failing: set[str] = set()

    def reply(call: ModelCall, number: str) -> Reply | str:
        match = number.partition("/")[0]
        if len(failing) < matches:
            failing.add(match)
        return broken(retry=False) if match in failing else legal(call)

    return Canned(reply)


def run_small(models: Canned | None = None, **changes: Any) -> None:
    ct.run(ct.Study.model_validate(SMALL | changes), "cheaptalk.sqlite", models=models)


def outputs(cheaptalk: Command, *options: str) -> tuple[str, dict[str, Any], str]:
    """Return the terminal output, the JSON and the page, each in one line."""
    text = cheaptalk("metagame few --draws 50 --out page.html", *options)
    assert text.status == 0, text.err
    [game] = cheaptalk("metagame few --draws 50 --json", *options).json
    page = Path("page.html").read_text()
    return " ".join(text.out.split()), game, html.unescape(" ".join(page.split()))


def test_too_few_instances_are_reported_in_all_outputs(cheaptalk: Command) -> None:
    """Regression: the terminal reported an equilibrium in all draws of three instances."""
    run_small(Canned(), instances=3)
    for options in [(), ("--two-populations",)]:
        text, game, page = outputs(cheaptalk, *options)
        caution = f"The uncertainty cannot be estimated: {FEW}"
        assert f"{caution}." in text
        assert "exists in" not in text
        assert game["cautions"] == [caution]
        assert game["uncertain_because"] == FEW
        assert f"{caution}." in page


def test_unfinished_matches_are_counted_in_all_outputs(cheaptalk: Command) -> None:
    run_small(failing_models(3), instances=9)
    text, game, page = outputs(cheaptalk)
    caution = (
        "3 of 81 matches failed, and only finished matches count; if a strategy fails on bad "
        "instances, its payoff is overestimated"
    )
    assert f"{caution}." in text
    assert caution in game["cautions"]
    assert (game["unscored"], game["matches_of_any_status"]) == ({"failed": 3}, 81)
    assert f"{caution}." in page
    _, game, page = outputs(cheaptalk, "--exclude", "tiny")
    assert game["unscored"] == {}
    assert "matches failed" not in page


def test_constant_payoffs_give_no_uncertainty_estimate(cheaptalk: Command) -> None:
    """Regression: all draws of such payoffs are equal, which was taken for certainty."""
    players = {"even": {"strategy": "equal_split"}, "hard": {"strategy": "boulware"}}
    games = [{"game": "bargaining", "fixed": {"horizon": 6}}]
    run_small(games=games, players=players, instances=8)
    text, game, page = outputs(cheaptalk)
    reason = "each pair had the same payoffs on all its instances, but others can differ"
    assert game["uncertain_because"] == reason
    assert f"The uncertainty cannot be estimated: {reason}." in text
    assert f"The uncertainty cannot be estimated: {reason}." in page
