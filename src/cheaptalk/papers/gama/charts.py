"""Panels that several parts of the recipe draw: dots with whiskers, lines with bands."""

from collections.abc import Sequence
from typing import Any

from cheaptalk.reports.figures import COLOURS, Panel, Trace, short
from cheaptalk.reports.recipes import charts as drawing
from cheaptalk.reports.recipes.parts import Row
from cheaptalk.rules import counted
from cheaptalk.text import fixed

DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def mean_text(row: Row, value: str = "score", places: int = 1) -> str:
    """A mean as it is told where it stands: with its interval, spread and matches."""
    text, low, high = fixed(row[value], places), row[f"{value}.low"], row[f"{value}.high"]
    if low is not None:
        text += f", 95 % interval {fixed(low, places)} to {fixed(high, places)}"
    if row.get(f"{value}.spread") is not None:
        text += f"<br>s.d. {fixed(row[f'{value}.spread'], places)}"
    return f"{text}<br>{counted(row[f'{value}.n'], 'match')}"


def dots(title: str, unit: str, rows: Sequence[Row], order: Sequence[str]) -> Panel:
    """A dot a player with its interval, the players of these rows in this order from the top.

    Args:
        rows: each with ``player`` and ``score``, as :func:`.scores` makes them.
    """
    here = sorted(rows, key=lambda row: order.index(row["player"]))
    names = [row["player"] for row in here]
    panel = drawing.dots(title, unit, names, here, "score", list(map(mean_text, here)))
    if all(0 <= row["score"] <= 100 for row in rows):
        panel.layout["xaxis"] = {"range": [-3, 103], "dtick": 25}
    return panel


def line(
    name: str,
    rows: Sequence[Row],
    place: int,
    x: str = "round",
    value: str = "choice",
    places: int = 2,
    *,
    dash: str = "solid",
    at: str = "round ",
) -> Trace:
    """Means joined by a line, in the colour of its place.

    Args:
        x: the column that runs along the axis.
        at: what stands before it where somebody points at it.
    """
    colour = COLOURS[place % len(COLOURS)]
    return {
        "type": "scatter", "mode": "lines+markers", "name": short(name),
        "x": [row[x] for row in rows], "y": [row[value] for row in rows],
        "text": [mean_text(row, value, places) for row in rows],
        "line": {"color": colour, "width": 1.5, "dash": dash},
        "marker": {"color": colour, "size": 4},
        "hovertemplate": f"{name}, {at}%{{x}}<br>%{{text}}<extra></extra>",
    }  # fmt: skip


def marked_line(name: str, rows: Sequence[Row], place: int, x: str) -> Trace:
    """Mean scores joined by a line, each with the whiskers of its interval."""
    dash = DASHES[place // len(COLOURS) % len(DASHES)]
    trace = line(name, rows, place, x, "score", 1, dash=dash, at="")
    colour = trace["line"]["color"]
    bars = drawing.whiskers(rows, "score", f"{colour}80")
    return trace | {"error_y": bars, "marker": {"color": colour, "size": 6}}


def band(
    x: Sequence[Any], low: Sequence[float], high: Sequence[float], colour: str, opacity: str
) -> list[Trace]:
    """The area between two lines: two traces."""
    shared: Trace = {"type": "scatter", "mode": "lines", "x": list(x), "hoverinfo": "skip",
                     "showlegend": False, "line": {"width": 0, "color": colour}}  # fmt: skip
    return [
        shared | {"y": list(low)},
        shared | {"y": list(high), "fill": "tonexty", "fillcolor": f"{colour}{opacity}"},
    ]
