"""Kinds of charts: dots with intervals, heat maps, bars and histograms."""

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
"""A row of a frame, by column name."""
LOW, HIGH = ".low", ".high"
"""Suffixes of the columns with the bounds of an interval."""
PRINTED = 6
"""Maximum number of rows and columns of a heat map that shows its numbers."""
CELL, BAR = 0.49, 0.36
"""Half the width of a cell and of a bar, where neighbors are 1 apart."""
WIDTHS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Bin widths of histograms, times a power of a hundred."""
BARS = 20
"""Maximum number of bins of a histogram."""


class Cell(NamedTuple):
    """A cell of a heat map: a number, a tooltip, and a link to the matches."""

    value: float | None
    text: str = ""
    lead: Lead | None = None
    label: str | None = None


def ends(row: Row, key: str) -> Ends:
    """Return the bounds of a number's interval; None if it has none."""
    low, high = row.get(key + LOW), row.get(key + HIGH)
    return None if low is None or high is None else (float(low), float(high))


def dots(
    title: str,
    unit: str,
    names: Sequence[str],
    rows: Sequence[Row],
    key: str,
    texts: Sequence[str],
    leads: Sequence[Lead | None] = (),
    *,
    axis: Axis = PLAIN,
) -> Chart:
    """Return a chart with one dot, interval and tooltip per uniquely named row, from the top."""
    layer = points(names, rows, key, texts, leads)
    return Chart(title, unit, [layer], axis, Axis(names=tuple(names)))


def points(
    names: Sequence[str],
    rows: Sequence[Row],
    key: str,
    texts: Sequence[str],
    leads: Sequence[Lead | None] = (),
    *,
    name: str = "",
    tone: Tone = 0,
) -> Points:
    """Return a series of dots with intervals, one for each row that has a number."""
    marks = [
        Mark(row[key], name, f"{name}\n{text}", lead, x_ends=ends(row, key))
        for name, row, text, lead in zip(
            names, rows, texts, leads or [None] * len(names), strict=True
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
    decimals: int = 2,
    middle: bool = False,
    printed: int = PRINTED,
    frames: Sequence[Boxes] = (),
) -> Chart:
    """Return a heat map with a cell per row and column; warmer colours mean higher numbers.

    ``down`` and ``across`` are the titles and names of rows and columns; ``middle`` makes the
    colours diverge from 0. Cells show their numbers up to :data:`PRINTED` rows and columns.
    """
    by_position = {
        (i, j): content
        for i, row in enumerate(down[1])
        for j, column in enumerate(across[1])
        if (content := cell(row, column)) is not None
    }
    values = [content.value for content in by_position.values() if content.value is not None]
    low, high = min(values, default=0.0), max(values, default=0.0)
    if middle:
        high = max(abs(low), abs(high))
        low = -high
    write = number_text(values, decimals)
    stands = max(len(down[1]), len(across[1])) <= printed
    boxes = [
        Box(
            (j - CELL, j + CELL),
            (i - CELL, i + CELL),
            item.text,
            item.lead,
            item.label
            if item.label is not None
            else write(item.value)
            if stands and item.value is not None
            else "",
            warmth(item.value, low, high, middle=middle),
        )
        for (i, j), item in by_position.items()
        if item.value is not None
    ]
    labelled = stands or any(box.label for box in boxes)
    return Chart(
        title,
        unit,
        [Boxes(boxes), *frames],
        Axis(across[0], names=tuple(across[1]), far=True),
        Axis(down[0], names=tuple(down[1])),
        scale=None if labelled or not values else (write(low), write(high)),
    )


def warmth(value: float | None, low: float, high: float, *, middle: bool) -> float:
    """Return a number's position on the colour scale: 0 to 1, or -1 to 1 if ``middle`` is set."""
    if value is None or high == low:
        return 0.0 if middle else 0.5
    return value / high if middle else (value / 2 - low / 2) / (high / 2 - low / 2)


def number_text(values: Sequence[float], decimals: int) -> Callable[[float], str]:
    """Return a formatter for the numbers of a heat map, with an exponent if some are very long."""
    if decimals > DECIMALS or any(abs(value) >= LONG for value in values):
        return "{:.2e}".format
    return lambda value: fixed(value, decimals if decimals > 3 else min(decimals, 2))


def columns(
    heights: Sequence[tuple[float, float, str]],
    *,
    name: str = "",
    tone: Tone = 0,
    width: float = 2 * BAR,
) -> Boxes:
    """Return vertical bars, given their positions, heights and tooltips."""
    boxes = [
        Box(
            (position - width / 2, position + width / 2), (min(0.0, height), max(0.0, height)), text
        )
        for position, height, text in heights
    ]
    return Boxes(boxes, name, tone)


def bars(
    lengths: Sequence[tuple[int, float, float, str]], *, name: str = "", tone: Tone = 0
) -> Boxes:
    """Return horizontal bars, given their rows, starts, ends and tooltips."""
    boxes = [Box((start, end), (row - BAR, row + BAR), text) for row, start, end, text in lengths]
    return Boxes(boxes, name, tone)


def histogram(
    title: str, values: Sequence[float], across: str, up: str, *, width: float | None = None
) -> Chart:
    """Return a histogram with bins of equal width whose edges are multiples of that width.

    With a width of 1, integers are centred in their bins; by default, the width is automatic.
    """
    step = width or _width(min(values), max(values))
    shift = 0.5 if width == 1 else 0.0
    tally: dict[int, int] = {}
    for value in values:
        index = floor(value / step + shift + 1e-9)
        tally[index] = tally.get(index, 0) + 1
    heights = [
        (
            (index + 0.5 - shift) * step,
            float(count),
            (f"{index}" if shift else f"{index * step:g} to {(index + 1) * step:g}")
            + f": {count:,} {up}",
        )
        for index, count in sorted(tally.items())
    ]
    axes = Axis(across, zero=True, integer=bool(shift)), Axis(up, zero=True, integer=True)
    return Chart(title, "", [columns(heights, width=0.9 * step)], *axes)


def _width(low: float, high: float) -> float:
    scale = 1.0
    while True:
        for width in WIDTHS:
            if ceil((high - low) / (width * scale)) < BARS:
                return width * scale
        scale *= 100
