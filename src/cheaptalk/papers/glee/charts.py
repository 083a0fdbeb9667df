"""Panels of GLEE's figures as plain data for Plotly: effects as dots, pairs as heat maps."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from cheaptalk.reports.figures import COLOURS, Panel, Trace, labels_axis, short
from cheaptalk.reports.recipes.charts import asked, whiskers
from cheaptalk.reports.recipes.parts import COUNT, HIGH, LOW, Lead, Row
from cheaptalk.rules import counted
from cheaptalk.text import fixed

PRINTED = 10
"""Rows and columns up to which a heat map has its numbers printed in it."""
WIDE = 10.0
"""Points from which numbers in a heat map have no decimals, lest they do not fit."""


def dots(
    title: str,
    frame: pl.DataFrame,
    labels: str,
    series: Mapping[str, str],
    *,
    axis: str = "",
    leads: Sequence[Lead | None] = (),
) -> Panel:
    """Rows of a frame from top to bottom, a dot with its interval for each series.

    Args:
        labels: the column of the rows' names, no two alike.
        series: what the dots of one colour are, by the column of their numbers, which has ``.low``
            and ``.high`` beside it.
        axis: what these are.
        leads: the matches behind each row.
    """
    names = frame[labels].to_list()
    queries = [asked(lead) for lead in leads] or [None] * len(names)
    found = frame.to_dicts()
    data: list[Trace] = [
        {
            "type": "scatter", "mode": "markers", "orientation": "h", "offsetgroup": key,
            "name": series[key], "cliponaxis": False,
            "x": [row[key] for row in found], "y": names,
            "error_x": whiskers(found, key, colour),
            "marker": {"color": colour, "size": 7},
            "text": [number_text(row, key) for row in found], "customdata": queries,
            "hovertemplate": f"%{{y}}: {series[key]}<br>%{{text}}<extra></extra>",
        }
        for key, colour in reversed(list(zip(series, COLOURS, strict=False)))
    ]  # fmt: skip
    rows = {"type": "category", "categoryorder": "array", "categoryarray": names[::-1],
            "tickvals": names, "ticktext": list(map(short, names)), "title": {"text": axis},
            "range": [-0.6, len(names) - 0.4]}  # fmt: skip
    layout: dict[str, Any] = {
        "yaxis": rows, "xaxis": {"title": {"text": "points"}, "zeroline": True},
        "scattermode": "group", "scattergap": 0.5, "showlegend": len(series) > 1,
        "legend": {"orientation": "h", "y": 1.01, "yanchor": "bottom", "traceorder": "reversed"},
    }  # fmt: skip
    spread = 26 if len(series) > 1 else 20
    return Panel(title, "", 120 + spread * len(names), data, layout)


def number_text(row: Row, key: str) -> str:
    """A number of a row with its interval and what is behind it."""
    if row[key] is None:
        return "no value"
    low, high, count = (row.get(key + end) for end in (LOW, HIGH, COUNT))
    within = "" if low is None or high is None else f" ({fixed(low, 1)} to {fixed(high, 1)})"
    behind = "" if count is None else f"<br>{counted(count, 'match')}"
    return f"{fixed(row[key], 1)}{within}{behind}"


def heat(title: str, game: str, rows: Sequence[Row], key: str) -> Panel:
    """A cell for each pair that met: rows are Alice, columns Bob, 0 is the mean of all pairs.

    Args:
        rows: each with ``Alice``, ``Bob`` and the number under ``key``.
    """
    down, across = (sorted({row[name] for row in rows}) for name in ("Alice", "Bob"))
    cells = {(row["Alice"], row["Bob"]): row for row in rows}
    grid = [[cells.get((alice, bob)) for bob in across] for alice in down]
    most = max((abs(row[key]) for row in rows if row[key] is not None), default=0.0) or 1.0
    trace: Trace = {
        "type": "heatmap", "x": across, "y": down, "zmid": 0, "zmin": -most, "zmax": most,
        "z": [[row[key] if row else None for row in line] for line in grid],
        "text": [[number_text(row, key) if row else "never met" for row in line] for line in grid],
        "customdata": [
            [{"game": game, "player.alice": alice, "player.bob": bob} for bob in across]
            for alice in down
        ],
        "hovertemplate": "Alice %{y}, Bob %{x}<br>%{text}<extra></extra>",
        "xgap": 1, "ygap": 1, "hoverongaps": False,
    }  # fmt: skip
    if max(len(down), len(across)) <= PRINTED:
        places = 0 if most >= WIDE else 1
        trace |= {"texttemplate": f"%{{z:.{places}f}}", "showscale": False}
    layout = {
        "yaxis": labels_axis(down) | {"autorange": "reversed", "title": {"text": "Alice"}},
        "xaxis": labels_axis(across) | {"side": "top", "title": {"text": "Bob"}},
    }
    return Panel(title, "points", 150 + max(4, len(down)) * 26, [trace], layout)
