"""Two-seat games: equilibria by seat, model choice, and their page and command."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.equilibrium import (
    EquilibriumError,
    PayoffTable,
    analyse_bimatrix,
    analyse_seats,
    model_choice,
    pure_equilibria,
)
from cheaptalk.equilibrium.analysis import two_seats as seats_solution
from cheaptalk.equilibrium.analysis.selection import Selected, selected
from cheaptalk.equilibrium.analysis.two_seats import solve
from cheaptalk.reports import Played, analyses_by_seat, analysis_json, metagame_report
from cheaptalk.reports.charts.chart import Boxes
from cheaptalk.reports.metagame.figures import payoff_maps
from cheaptalk.reports.metagame.seats_parts import answer
from tests.conftest import Command
from tests.known import known
from tests.pages import Page
from tests.played import play
from tests.reports.browser import Tab

Frames: TypeAlias = Mapping[str, pl.DataFrame]
SEXES = np.array([[3.0, 0], [0, 2]]), np.array([[2.0, 0], [0, 3]])
IDLE = {
    "name": "idle",
    "instances": 2,
    "games": [
        {"game": "negotiation", "fixed": {"horizon": 1, "seller_factor": 1.5, "buyer_factor": 0.8}}
    ],
    "players": {
        f"adds {number}": {"strategy": "fixed_price", "markup": number / 10} for number in range(4)
    },
}
"""A sale without gains from trade, whose players ask for more than the buyer's value."""
FILE = "row,column,payoff,other\nbox,box,3,2\nbox,dance,0,0\ndance,box,0,0\ndance,dance,2,3\n"


@pytest.fixture(scope="module")
def frames(well: Path) -> Frames:
    """The matches of the study without failures."""
    with ct.Store.open(well) as store:
        return Played.of(store, "well").frames


def game(frames: Frames, name: str) -> Selected:
    (selection,) = selected(frames, [name])
    return selection


def table(a: object, b: object) -> PayoffTable:
    gets, other = np.array(a, dtype=float), np.array(b, dtype=float)
    rows = tuple(f"row {at}" for at in range(len(gets)))
    columns = tuple(f"column {at}" for at in range(len(gets[0])))
    return PayoffTable(rows, columns, gets, other, players=("Ann", "Bo"))


# Solving


def test_equilibria_of_small_games_are_listed() -> None:
    solved = solve(*SEXES)
    assert solved.complete
    assert [(equilibrium.pure, equilibrium.supports) for equilibrium in solved.equilibria] == [
        (True, ([0], [0])),
        (True, ([1], [1])),
        (False, ([0, 1], [0, 1])),
    ]
    assert solved.in_words == "2 pure equilibria, 1 mixed equilibrium, and no others"
    row, column = solved.equilibria[2].mixtures
    assert [*row, *column] == pytest.approx([0.6, 0.4, 0.4, 0.6])

    solved = solve(np.array([[1.0, 1], [1, 1]]), np.array([[1.0, 0], [1, 0]]))
    assert {equilibrium.continuum for equilibrium in solved.equilibria} == {1}
    assert solved.in_words == "1 continuum of equilibria, and no others"
    both = solve(np.array([[3.0, 0], [0, 1], [0, 1]]), np.array([[2.0, 0], [0, 1], [0, 1]]))
    assert both.in_words.startswith("1 isolated pure equilibrium, 2 continua of equilibria")

    a = np.array([[0.1 + 0.2, 0.0], [0.3, 0.0]])
    assert len(pure_equilibria(a, np.zeros((2, 2)))) == 3
    tied = model_choice(
        a, np.zeros((2, 2)), ["x", "y"], ["u", "v"], draws=(a[None], np.zeros((1, 2, 2)))
    )
    assert len(tied.equilibria) == 4
    assert known(tied.support).min() == 1


def test_large_games_state_their_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    size = 14
    solved = solve(np.eye(size), np.eye(size))
    assert not solved.complete
    assert solved.paths == 2 * size
    assert [equilibrium.supports for equilibrium in solved.equilibria if equilibrium.pure] == [
        ([i], [i]) for i in range(size)
    ]
    assert {equilibrium.continuum for equilibrium in solved.equilibria} == {None}
    assert "14 pure equilibria; all pure equilibria are listed" in solved.in_words
    assert "the ends of 28 Lemke-Howson paths" in solved.in_words

    size = 40
    a = np.vstack([np.ones(3), np.zeros((size, 3))])
    solved = solve(a, np.tile([2.0, 1, 0], (size + 1, 1)))
    assert solved.complete
    assert [equilibrium.supports for equilibrium in solved.equilibria] == [([0], [0])]

    def fail(*_: object) -> None:
        raise EquilibriumError("too close to a tie")

    monkeypatch.setattr(seats_solution, "bimatrix_equilibria", fail)
    solved = solve(*SEXES)
    assert (solved.complete, solved.paths, solved.failed_paths) == (False, 4, 0)
    monkeypatch.setattr(seats_solution, "lemke_howson", fail)
    lost = solve(*SEXES)
    assert len(lost.equilibria) == 2
    assert lost.in_words.endswith("4 Lemke-Howson paths, of which 4 did not end")
    pennies = np.array([[1.0, -1], [-1, 1]])
    assert solve(pennies, -pennies).in_words.startswith("no pure equilibrium, and")


# Analyses


def test_payoffs_and_gains_are_means_by_seat(frames: Frames) -> None:
    chosen = game(frames, "bargaining")
    result = analyse_seats(chosen, draws=30)
    assert (result.seats, result.labels) == (("alice", "bob"), (("hard & fast", "luck"),) * 2)
    by = ["player_alice", "player_bob", "configuration"]
    cells = chosen.frame.group_by(by).agg(pl.col("payoff_alice", "payoff_bob").mean())
    means = cells.drop("configuration").group_by(by[:2]).mean().sort(by[:2])
    for side, place in enumerate(result.seats):
        payoffs = result.game.payoffs()[side].ravel()
        assert payoffs == pytest.approx(means[f"payoff_{place}"].to_numpy())
    assert (result.matches, result.game.min_instances, result.game.max_instances) == (128, 16, 16)
    assert result.paired

    chosen = game(frames, "bargaining")
    paid, gained = (analyse_seats(chosen, payoff=name, draws=0) for name in ("payoff", "self_gain"))
    assert gained.game.payoffs()[0] == pytest.approx(paid.game.payoffs()[0] / 10_000)
    assert gained.units == ("share of the money",) * 2
    assert gained.no_draws_reason == "no bootstrap draws were requested"
    with pytest.raises(ct.CheaptalkError, match='by seat: the seats share no metric "gan"'):
        analyse_seats(chosen, payoff="gan")

    analysis = analyse_bimatrix("sexes", table(*SEXES))
    pairs = {(pair.row, pair.column): pair for pair in analysis.pairs}
    off = pairs["row 0", "column 1"]
    assert (off.regrets, off.best, off.replies, off.stable) == ((2, 2), (False,) * 2, (0, 0), False)
    assert off.support is None
    assert [pair.stable for pair in analysis.pairs] == [True, True, False, False]
    assert pairs["row 1", "column 1"].regrets == (0, 0)


def test_support_is_the_share_of_draws_with_a_stable_pair(frames: Frames) -> None:
    analysis = analyse_seats(game(frames, "persuasion"), payoff="self_gain", draws=60, seed=2)
    counts: dict[tuple[str, str], int] = {}
    none = 0
    for a, b in known(analysis.resampled):
        stable = [
            (analysis.game.rows[i], analysis.game.columns[j])
            for i, j in np.ndindex(a.shape)
            if a[i, j] >= a[:, j].max() - 1e-9 and b[i, j] >= b[i].max() - 1e-9
        ]
        none += not stable
        for labels in stable:
            counts[labels] = counts.get(labels, 0) + 1
    for pair in analysis.pairs:
        assert pair.support == pytest.approx(counts.get((pair.row, pair.column), 0) / 60)
        assert all(got.low is not None and got.low <= (got.mean or 0) for got in pair.payoffs)
    assert analysis.choice.without == pytest.approx(none / 60)
    assert {(pair.row, pair.column) for pair in analysis.likely_pairs} >= counts.keys()


def test_cells_may_be_omitted_or_missing(frames: Frames) -> None:
    analysis = analyse_bimatrix("sexes", table(*SEXES), without=["row 0"])
    assert analysis.labels == (("row 1",), ("column 0", "column 1"))
    assert [equilibrium.supports for equilibrium in analysis.solution.equilibria] == [([0], [1])]
    with pytest.raises(ct.CheaptalkError, match="sexes: all strategies of a player are omitted"):
        analyse_bimatrix("sexes", table(*SEXES), without=["row 0", "row 1"])
    with pytest.raises(ct.CheaptalkError, match=r'no strategy "row 9" \(did you mean "row'):
        analyse_bimatrix("sexes", table(*SEXES), without=["row 9"])
    single = analyse_seats(game(frames, "negotiation"), without=["luck"], draws=9)
    assert single.labels == (("hard & fast",),) * 2
    with pytest.raises(ct.CheaptalkError, match=r'no strategy "lucky" \(did you mean "luck"'):
        analyse_seats(game(frames, "negotiation"), without=["lucky"])

    chosen = game(frames, "persuasion")
    frame, pair = chosen.frame, pl.col("player_alice", "player_bob") == "luck"
    lucky = pl.all_horizontal(pair)
    without = chosen._replace(frame=frame.filter(~lucky))
    with pytest.raises(ct.CheaptalkError, match="2 pairs without a match: luck / luck in"):
        analyse_seats(without)
    first = pl.col("instance") == pl.col("instance").first().over("configuration")
    thin = analyse_seats(chosen._replace(frame=frame.filter(~lucky | first)))
    assert thin.no_draws_reason.startswith("2 pairs with a single instance: luck / luck in")
    assert thin.draws == 0


def test_pooling_allows_missing_configurations(frames: Frames) -> None:
    chosen = game(frames, "negotiation")
    configuration, *_ = chosen.frame["configuration"].unique(maintain_order=True)
    seldom = (pl.col("player_alice") == "luck") & (pl.col("configuration") == configuration)
    part = chosen._replace(frame=chosen.frame.filter(~seldom))
    with pytest.raises(ct.CheaptalkError, match=r"without a match: luck / .* use pooled=True"):
        analyse_seats(part)
    pooled = analyse_seats(part, pooled=True, draws=20)
    means = part.frame.group_by("player_alice", "player_bob").agg(pl.col("payoff_bob").mean())
    ordered = means.sort("player_alice", "player_bob")["payoff_bob"].to_numpy()
    assert pooled.game.payoffs()[1].ravel() == pytest.approx(ordered)
    assert not pooled.paired
    none = chosen.frame.filter(pl.col("player_alice") != "luck")
    disjoint = none.with_columns(
        pl.when(pl.col("player_bob") == "luck")
        .then(pl.lit("new"))
        .otherwise("player_alice")
        .alias("player_alice")
    )
    with pytest.raises(ct.CheaptalkError, match=r"or omit strategies$"):
        analyse_seats(chosen._replace(frame=disjoint), pooled=True)


# The map, data and page


def test_maps_frame_best_responses_and_equilibria() -> None:
    analysis = analyse_bimatrix("game", table([[3, 1], [0, 2]], [[2, 2], [0, 3]]))
    at = [
        {
            (round(sum(box.x) / 2), round(sum(box.y) / 2), layer.frame > 2)
            for layer in chart.layers
            if isinstance(layer, Boxes) and layer.frame
            for box in layer.boxes
        }
        for chart in payoff_maps(analysis)
    ]
    assert at[0] == {(0, 0, True), (1, 1, True)}
    assert at[1] == {(0, 0, True), (1, 0, False), (1, 1, True)}


def test_json_describes_the_game(frames: Frames) -> None:
    analysis = analyse_seats(game(frames, "bargaining"), payoff="self_gain", draws=20, seed=4)
    data = json.loads(json.dumps(analysis_json(analysis, 4)))
    assert (data["seats"], data["seed"], data["payoff"]) == (["alice", "bob"], 4, "self_gain")
    assert len(data["pairs"]) == 4
    assert data["pairs"][0]["gets"]["bob"]["estimate"] == analysis.pairs[0].payoffs[1].estimate
    assert set(data["equilibria"][0]["mixtures"]["alice"]) == {"hard & fast", "luck"}
    assert max(max(equilibrium["regrets"].values()) for equilibrium in data["equilibria"]) < 1e-9


def write_page(well: Path, tmp_path: Path) -> str:
    file = tmp_path / "seats.html"
    with ct.Store.open(well) as store:
        played = Played.of(store, "well")
        analyses = analyses_by_seat(played, ["bargaining", "persuasion"], draws=20)
        metagame_report("well", analyses, file, played=played)
    return file.read_text(encoding="utf-8")


def test_page_shows_every_pair_with_its_matches(well: Path, tmp_path: Path) -> None:
    page = Page(write_page(well, tmp_path))
    heads = page.headings("bargaining-pairs")
    assert heads[:4] == ["Alice", "Bob", "Alice gets", "Bob gets"]
    rows = page.tables["bargaining-pairs"][1:]
    assert {(row[0].text, row[1].text) for row in rows} == {
        (alice, bob) for alice in ("hard & fast", "luck") for bob in ("hard & fast", "luck")
    }
    link = rows[0][0].link or ""
    assert "/studies/well/bargaining?player_alice=" in link
    low, value, high = (known(rows[0][2].number(f"data-{part}")) for part in ("low", "v", "high"))
    assert low <= value <= high
    assert "Support" in page.headings("bargaining-pure")
    assert len(page.tables["persuasion-equilibria"]) > 1
    assert "4 configurations with equal weights" in page.text
    assert "20 draws with the seed 0" in page.text
    assert len(page.charts()) == 4


def test_page_of_a_payoff_file_mentions_no_matches(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    pennies = np.array([[1, -1], [-1, 1]])
    metagame_report("pennies", [analyse_bimatrix("pennies", table(pennies, -pennies))], file)
    page = Page(file.read_text(encoding="utf-8"))
    assert "The mean payoffs have no pure equilibrium" in page.text
    assert "row 0 0.500, row 1 0.500" in page.text
    assert "given without matches" in page.text
    assert page.headings("pennies-pairs")[-1] == "Best response of Bo"


def test_few_instances_per_configuration_state_no_confidence(frames: Frames) -> None:
    """Regression: with two instances each, the sentence said "in 100 % of draws"."""
    chosen = game(frames, "bargaining")
    instances = chosen.frame["instance"].unique().sort()
    two = chosen.frame.filter(pl.col("instance").is_in(instances[:2].implode()))
    few, more = (
        answer(analyse_seats(chosen._replace(frame=frame), draws=20)).text
        for frame in (two, chosen.frame)
    )
    assert "has 8 instances; at least 9 are needed" in few
    assert "of draws" not in few
    assert "are needed" not in more
    assert "of draws" in more


@pytest.mark.browser
async def test_browser_draws_both_maps_on_a_phone(well: Path, tmp_path: Path, tab: Tab) -> None:
    write_page(well, tmp_path)
    await tab.visit((tmp_path / "seats.html").as_uri(), width=375, scheme="dark")
    framed = "document.querySelectorAll('.plot rect[stroke-width]')"
    await tab.until(f"{framed}.length >= 8")
    assert await tab.run("document.documentElement.scrollWidth") <= 375
    assert tab.complaints == []


# The command


def test_files_are_solved_by_seat(cheaptalk: Command, tmp_path: Path) -> None:
    (tmp_path / "sexes.csv").write_text(FILE, encoding="utf-8")
    done = cheaptalk("metagame", "sexes.csv", "--out", "page.html", "--save-payoffs", "sexes.nfg")
    assert (done.status, done.said) == (0, "")
    assert done.out.splitlines()[:4] == [
        "sexes: row x column, 2 x 2 strategies",
        "2 pure equilibria, 1 mixed equilibrium, and no others",
        "  row box; column box: payoffs 3.000 and 2.000, regrets 0 and 0",
        "  row dance; column dance: payoffs 2.000 and 3.000, regrets 0 and 0",
    ]
    mixed = "  row box 0.600, dance 0.400; column box 0.400, dance 0.600: payoffs 1.200 and 1.200"
    assert mixed in done.out
    assert "No intervals" in done.out
    assert (tmp_path / "page.html").exists()
    again = json.loads(cheaptalk("metagame", "sexes.nfg", "--json").out)
    assert [equilibrium["payoffs"] for equilibrium in again[0]["equilibria"]] == [
        {"row": 3, "column": 2},
        {"row": 2, "column": 3},
        pytest.approx({"row": 1.2, "column": 1.2}),
    ]

    (tmp_path / "chicken.csv").write_text(",hawk,dove\nhawk,-1,2\ndove,0,1\n", encoding="utf-8")
    assert "1 symmetric equilibrium" in cheaptalk("metagame", "chicken.csv").out
    assert (
        "2 pure equilibria, 1 mixed"
        in cheaptalk("metagame", "chicken.csv", "--two-populations").out
    )

    lines = [f"r{i},c{j},{2 * (i == j)},{int(i == j)}" for i in range(4) for j in range(4)]
    text = "\n".join(["row,column,payoff,other", *lines])
    (tmp_path / "many.csv").write_text(text, encoding="utf-8")
    done = cheaptalk("metagame", "many.csv")
    assert "4 pure equilibria, 11 mixed equilibria, and no others" in done.out
    assert "  and 5 more" in done.out

    path = play(tmp_path, IDLE)
    done = cheaptalk("metagame", "idle", "--store", str(path), "--two-populations", "--draws", "9")
    assert done.status == 0
    assert "1 continuum of equilibria, and no others" in done.out
    assert "and 6 pairs more" in done.out


def test_study_is_solved_by_seat(cheaptalk: Command, well: Path) -> None:
    arguments = ["metagame", "well", "--store", str(well), "--game", "bargaining"]
    done = cheaptalk(*arguments, "--two-populations", "--payoff", "self_gain", "--draws", "40")
    assert done.status == 0
    lines = done.out.splitlines()
    assert lines[0] == "bargaining: alice x bob, 2 x 2 strategies, 128 matches, by self_gain"
    assert "In brackets: 95 % of 40 bootstrap draws of at least 16 instances" in done.out
    assert "* marks pure equilibria of the mean payoffs" in done.out
    exact = cheaptalk(
        *arguments, "--two-populations", "--payoff", "self_gain", "--draws", "0", "--json"
    )
    (data,) = json.loads(exact.out)
    assert (data["draws"], data["payoff"], data["pooled"]) == (0, "self_gain", False)
    plain = cheaptalk(*arguments, "--draws", "0")
    assert "To analyse each seat separately, use two populations" in plain.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--payoff", "self_gain"], "--payoff: only valid with --two-populations"),
        (["--two-populations", "--propose", "9"], "--propose: not valid for two populations"),
        (
            ["--two-populations", "--payoff", "gain"],
            'share no metric "gain" (renamed to "self_gain")',
        ),
        (
            ["--two-populations", "--payoff", "self_gain", "--exclude", "x"],
            'no strategy "x" (known: hard & fast, luck)',
        ),
    ],
)
def test_invalid_options_by_seat_are_errors(
    cheaptalk: Command, well: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    page = ["--out", "page.html", "--game", "negotiation"]
    done = cheaptalk("metagame", "well", "--store", str(well), *page, *arguments)
    assert done.status == 2
    assert message in done.said
    assert not list(tmp_path.glob("*.html*"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a,x,nan,2", '"a" against "x": "nan" is not a number'),
        ("a,x,1,2\na,y,1,2\nb,x,1,2", 'there is no payoff of "b" against "y"'),
    ],
)
def test_bad_cell_is_named_and_nothing_is_written(
    cheaptalk: Command, tmp_path: Path, line: str, message: str
) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(f"row,column,payoff,other\n{line}\n", encoding="utf-8")
    done = cheaptalk("metagame", "bad.csv", "--out", "page.html", "--save-payoffs", "bad.nfg")
    assert done.status == 2
    assert message in done.said
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["bad.csv"]
