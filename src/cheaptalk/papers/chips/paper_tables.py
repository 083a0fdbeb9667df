"""Tables 1 and 3 to 5 with the paper's layout, names and order."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from cheaptalk.papers.chips.games import Games
from cheaptalk.papers.printed import as_printed, selected_labels
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.tables import ERROR, Header, ReportTable

PAPER = "chips"
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
POPULATION = Header("population", "Population")


def shown(evidence: Evidence, populations: Sequence[str]) -> list[str]:
    """Return the populations whose players are all selected; the paper's populations come first."""
    selected = set(selected_labels(evidence, evidence.labels))
    shown = [name for name in populations if set(name.split(BETWEEN)) <= selected]
    order = [*POPULATIONS, *(name for name in shown if name not in POPULATIONS)]
    return sorted(shown, key=order.index)


def name(population: str) -> str:
    """Return the paper's name of a population.

    >>> name("bayesian"), name("mine")
    ('Bayesian agent', 'mine')
    """
    return POPULATIONS.get(population, population)


def game(variant: str) -> str:
    """Return the paper's name of a game.

    >>> game("3 colours"), game("3 colours, rounds 5")
    ('3-chip', '3-chip, rounds 5')
    """
    return variant.replace(" colours", "-chip")


def final_surplus(evidence: Evidence, data: Games, wide: pl.DataFrame) -> Iterator[ReportTable]:
    """Yield Table 3, with a row per population and a column per game.

    Args:
        wide: one row per population, with a column per variant and its standard error.
    """
    populations = shown(evidence, data.populations)
    if not populations:
        return
    frame = _in_order(wide, populations)
    yield as_printed(
        evidence,
        PAPER,
        ReportTable(
            "table-3",
            "Final surplus over its bound",
            frame,
            (POPULATION, *(Header(each.name, game(each.name), "", 2) for each in data.variants)),
            "Means, with standard errors in parentheses.",
            printed="Table 3",
        ),
    )


def _in_order(
    frame: pl.DataFrame, populations: Sequence[str], key: str = "population"
) -> pl.DataFrame:
    rows = frame.filter(pl.col(key).is_in(populations))
    order = rows[key].replace_strict(populations, range(len(populations)))
    return rows.sort(order, maintain_order=True).with_columns(
        pl.col(key).replace_strict(list(populations), list(map(name, populations)))
    )


def differences(evidence: Evidence, data: Games, pairs: pl.DataFrame) -> Iterator[ReportTable]:
    """Yield Table 4: p-values of pairs of populations, with ↑ if the column has the larger surplus.

    Args:
        pairs: one row per variant and pair of populations, from :func:`.compared`.
    """
    populations = shown(evidence, data.populations)
    if len(populations) < 2:
        return
    results: dict[tuple[str, str, str], tuple[float, float]] = {}
    for variant, first, second, gap, p in pairs.select(
        "variant", "first", "second", "difference", "p"
    ).iter_rows():
        results[variant, first, second], results[variant, second, first] = (gap, p), (-gap, p)
    rows = []
    for variant in pairs["variant"].unique(maintain_order=True):
        for index, first in enumerate(populations[:-1]):
            row: dict[str, Any] = {"variant": game(variant), "population": name(first)}
            for second in populations[1:]:
                key = (variant, first, second)
                after = second in populations[index + 1 :]
                gap, p = results.get(key, (None, None)) if after else (None, None)
                row[name(second)], row[f"{name(second)} way"] = p, _arrow(gap)
            rows.append(row)
    columns = (
        column
        for second in map(name, populations[1:])
        for column in (Header(second, f"p, {second}", "", 3), Header(f"{second} way", "↑↓"))
    )
    yield as_printed(
        evidence,
        PAPER,
        ReportTable(
            "table-4",
            "Differences in final surplus",
            pl.DataFrame(rows, infer_schema_length=None),
            (Header("variant", "Game"), POPULATION, *columns),
            "Uncorrected two-sided p-values of permutation tests; ↑ means that the column's population "
            "has the larger share of the bound.",
            printed="Table 4",
        ),
    )


def _arrow(gap: float | None) -> str | None:
    if gap is None:
        return None
    return "↑" if gap > 0 else "↓" if gap < 0 else "="


def proposals(evidence: Evidence, data: Games, moments: pl.DataFrame) -> Iterator[ReportTable]:
    """Yield Table 5: gains and chip ratios of proposals by game, player and acceptance.

    Args:
        moments: one row per variant, player and ``outcome``, with means, ``gain_sd`` and so on.
    """
    players = shown(evidence, data.players)
    if not players:
        return
    rows = _in_order(moments, players, "player")
    games = {variant.name: game(variant.name) for variant in data.variants}
    frame = rows.sort(*data.order("variant"), maintain_order=True).select(
        pl.col("variant").replace_strict(games),
        "player",
        pl.col("outcome").str.to_titlecase(),
        *(
            expression
            for key in ("gain", "ratio")
            for expression in (
                pl.col(key),
                pl.col(f"{key}_sd").alias(f"{key}{ERROR}"),
                pl.col(f"{key}_median"),
            )
        ),
    )
    columns = (
        Header("variant", "Game"),
        Header("player", "Player"),
        Header("outcome", "Acceptance"),
        Header("gain", "Surplus, mean (s.d.)", "", 3),
        Header("ratio", "Ratio, mean (s.d.)", "", 3),
        Header("gain_median", "Surplus", "", 3, group="Median"),
        Header("ratio_median", "Ratio", "", 3, group="Median"),
    )
    yield as_printed(
        evidence,
        PAPER,
        ReportTable(
            "table-5",
            "Proposals",
            frame,
            columns,
            "Surplus: the gain of the proposer if the proposal is accepted, in dollars. Ratio: chips "
            "given per chip requested.",
            printed="Table 5",
        ),
    )


def survey(evidence: Evidence, answers: pl.DataFrame) -> ReportTable:
    """Return Table 1, with a row per game and a column per survey scale.

    Args:
        answers: one row per variant and ``metric``, with ``mean``, ``error`` and the scale's
            ``title``, ordered by variant.
    """
    scales = dict(answers.select("metric", "title").iter_rows())
    rows: dict[str, dict[str, Any]] = {}
    for row in answers.iter_rows(named=True):
        cells = rows.setdefault(row["variant"], {"variant": game(row["variant"])})
        cells |= {row["metric"]: row["mean"], f"{row['metric']}{ERROR}": row["error"]}
    return as_printed(
        evidence,
        PAPER,
        ReportTable(
            "table-1",
            "Answers on scales",
            pl.DataFrame(list(rows.values()), infer_schema_length=None),
            (
                Header("variant", "Game variation"),
                *(Header(scale, title, "", 2) for scale, title in scales.items()),
            ),
            "Means, with standard errors in parentheses.",
            printed="Table 1",
        ),
    )
