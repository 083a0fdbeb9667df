"""The few kinds of charts: dots with intervals, lines, maps of cells, bars and histograms."""

from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor
from typing import Any, NamedTuple

from cheaptalk.reports.charts.chart import (
    PLAIN,
    Axis,
    Box,
    Boxes,
    Chart,
    Ends,
    Lead,
    Mark,
    Points,
    Tone,
)
from cheaptalk.text import DECIMALS, LONG, fixed

Row = Mapping[str, Any]
"""A row of a frame by the names of its columns."""
LOW, HIGH = ".low", ".high"
"""What is added to a column's name for the ends of its interval."""
PRINTED = 6
"""Rows and columns up to which a map has its numbers printed in it."""
CELL, BAR = 0.49, 0.36
"""How far a cell of a map, and a bar, reaches from its middle, where the next is 1 further."""
WIDTHS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Widths of a histogram's bars, times a power of a hundred."""
BARS = 20
"""Bars of a histogram, at the most."""


class Cell(NamedTuple):
    """A cell of a map: its number, what is told of it, and the matches behind it."""

    value: float | None
    text: str = ""
    lead: Lead | None = None
    label: str | None = None


def ends(row: Row, key: str) -> Ends:
    """The ends of a number's interval; None where it has none."""
    low, high = row.get(key + LOW), row.get(key + HIGH)
    return None if low is None or high is None else (float(low), float(high))


def dots(
    title: str,
    unit: str,
    names: Sequence[str],
    rows: Sequence[Row],
    key: str,
    said: Sequence[str],
    leads: Sequence[Lead | None] = (),
    *,
    axis: Axis = PLAIN,
) -> Chart:
    """A dot a row with its interval, from the top.

    Args:
        title, unit: of the chart.
        names: of the rows, no two alike.
        rows: each with the number under ``key``.
        key: what is drawn.
        said: what is told of each where somebody points at it.
        leads: the matches behind each.
        axis: of the numbers.
    """
    layer = points(names, rows, key, said, leads)
    return Chart(title, unit, [layer], axis, Axis(names=tuple(names)))


def points(
    names: Sequence[str],
    rows: Sequence[Row],
    key: str,
    said: Sequence[str],
    leads: Sequence[Lead | None] = (),
    *,
    name: str = "",
    tone: Tone = 0,
) -> Points:
    """Dots of one series, along a line each; none where a row has no number."""
    marks = [
        Mark(row[key], where, f"{where}\n{text}", lead, x_ends=ends(row, key))
        for where, row, text, lead in zip(
            names, rows, said, leads or [None] * len(names), strict=True
        )
        if row[key] is not None
    ]
    return Points(marks, name, tone)


def cells(
    title: str,
    unit: str,
    down: tuple[str, Sequence[str]],
    across: tuple[str, Sequence[str]],
    cell: Callable[[str, str], Cell | None],
    *,
    places: int = 2,
    middle: bool = False,
    printed: int = PRINTED,
    frames: Sequence[Boxes] = (),
) -> Chart:
    """A map: a cell a row and column, the warmer the more.

    Args:
        down, across: what rows and columns are, and their names.
        cell: what stands in row and column; None where there is nothing.
        places: decimals of the numbers.
        middle: whether colours go to both sides of 0.
        printed: rows and columns up to which numbers stand in their cells.
        frames: what is drawn around cells.
    """
    found = {
        (i, j): one for i, row in enumerate(down[1]) for j, column in enumerate(across[1])
        if (one := cell(row, column)) is not None
    }  # fmt: skip
    values = [one.value for one in found.values() if one.value is not None]
    low, high = min(values, default=0.0), max(values, default=0.0)
    if middle:
        high = max(abs(low), abs(high))
        low = -high
    write = number_text(values, places)
    stands = max(len(down[1]), len(across[1])) <= printed
    boxes = [
        Box(
            (j - CELL, j + CELL), (i - CELL, i + CELL), one.text, one.lead,
            one.label if one.label is not None
            else write(one.value) if stands and one.value is not None else "",
            warmth(one.value, low, high, middle=middle),
        )
        for (i, j), one in found.items() if one.value is not None
    ]  # fmt: skip
    labelled = stands or any(box.label for box in boxes)
    return Chart(
        title, unit, [Boxes(boxes), *frames],
        Axis(across[0], names=tuple(across[1]), far=True), Axis(down[0], names=tuple(down[1])),
        scale=None if labelled or not values else (write(low), write(high)),
    )  # fmt: skip


def warmth(value: float | None, low: float, high: float, *, middle: bool) -> float:
    """How warm a cell is, in [0, 1], or in [-1, 1] where colours have a middle."""
    if value is None or high == low:
        return 0.0 if middle else 0.5
    return value / high if middle else (value / 2 - low / 2) / (high / 2 - low / 2)


def number_text(values: Sequence[float], places: int) -> Callable[[float], str]:
    """How the numbers of a map are written: with an exponent where some are very long."""
    if places > DECIMALS or any(abs(value) >= LONG for value in values):
        return "{:.2e}".format
    return lambda value: fixed(value, places if places > 3 else min(places, 2))


def columns(
    heights: Sequence[tuple[float, float, str]], *, name: str = "", tone: Tone = 0,
    width: float = 2 * BAR,
) -> Boxes:  # fmt: skip
    """Bars that stand side by side: where, how high, and what is told of each."""
    boxes = [
        Box((at - width / 2, at + width / 2), (min(0.0, height), max(0.0, height)), text)
        for at, height, text in heights
    ]
    return Boxes(boxes, name, tone)


def bars(
    lengths: Sequence[tuple[int, float, float, str]], *, name: str = "", tone: Tone = 0
) -> Boxes:
    """Bars that lie below one another: in which row, from where to where, and what is told."""
    boxes = [Box((start, end), (row - BAR, row + BAR), text) for row, start, end, text in lengths]
    return Boxes(boxes, name, tone)


def histogram(
    title: str, values: Sequence[float], across: str, up: str, *, width: float | None = None
) -> Chart:
    """How often values come, in bars of one width that begin at its multiples.

    Args:
        title: of the chart.
        values: numbers, one at least.
        across: what they are, with their unit.
        up: what is counted.
        width: of a bar; chosen without. Whole numbers with a width of 1 stand in the middle of
            their bars.
    """
    step = width or _width(min(values), max(values))
    shift = 0.5 if width == 1 else 0.0
    tally: dict[int, int] = {}
    for value in values:
        at = floor(value / step + shift + 1e-9)
        tally[at] = tally.get(at, 0) + 1
    heights = [
        ((at + 0.5 - shift) * step, float(count),
         f"{_bar_text(at, step, whole=bool(shift))}: {count:,} {up}")
        for at, count in sorted(tally.items())
    ]  # fmt: skip
    return Chart(
        title, "", [columns(heights, width=0.9 * step)], Axis(across, zero=True, whole=bool(shift)),
        Axis(up, zero=True, whole=True),
    )  # fmt: skip


def _bar_text(at: int, step: float, *, whole: bool) -> str:
    return str(at) if whole else f"{at * step:g} to {(at + 1) * step:g}"


def _width(low: float, high: float) -> float:
    """The least width of a bar that few enough of them cover these values."""
    scale = 1.0
    while True:
        for one in WIDTHS:
            if ceil((high - low) / (one * scale)) < BARS:
                return one * scale
        scale *= 100
