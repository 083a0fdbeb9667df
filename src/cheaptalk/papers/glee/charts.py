"""Charts of GLEE's results: effects as dots, and heat maps of pairs of players."""

from collections.abc import Mapping, Sequence

import polars as pl

from cheaptalk.reports.charts.chart import Axis, Chart, Lead
from cheaptalk.reports.charts.kinds import HIGH, LOW, Cell, Row, cells, points
from cheaptalk.reports.recipes.tables import COUNT
from cheaptalk.rules import counted
from cheaptalk.text import fixed

MAX_PRINTED = 10
"""The maximum number of rows and columns of a map with printed numbers."""
WIDE = 10.0
"""The minimum magnitude of numbers that a map shows without decimals."""


def dots(
    title: str,
    frame: pl.DataFrame,
    labels: str,
    series: Mapping[str, str],
    *,
    axis: str = "",
    leads: Sequence[Lead | None] = (),
) -> Chart:
    """Plot each row of a frame with a dot and an interval for each series, named by column."""
    names, rows = frame[labels].to_list(), frame.to_dicts()
    layers = [
        points(
            names,
            rows,
            key,
            [f"{series[key]}\n{number_text(row, key)}" for row in rows],
            leads,
            name=series[key] if len(series) > 1 else "",
            tone=tone,
        )
        for tone, key in enumerate(series)
    ]
    return Chart(title, "", layers, Axis("points"), Axis(axis, names=tuple(names)))


def number_text(row: Row, key: str) -> str:
    """Format a value from a row, with its interval and number of matches."""
    if row[key] is None:
        return "no value"
    low, high, count = (row.get(key + end) for end in (LOW, HIGH, COUNT))
    interval = "" if low is None or high is None else f" ({fixed(low, 1)} to {fixed(high, 1)})"
    matches = "" if count is None else f"\n{counted(count, 'match')}"
    return f"{fixed(row[key], 1)}{interval}{matches}"


def heat(title: str, game: str, rows: Sequence[Row], key: str) -> Chart:
    """Plot a heat map with Alice in rows, Bob in columns, and the mean of all pairs as 0."""
    down, across = (sorted({row[name] for row in rows}) for name in ("Alice", "Bob"))
    by_pair = {(row["Alice"], row["Bob"]): row for row in rows}
    maximum = max((abs(row[key]) for row in rows if row[key] is not None), default=0.0)

    def cell(alice: str, bob: str) -> Cell | None:
        row = by_pair.get((alice, bob))
        if row is None:
            return None
        query = {"player_alice": alice, "player_bob": bob, "status": "finished"}
        text = f"Alice {alice}, Bob {bob}\n{number_text(row, key)}"
        return Cell(row[key], text, Lead(game, query))

    return cells(
        title,
        "points",
        ("Alice", down),
        ("Bob", across),
        cell,
        decimals=0 if maximum >= WIDE else 1,
        middle=True,
        printed=MAX_PRINTED,
    )
