"""Charts by iteration: a panel an objective, a line for each lineage and kind of partner."""

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from cheaptalk.reports.charts.chart import DASHES, SERIES, Axis, Chart, Line, Mark
from cheaptalk.reports.charts.kinds import HIGH, LOW, Row, ends, points
from cheaptalk.reports.recipes.tables import CLUSTERS, COUNT
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
    def axis(self) -> Axis:
        """The axis that it is drawn along."""
        return Axis(self.title, zero=self.zero)


def panels(
    frame: pl.DataFrame, number: ShownNumber, *, staged: bool, by: str = "objective"
) -> list[Chart]:
    """A panel for each objective that has the number.

    Args:
        frame: one row an objective, player and series, with ``objective``, ``player``,
            ``iteration``, ``series`` (what its line is called) and the number with its interval.
        number: what to show.
        staged: whether iterations make the axis, with other players as dashed lines across it;
            else every player has its place on the axis.
        by: another column that has a panel for each of its values.
    """
    found = frame.drop_nulls(number.key)
    make = _over_iterations if staged else _by_player
    return [
        make(capital(value), part, number)
        for (value,), part in found.group_by(by, maintain_order=True)
    ]


def _over_iterations(title: str, frame: pl.DataFrame, number: ShownNumber) -> Chart:
    iterations = frame["iteration"].drop_nulls().unique().sort().to_list()
    reach = (min(iterations, default=0) - 0.5, max(iterations, default=0) + 0.5)
    lines = list(_lines(frame, number, reach))
    return Chart(title, "", lines, Axis("iteration", ends=reach, whole=True), number.axis, 220)


def _lines(frame: pl.DataFrame, number: ShownNumber, reach: tuple[float, float]) -> Iterator[Line]:
    """A line for each series, and one straight across for each that has no iterations."""
    groups = frame.group_by("series", maintain_order=True)
    for place, ((series,), part) in enumerate(groups):
        rows = list(part.sort("iteration").iter_rows(named=True))
        if rows[0]["iteration"] is None:
            said, value = _hover_text(rows[0], number), rows[0][number.key]
            marks = [Mark(end, value, said, size=1) for end in reach]
            yield Line(marks, str(series), "soft", DASHES[1])
        else:
            marks = [
                Mark(row["iteration"], row[number.key], _hover_text(row, number),
                     y_ends=ends(row, number.key))
                for row in rows
            ]  # fmt: skip
            yield Line(marks, str(series), place)


def _by_player(title: str, frame: pl.DataFrame, number: ShownNumber) -> Chart:
    """Dots with whiskers, a player a row."""
    order = frame["player"].unique(maintain_order=True).to_list()
    layers = []
    for place, ((series,), part) in enumerate(frame.group_by("series", maintain_order=True)):
        rows = part.to_dicts()
        said = [_hover_text(row, number) for row in rows]
        names = [row["player"] for row in rows]
        layers.append(points(names, rows, number.key, said, name=str(series), tone=place % SERIES))
    return Chart(title, "", layers, number.axis, Axis(names=tuple(order)))


def _hover_text(row: Row, number: ShownNumber) -> str:
    """What stands where a point is: the player, the number with its interval, and its base."""
    key, places = number.key, number.places
    text = fixed(row[key], places)
    if row[key + LOW] is not None:
        low, high = fixed(row[key + LOW], places), fixed(row[key + HIGH], places)
        text += f", 95 % interval {low} to {high}"
    base = f"{counted(row[key + COUNT], number.of)} in {counted(row[key + CLUSTERS], 'deal')}"
    return f"{row['player']}, {row['series']}\n{text}\n{base}"
