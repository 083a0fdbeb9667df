"""One colour for each player, the same in all charts of a page."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from cheaptalk.reports.charts.chart import DASHES, SERIES, SHAPES, Chart, Layer, Line, Mark, Points


def tones_of(players: Iterable[str]) -> dict[str, int]:
    """The colour of each player, by its place in the alphabet.

    >>> tones_of(["fair", "chance", "fair"])
    {'chance': 0, 'fair': 1}
    """
    return {player: place for place, player in enumerate(sorted(set(players)))}


def coloured(chart: Chart, tones: Mapping[str, int]) -> Chart:
    """A chart in which all that belongs to a player has the player's colour.

    Lines and dots of one player take it from their name. Dots of several, a line of names each,
    take it from the player on whose line they are; what such dots are of, such as a role, is then
    told by their shapes.
    """
    several = [
        one.name for one in chart.layers
        if isinstance(one, Points) and one.name and _rows(one, tones) and one.name not in tones
    ]  # fmt: skip
    shapes = {
        name: SHAPES[place % len(SHAPES)] for place, name in enumerate(dict.fromkeys(several))
    }
    layers: list[Layer] = []
    for one in chart.layers:
        if isinstance(one, Line | Points) and one.name in tones:
            tone = tones[one.name]
            layers.append(
                one._replace(tone=tone) if isinstance(one, Points)
                else one._replace(tone=tone, dash=one.dash or DASHES[tone // SERIES % len(DASHES)])
            )  # fmt: skip
        elif isinstance(one, Points) and _rows(one, tones):
            marks = [mark._replace(tone=tones[_row(mark, tones)]) for mark in one.marks]
            shape = shapes.get(one.name, one.shape)
            layers.append(one._replace(marks=marks, tone="ink", shape=shape))
        else:
            layers.append(one)
    return replace(chart, layers=layers)


def _row(mark: Mark, tones: Mapping[str, int]) -> str:
    """The player on whose line a dot is; nothing if it is on nobody's."""
    return next((at for at in (mark.y, mark.x) if isinstance(at, str) and at in tones), "")


def _rows(layer: Points, tones: Mapping[str, int]) -> bool:
    return bool(layer.marks) and all(_row(mark, tones) for mark in layer.marks)
