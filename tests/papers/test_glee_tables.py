"""GLEE's tables in the paper's form: the recipe's numbers in the paper's rows and columns."""

import polars as pl
import pytest

from cheaptalk.records import Store
from cheaptalk.reports.recipes.findings import Findings
from tests.papers.glee_study import FLASH, STUDY
from tests.papers.studies import report, rows_of
from tests.reports.marks import across, named


def test_table_2_marks_markets_and_has_one_interval_per_metric(glee_results: Findings) -> None:
    for panel, game in (("a", "bargaining"), ("c", "persuasion")):
        computed, *printed = (
            rows_of(glee_results, f"market-{game}"),
            *rows_of(glee_results, f"table-2{panel}"),
        )
        last = printed.pop()
        for metric in ("efficiency", "fairness"):
            assert [row[metric] for row in printed] == [row[metric] for row in computed]
            halves = [
                (row[f"{metric}_high"] - row[f"{metric}_low"]) / 2
                for row in computed
                if row[f"{metric}_low"] is not None
            ]
            assert last[metric] == pytest.approx(max(halves))
            best = max(row[metric] for row in computed)
            assert [row[f"{metric}_bold"] for row in printed] == [
                row[metric] >= best - max(halves) for row in computed
            ]
        marks = {"yes": "✓", "no": "-", "text": "✓", "binary": "-"}
        names = [column.key for column in glee_results.tables[f"table-2{panel}"].columns[:-2]]
        for row, source in zip(printed, computed, strict=True):
            known = [(row[name], source[name]) for name in names if name in source]
            assert all(shown == marks.get(level, level) for shown, level in known)


def test_constant_market_parameters_are_marked(glee_results: Findings) -> None:
    table = glee_results.tables["table-2b"]
    assert [column.key for column in table.columns[:3]] == ["CI", "MA", "T"]
    assert set(table.frame["MA"][:-1]) == {"✓"}


def test_table_3_groups_roles_and_shows_half_intervals(glee_results: Findings) -> None:
    table = glee_results.tables["table-3"]
    assert table.groups == [
        ("", 1),
        *((family, 4) for family in ("Bargaining", "Negotiation", "Persuasion")),
    ]
    for row, source in zip(table.rows, rows_of(glee_results, "self-gain"), strict=True):
        assert row["player"] == source["player"]
        gain, low, high = (source[f"negotiation bob{end}"] for end in ("", "_low", "_high"))
        half = 0 if row["player"] == FLASH else (high - low) / 2
        assert (row["negotiation bob"], row["negotiation bob.half"]) == (gain, pytest.approx(half))


def test_players_option_selects_rows_of_table_3(glee_store: Store) -> None:
    for players, shown in (("tough,fair", ["fair", "tough"]), ("llms", None)):
        results = report(glee_store, "glee", "Players' gains", options={"players": players})
        table = results.tables.get("table-3")
        assert (None if table is None else sorted(table.frame["player"])) == shown


def test_table_6_counts_decisions_with_total(glee_results: Findings, glee_store: Store) -> None:
    *families, total = rows_of(glee_results, "table-6")
    assert [row["family"] for row in families] == ["Bargaining", "Persuasion", "Negotiation"]
    for row in families:
        matches = list(
            glee_store.records(STUDY["name"], bodies=True, games=[row["family"].lower()])
        )
        actions = [move.action for record in matches for move in record.answers if move.action]
        assert row["games"] == len(matches)
        assert row["decisions"] == sum("decision" in action for action in actions)
        assert row["messages"] == sum(bool(action.get("message")) for action in actions)
    for name in ("games", "decisions", "messages", "words"):
        assert total[name] == sum(row[name] for row in families)


def test_table_8_shows_references_of_all_families(glee_results: Findings) -> None:
    table = glee_results.tables["table-8"]
    texts = [table.texts(row) for row in table.rows]
    assert texts[0] == ["δ_A", "0.9", "F_A", "1", "p", "0.5"]
    assert texts[-1] == ["", "", "", "", "Buyer type", "Long-living"]
    assert ["CI", "True"] in [row[:2] for row in texts]


def test_figure_20_has_column_per_level_and_one_reference(glee_results: Findings) -> None:
    by_factor = glee_results.tables["figure-20"].frame.group_by("parameter", maintain_order=True)
    frame = by_factor.agg(pl.len(), pl.col("value").sum(), (pl.col("reference") == "yes").sum())
    assert dict(frame.select("parameter", "len").iter_rows()) == {
        "market": 8,
        "δ_A": 2,
        "δ_B": 2,
        "Alice": 3,
        "Bob": 3,
    }
    assert set(frame["value"]) == set(frame["reference"]) == {1}


def test_parameter_charts_show_reference_levels_at_zero(glee_results: Findings) -> None:
    panel = glee_results.charts["impact-figures"].panels[0]
    (effects,) = named(panel).values()
    names = [str(name) for name in panel.y.names]
    assert [name for name in names if "reference" in name] == [
        "CI yes (reference)",
        "MA no (reference)",
        "T ∞ (reference)",
        "δ_A 0.9 (reference)",
        "δ_B 0.9 (reference)",
    ]
    assert across(effects)[names.index("T ∞ (reference)")] == 0


def test_printed_values_are_added_to_tables(glee_store: Store) -> None:
    parts = ("Effect of the market", "Players' gains", "Collected data")
    tables = report(glee_store, "glee", *parts, options={"printed": "beside"}).tables
    *_, last = tables["table-2b"].rows
    assert (last["efficiency.printed"], last["fairness.printed"]) == (1.7, 0.3)
    gains = {row["player"]: row for row in tables["table-3"].rows}
    assert (gains[FLASH]["bargaining bob"], gains[FLASH]["bargaining bob.printed"]) == (0, 0)
    human = gains["human"]
    assert human["bargaining bob"] is None
    assert (human["bargaining bob.printed"], human["bargaining bob.half.printed"]) == (-17.1, 1.0)
    assert tables["table-6"].frame["words_printed"][-1] == 9_770_000
