"""The chip recipe's tables and charts against numbers computed from the records."""

from dataclasses import replace
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
from tests.papers.chip_games import STUDY, records, turns
from tests.papers.studies import play, report, row_of, rows_of
from tests.reports.marks import across, boxes, named, up

MIXED = "bayes / bayes / zero"
TABLES = {
    "bayes": ["bayes"] * 3,
    "zero": ["zero"] * 3,
    "wild": ["wild"] * 3,
    MIXED: ["bayes", "zero", "bayes"],
}


def evaluate(path: Path, name: str, colours: int, *labels: str) -> list[float]:
    """Return a metric's defined values in the games of these players."""
    metric = SPEC.metrics[name].of
    values = [metric(record.result()) for record in records(path, colours, *labels)]
    return [value for value in values if value is not None]


def test_final_surplus_is_that_of_the_records(chips_path: Path, chips_results: Findings) -> None:
    for table, labels in TABLES.items():
        final = row_of(chips_results, "final-surplus", population=table)
        for colours in (2, 3):
            ratios = evaluate(chips_path, "surplus_ratio", colours, *labels)
            error = stdev(ratios) / len(ratios) ** 0.5
            assert final[f"{colours} colours"] == pytest.approx(fmean(ratios))
            assert final[f"{colours} colours_error"] == pytest.approx(error)
            assert final[f"{colours} colours_n"] == len(ratios) == 8
        dollars = row_of(chips_results, "surplus-in-dollars", population=table, variant="3 colours")
        surplus, bound, accepted = (
            evaluate(chips_path, name, 3, *labels) for name in ("surplus", "bound", "acceptance")
        )
        assert (dollars["games"], dollars["nothing"]) == (len(surplus), 0)
        assert dollars["surplus"] == pytest.approx(fmean(surplus))
        assert dollars["bound"] == pytest.approx(fmean(bound))
        assert dollars["share"] == pytest.approx(sum(surplus) / sum(bound))
        assert dollars["accepted"] == pytest.approx(fmean(accepted))


def test_paper_tables_use_paper_names_and_order(chips_path: Path) -> None:
    players = {"players": "zero,bayes", "printed": "beside"}
    shown = report(chips_path, "chips", "Final surplus", "Proposals", options=players)
    third = shown.tables["table-3"]
    names = third.frame["population"].to_list()
    assert sorted(names[:3]) == sorted(["bayes", "zero", MIXED])  # wild is not selected
    assert names[3:5] == ["Human", "GPT-4o"]
    assert third.titles[:3] == ["Population", "2-chip", "2-chip, printed"]
    bayesian = third.frame.row(by_predicate=pl.col("population") == "Bayesian agent", named=True)
    assert (bayesian["3 colours_printed"], bayesian["3 colours_printed_error"]) == (0.80, 0.03)
    expected = shown.tables["proposals"].frame.filter(
        player="zero", variant="2 colours", outcome="accepted"
    )
    fifth = shown.tables["table-5"].frame.filter(
        player="zero", variant="2-chip", outcome="Accepted"
    )
    for column, source in (("gain", "gain"), ("gain_error", "gain_sd"), ("ratio_median",) * 2):
        assert fifth[column].item() == expected[source].item()


def test_table_4_contains_upper_triangle_of_pairs(chips_results: Findings) -> None:
    pairs = chips_results.tables["pairwise-tests"].frame
    table = chips_results.tables["table-4"].frame
    order = [column.key for column in chips_results.tables["table-4"].columns[2::2]]
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
            higher = (pair["difference"].item() > 0) == (pair["second"].item() == other)
            assert row[f"{other} way"] == ("↑" if higher else "↓")


def test_figure_2_agrees_with_table_3_and_first_round_ratio(
    chips_path: Path, chips_results: Findings
) -> None:
    panel = chips_results.charts["trajectories"].panels[1]
    assert panel.title == "3 colours"
    line = named(panel)["bayes"]
    final = row_of(chips_results, "final-surplus", population="bayes")
    assert across(line) == list(range(10))
    assert up(line)[0] == 0
    assert up(line)[9] == pytest.approx(final["3 colours"])
    first = evaluate(chips_path, "first_round_ratio", 3, *TABLES["bayes"])
    assert up(line)[3] == pytest.approx(fmean(first))
    row = row_of(chips_results, "surplus-by-round", population="bayes", variant="3 colours")
    assert row["round 1"] == pytest.approx(fmean(first))
    assert row["round 3"] == pytest.approx(final["3 colours"])


def test_table_5_pools_all_proposals_of_a_player(chips_path: Path, chips_results: Findings) -> None:
    proposals = [
        (record.label(turn["proposer"]), turn["partner"] is not None, turn)
        for labels in TABLES.values()
        for record in records(chips_path, 2, *labels)
        for turn in turns(record)
    ]
    for player in ("bayes", "zero", "wild"):
        for outcome in ("accepted", "rejected"):
            key = (player, outcome == "accepted")
            made = [turn for *who, turn in proposals if tuple(who) == key]
            row = row_of(
                chips_results, "proposals", player=player, variant="2 colours", outcome=outcome
            )
            assert row["proposals"] == row["gain_n"] == len(made)
            gains = [turn["gain"] / 100 for turn in made]
            for name, values in (("gain", gains), ("ratio", [turn["ratio"] for turn in made])):
                assert row[name] == pytest.approx(fmean(values))
                assert row[f"{name}_sd"] == pytest.approx(stdev(values))
                assert row[f"{name}_median"] == pytest.approx(median(values))
                assert row[f"{name}_low"] < row[name] < row[f"{name}_high"]


def test_proposal_kinds_are_shares(chips_path: Path, chips_results: Findings) -> None:
    proposals = [turn for game in records(chips_path, 3, *TABLES["wild"]) for turn in turns(game)]
    row = row_of(chips_results, "kinds-of-proposals", player="wild", variant="3 colours")
    assert row["loss"] == pytest.approx(fmean(turn["gain"] < 0 for turn in proposals))
    assert row["nothing"] == pytest.approx(fmean(turn["gain"] == 0 for turn in proposals))
    assert row["giving"] == pytest.approx(fmean(turn["ratio"] > 1 for turn in proposals))
    assert row["even"] == pytest.approx(fmean(turn["ratio"] == 1 for turn in proposals))
    single = [turn["ratio"] == 1 == turn["proposal"]["give_amount"] for turn in proposals]
    assert row["single"] == pytest.approx(fmean(single))


def parse_share(bar: Box) -> float:
    """Return the percentage of proposals in a bar's label."""
    return float(bar.text.split("%")[0])


def test_proposal_bars_add_up_and_accepted_bars_point_up(chips_results: Findings) -> None:
    for name in ("gains-of-proposals", "ratios-of-proposals"):
        panel = chips_results.charts[name].panels[0]
        for row, player in enumerate(panel.y.names):
            bars = [bar for bar in boxes(panel) if bar.y[0] == row]
            above = [bar for bar in bars if "accepted" in bar.text]
            assert all((bar.y[1] < row) == (bar in above) for bar in bars)
            below = {bar.x: parse_share(bar) for bar in bars if bar not in above}
            assert len(below) + len(above) == len(bars)
            total = sum(map(parse_share, bars))
            assert total == pytest.approx(100, abs=0.06 * len(bars))
            share = row_of(chips_results, "kinds-of-proposals", player=player, variant="2 colours")
            assert sum(map(parse_share, above)) == pytest.approx(
                100 * share["accepted"], abs=0.06 * len(above)
            )
            assert max(abs(bar.y[1] - row) for bar in bars) == pytest.approx(0.46)


def test_bars_right_of_zero_contain_only_gains(chips_results: Findings) -> None:
    panel = chips_results.charts["gains-of-proposals"].panels[0]
    assert all(sum(bar.x) > 0 for bar in boxes(panel) if bar.y[0] == panel.y.names.index("bayes"))
    wild = row_of(chips_results, "kinds-of-proposals", player="wild", variant="2 colours")
    bars = [bar for bar in boxes(panel) if bar.y[0] == panel.y.names.index("wild")]
    losses = sum(parse_share(bar) for bar in bars if sum(bar.x) < 0)
    worse = 100 * (wild["loss"] + wild["nothing"])
    assert losses == pytest.approx(worse, abs=0.06 * len(bars))


def test_figure_5_counts_regret_of_decisions(chips_path: Path) -> None:
    for as_published in (False, True):
        results = report(chips_path, "chips", "Regret", as_published=as_published)
        kinds = [
            (record.label(decision.player), decision.part, decision.regret)
            for labels in TABLES.values()
            for record in records(chips_path, 3, *labels)
            for decision in decisions(record.result().outcome, 10, unforced_proposals=as_published)
        ]
        frame = results.tables["regret-of-decisions"].frame.filter(variant="3 colours")
        assert frame["decisions"].sum() == len(kinds)
        for row in frame.iter_rows(named=True):
            counted = [
                kind for who, part, kind in kinds if (who, part) == (row["player"], row["part"])
            ]
            assert row["decisions"] == len(counted)
            for kind in ("no", "unforced", "forced"):
                assert row[kind] == pytest.approx(counted.count(kind) / len(counted))
        proposers = frame.filter(part="proposer")
        assert (proposers["unforced"].sum() > 0) is as_published


def test_regret_bars_add_up_and_show_decision_counts(chips_results: Findings) -> None:
    for panel in chips_results.charts["regret"].panels:
        for row in range(len(panel.y.names)):
            ends = [bar.x for bar in boxes(panel) if round(sum(bar.y) / 2) == row]
            assert [start for start, _ in ends] == [0, *(end for _, end in ends[:-1])]
            assert ends[-1][1] == pytest.approx(1)
    acceptors = rows_of(chips_results, "regret-of-decisions", variant="2 colours", part="acceptor")
    panels = {panel.title: panel for panel in chips_results.charts["regret"].panels}
    labels = [f"{row['player']} ({row['decisions']})" for row in acceptors]
    assert list(panels["Acceptors, 2 colours"].y.names) == labels


def test_table_4_pairs_games_by_instance(chips_path: Path, chips_results: Findings) -> None:
    frame = chips_results.tables["pairwise-tests"].frame.filter(variant="3 colours")
    assert frame.height == 6
    assert set(frame["test"]) == {"paired, drawn"}
    row = frame.filter(first="wild", second="bayes").row(0, named=True)
    sides = [evaluate(chips_path, "surplus_ratio", 3, *TABLES[name]) for name in ("bayes", "wild")]
    differences = [first - second for first, second in zip(*sides, strict=True)]
    assert row["difference"] == pytest.approx(fmean(differences))
    assert row["difference_n"] == 8
    width = 2.3646 * stdev(differences) / 8**0.5
    assert row["difference_high"] - row["difference"] == pytest.approx(width, rel=1e-4)
    assert frame["p_holm"].to_list() == pytest.approx(holm(frame["p"].to_numpy()).tolist())


def make_games(**ratios: dict[str, float]) -> Games:
    """Return games with these ratios by population and instance."""
    table = pl.DataFrame(
        [
            ("2 colours", population, "c", instance, ratio)
            for population, by_instance in ratios.items()
            for instance, ratio in by_instance.items()
        ],
        schema=["variant", "population", "configuration", "instance", "ratio"],
        orient="row",
    )
    empty = pl.DataFrame()
    variant = Variant("2 colours", 2, (), ())
    return Games(table, empty, empty, (variant,))


def test_few_shared_instances_give_unpaired_comparison() -> None:
    low = {f"{instance}": instance / 10 for instance in range(6)}
    high = {f"{instance + 4}": 0.4 + instance / 10 for instance in range(6)}
    row = compared(make_games(a=low, b=high), 200, 0).row(0, named=True)
    assert row["test"] == "unpaired, drawn"
    assert (row["first"], row["second"], row["difference.n"]) == ("a", "b", 12)
    assert row["difference"] == pytest.approx(0.4)
    assert 0 < row["difference.low"] < 0.4 < row["difference.high"]
    assert row["p"] < 0.05


def test_games_of_a_group_of_people_count_once_in_comparisons() -> None:
    alone = {f"{instance}": instance / 10 for instance in range(6)}
    together = {f"{instance}": 0.3 + instance**2 / 100 for instance in range(10, 16)}
    played = make_games(a=alone, b=together)
    groups = [
        [f"{int(i) // 2}{who}" for who in "xyz"] if int(i) > 9 else None
        for i in played.matches["instance"]
    ]
    matches = played.matches.with_columns(people=pl.Series(groups, dtype=pl.List(pl.String)))
    row = compared(replace(played, matches=matches), 200, 0).row(0, named=True)
    assert row["test"] == "unpaired, exact"  # 84 arrangements of 3 groups and 6 games
    assert row["difference"] == pytest.approx(fmean(together.values()) - fmean(alone.values()))
    assert row["p"] == pytest.approx(2 / 84)


def test_constant_or_single_differences_have_no_interval_width() -> None:
    same = {"x": 0.5, "y": 0.5}
    row = compared(make_games(a=same, b={"x": 0.25, "y": 0.25}), 200, 0).row(0, named=True)
    assert (row["difference.low"], row["difference"], row["difference.high"]) == (0.25,) * 3
    single = compared(make_games(a={"x": 0.5}, b={"x": 0.75}), 200, 0).row(0, named=True)
    assert (single["difference"], single["difference.low"], single["p"]) == (0.25, None, 1.0)
    apart = compared(make_games(a=same, b={"z": 0.25, "v": 0.25}), 200, 0).row(0, named=True)
    assert (apart["difference.low"], apart["difference.high"]) == (0.25, 0.25)


def test_figure_4_shows_game_with_most_regret(chips_path: Path, chips_results: Findings) -> None:
    title = chips_results.charts["value-paths"].title
    by_game: dict[str, list[str]] = {}
    for colours in (2, 3):
        for labels in TABLES.values():
            for record in records(chips_path, colours, *labels):
                choices = decisions(record.result().outcome, 10)
                by_game[record.id] = [choice.regret for choice in choices]
    most = max((len(set(kinds)), sum(kind != "no" for kind in kinds)) for kinds in by_game.values())
    best = sorted(
        key
        for key, kinds in by_game.items()
        if (len(set(kinds)), sum(kind != "no" for kind in kinds)) == most
    )
    assert title == f"Value of chips in game {best[0]}"
    assert len(rows_of(chips_results, "value-paths")) == len(by_game[best[0]])


def test_value_paths_start_and_end_at_chip_values(chips_path: Path) -> None:
    part = "Counterfactual values in one game"
    with pytest.raises(ct.CheaptalkError, match='match "x" is not a finished game of chip_trading'):
        report(chips_path, "chips", part, options={"match": "x"})
    record = records(chips_path, 3, *TABLES["wild"])[2]
    results = report(chips_path, "chips", part, options={"match": record.id})
    assert results.charts["value-paths"].caption.startswith("Selected by the option match.")
    outcome = record.result().outcome
    for panel, (place, gain) in zip(
        results.charts["value-paths"].panels, outcome.gains().items(), strict=True
    ):
        line = next(layer for layer in panel.layers if isinstance(layer, Line) and not layer.dash)
        start = 10 * sum(outcome.worths[place].values()) / 100
        assert up(line)[0] == pytest.approx(start)
        assert up(line)[-1] == pytest.approx(start + gain / 100)
    frame = results.tables["value-paths"].frame
    regretted = frame.filter(pl.col("regret") != "no")
    assert (regretted["otherwise"] != regretted["end"]).any()
    dashed = [
        layer
        for panel in results.charts["value-paths"].panels
        for layer in panel.layers
        if isinstance(layer, Line) and layer.dash
    ]
    ends = {round(float(line.marks[-1].y or 0), 2) for line in dashed}
    assert ends <= {round(value, 2) for value in regretted["otherwise"]}
    assert ends


def test_rows_link_to_games_except_for_mixed_tables(chips_results: Findings) -> None:
    table = chips_results.tables["surplus-in-dollars"]
    leads = {(row["population"], row["variant"]): table.leads(row) for row in table.rows}
    assert leads[MIXED, "2 colours"] is None
    two, three = (getattr(leads["zero", f"{n} colours"], "query", {}) for n in (2, 3))
    assert two["player_player_1"] == two["player_player_3"] == "zero"
    assert two["configuration"] != three["configuration"]
    proposals = chips_results.tables["proposals"]
    lead = proposals.leads(next(proposals.rows))
    assert lead is not None
    assert lead.query == {
        "status": "finished",
        "player": proposals.frame["player"][0],
        "configuration": two["configuration"],
    }


def test_missing_parts_are_explained_and_others_drawn(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, Any], dict[str, str]]] = [
        (
            {"players": {"greed": {"strategy": "greedy"}}, "pairing": "self", "instances": 1},
            {
                "Differences between populations": "all games are of the population greed",
                "Regret": "no decision of these games is in the sample",
                "Survey": "the study has no participants",
            },
        ),
        (
            {"games": [{"game": "chip_trading", "fixed": {"values": [50]}}], "instances": 1},
            {
                "Surplus by turn": "the bound of every game is 0",
                "Differences between populations": "no two populations have a share of the bound",
            },
        ),
        (
            {
                "instances": 2,
                "games": [{"game": "chip_trading", "grid": {"players": [2, 4], "rounds": [1, 8]}}],
                "pairing": "self",
            },
            {},
        ),
    ]
    for number, (changes, lacking) in enumerate(cases):
        path = play(tmp_path / str(number), STUDY, **changes)
        results = report(path, "chips")
        write_findings(results, tmp_path / "page.html")
        for part, sentence in lacking.items():
            assert sentence in results.lacking[part]
        people = {"Participants", "Learning between games", "Survey", "Themes"}
        people |= {"Survey answers and performance"}
        assert set(results.lacking) == lacking.keys() | people
        assert "proposals" in results.tables


def test_games_of_other_versions_are_excluded(tmp_path: Path) -> None:
    for all_games in (True, False):
        path = play(tmp_path / str(all_games), STUDY, instances=2, pairing=[["zero"] * 3])
        old = "update configurations set version = 99 where id > ?"
        with ct.Store.open(path) as store, store.transaction() as connection:
            first = connection.exec_driver_sql("select min(id) from configurations").scalar_one()
            connection.exec_driver_sql(old, (0 if all_games else first,))
        results = report(path, "chips", "Final surplus", "Proposals")
        if all_games:
            assert (
                "all 4 finished games of chip_trading were played with another version"
                in (results.lacking["Final surplus"])
            )
        else:
            assert results.tables["surplus-in-dollars"].frame["games"].to_list() == [2]
            assert results.tables["proposals"].frame["proposals"].sum() == 18


def test_many_populations_are_split_into_panels(tmp_path: Path) -> None:
    pairing = [list(seats) for seats in combinations_with_replacement(("bayes", "zero", "wild"), 3)]
    games = [{"game": "chip_trading", "fixed": {"colours": ["green", "red"]}}]
    path = play(tmp_path, STUDY, games=games, pairing=pairing, instances=2)
    results = report(path, "chips", "Surplus by turn", "Differences between populations")
    panels = results.charts["trajectories"].panels
    assert [panel.title for panel in panels] == ["2 colours (1 of 2)", "2 colours (2 of 2)"]
    assert sum(len(named(panel)) for panel in panels) == 10
    assert results.tables["pairwise-tests"].frame.height == 45


def test_variant_names_show_differing_parameters(tmp_path: Path) -> None:
    games = [
        {"game": "chip_trading", "grid": {"colours": [["green", "red"], ["green", "blue"]]}},
        {"game": "chip_trading", "fixed": {"rounds": 1}},
    ]
    results = report(play(tmp_path, STUDY, games=games, instances=1), "chips", "Final surplus")
    assert results.tables["surplus-in-dollars"].frame["variant"].unique().sort().to_list() == [
        "2 colours, colours green, blue, rounds 3",
        "2 colours, colours green, red, rounds 3",
        "3 colours, colours green, red, blue, rounds 1",
    ]
