"""Colours of players, the same in all charts of a page."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import cycle

from cheaptalk.reports.charts.chart import DASHES, SERIES, SHAPES, Chart, Layer, Line, Mark, Points


def tones_of(players: Iterable[str]) -> dict[str, int]:
    """Return the colour number of each player; players are numbered in alphabetical order.

    >>> tones_of(["fair", "chance", "fair"])
    {'chance': 0, 'fair': 1}
    """
    return {player: index for index, player in enumerate(sorted(set(players)))}


def coloured(chart: Chart, tones: Mapping[str, int]) -> Chart:
    """Return a chart in which each player's marks have the player's colour.

    Lines and dots of a single player are recognised by their name. If dots of several players share
    a series, each dot has the colour of the player on its row; then different series, such as
    roles, have different shapes.
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
