"""The chip recipe: its tables equal to numbers worked out from the records, and its page."""

from itertools import combinations_with_replacement
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.games.chip_trading import SPEC
from cheaptalk.games.chip_trading.regret import decisions
from cheaptalk.papers.chips.games import Games, Variant
from cheaptalk.papers.chips.surplus import compared
from cheaptalk.reports.charts.chart import Box, Line
from cheaptalk.reports.recipes.findings import Findings, write_findings
from cheaptalk.statistics import holm
from tests.papers.chip_games import made, play, records, turns
from tests.reports.browser import Tab, browse
from tests.reports.marks import across, boxes, named, up

MIXED = "bayes / bayes / zero"
TABLES = {
    "bayes": ["bayes"] * 3,
    "zero": ["zero"] * 3,
    "wild": ["wild"] * 3,
    MIXED: ["bayes", "zero", "bayes"],
}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return play(tmp_path_factory.mktemp("chips"))


@pytest.fixture(scope="module")
def found(played: Path) -> Findings:
    return made(played)


def rows(found: Findings, name: str, **those: Any) -> pl.DataFrame:
    return found.tables[name].frame.filter(**those)


def measured(path: Path, name: str, colours: int, *labels: str) -> list[float]:
    """A metric of games where it is defined."""
    metric = SPEC.metrics[name].of
    values = [metric(record.result()) for record in records(path, colours, *labels)]
    return [value for value in values if value is not None]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("colours", [2, 3])
def test_table_3_is_the_mean_ratio_with_its_standard_error(
    played: Path, found: Findings, table: str, colours: int
) -> None:
    row = rows(found, "final-surplus", population=table).row(0, named=True)
    ratios = measured(played, "surplus_ratio", colours, *TABLES[table])
    assert row[f"{colours} colours"] == pytest.approx(fmean(ratios))
    assert row[f"{colours} colours.error"] == pytest.approx(stdev(ratios) / len(ratios) ** 0.5)
    assert row[f"{colours} colours.n"] == len(ratios) == 8


def test_the_paper_s_tables_have_its_names_and_order(played: Path) -> None:
    players = {"players": "zero,bayes", "printed": "beside"}
    shown = made(played, options=players)
    third = shown.tables["table-3"]
    names = third.frame["population"].to_list()
    assert sorted(names[:3]) == sorted(["bayes", "zero", MIXED])  # wild is not asked for
    assert names[3:5] == ["Human", "GPT-4o"]
    assert third.titles[:3] == ["Population", "2-chip", "2-chip, printed"]
    bayesian = third.frame.row(by_predicate=pl.col("population") == "Bayesian agent", named=True)
    assert (bayesian["3 colours.printed"], bayesian["3 colours.printed.error"]) == (0.80, 0.03)
    own = shown.tables["proposals"].frame.filter(
        player="zero", variant="2 colours", outcome="accepted"
    )
    fifth = shown.tables["table-5"].frame.filter(
        player="zero", variant="2-chip", outcome="Accepted"
    )
    for ours, theirs in (("gain", "gain"), ("gain.error", "gain_sd"), ("ratio_median",) * 2):
        assert fifth[ours].item() == own[theirs].item()


def test_table_4_is_the_upper_half_of_all_pairs(found: Findings) -> None:
    pairs = found.tables["pairwise-tests"].frame
    table = found.tables["table-4"].frame
    order = [one.key for one in found.tables["table-4"].columns[2::2]]
    for row in table.iter_rows(named=True):
        later = order[order.index(row["population"]) + 1 :] if row["population"] in order else order
        for other in order:
            pair = pairs.filter(
                pl.concat_list("first", "second").list.sort() == sorted([row["population"], other]),
                variant=row["variant"].replace("-chip", " colours"),
            )
            if other not in later:
                assert row[other] is None
                continue
            assert row[other] == pair["p"].item()
            up = (pair["difference"].item() > 0) == (pair["second"].item() == other)
            assert row[f"{other} way"] == ("↑" if up else "↓")


@pytest.mark.parametrize("table", TABLES)
def test_surplus_in_dollars_and_the_ratio_of_means(
    played: Path, found: Findings, table: str
) -> None:
    row = rows(found, "surplus-in-dollars", population=table, variant="3 colours").row(
        0, named=True
    )
    surplus, bound, accepted = (
        measured(played, name, 3, *TABLES[table]) for name in ("surplus", "bound", "acceptance")
    )
    assert row["games"] == len(surplus)
    assert row["surplus"] == pytest.approx(fmean(surplus))
    assert row["bound"] == pytest.approx(fmean(bound))
    assert row["share"] == pytest.approx(sum(surplus) / sum(bound))
    assert row["accepted"] == pytest.approx(fmean(accepted))
    assert row["nothing"] == 0


def test_figure_2_ends_where_table_3_does_and_passes_through_the_first_round(
    played: Path, found: Findings
) -> None:
    panel = found.charts["trajectories"].panels[1]
    assert panel.title == "3 colours"
    line = named(panel)["bayes"]
    final = rows(found, "final-surplus", population="bayes").row(0, named=True)
    assert across(line) == list(range(10))
    assert up(line)[0] == 0
    assert up(line)[9] == pytest.approx(final["3 colours"])
    first = measured(played, "first_round_ratio", 3, *TABLES["bayes"])
    assert up(line)[3] == pytest.approx(fmean(first))
    row = rows(found, "surplus-by-round", population="bayes", variant="3 colours")
    assert row["round 1"].item() == pytest.approx(fmean(first))
    assert row["round 3"].item() == pytest.approx(final["3 colours"])


@pytest.mark.parametrize("accepted", [True, False])
@pytest.mark.parametrize("player", ["bayes", "zero", "wild"])
def test_table_5_is_of_all_proposals_of_a_player_at_whatever_table(
    played: Path, found: Findings, player: str, accepted: bool
) -> None:
    proposals = [
        turn
        for labels in TABLES.values()
        for record in records(played, 2, *labels)
        for turn in turns(record)
        if record.label(turn["proposer"]) == player and (turn["partner"] is not None) == accepted
    ]
    row = rows(
        found, "proposals", player=player, variant="2 colours",
        outcome="accepted" if accepted else "rejected",
    ).row(0, named=True)  # fmt: skip
    gains = [turn["gain"] / 100 for turn in proposals]
    ratios = [turn["ratio"] for turn in proposals]
    assert row["proposals"] == row["gain.n"] == len(proposals)
    for name, values in (("gain", gains), ("ratio", ratios)):
        assert row[name] == pytest.approx(fmean(values))
        assert row[f"{name}_sd"] == pytest.approx(stdev(values))
        assert row[f"{name}_median"] == pytest.approx(median(values))
        assert row[f"{name}.low"] < row[name] < row[f"{name}.high"]


def test_kinds_of_proposals_are_shares(played: Path, found: Findings) -> None:
    proposals = [turn for one in records(played, 3, *TABLES["wild"]) for turn in turns(one)]
    row = rows(found, "kinds-of-proposals", player="wild", variant="3 colours").row(0, named=True)
    assert row["loss"] == pytest.approx(fmean(turn["gain"] < 0 for turn in proposals))
    assert row["nothing"] == pytest.approx(fmean(turn["gain"] == 0 for turn in proposals))
    assert row["giving"] == pytest.approx(fmean(turn["ratio"] > 1 for turn in proposals))
    assert row["even"] == pytest.approx(fmean(turn["ratio"] == 1 for turn in proposals))
    single = [turn["ratio"] == 1 == turn["proposal"]["give_amount"] for turn in proposals]
    assert row["single"] == pytest.approx(fmean(single))


def share_of(game_spec: Box) -> float:
    """The share of proposals in percent that a bar tells."""
    return float(game_spec.text.split("%")[0])


@pytest.mark.parametrize("name", ["gains-of-proposals", "ratios-of-proposals"])
def test_bars_of_a_player_hold_all_its_proposals_and_accepted_ones_point_up(
    found: Findings, name: str
) -> None:
    panel = found.charts[name].panels[0]
    for row, player in enumerate(panel.y.names):
        own = [game_spec for game_spec in boxes(panel) if game_spec.y[0] == row]
        above = [game_spec for game_spec in own if "accepted" in game_spec.text]
        assert all((game_spec.y[1] < row) == (game_spec in above) for game_spec in own)
        said = {game_spec.x: share_of(game_spec) for game_spec in own if game_spec not in above}
        assert len(said) + len(above) == len(own)
        whole = sum(map(share_of, own))
        assert whole == pytest.approx(100, abs=0.06 * len(own))
        share = rows(found, "kinds-of-proposals", player=player, variant="2 colours")
        assert sum(map(share_of, above)) == pytest.approx(
            100 * share["accepted"].item(), abs=0.06 * len(above)
        )
        assert max(abs(game_spec.y[1] - row) for game_spec in own) == pytest.approx(0.46)


def test_a_bar_right_of_zero_holds_gains_only(found: Findings) -> None:
    panel = found.charts["gains-of-proposals"].panels[0]
    assert all(
        sum(game_spec.x) > 0
        for game_spec in boxes(panel)
        if game_spec.y[0] == panel.y.names.index("bayes")
    )
    wild = rows(found, "kinds-of-proposals", player="wild", variant="2 colours")
    bars = [
        game_spec for game_spec in boxes(panel) if game_spec.y[0] == panel.y.names.index("wild")
    ]
    left = sum(share_of(game_spec) for game_spec in bars if sum(game_spec.x) < 0)
    worse = 100 * (wild["loss"].item() + wild["nothing"].item())
    assert left == pytest.approx(worse, abs=0.06 * len(bars))


@pytest.mark.parametrize("as_published", [False, True])
def test_figure_5_counts_decisions_and_as_published_proposals_can_be_unforced(
    played: Path, as_published: bool
) -> None:
    found = made(played, as_published=as_published)
    kinds = [
        (record.label(one.player), one.part, one.regret)
        for labels in TABLES.values()
        for record in records(played, 3, *labels)
        for one in decisions(record.result().outcome, 10, unforced_proposals=as_published)
    ]
    frame = rows(found, "regret-of-decisions", variant="3 colours")
    assert frame["decisions"].sum() == len(kinds)
    for row in frame.iter_rows(named=True):
        own = [kind for who, part, kind in kinds if (who, part) == (row["player"], row["part"])]
        assert row["decisions"] == len(own)
        for kind in ("no", "unforced", "forced"):
            assert row[kind] == pytest.approx(own.count(kind) / len(own))
    proposers = frame.filter(part="proposer")
    assert (proposers["unforced"].sum() > 0) is as_published


def test_bars_of_regret_add_up_and_say_how_many_decisions_there_are(found: Findings) -> None:
    for panel in found.charts["regret"].panels:
        for row in range(len(panel.y.names)):
            ends = [game_spec.x for game_spec in boxes(panel) if round(sum(game_spec.y) / 2) == row]
            assert [start for start, _ in ends] == [0, *(end for _, end in ends[:-1])]
            assert ends[-1][1] == pytest.approx(1)
    frame = rows(found, "regret-of-decisions", variant="2 colours", part="acceptor")
    panel = next(
        one for one in found.charts["regret"].panels if one.title == "Acceptors, 2 colours"
    )
    labels = tuple(f"{row['player']} ({row['decisions']})" for row in frame.iter_rows(named=True))
    assert panel.y.names == labels


def test_table_4_pairs_games_on_the_same_instances(played: Path, found: Findings) -> None:
    frame = rows(found, "pairwise-tests", variant="3 colours")
    assert frame.height == 6
    assert set(frame["test"]) == {"paired, drawn"}
    row = frame.filter(first="wild", second="bayes").row(0, named=True)
    sides = [measured(played, "surplus_ratio", 3, *TABLES[name]) for name in ("bayes", "wild")]
    differences = [one - other for one, other in zip(*sides, strict=True)]
    assert row["difference"] == pytest.approx(fmean(differences))
    assert row["difference.n"] == 8
    width = 2.3646 * stdev(differences) / 8**0.5
    assert row["difference.high"] - row["difference"] == pytest.approx(width, rel=1e-4)
    assert frame["p_holm"].to_list() == pytest.approx(holm(frame["p"].to_numpy()).tolist())


def matches(**ratios: dict[str, float]) -> Games:
    """Games of populations: their ratios by instance."""
    table = pl.DataFrame(
        [
            ("2 colours", who, "c", instance, ratio)
            for who, own in ratios.items()
            for instance, ratio in own.items()
        ],
        schema=["variant", "population", "configuration", "instance", "ratio"],
        orient="row",
    )
    empty = pl.DataFrame()
    variant = Variant("2 colours", 2, (), ())
    return Games(table, empty, empty, (variant,))


def test_populations_with_few_instances_in_common_are_compared_without_pairs() -> None:
    low = {f"{instance}": instance / 10 for instance in range(6)}
    high = {f"{instance + 4}": 0.4 + instance / 10 for instance in range(6)}
    row = compared(matches(a=low, b=high), 200, 0).row(0, named=True)
    assert row["test"] == "unpaired, drawn"
    assert (row["first"], row["second"], row["difference.n"]) == ("a", "b", 12)
    assert row["difference"] == pytest.approx(0.4)
    assert 0 < row["difference.low"] < 0.4 < row["difference.high"]
    assert row["p"] < 0.05


def test_games_on_one_instance_count_once_and_constant_differences_have_no_width() -> None:
    same = {"x": 0.5, "y": 0.5}
    row = compared(matches(a=same, b={"x": 0.25, "y": 0.25}), 200, 0).row(0, named=True)
    assert (row["difference.low"], row["difference"], row["difference.high"]) == (0.25,) * 3
    one = compared(matches(a={"x": 0.5}, b={"x": 0.75}), 200, 0).row(0, named=True)
    assert (one["difference"], one["difference.low"], one["p"]) == (0.25, None, 1.0)
    apart = compared(matches(a=same, b={"z": 0.25, "v": 0.25}), 200, 0).row(0, named=True)
    assert (apart["difference.low"], apart["difference.high"]) == (0.25, 0.25)


def test_figures_4_and_10_show_the_most_regretted_game(played: Path, found: Findings) -> None:
    title = found.charts["value-paths"].title
    by_game: dict[str, list[str]] = {}
    for colours in (2, 3):
        for labels in TABLES.values():
            for record in records(played, colours, *labels):
                own = decisions(record.result().outcome, 10)
                by_game[record.id] = [one.regret for one in own]
    most = max((len(set(kinds)), sum(kind != "no" for kind in kinds)) for kinds in by_game.values())
    best = sorted(
        key
        for key, kinds in by_game.items()
        if (len(set(kinds)), sum(kind != "no" for kind in kinds)) == most
    )
    assert title == f"Value of chips in game {best[0]}"
    assert rows(found, "value-paths").height == len(by_game[best[0]])


def test_value_paths_begin_and_end_with_what_chips_are_worth(played: Path) -> None:
    record = records(played, 3, *TABLES["wild"])[2]
    found = made(played, options={"match": record.id})
    assert found.charts["value-paths"].caption.startswith("Selected by the option match.")
    outcome = record.result().outcome
    for panel, (place, gain) in zip(
        found.charts["value-paths"].panels, outcome.gains().items(), strict=True
    ):
        line = next(one for one in panel.layers if isinstance(one, Line) and not one.dash)
        start = 10 * sum(outcome.worths[place].values()) / 100
        assert up(line)[0] == pytest.approx(start)
        assert up(line)[-1] == pytest.approx(start + gain / 100)
    frame = rows(found, "value-paths")
    regretted = frame.filter(pl.col("regret") != "no")
    assert (regretted["otherwise"] != regretted["end"]).any()
    dashed = [
        one for panel in found.charts["value-paths"].panels for one in panel.layers
        if isinstance(one, Line) and one.dash
    ]  # fmt: skip
    ends = {round(float(one.marks[-1].y or 0), 2) for one in dashed}
    assert ends <= {round(one, 2) for one in regretted["otherwise"]}
    assert ends


def test_an_unknown_match_or_option_is_one_sentence(played: Path) -> None:
    with pytest.raises(ct.CheaptalkError, match='match "x" is not a finished game of chip_trading'):
        made(played, options={"match": "x"})
    with pytest.raises(
        ct.CheaptalkError, match=r'chips has no option "mach" \(did you mean "match"'
    ):
        made(played, options={"mach": "x"})


def test_rows_lead_to_the_games_of_the_table_and_mixed_tables_to_none(found: Findings) -> None:
    table = found.tables["surplus-in-dollars"]
    leads = {(row["population"], row["variant"]): table.leads(row) for row in table.rows}
    assert leads[MIXED, "2 colours"] is None
    lead = leads["zero", "2 colours"]
    assert lead is not None
    assert {name: lead.query[name] for name in ("player_player_1", "player_player_3")} == {
        "player_player_1": "zero", "player_player_3": "zero",
    }  # fmt: skip
    assert lead.query["status"] == "finished"
    proposals = found.tables["proposals"]
    anywhere = proposals.leads(next(iter(proposals.rows)))
    assert anywhere is not None
    assert anywhere.query == {
        "status": "finished", "player": proposals.frame["player"][0],
        "configuration": lead.query["configuration"],
    }  # fmt: skip
    other = leads["zero", "3 colours"]
    assert other is not None
    assert other.query["configuration"] != lead.query["configuration"]


@pytest.mark.parametrize(
    ("changes", "lacking"),
    [
        (
            {"games": [{"game": "bargaining"}], "pairing": "all",
             "players": {"x": {"strategy": "linear"}, "y": {"strategy": "boulware"}}},
            {"Final surplus": "no game of chip_trading in this study has finished; run the preset"},
        ),
        (
            {"players": {"greed": {"strategy": "greedy"}}, "pairing": "self", "instances": 1},
            {"Differences between populations":
             "all games are of the population greed, but a comparison needs two",
             "Regret": "no decision of these games is in the sample",
             "Survey": "the study contains no survey"},
        ),
        (
            {"games": [{"game": "chip_trading", "fixed": {"values": [50]}}], "instances": 1},
            {"Surplus by turn": "the bound of every game is 0",
             "Differences between populations": "no two populations have a share of the bound"},
        ),
        ({"instances": 1, "pairing": [["bayes"] * 3]},
        {"Differences between populations": "all games are of the population bayes"}),
        (
            {"instances": 2, "games": [{"game": "chip_trading",
                                    "grid": {"players": [2, 4], "rounds": [1, 8]}}],
             "pairing": "self"},
            {},
        ),
    ],
    ids=["another game", "no trade", "nothing to gain", "one game", "many sizes"],
)  # fmt: skip
def test_what_a_study_lacks_is_said_and_the_rest_is_drawn(
    tmp_path: Path, changes: dict[str, Any], lacking: dict[str, str]
) -> None:
    path = play(tmp_path, **changes)
    with ct.Store.open(path) as store:
        found = ct.reports.findings(store, "chips", "chips", draws=100)
        write_findings(found, tmp_path / "page.html")
    for part, sentence in lacking.items():
        assert sentence in found.lacking[part]
    survey = {"Learning between games", "Survey", "Themes", "Survey answers and performance"}
    if "Final surplus" not in lacking:
        assert set(found.lacking) == lacking.keys() | survey
        assert "proposals" in found.tables


@pytest.mark.parametrize("all_of_them", [True, False])
def test_games_under_other_rules_are_left_out(tmp_path: Path, all_of_them: bool) -> None:
    path = play(tmp_path, instances=2, pairing=[["zero"] * 3])
    old = "update configurations set version = 99 where id > ?"
    with ct.Store.open(path) as store, store.transaction() as connection:
        first = connection.exec_driver_sql("select min(id) from configurations").scalar_one()
        connection.exec_driver_sql(old, (0 if all_of_them else first,))
    found = made(path)
    if all_of_them:
        assert (
            "all 4 finished games of chip_trading were played with another version"
            in (found.lacking["Final surplus"])
        )
    else:
        assert found.tables["surplus-in-dollars"].frame["games"].to_list() == [2]
        assert found.tables["proposals"].frame["proposals"].sum() == 18


def test_many_populations_are_drawn_in_several_panels(tmp_path: Path) -> None:
    pairing = [list(seats) for seats in combinations_with_replacement(("bayes", "zero", "wild"), 3)]
    games = [{"game": "chip_trading", "fixed": {"colours": ["green", "red"]}}]
    found = made(play(tmp_path, games=games, pairing=pairing, instances=2))
    panels = found.charts["trajectories"].panels
    assert [one.title for one in panels] == ["2 colours (1 of 2)", "2 colours (2 of 2)"]
    assert sum(len(named(one)) for one in panels) == 10
    assert found.tables["pairwise-tests"].frame.height == 45


def test_variants_are_told_apart_by_whatever_differs(tmp_path: Path) -> None:
    games = [
        {"game": "chip_trading", "grid": {"colours": [["green", "red"], ["green", "blue"]]}},
        {"game": "chip_trading", "fixed": {"rounds": 1}},
    ]
    found = made(play(tmp_path, games=games, instances=1))
    assert found.tables["surplus-in-dollars"].frame["variant"].unique().sort().to_list() == [
        "2 colours, colours green, blue, rounds 3",
        "2 colours, colours green, red, rounds 3",
        "3 colours, colours green, red, blue, rounds 1",
    ]


@pytest.mark.browser
def test_the_page_draws_fills_its_tables_and_drills_down_by_keyboard(
    played: Path, tmp_path: Path
) -> None:
    out = tmp_path / "chips.html"
    with ct.Store.open(played) as store:
        write_findings(ct.reports.findings(store, "chips", "chips", draws=100), out)

    async def visit(tab: Tab) -> None:
        await tab.visit(out.as_uri(), width=375)
        plots = "document.querySelectorAll('.plot')"
        await tab.until(f"[...{plots}].every((one) => one.querySelector('svg'))")
        assert await tab.run(f"{plots}.length") > 15
        assert await tab.run("document.documentElement.scrollWidth") == 375
        empty = "[...document.querySelectorAll('tbody')].filter((one) => !one.rows.length).length"
        assert await tab.run(empty) == 0
        link = "document.querySelector('[data-name=final-surplus] tbody a')"
        await tab.run(f"{link}.focus()")
        await tab.press("Enter")
        reader = "document.getElementById('reader')"
        await tab.until(f"{reader}.open && {reader}.querySelectorAll('.turn').length > 1")
        assert tab.complaints == []
        assert [url for url in tab.fetched[1:] if not url.startswith(("data:", "blob:"))] == []

    browse(tmp_path / "profile", visit)
