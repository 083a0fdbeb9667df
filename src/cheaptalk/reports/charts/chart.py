"""What a chart shows: marks in layers between two axes, all of it plain data."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal, NamedTuple, TypeAlias

Value: TypeAlias = float | str | None
"""Where a mark is along an axis: a number, or one of the axis' names; None where it is nowhere."""
Ends: TypeAlias = tuple[float, float] | None
"""The ends of an interval, if there is one."""
Tone: TypeAlias = int | Literal["soft", "rule", "ink", "red"]
"""A colour of :data:`.TONES`, by its place, or one of the page's own."""
Shape: TypeAlias = Literal["dot", "ring", "cross", "diamond", "square", "triangle"]
SHAPES: tuple[Shape, ...] = ("dot", "diamond", "square", "triangle", "cross", "ring")
"""Of groups of marks that colours alone should not tell apart."""
DASHES = ("", "6 4", "2 3", "8 3 2 3", "12 4", "12 3 2 3")
"""Of lines whose colours come round again."""
SERIES = 6
"""Colours that tell series apart."""


class Lead(NamedTuple):
    """The matches behind a number.

    Attributes:
        game: of which they are.
        query: what picks them out in the viewer, such as ``{"player.alice": "gpt"}``.
    """

    game: str
    query: dict[str, str]


class Mark(NamedTuple):
    """A point of a chart.

    Attributes:
        x, y: where it is.
        text: what is told of it, a line a fact.
        lead: the matches behind it.
        x_ends, y_ends: its intervals along either axis.
        size: its radius, in pixels.
        tone: another colour than its layer's.
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
    """A rectangle of a chart, such as a bar or a cell; names along an axis are 1 apart, from 0.

    Attributes:
        x, y: its ends along either axis.
        text: what is told of it, a line a fact.
        lead: the matches behind it.
        label: what stands in it.
        heat: how warm its colour is, from 0 to 1, or from -1 where that has a middle; None for
            the colour of its layer.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    text: str = ""
    lead: Lead | None = None
    label: str = ""
    heat: float | None = None


class Points(NamedTuple):
    """Marks that stand alone, with whiskers to the ends of their intervals."""

    marks: Sequence[Mark]
    name: str = ""
    tone: Tone = 0
    shape: Shape = "dot"


class Line(NamedTuple):
    """Marks that are joined; it is broken where one is nowhere.

    Attributes:
        dots: whether its marks are seen.
        band: whether intervals are an area along it, in place of whiskers.
        steps: whether it goes on level until the next mark.
    """

    marks: Sequence[Mark]
    name: str = ""
    tone: Tone = 0
    dash: str = ""
    width: float = 1.5
    dots: bool = True
    band: bool = False
    steps: bool = False


class Boxes(NamedTuple):
    """Rectangles of one colour.

    Attributes:
        frame: the width of their outline, in pixels, which is then all that is seen of them.
    """

    boxes: Sequence[Box]
    name: str = ""
    tone: Tone = 0
    frame: float = 0
    opacity: float = 1


class Rule(NamedTuple):
    """A straight line across the chart, at a number along one of the axes."""

    x: float | None = None
    y: float | None = None
    dash: str = "2 3"


Layer: TypeAlias = Points | Line | Boxes | Rule


class Axis(NamedTuple):
    """An axis of numbers, or of names.

    Attributes:
        title: what is counted along it.
        names: those that it has, from the left or from the top; none: it has numbers.
        labels: how names are written; as they are without.
        ends: the least and the most that it shows; None for what its marks need.
        zero: whether it begins at 0.
        percent: whether 1 is written as 100 %.
        ticks: numbers that are written, and how; chosen without.
        whole: whether only whole numbers are written.
        turned: whether numbers grow downwards, as ranks do.
        far: whether it stands above the chart.
    """

    title: str = ""
    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    ends: tuple[float | None, float | None] = (None, None)
    zero: bool = False
    percent: bool = False
    ticks: tuple[tuple[float, str], ...] = ()
    whole: bool = False
    turned: bool = False
    far: bool = False


PLAIN = Axis()
"""An axis of numbers without a title."""


@dataclass(frozen=True)
class Chart:
    """One chart.

    Attributes:
        title: what it shows.
        unit: of its numbers.
        layers: what is drawn, the last on top.
        x, y: its axes.
        height: of the area between its axes, in pixels; None for what suits its axes.
        scale: the ends of what colours of boxes mean, where no number stands in these.
        round: whether the names of ``x`` stand in a circle, and numbers of ``y`` grow from its
            middle.
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
                raise ValueError(f"the chart {self.title!r} has a number that is none")

    def numbers(self, along: Literal["x", "y"]) -> list[float]:
        """All numbers along an axis: of marks, ends of their intervals, boxes and rules."""
        found: list[float] = []
        for layer in self.layers:
            if isinstance(layer, Rule):
                found += [one for one in (getattr(layer, along),) if one is not None]
            elif isinstance(layer, Boxes):
                found += [end for one in layer.boxes for end in getattr(one, along)]
            else:
                for mark in layer.marks:
                    at, ends = getattr(mark, along), getattr(mark, f"{along}_ends")
                    found += [] if at is None or isinstance(at, str) else [at, *(ends or ())]
        return found

    @property
    def flat(self) -> float | None:
        """The number that all of its dots have, without an interval; None if they differ."""
        found = set()
        for layer in self.layers:
            if not isinstance(layer, Points):
                return None
            for mark in layer.marks:
                found.add(mark.x if self.y.names else mark.y)
                if mark.x_ends or mark.y_ends:
                    return None
        (one,) = found if len(found) == 1 else (None,)
        return None if isinstance(one, str) else one

    @property
    def empty(self) -> bool:
        """Whether nothing is drawn."""
        return not any(
            layer.boxes if isinstance(layer, Boxes) else layer.marks
            for layer in self.layers
            if not isinstance(layer, Rule)
        )
