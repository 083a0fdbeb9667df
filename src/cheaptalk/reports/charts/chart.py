"""Charts as plain data: layers of marks between two axes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from html import escape
from itertools import cycle
from pathlib import Path

from cheaptalk.reports.charts.files import save_drawing
from cheaptalk.reports.charts.marks import (
    DASHES,
    PLAIN,
    SERIES,
    SHAPES,
    Axis,
    Box,
    Boxes,
    ChartData,
    Ends,
    Layer,
    Lead,
    Line,
    Mark,
    Points,
    Rule,
    Shape,
    Tone,
    Value,
)
from cheaptalk.reports.charts.svg import WIDE, WIDTH, drawing
from cheaptalk.rules.display import brief

__all__ = [
    "DASHES",
    "PLAIN",
    "SERIES",
    "SHAPES",
    "Axis",
    "Box",
    "Boxes",
    "Chart",
    "Ends",
    "Layer",
    "Lead",
    "Line",
    "Mark",
    "Points",
    "Rule",
    "Shape",
    "Tone",
    "Value",
    "coloured",
    "tones_of",
]


@dataclass(frozen=True, repr=False)
class Chart(ChartData):
    """A chart of layers between two axes, which notebooks display; see :class:`.ChartData`."""

    def __repr__(self) -> str:
        return brief(self, self.title)

    @property
    def titled(self) -> "Chart":
        """The chart with its title and unit on its numeric axis, for use without a caption."""
        title = f"{self.title} ({self.unit})" if self.unit else self.title
        if self.round or self.x.title or self.y.title or (self.x.names and self.y.names):
            return self
        if self.x.names:
            return replace(self, y=self.y._replace(title=title))
        return replace(self, x=self.x._replace(title=title))

    def svg(self, *, wide: bool = False) -> str:
        """Return the chart as an SVG element on white paper, 360 or 720 (``wide``) pixels wide."""
        return drawing(self.titled, WIDE if wide else WIDTH)

    def save(self, path: Path | str, *, wide: bool = False) -> Path:
        """Write the chart as an SVG file or, with the extra ``[figures]``, as a PDF file.

        Args:
            path: a file whose name ends with ``.svg`` or ``.pdf``; an existing file is replaced.
            wide: whether the chart is 720 pixels wide instead of 360.

        Raises:
            CheaptalkError: the file cannot be written, the name has another ending, or the packages
                for PDF files are not installed.
        """
        return save_drawing(self.svg(wide=wide), path)

    def figure(self, *, wide: bool = True) -> str:
        """Return the chart as an HTML figure with its title and unit as the caption."""
        title = f"{self.title} ({self.unit})" if self.unit else self.title
        svg = drawing(self, WIDE if wide else WIDTH)
        return (
            '<figure style="display: inline-block; margin: 8px; vertical-align: top">'
            f"<figcaption>{escape(title)}</figcaption>{svg}</figure>"
        )

    def _repr_html_(self) -> str:
        return self.figure()

    def _repr_svg_(self) -> str:
        return self.svg(wide=True)


def tones_of(players: Iterable[str]) -> dict[str, int]:
    """Return the colour number of each player; players are numbered in alphabetical order.

    >>> tones_of(["fair", "chance", "fair"])
    {'chance': 0, 'fair': 1}
    """
    return {player: index for index, player in enumerate(sorted(set(players)))}


def coloured(chart: Chart, tones: Mapping[str, int]) -> Chart:
    """Return a chart in which each player's marks have the player's colour.

    Lines and dots of a single player are recognised by their name. If dots of several players share
    a series, each has the colour of the player on its row, and series, such as roles, differ in
    shape.
    """
    series = [layer for layer in chart.layers if isinstance(layer, Points) and _rows(layer, tones)]
    several = [layer.name for layer in series if layer.name and layer.name not in tones]
    shapes = dict(zip(dict.fromkeys(several), cycle(SHAPES), strict=False))
    layers: list[Layer] = []
    for layer in chart.layers:
        if isinstance(layer, Points) and layer.name in tones:
            layers.append(layer._replace(tone=tones[layer.name]))
        elif isinstance(layer, Line) and layer.name in tones:
            tone = tones[layer.name]
            dash = layer.dash or DASHES[tone // SERIES % len(DASHES)]
            layers.append(layer._replace(tone=tone, dash=dash))
        elif isinstance(layer, Points) and _rows(layer, tones):
            marks = [mark._replace(tone=tones[_row(mark, tones)]) for mark in layer.marks]
            shape = shapes.get(layer.name, layer.shape)
            layers.append(layer._replace(marks=marks, tone="ink", shape=shape))
        else:
            layers.append(layer)
    return replace(chart, layers=layers)


def _row(mark: Mark, tones: Mapping[str, int]) -> str:
    """Return the player after whom a dot's row or column is named; empty if there is none."""
    return next((name for name in (mark.y, mark.x) if isinstance(name, str) and name in tones), "")


def _rows(layer: Points, tones: Mapping[str, int]) -> bool:
    return bool(layer.marks) and all(_row(mark, tones) for mark in layer.marks)
