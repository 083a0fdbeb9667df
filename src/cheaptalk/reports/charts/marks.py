"""The data of charts: marks, layers and axes."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal, NamedTuple, TypeAlias

from cheaptalk.rules.errors import WrongValue

Value: TypeAlias = float | str | None
"""The position of a mark along an axis: a number, or one of the axis' names; None to omit it."""
Ends: TypeAlias = tuple[float, float] | None
"""The bounds of an interval, or None."""
Tone: TypeAlias = int | Literal["soft", "rule", "ink", "red"]
"""A colour: an index of :data:`.TONES`, or the name of one of the page's own colours."""
Shape: TypeAlias = Literal["dot", "ring", "cross", "diamond", "square", "triangle"]
SHAPES: tuple[Shape, ...] = ("dot", "diamond", "square", "triangle", "cross", "ring")
"""Shapes of groups of marks, so that colour is not their only distinction."""
DASHES = ("", "6 4", "2 3", "8 3 2 3", "12 4", "12 3 2 3")
"""Dash patterns of lines whose colours repeat."""
SERIES = 6
"""Number of colours for series."""


class Lead(NamedTuple):
    """A link from a number to the matches behind it: a game, and a query for the viewer."""

    game: str
    query: dict[str, str]


class Mark(NamedTuple):
    """A point of a chart, with a tooltip (one fact per line), a link, intervals and a radius.

    Its colour is that of its layer unless it has a tone.
    """

    x: Value
    y: Value
    text: str = ""
    lead: Lead | None = None
    x_ends: Ends = None
    y_ends: Ends = None
    size: float = 4
    tone: Tone | None = None


class Box(NamedTuple):
    """A rectangle of a chart, such as a bar or the cell of a heat map; names are at 0, 1 and so on.

    ``heat`` is the position of its colour on the scale, in [0, 1], or [-1, 1] for a diverging
    scale; None for the colour of its layer.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    text: str = ""
    lead: Lead | None = None
    label: str = ""
    heat: float | None = None


class Points(NamedTuple):
    """Unconnected marks, with whiskers that show their intervals."""

    marks: Sequence[Mark]
    name: str = ""
    tone: Tone = 0
    shape: Shape = "dot"


class Line(NamedTuple):
    """Connected marks, with gaps at marks without a position; a ``band`` replaces whiskers."""

    marks: Sequence[Mark]
    name: str = ""
    tone: Tone = 0
    dash: str = ""
    width: float = 1.5
    dots: bool = True
    band: bool = False
    steps: bool = False


class Boxes(NamedTuple):
    """Rectangles of one colour, or only their outlines if ``frame`` (a width in pixels) is set."""

    boxes: Sequence[Box]
    name: str = ""
    tone: Tone = 0
    frame: float = 0


class Rule(NamedTuple):
    """A straight line across the chart, at a number on one of the axes."""

    x: float | None = None
    y: float | None = None
    dash: str = "2 3"


Layer: TypeAlias = Points | Line | Boxes | Rule


class Axis(NamedTuple):
    """An axis of numbers or names.

    Attributes:
        names: the names, from the left or from the top; empty for an axis of numbers.
        labels: labels of the names; by default, the names themselves.
        ends: the minimum and the maximum; None to fit the marks.
        zero: whether the axis begins at 0.
        percent: whether 1 is shown as 100 %.
        ticks: the ticks and their labels; chosen automatically by default.
        integer: whether ticks are only at integers.
        turned: whether the axis is reversed, as for ranks.
        far: whether the axis is above the chart.
    """

    title: str = ""
    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    ends: tuple[float | None, float | None] = (None, None)
    zero: bool = False
    percent: bool = False
    ticks: tuple[tuple[float, str], ...] = ()
    integer: bool = False
    turned: bool = False
    far: bool = False


PLAIN = Axis()
"""An axis of numbers without a title."""


@dataclass(frozen=True)
class ChartData:
    """A chart of layers between two axes, as plain data.

    Attributes:
        unit: the unit of the numbers.
        layers: the layers, the last one on top.
        height: the height of the area between the axes, in pixels; chosen automatically if None.
        scale: the labels of the ends of the colour scale, if boxes show no numbers.
        round: whether this is a radar chart: the names of ``x`` form a circle, and numbers of ``y``
            increase from its centre.
    """

    title: str
    unit: str
    layers: Sequence[Layer]
    x: Axis = PLAIN
    y: Axis = PLAIN
    height: float | None = None
    scale: tuple[str, str] | None = None
    round: bool = False

    def __post_init__(self) -> None:
        for number in self.numbers("x") + self.numbers("y"):
            if not isfinite(number):
                raise WrongValue(f"the chart {self.title!r} has a number that is not finite")

    def numbers(self, along: Literal["x", "y"]) -> list[float]:
        """Return the positions of all marks, intervals, boxes and rules along an axis."""
        numbers: list[float] = []
        for layer in self.layers:
            if isinstance(layer, Rule):
                numbers += [number for number in (getattr(layer, along),) if number is not None]
            elif isinstance(layer, Boxes):
                numbers += [end for box in layer.boxes for end in getattr(box, along)]
            else:
                for mark in layer.marks:
                    value, ends = getattr(mark, along), getattr(mark, f"{along}_ends")
                    if value is not None and not isinstance(value, str):
                        numbers += [value, *(ends or ())]
        return numbers

    @property
    def flat(self) -> float | None:
        """Return the value at which all dots coincide; None if they differ or have intervals."""
        values = set()
        for layer in self.layers:
            if not isinstance(layer, Points):
                return None
            for mark in layer.marks:
                values.add(mark.x if self.y.names else mark.y)
                if mark.x_ends or mark.y_ends:
                    return None
        (value,) = values if len(values) == 1 else (None,)
        return None if isinstance(value, str) else value

    @property
    def empty(self) -> bool:
        return not any(
            layer.boxes if isinstance(layer, Boxes) else layer.marks
            for layer in self.layers
            if not isinstance(layer, Rule)
        )
