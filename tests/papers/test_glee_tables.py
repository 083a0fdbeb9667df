"""GLEE's tables in the paper's form: the same numbers as ours, in its rows and columns."""

from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from cheaptalk.records import Store
from cheaptalk.reports.recipes.findings import Findings, findings
from tests.papers.glee_study import FLASH, STUDY, play
from tests.reports.marks import across, named


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(play(tmp_path_factory.mktemp("glee"))) as store:
        yield store


@pytest.fixture(scope="module")
def found(store: Store) -> Findings:
    return findings(store, STUDY["name"], "glee", draws=100)


def rows_of(found: Findings, table: str) -> list[dict[str, Any]]:
    return list(found.tables[table].rows)


@pytest.mark.parametrize(("panel", "game"), [("a", "bargaining"), ("c", "persuasion")])
def test_table_2_marks_markets_and_has_one_interval_a_metric(
    found: Findings, panel: str, game: str
) -> None:
    ours, *printed = rows_of(found, f"market-{game}"), *rows_of(found, f"table-2{panel}")
    last = printed.pop()
    for metric in ("efficiency", "fairness"):
        assert [row[metric] for row in printed] == [row[metric] for row in ours]
        halves = [
            (row[f"{metric}.high"] - row[f"{metric}.low"]) / 2
            for row in ours if row[f"{metric}.low"] is not None
        ]  # fmt: skip
        assert last[metric] == pytest.approx(max(halves))
        best = max(row[metric] for row in ours)
        assert [row[f"{metric}.bold"] for row in printed] == [
            row[metric] >= best - max(halves) for row in ours
        ]
    marks = {"yes": "✓", "no": "-", "text": "✓", "binary": "-"}
    names = [one.key for one in found.tables[f"table-2{panel}"].columns[:-2]]
    for row, own in zip(printed, ours, strict=True):
        known = [(row[name], own[name]) for name in names if name in own]
        assert all(shown == marks.get(level, level) for shown, level in known)


def test_a_part_of_the_market_that_does_not_vary_has_its_mark_too(found: Findings) -> None:
    table = found.tables["table-2b"]
    assert [one.key for one in table.columns[:3]] == ["CI", "MA", "T"]
    assert set(table.frame["MA"][:-1]) == {"✓"}


def test_table_3_has_roles_under_families_and_half_of_each_interval(found: Findings) -> None:
    table = found.tables["table-3"]
    assert table.groups == [("", 1), *((one, 4) for one in ("Bargaining", "Negotiation",
                                                            "Persuasion"))]  # fmt: skip
    for row, own in zip(table.rows, rows_of(found, "self-gain"), strict=True):
        assert row["player"] == own["player"]
        gain, low, high = (own[f"negotiation bob{end}"] for end in ("", ".low", ".high"))
        half = 0 if row["player"] == FLASH else (high - low) / 2
        assert (row["negotiation bob"], row["negotiation bob.half"]) == (gain, pytest.approx(half))


def test_the_players_who_stand_in_table_3_can_be_chosen(store: Store) -> None:
    def shown(players: str) -> list[str] | None:
        made = findings(store, STUDY["name"], "glee", draws=100, options={"players": players})
        table = made.tables.get("table-3")
        return None if table is None else sorted(table.frame["player"])

    assert shown("tough,fair") == ["fair", "tough"]
    assert shown("llms") is None


def test_table_6_counts_decisions_and_has_a_total(found: Findings, store: Store) -> None:
    *families, total = rows_of(found, "table-6")
    assert [row["family"] for row in families] == ["Bargaining", "Persuasion", "Negotiation"]
    for row in families:
        matches = list(store.records(STUDY["name"], bodies=True, games=[row["family"].lower()]))
        actions = [one.action for record in matches for one in record.answers if one.action]
        assert row["games"] == len(matches)
        assert row["decisions"] == sum("decision" in action for action in actions)
        assert row["messages"] == sum(bool(action.get("message")) for action in actions)
    for name in ("games", "decisions", "messages", "words"):
        assert total[name] == sum(row[name] for row in families)


def test_table_8_has_the_references_of_all_families_side_by_side(found: Findings) -> None:
    table = found.tables["table-8"]
    texts = [table.texts(row) for row in table.rows]
    assert texts[0] == ["δ_A", "0.9", "F_A", "1", "p", "0.5"]
    assert texts[-1] == ["", "", "", "", "Buyer type", "Long-living"]
    assert ["CI", "True"] in [row[:2] for row in texts]


def test_figure_20_has_a_column_a_level_and_one_of_each_factor(found: Findings) -> None:
    by_factor = found.tables["figure-20"].frame.group_by("parameter", maintain_order=True)
    frame = by_factor.agg(pl.len(), pl.col("value").sum(), (pl.col("reference") == "yes").sum())
    assert dict(frame.select("parameter", "len").iter_rows()) == {
        "market": 8, "δ_A": 2, "δ_B": 2, "Alice": 3, "Bob": 3
    }  # fmt: skip
    assert set(frame["value"]) == set(frame["reference"]) == {1}


def test_charts_of_parameters_show_reference_levels_at_0(found: Findings) -> None:
    panel = found.charts["impact-figures"].panels[0]
    (effects,) = named(panel).values()
    names = [str(name) for name in panel.y.names]
    assert [name for name in names if "reference" in name] == [
        "CI yes (reference)", "MA no (reference)", "T ∞ (reference)", "δ_A 0.9 (reference)",
        "δ_B 0.9 (reference)",
    ]  # fmt: skip
    assert across(effects)[names.index("T ∞ (reference)")] == 0


def test_printed_values_stand_beside_every_table_that_has_them(store: Store) -> None:
    options = {"printed": "beside"}
    tables = findings(store, STUDY["name"], "glee", draws=100, options=options).tables
    *_, last = tables["table-2b"].rows
    assert (last["efficiency.printed"], last["fairness.printed"]) == (1.7, 0.3)
    gains = {row["player"]: row for row in tables["table-3"].rows}
    assert (gains[FLASH]["bargaining bob"], gains[FLASH]["bargaining bob.printed"]) == (0, 0)
    human = gains["human"]
    assert human["bargaining bob"] is None
    assert (human["bargaining bob.printed"], human["bargaining bob.half.printed"]) == (-17.1, 1.0)
    assert tables["table-6"].frame["words.printed"][-1] == 9_770_000
