"""Options of the metagame command on matches and providers."""

from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.cli.results.metagame import advising_options
from cheaptalk.rules.errors import Advice
from tests.cli import CASES
from tests.conftest import Command

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
    done = cheaptalk(
        *command(
            make_store(tmp_path, players=players), "--provider", "soft=A", "--provider", "walk=B"
        )
    )
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
    assert "the same instances in all cells" in cheaptalk(*command(store)).out
    unpaired = cheaptalk(*command(store, "--unpaired")).out
    assert "instances resampled separately for each cell" in unpaired
    assert "the same instances in all cells" in cheaptalk(*command(store, "--paired")).out


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


def test_pairs_in_one_order_suggest_the_option(cheaptalk: Command, tmp_path: Path) -> None:
    store = make_store(tmp_path, swap=False, pairing=[*SELF_PAIRS, ["soft", "tough"], *TO_ASPIRE])
    done = cheaptalk(*command(store))
    assert done.status == 2
    assert "use --allow-single-order if the seats are identical" in " ".join(done.said.split())
    page = tmp_path / "page.html"
    assert cheaptalk(*command(store, "--allow-single-order", "--out", str(page))).status == 0
    assert "In 3 pairs, the players never swapped seats" in page.read_text(encoding="utf-8")


def test_missing_cells_suggest_players_to_exclude(cheaptalk: Command, tmp_path: Path) -> None:
    store = make_store(tmp_path, swap=True, pairing=[*SELF_PAIRS, ["soft", "tough"]])
    done = cheaptalk(*command(store))
    assert done.status == 2
    assert "--exclude aspire leaves only strategies that have" in " ".join(done.said.split())
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
    message = str(raised.value)
    assert (
        message
        == "too few instances; use --unpaired, or --exclude 'it'\"'\"'s me' --exclude b will do"
    )
