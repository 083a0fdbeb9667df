"""Charts of GLEE's figures: effects as dots, pairs as maps."""

from collections.abc import Mapping, Sequence

import polars as pl

from cheaptalk.reports.charts.chart import Axis, Chart, Lead
from cheaptalk.reports.charts.kinds import HIGH, LOW, Cell, Row, cells, points
from cheaptalk.reports.recipes.tables import COUNT
from cheaptalk.rules import counted
from cheaptalk.text import fixed

PRINTED = 10
"""Rows and columns up to which a map has its numbers printed in it."""
WIDE = 10.0
"""Points from which numbers in a map have no decimals, lest they do not fit."""


def dots(
    title: str,
    frame: pl.DataFrame,
    labels: str,
    series: Mapping[str, str],
    *,
    axis: str = "",
    leads: Sequence[Lead | None] = (),
) -> Chart:
    """Rows of a frame from top to bottom, a dot with its interval for each series.

    Args:
        labels: the column of the rows' names, no two alike.
        series: what the dots of one colour are, by the column of their numbers, which has ``.low``
            and ``.high`` beside it.
        axis: what these are.
        leads: the matches behind each row.
    """
    names, found = frame[labels].to_list(), frame.to_dicts()
    layers = [
        points(
            names, found, key, [f"{series[key]}\n{number_text(row, key)}" for row in found], leads,
            name=series[key] if len(series) > 1 else "", tone=tone,
        )
        for tone, key in enumerate(series)
    ]  # fmt: skip
    return Chart(title, "", layers, Axis("points"), Axis(axis, names=tuple(names)))


def number_text(row: Row, key: str) -> str:
    """A number of a row with its interval and what is behind it."""
    if row[key] is None:
        return "no value"
    low, high, count = (row.get(key + end) for end in (LOW, HIGH, COUNT))
    within = "" if low is None or high is None else f" ({fixed(low, 1)} to {fixed(high, 1)})"
    behind = "" if count is None else f"\n{counted(count, 'match')}"
    return f"{fixed(row[key], 1)}{within}{behind}"


def heat(title: str, game: str, rows: Sequence[Row], key: str) -> Chart:
    """A cell for each pair that met: rows are Alice, columns Bob, 0 is the mean of all pairs.

    Args:
        rows: each with ``Alice``, ``Bob`` and the number under ``key``.
    """
    down, across = (sorted({row[name] for row in rows}) for name in ("Alice", "Bob"))
    met = {(row["Alice"], row["Bob"]): row for row in rows}
    most = max((abs(row[key]) for row in rows if row[key] is not None), default=0.0)

    def cell(alice: str, bob: str) -> Cell | None:
        row = met.get((alice, bob))
        if row is None:
            return None
        query = {"player.alice": alice, "player.bob": bob, "status": "finished"}
        said = f"Alice {alice}, Bob {bob}\n{number_text(row, key)}"
        return Cell(row[key], said, Lead(game, query))

    return cells(
        title, "points", ("Alice", down), ("Bob", across), cell,
        places=0 if most >= WIDE else 1, middle=True, printed=PRINTED,
    )  # fmt: skip
