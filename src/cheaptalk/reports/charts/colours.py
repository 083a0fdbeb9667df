"""Colors of players, the same in all charts of a page."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from cheaptalk.reports.charts.chart import DASHES, SERIES, SHAPES, Chart, Layer, Line, Mark, Points


def tones_of(players: Iterable[str]) -> dict[str, int]:
    """Return the color of each player, in alphabetical order.

    >>> tones_of(["fair", "chance", "fair"])
    {'chance': 0, 'fair': 1}
    """
    return {player: index for index, player in enumerate(sorted(set(players)))}


def coloured(chart: Chart, tones: Mapping[str, int]) -> Chart:
    """Return a chart in which each player's marks have the player's color.

    Lines and dots of a single player are recognized by their name. Dots of several players, one
    line of names each, get the color of the player on their line; different series, such as roles,
    then have different shapes.
    """
    several = [
        layer.name for layer in chart.layers
        if isinstance(layer, Points) and layer.name and _rows(layer,
        tones) and layer.name not in tones
    ]  # fmt: skip
    shapes = {
        name: SHAPES[index % len(SHAPES)] for index, name in enumerate(dict.fromkeys(several))
    }
    layers: list[Layer] = []
    for layer in chart.layers:
        if isinstance(layer, Line | Points) and layer.name in tones:
            tone = tones[layer.name]
            layers.append(
                layer._replace(tone=tone) if isinstance(layer, Points)
                else layer._replace(tone=tone,
                dash=layer.dash or DASHES[tone // SERIES % len(DASHES)])
            )  # fmt: skip
        elif isinstance(layer, Points) and _rows(layer, tones):
            marks = [mark._replace(tone=tones[_row(mark, tones)]) for mark in layer.marks]
            shape = shapes.get(layer.name, layer.shape)
            layers.append(layer._replace(marks=marks, tone="ink", shape=shape))
        else:
            layers.append(layer)
    return replace(chart, layers=layers)


def _row(mark: Mark, tones: Mapping[str, int]) -> str:
    """Return the player on whose line a dot is; empty if there is none."""
    return next((name for name in (mark.y, mark.x) if isinstance(name, str) and name in tones), "")


def _rows(layer: Points, tones: Mapping[str, int]) -> bool:
    return bool(layer.marks) and all(_row(mark, tones) for mark in layer.marks)
