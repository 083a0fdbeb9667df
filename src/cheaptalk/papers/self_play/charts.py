"""Charts of self-play results by training iteration, with one panel per objective."""

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from cheaptalk.reports.charts.chart import DASHES, SERIES, Axis, Chart, Line, Mark
from cheaptalk.reports.charts.kinds import HIGH, LOW, Row, ends, points
from cheaptalk.reports.recipes.tables import CLUSTERS, COUNT
from cheaptalk.rules import counted
from cheaptalk.text import capital, fixed


class ShownNumber(NamedTuple):
    """A column of numbers with the title of its axis; ``unit`` is that of observations."""

    key: str
    title: str
    decimals: int = 1
    unit: str = "match"
    zero: bool = True

    @property
    def axis(self) -> Axis:
        return Axis(self.title, zero=self.zero)


def panels(
    frame: pl.DataFrame, number: ShownNumber, *, staged: bool, by: str = "objective"
) -> list[Chart]:
    """Return charts of one column of numbers, with one chart for each value of the column ``by``.

    If ``staged``, the axis shows iterations, with other players as dashed horizontal lines, instead
    of one row per player.
    """
    groups = frame.drop_nulls(number.key).group_by(by, maintain_order=True)
    make = _over_iterations if staged else _by_player
    return [make(capital(value), part, number) for (value,), part in groups]


def _over_iterations(title: str, frame: pl.DataFrame, number: ShownNumber) -> Chart:
    iterations = frame["iteration"].drop_nulls().unique().sort().to_list()
    reach = (min(iterations, default=0) - 0.5, max(iterations, default=0) + 0.5)
    lines = list(_lines(frame, number, reach))
    return Chart(title, "", lines, Axis("iteration", ends=reach, integer=True), number.axis, 220)


def _lines(frame: pl.DataFrame, number: ShownNumber, reach: tuple[float, float]) -> Iterator[Line]:
    """Yield a line for each series; series without iterations are horizontal lines."""
    groups = frame.group_by("series", maintain_order=True)
    for index, ((series,), part) in enumerate(groups):
        rows = list(part.sort("iteration").iter_rows(named=True))
        if rows[0]["iteration"] is None:
            text, value = _hover_text(rows[0], number), rows[0][number.key]
            marks = [Mark(end, value, text, size=1) for end in reach]
            yield Line(marks, str(series), "soft", DASHES[1])
        else:
            key, marks = number.key, []
            for row in rows:
                text, limits = _hover_text(row, number), ends(row, number.key)
                marks.append(Mark(row["iteration"], row[key], text, y_ends=limits))
            yield Line(marks, str(series), index)


def _by_player(title: str, frame: pl.DataFrame, number: ShownNumber) -> Chart:
    order = frame["player"].unique(maintain_order=True).to_list()
    layers = []
    for index, ((series,), part) in enumerate(frame.group_by("series", maintain_order=True)):
        rows = part.to_dicts()
        texts = [_hover_text(row, number) for row in rows]
        names = [row["player"] for row in rows]
        layers.append(points(names, rows, number.key, texts, name=str(series), tone=index % SERIES))
    return Chart(title, "", layers, number.axis, Axis(names=tuple(order)))


def _hover_text(row: Row, number: ShownNumber) -> str:
    key, decimals = number.key, number.decimals
    text = fixed(row[key], decimals)
    if row[key + LOW] is not None:
        low, high = fixed(row[key + LOW], decimals), fixed(row[key + HIGH], decimals)
        text += f", 95 % interval {low} to {high}"
    base = f"{counted(row[key + COUNT], number.unit)} in {counted(row[key + CLUSTERS], 'instance')}"
    return f"{row['player']}, {row['series']}\n{text}\n{base}"
