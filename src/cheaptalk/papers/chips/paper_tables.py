"""Tables 1 and 3 to 5 with the paper's layout, names and order."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import polars as pl

from cheaptalk.papers.chips.games import Games
from cheaptalk.papers.printed import paper_table, selected_labels
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.tables import ERROR, Header, ReportTable

table = partial(paper_table, "chips")
POPULATIONS = {
    "human": "Human",
    "gpt-4o": "GPT-4o",
    "gpt-4o-refined": "GPT-4o refined",
    "gemini": "Gemini",
    "gemini-refined": "Gemini refined",
    "bayesian": "Bayesian agent",
}
"""The paper's names of populations, in the paper's order, by label in roster and preset."""
BETWEEN = " / "
"""The separator between labels in the name of a population."""


def shown(evidence: Evidence, populations: Sequence[str]) -> list[str]:
    """Return the populations whose players are all selected; the paper's populations come first."""
    selected = set(selected_labels(evidence, evidence.labels))
    shown = [name for name in populations if set(name.split(BETWEEN)) <= selected]
    order = [*POPULATIONS, *(name for name in shown if name not in POPULATIONS)]
    return sorted(shown, key=order.index)


def name(population: str) -> str:
    """Return the paper's name of a population, such as "Bayesian agent"."""
    return POPULATIONS.get(population, population)


def game(variant: str) -> str:
    """Return the paper's name of a game, such as "3-chip"."""
    return variant.replace(" colours", "-chip")


def final_surplus(evidence: Evidence, data: Games, wide: pl.DataFrame) -> Iterator[ReportTable]:
    """Yield Table 3; ``wide`` has one row per population, with a column per variant and its error."""
    if populations := shown(evidence, data.populations):
        variants = {each.name: game(each.name) for each in data.variants}
        rows = _in_order(wide, populations)
        yield table(evidence, "table-3", rows, columns={"variants": variants})


def _in_order(
    frame: pl.DataFrame, populations: Sequence[str], key: str = "population"
) -> pl.DataFrame:
    rows = frame.filter(pl.col(key).is_in(populations))
    order = rows[key].replace_strict(populations, range(len(populations)))
    return rows.sort(order, maintain_order=True).with_columns(
        pl.col(key).replace_strict(list(populations), list(map(name, populations)))
    )


def differences(evidence: Evidence, data: Games, pairs: pl.DataFrame) -> Iterator[ReportTable]:
    """Yield Table 4: p-values of pairs of populations, with ↑ if the column has the larger surplus."""
    populations = shown(evidence, data.populations)
    if len(populations) < 2:
        return
    results: dict[tuple[str, str, str], tuple[float, float]] = {}
    columns = ("variant", "first", "second", "difference", "p")
    for variant, first, second, gap, p in pairs.select(columns).iter_rows():
        results[variant, first, second], results[variant, second, first] = (gap, p), (-gap, p)
    rows = []
    for variant in pairs["variant"].unique(maintain_order=True):
        for index, first in enumerate(populations[:-1]):
            row: dict[str, Any] = {"variant": game(variant), "population": name(first)}
            for number, second in enumerate(populations[1:], 1):
                gap, p = results.get((variant, first, second), (None, None))
                if number <= index:
                    gap = p = None
                row |= {name(second): p, f"{name(second)} way": arrow(gap)}
            rows.append(row)
    headers = [
        column
        for second in map(name, populations[1:])
        for column in (Header(second, f"p, {second}", "", 3), Header(f"{second} way", "↑↓"))
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    yield table(evidence, "table-4", frame, columns={"populations": headers})


def arrow(difference: float | None) -> str | None:
    """Return an arrow for the sign of a difference."""
    if difference is None:
        return None
    return "↑" if difference > 0 else "↓" if difference < 0 else "="


def proposals(evidence: Evidence, data: Games, moments: pl.DataFrame) -> Iterator[ReportTable]:
    """Yield Table 5: gains and chip ratios of proposals by game, player and acceptance."""
    players = shown(evidence, data.players)
    if not players:
        return
    rows = _in_order(moments, players, "player").sort(*data.order("variant"), maintain_order=True)
    frame = rows.select(
        pl.col("variant").str.replace_all(" colours", "-chip", literal=True),
        "player",
        pl.col("outcome").str.to_titlecase(),
        *(
            column
            for key in ("gain", "ratio")
            for column in (key, pl.col(f"{key}_sd").alias(f"{key}{ERROR}"), f"{key}_median")
        ),
    )
    yield table(evidence, "table-5", frame)


def survey(evidence: Evidence, answers: pl.DataFrame) -> ReportTable:
    """Return Table 1; ``answers`` has one row per variant and scale, ordered by variant."""
    rows: dict[str, dict[str, Any]] = {}
    for row in answers.iter_rows(named=True):
        cells = rows.setdefault(row["variant"], {"variant": game(row["variant"])})
        cells |= {row["metric"]: row["mean"], f"{row['metric']}{ERROR}": row["error"]}
    frame = pl.DataFrame(list(rows.values()), infer_schema_length=None)
    scales = dict(answers.select("metric", "title").iter_rows())
    return table(evidence, "table-1", frame, columns={"scales": scales})
