"""Games of two seats: equilibria by seat, the game of choosing models, their page and command."""

import json
from pathlib import Path

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
from cheaptalk.equilibrium.analysis import two_seat_solution as seats_solution
from cheaptalk.equilibrium.analysis.selection import Selected, selected
from cheaptalk.equilibrium.analysis.two_seat_solution import solve
from cheaptalk.reports import Played, analyses_by_seat, seats_json, seats_report
from cheaptalk.reports.charts.chart import Boxes
from cheaptalk.reports.metagame.figures import payoff_maps
from cheaptalk.reports.metagame.seats_parts import answer
from tests.conftest import Command
from tests.pages import Page
from tests.played import play
from tests.reports.browser import Tab, browse
from tests.reports.marks import boxes

SEXES = np.array([[3.0, 0], [0, 2]]), np.array([[2.0, 0], [0, 3]])
IDLE = {
    "name": "idle",
    "instances": 2,
    "games": [{"game": "negotiation", "fixed": {"horizon": 1, "seller_factor": 1.5,
                                                "buyer_factor": 0.8}}],
    "players": {f"adds {number}": {"strategy": "fixed_price", "markup": number / 10}
                for number in range(4)},
}  # fmt: skip
"""A sale that suits nobody, between players who ask for more than it is worth to them."""
FILE = "row,column,payoff,other\nbox,box,3,2\nbox,dance,0,0\ndance,box,0,0\ndance,dance,2,3\n"


def game(well: Path, name: str) -> Selected:
    """A game of the study in which all went well."""
    with ct.Store.open(well) as store:
        (found,) = selected(Played.of(store, "well").frames, [name])
    return found


def table(a: object, b: object) -> PayoffTable:
    gets, other = np.array(a, dtype=float), np.array(b, dtype=float)
    rows = tuple(f"row {at}" for at in range(len(gets)))
    columns = tuple(f"column {at}" for at in range(len(gets[0])))
    return PayoffTable(rows, columns, gets, other, players=("Ann", "Bo"))


# Solving


def test_a_small_game_has_all_its_equilibria_the_pure_ones_first() -> None:
    solved = solve(*SEXES)
    assert solved.complete
    assert [(one.pure, one.supports) for one in solved.equilibria] == [
        (True, ([0], [0])),
        (True, ([1], [1])),
        (False, ([0, 1], [0, 1])),
    ]
    assert solved.in_words == "2 pure equilibria, 1 mixed equilibrium, and no others"
    row, column = solved.equilibria[2].mixtures
    assert [*row, *column] == pytest.approx([0.6, 0.4, 0.4, 0.6])


def test_a_continuum_is_numbered_and_counted_apart() -> None:
    solved = solve(np.array([[1.0, 1], [1, 1]]), np.array([[1.0, 0], [1, 0]]))
    assert {one.continuum for one in solved.equilibria} == {1}
    assert solved.in_words == "1 continuum of equilibria, and no others"
    both = solve(np.array([[3.0, 0], [0, 1], [0, 1]]), np.array([[2.0, 0], [0, 1], [0, 1]]))
    assert both.in_words.startswith("1 isolated pure equilibrium, 2 continua of equilibria")


def test_of_a_large_game_all_pure_equilibria_are_found_and_it_says_what_may_be_missing() -> None:
    size = 14
    solved = solve(np.eye(size), np.eye(size))
    assert not solved.complete
    assert solved.paths == 2 * size
    assert [one.supports for one in solved.equilibria if one.pure] == [
        ([i], [i]) for i in range(size)
    ]
    assert {one.continuum for one in solved.equilibria} == {None}
    assert "14 pure equilibria; all pure equilibria are listed" in solved.in_words
    assert "the ends of 28 Lemke-Howson paths" in solved.in_words


def test_dominated_strategies_do_not_make_a_game_large() -> None:
    size = 40
    a = np.vstack([np.ones(3), np.zeros((size, 3))])
    solved = solve(a, np.tile([2.0, 1, 0], (size + 1, 1)))
    assert solved.complete
    assert [one.supports for one in solved.equilibria] == [([0], [0])]


def test_paths_that_fail_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise EquilibriumError("too close to a tie")

    monkeypatch.setattr(seats_solution, "bimatrix_equilibria", fail)
    found = solve(*SEXES)
    assert (found.complete, found.paths, found.failed_paths) == (False, 4, 0)
    monkeypatch.setattr(seats_solution, "lemke_howson", fail)
    lost = solve(*SEXES)
    assert len(lost.equilibria) == 2
    assert lost.in_words.endswith("4 Lemke-Howson paths, of which 4 did not end")
    pennies = np.array([[1.0, -1], [-1, 1]])
    assert solve(pennies, -pennies).in_words.startswith("no pure equilibrium; no mixed one")


def test_rounding_takes_no_equilibrium_away() -> None:
    """Means of the same matches can differ in the last digit."""
    a = np.array([[0.1 + 0.2, 0.0], [0.3, 0.0]])
    assert len(pure_equilibria(a, np.zeros((2, 2)))) == 3
    tied = model_choice(a, np.zeros((2, 2)), "xy", "uv", draws=(a[None], np.zeros((1, 2, 2))))
    assert len(tied.equilibria) == 4
    assert tied.support is not None
    assert tied.support.min() == 1


# Analyses


def test_payoffs_are_means_by_seat_over_configurations(well: Path) -> None:
    chosen = game(well, "bargaining")
    one = analyse_seats(chosen, draws=30)
    assert (one.seats, one.labels) == (("alice", "bob"), (("hard & fast", "luck"),) * 2)
    by = ["player_alice", "player_bob", "configuration"]
    cells = chosen.frame.group_by(by).agg(pl.col("payoff_alice", "payoff_bob").mean())
    means = cells.drop("configuration").group_by(by[:2]).mean().sort(by[:2])
    for side, place in enumerate(one.seats):
        payoffs = one.game.payoffs()[side].ravel()
        assert payoffs == pytest.approx(means[f"payoff_{place}"].to_numpy())
    assert (one.matches, one.game.min_instances, one.game.max_instances) == (128, 16, 16)
    assert one.paired


def test_the_gain_of_each_seat_can_be_what_it_wants(well: Path) -> None:
    chosen = game(well, "bargaining")
    paid, gained = (analyse_seats(chosen, payoff=name, draws=0) for name in ("payoff", "gain"))
    assert gained.game.payoffs()[0] == pytest.approx(paid.game.payoffs()[0] / 10_000)
    assert gained.units == ("share of the money",) * 2
    assert gained.no_draws_reason == "no bootstrap draws were requested"
    with pytest.raises(ct.CheaptalkError, match='by seat: the seats share no metric "gan"'):
        analyse_seats(chosen, payoff="gan")


def test_support_counts_the_draws_in_which_neither_would_switch(well: Path) -> None:
    one = analyse_seats(game(well, "persuasion"), payoff="gain", draws=60, seed=2)
    assert one.resampled is not None
    assert one.choice.without is not None
    counts: dict[tuple[str, str], int] = {}
    none = 0
    for a, b in one.resampled:
        found = [
            (one.game.rows[i], one.game.columns[j])
            for i, j in np.ndindex(a.shape)
            if a[i, j] >= a[:, j].max() - 1e-9 and b[i, j] >= b[i].max() - 1e-9
        ]
        none += not found
        for labels in found:
            counts[labels] = counts.get(labels, 0) + 1
    for pair in one.pairs:
        assert pair.support == pytest.approx(counts.get((pair.row, pair.column), 0) / 60)
        assert all(got.low is not None and got.low <= (got.mean or 0) for got in pair.payoffs)
    assert one.choice.without == pytest.approx(none / 60)
    assert {(pair.row, pair.column) for pair in one.likely_pairs} >= counts.keys()


def test_pairs_say_what_they_regret_and_who_replies_best() -> None:
    one = analyse_bimatrix("sexes", table(*SEXES))
    pairs = {(pair.row, pair.column): pair for pair in one.pairs}
    off = pairs["row 0", "column 1"]
    assert (off.regrets, off.best, off.replies, off.stable) == ((2, 2), (False,) * 2, (0, 0), False)
    assert off.support is None
    assert [pair.stable for pair in one.pairs] == [True, True, False, False]
    assert pairs["row 1", "column 1"].regrets == (0, 0)


def test_strategies_can_be_left_out_of_either_seat(well: Path) -> None:
    one = analyse_bimatrix("sexes", table(*SEXES), without=["row 0"])
    assert one.labels == (("row 1",), ("column 0", "column 1"))
    assert [found.supports for found in one.solution.equilibria] == [([0], [1])]
    with pytest.raises(ct.CheaptalkError, match="sexes: all strategies of a player are omitted"):
        analyse_bimatrix("sexes", table(*SEXES), without=["row 0", "row 1"])
    with pytest.raises(ct.CheaptalkError, match=r'no strategy "row 9" \(did you mean "row'):
        analyse_bimatrix("sexes", table(*SEXES), without=["row 9"])
    alone = analyse_seats(game(well, "negotiation"), without=["luck"], draws=9)
    assert alone.labels == (("hard & fast",),) * 2
    with pytest.raises(ct.CheaptalkError, match=r'no strategy "lucky" \(did you mean "luck"'):
        analyse_seats(game(well, "negotiation"), without=["lucky"])


def test_missing_and_thin_cells_are_named(well: Path) -> None:
    chosen = game(well, "persuasion")
    frame, pair = chosen.frame, pl.col("player_alice", "player_bob") == "luck"
    lucky = pl.all_horizontal(pair)
    without = chosen._replace(frame=frame.filter(~lucky))
    with pytest.raises(ct.CheaptalkError, match="2 pairs without a match: luck / luck in"):
        analyse_seats(without)
    first = pl.col("instance") == pl.col("instance").first().over("configuration")
    thin = analyse_seats(chosen._replace(frame=frame.filter(~lucky | first)))
    assert thin.no_draws_reason.startswith("2 pairs with a single instance: luck / luck in")
    assert thin.draws == 0


def test_pooled_matches_need_not_have_played_every_configuration(well: Path) -> None:
    chosen = game(well, "negotiation")
    one, *_ = chosen.frame["configuration"].unique(maintain_order=True)
    seldom = (pl.col("player_alice") == "luck") & (pl.col("configuration") == one)
    part = chosen._replace(frame=chosen.frame.filter(~seldom))
    with pytest.raises(ct.CheaptalkError, match=r"without a match: luck / .* use pooled=True"):
        analyse_seats(part)
    pooled = analyse_seats(part, pooled=True, draws=20)
    means = part.frame.group_by("player_alice", "player_bob").agg(pl.col("payoff_bob").mean())
    ordered = means.sort("player_alice", "player_bob")["payoff_bob"].to_numpy()
    assert pooled.game.payoffs()[1].ravel() == pytest.approx(ordered)
    assert not pooled.paired
    none = chosen.frame.filter(pl.col("player_alice") != "luck")
    alone = none.with_columns(pl.when(pl.col("player_bob") == "luck").then(pl.lit("new"))
                              .otherwise("player_alice").alias("player_alice"))  # fmt: skip
    with pytest.raises(ct.CheaptalkError, match=r"or omit strategies$"):
        analyse_seats(chosen._replace(frame=alone), pooled=True)


# The map, data and page


def test_maps_frame_best_responses_of_the_seat_and_equilibria_thickly() -> None:
    one = analyse_bimatrix("game", table([[3, 1], [0, 2]], [[2, 2], [0, 3]]))
    at = [
        {(round(sum(box.x) / 2), round(sum(box.y) / 2), layer.frame > 2)
         for layer in chart.layers if isinstance(layer, Boxes) and layer.frame
         for box in layer.boxes}
        for chart in payoff_maps(one)
    ]  # fmt: skip
    assert at[0] == {(0, 0, True), (1, 1, True)}
    assert at[1] == {(0, 0, True), (1, 0, False), (1, 1, True)}


def test_a_large_map_has_a_scale_instead_of_printed_numbers() -> None:
    small, large = (analyse_bimatrix("game", table(np.eye(n), np.eye(n))) for n in (2, 7))
    assert boxes(payoff_maps(small)[0])[0].label
    assert not boxes(payoff_maps(large)[0])[0].label


def test_a_game_is_told_as_data(well: Path) -> None:
    one = analyse_seats(game(well, "bargaining"), payoff="gain", draws=20, seed=4)
    data = json.loads(json.dumps(seats_json(one, 4)))
    assert (data["seats"], data["seed"], data["payoff"]) == (["alice", "bob"], 4, "gain")
    assert len(data["pairs"]) == 4
    assert data["pairs"][0]["gets"]["bob"]["estimate"] == one.pairs[0].payoffs[1].estimate
    assert set(data["equilibria"][0]["mixtures"]["alice"]) == {"hard & fast", "luck"}
    assert max(max(found["regrets"].values()) for found in data["equilibria"]) < 1e-9


def written(well: Path, tmp_path: Path) -> str:
    file = tmp_path / "seats.html"
    with ct.Store.open(well) as store:
        played = Played.of(store, "well")
        analyses = analyses_by_seat(played, ["bargaining", "persuasion"], draws=20)
        seats_report("well", analyses, file, played=played)
    return file.read_text(encoding="utf-8")


def test_a_page_shows_every_pair_with_its_matches(well: Path, tmp_path: Path) -> None:
    page = Page(written(well, tmp_path))
    heads = page.headings("bargaining-pairs")
    assert heads[:4] == ["Alice", "Bob", "Alice gets", "Bob gets"]
    rows = page.tables["bargaining-pairs"][1:]
    assert {(row[0].text, row[1].text) for row in rows} == {
        (one, other) for one in ("hard & fast", "luck") for other in ("hard & fast", "luck")
    }
    link = rows[0][0].link or ""
    assert "/studies/well/bargaining?player_alice=" in link
    low, high = rows[0][2].number("data-low"), rows[0][2].number("data-high")
    assert low is not None
    assert high is not None
    assert low <= (rows[0][2].number() or 0) <= high
    assert "Support" in page.headings("bargaining-pure")
    assert len(page.tables["persuasion-equilibria"]) > 1
    assert "4 configurations with equal weights" in page.text
    assert "20 draws with the seed 0" in page.text
    assert len(page.charts()) == 4


def test_a_page_of_a_file_speaks_of_no_matches(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    pennies = np.array([[1, -1], [-1, 1]])
    seats_report("pennies", [analyse_bimatrix("pennies", table(pennies, -pennies))], file)
    page = Page(file.read_text(encoding="utf-8"))
    assert "The mean payoffs have no pure equilibrium" in page.text
    assert "row 0 0.500, row 1 0.500" in page.text
    assert "given without matches" in page.text
    assert page.headings("pennies-pairs")[-1] == "Best response of Bo"


def test_few_instances_per_configuration_show_no_certainty(well: Path) -> None:
    """With two instances each, every draw may agree, and the sentence said "in 100 % of draws"."""
    chosen = game(well, "bargaining")
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
def test_a_browser_draws_both_maps_on_a_telephone_too(well: Path, tmp_path: Path) -> None:
    written(well, tmp_path)

    async def visit(tab: Tab) -> None:
        await tab.visit((tmp_path / "seats.html").as_uri(), width=375, scheme="dark")
        framed = "document.querySelectorAll('.plot rect[stroke-width]')"
        await tab.until(f"{framed}.length >= 8")
        assert await tab.run("document.documentElement.scrollWidth") <= 375
        assert tab.complaints == []

    browse(tmp_path / "profile", visit)


# The command


def test_a_file_of_two_players_is_solved_and_exported(cheaptalk: Command, tmp_path: Path) -> None:
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
    assert [found["payoffs"] for found in again[0]["equilibria"]] == [
        {"row": 3, "column": 2},
        {"row": 2, "column": 3},
        pytest.approx({"row": 1.2, "column": 1.2}),
    ]


def test_a_symmetric_file_can_be_solved_by_seat_too(cheaptalk: Command, tmp_path: Path) -> None:
    (tmp_path / "chicken.csv").write_text(",hawk,dove\nhawk,-1,2\ndove,0,1\n", encoding="utf-8")
    assert "1 symmetric equilibrium" in cheaptalk("metagame", "chicken.csv").out
    assert (
        "2 pure equilibria, 1 mixed"
        in cheaptalk("metagame", "chicken.csv", "--two-populations").out
    )


def test_many_equilibria_are_cut_short(cheaptalk: Command, tmp_path: Path) -> None:
    lines = [f"r{i},c{j},{2 * (i == j)},{int(i == j)}" for i in range(4) for j in range(4)]
    text = "\n".join(["row,column,payoff,other", *lines])
    (tmp_path / "many.csv").write_text(text, encoding="utf-8")
    done = cheaptalk("metagame", "many.csv")
    assert "4 pure equilibria, 11 mixed equilibria, and no others" in done.out
    assert "  and 5 more" in done.out


def test_many_pairs_are_cut_short(cheaptalk: Command, tmp_path: Path) -> None:
    """Where nothing is at stake every pair is an equilibrium in every draw."""
    path = play(tmp_path, IDLE)
    done = cheaptalk("metagame", "idle", "--store", str(path), "--two-populations", "--draws", "9")
    assert done.status == 0
    assert "1 continuum of equilibria, and no others" in done.out
    assert "and 6 pairs more" in done.out


def test_a_study_is_solved_by_seat(cheaptalk: Command, well: Path) -> None:
    arguments = ["metagame", "well", "--store", str(well), "--game", "bargaining"]
    done = cheaptalk(*arguments, "--two-populations", "--payoff", "gain", "--draws", "40")
    assert done.status == 0
    lines = done.out.splitlines()
    assert lines[0] == "bargaining: alice x bob, 2 x 2 strategies, 128 matches, by gain"
    assert "In brackets: 95 % of 40 bootstrap draws of at least 16 instances" in done.out
    assert "* marks pure equilibria of the mean payoffs" in done.out
    exact = cheaptalk(*arguments, "--two-populations", "--payoff", "gain", "--draws", "0", "--json")
    (told,) = json.loads(exact.out)
    assert (told["draws"], told["payoff"], told["pooled"]) == (0, "gain", False)
    plain = cheaptalk(*arguments, "--draws", "0")
    assert "Use --two-populations to analyse each seat separately" in plain.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--payoff", "gain"], "--payoff: only valid with --two-populations"),
        (
            ["--two-populations", "--propose", "9"],
            "--propose: not valid for two populations",
        ),
        (["--two-populations", "--payoff", "joy"], 'share no metric "joy" (known: payoff, gain)'),
        (
            ["--two-populations", "--payoff", "gain", "--exclude", "x"],
            'no strategy "x" (known: hard & fast, luck)',
        ),
    ],
)
def test_what_makes_no_sense_by_seat_is_an_error(
    cheaptalk: Command, well: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    page = ["--out", "page.html", "--game", "negotiation"]
    done = cheaptalk("metagame", "well", "--store", str(well), *page, *arguments)
    assert done.status == 2
    assert said in done.said
    assert not list(tmp_path.glob("*.html*"))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a,x,nan,2", '"a" against "x": "nan" is not a number'),
        ("a,x,1,two", '"a" against "x": "two" is not a number'),
        ('a,x,"1,234",2', '"1,234" is ambiguous'),
        ("a,x,1,234,2", "there are 5 cells but the heading has 4"),
        ("a,x,,2", "the cell is empty"),
        ("a,x,1,2\na,x,1,2", "this cell is repeated"),
        ("a,x,1,2\na,y,1,2\nb,x,1,2", 'there is no payoff of "b" against "y"'),
    ],
)
def test_a_bad_cell_is_named_and_nothing_written(
    cheaptalk: Command, tmp_path: Path, line: str, said: str
) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(f"row,column,payoff,other\n{line}\n", encoding="utf-8")
    done = cheaptalk("metagame", "bad.csv", "--out", "page.html", "--save-payoffs", "bad.nfg")
    assert done.status == 2
    assert said in done.said
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == ["bad.csv"]


def test_a_file_says_itself_what_is_paid(cheaptalk: Command, tmp_path: Path) -> None:
    (tmp_path / "sexes.csv").write_text(FILE, encoding="utf-8")
    for more in (["--two-populations", "--pool-configurations"], ["--provider", "box=x"]):
        assert cheaptalk("metagame", "sexes.csv", *more).status == 2
