"""Charts by iteration: a panel an objective, a line for each lineage and kind of partner."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.reports.figures import COLOURS, Panel, Trace, legend_above, names_axis
from cheaptalk.reports.recipes.charts import whiskers
from cheaptalk.reports.recipes.parts import CLUSTERS, COUNT, HIGH, LOW, Row
from cheaptalk.rules import counted
from cheaptalk.text import capital, fixed


class ShownNumber(NamedTuple):
    """A number as charts show it.

    Attributes:
        key: the column of the frame.
        title: of its axis.
        places: decimals in what is said where it stands.
        of: what it is counted over.
        zero: whether its axis begins at 0.
    """

    key: str
    title: str
    places: int = 1
    of: str = "match"
    zero: bool = True

    @property
    def axis(self) -> dict[str, Any]:
        """Its axis as Plotly takes it."""
        return {"title": {"text": self.title}, "rangemode": "tozero" if self.zero else "normal"}


def panels(frame: pl.DataFrame, number: ShownNumber, *, staged: bool) -> list[Panel]:
    """A panel for each objective that has the number.

    Args:
        frame: one row an objective, player and series, with ``objective``, ``player``,
            ``iteration``, ``series`` (what its line is called) and the number with its interval.
        number: what to show.
        staged: whether iterations make the axis, with other players as dashed lines across it;
            else every player has its place on the axis.
    """
    found = frame.drop_nulls(number.key)
    make = _over_iterations if staged else _by_player
    return [
        make(capital(objective), part, number)
        for (objective,), part in found.group_by("objective", maintain_order=True)
    ]


def _over_iterations(title: str, frame: pl.DataFrame, number: ShownNumber) -> Panel:
    iterations = frame["iteration"].drop_nulls().unique().sort().to_list()
    lines = list(_lines(frame, number, iterations))
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": "iteration"}, "range": _beyond(iterations),
                  "dtick": 1 if len(iterations) < 12 else None, "zeroline": False},
        "yaxis": number.axis,
    }  # fmt: skip
    if not any(value for line in lines for value in line["y"]):
        layout["yaxis"]["range"] = [0, 1]  # of nothing but zeros, Plotly shows -1 to 1
    return Panel(title, "", 300, lines, layout | legend_above(len(lines) > 1))


def _lines(frame: pl.DataFrame, number: ShownNumber, iterations: Sequence[int]) -> Iterator[Trace]:
    """A line for each series, and one straight across for each that has no iterations."""
    groups = frame.group_by("series", maintain_order=True)
    for place, ((series,), part) in enumerate(groups):
        rows = list(part.sort("iteration").iter_rows(named=True))
        colour = COLOURS[place % len(COLOURS)]
        line: Trace = {
            "type": "scatter", "mode": "lines+markers", "name": str(series),
            "x": [row["iteration"] for row in rows], "y": [row[number.key] for row in rows],
            "line": {"color": colour, "width": 1.5}, "marker": {"color": colour, "size": 6},
            "error_y": whiskers(rows, number.key, f"{colour}80"),
            "text": [_hover_text(row, number) for row in rows],
            "hovertemplate": "%{text}<extra></extra>",
        }  # fmt: skip
        if rows[0]["iteration"] is None:
            across = _beyond(iterations)
            line |= {
                "mode": "lines", "line": {"color": colour, "width": 1.5, "dash": "dash"},
                "x": across, "y": [rows[0][number.key]] * len(across),
                "text": [_hover_text(rows[0], number)] * len(across),
            }  # fmt: skip
            del line["error_y"]
        yield line


def _by_player(title: str, frame: pl.DataFrame, number: ShownNumber) -> Panel:
    """Dots with whiskers, a player a row."""
    order = frame["player"].unique(maintain_order=True).to_list()
    dots: list[Trace] = []
    groups = frame.group_by("series", maintain_order=True)
    for place, ((series,), part) in enumerate(groups):
        rows = list(part.iter_rows(named=True))
        colour = COLOURS[place % len(COLOURS)]
        dots.append(
            {
                "type": "scatter", "mode": "markers", "name": str(series),
                "orientation": "h", "offsetgroup": str(series), "cliponaxis": False,
                "x": [row[number.key] for row in rows], "y": [row["player"] for row in rows],
                "error_x": whiskers(rows, number.key, colour),
                "marker": {"color": colour, "size": 8},
                "text": [_hover_text(row, number) for row in rows],
                "hovertemplate": "%{text}<extra></extra>",
            }
        )  # fmt: skip
    layout: dict[str, Any] = {
        "yaxis": names_axis(order), "scattermode": "group", "scattergap": 0.6,
        "xaxis": number.axis,
    }  # fmt: skip
    if not any(value for dot in dots for value in dot["x"]):
        layout["xaxis"]["range"] = [0, 1]
    return Panel(title, "", 100 + 34 * len(order), dots, layout | legend_above(len(dots) > 1))


def _hover_text(row: Row, number: ShownNumber) -> str:
    """What stands where a point is: the player, the number with its interval, and its base."""
    key, places = number.key, number.places
    text = fixed(row[key], places)
    if row[key + LOW] is not None:
        low, high = fixed(row[key + LOW], places), fixed(row[key + HIGH], places)
        text += f", 95 % interval {low} to {high}"
    base = f"{counted(row[key + COUNT], number.of)} in {counted(row[key + CLUSTERS], 'deal')}"
    return f"{row['player']}, {row['series']}<br>{text}<br>{base}"


def _beyond(iterations: Sequence[int]) -> list[float]:
    """The ends of the axis of iterations."""
    return [min(iterations, default=0) - 0.5, max(iterations, default=0) + 0.5]
