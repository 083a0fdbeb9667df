"""Where numbers and names stand along an axis, and how they are written."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from cheaptalk.reports.charts.chart import Axis, Value
from cheaptalk.text import LONG, fixed

FONT = 12
"""The size of text, in pixels."""
NARROW, BROAD = frozenset("iljtfrI.,:;'|!()[] "), frozenset("mwMW@%—…")
HUGE = 1e307
"""Numbers beyond this, on either side, stand at the end of their axis."""
MARGIN = 0.04
"""The share of an axis that is free beyond its outermost mark."""


@dataclass(frozen=True)
class Scale:
    """An axis as it is drawn, from one pixel to another.

    Attributes:
        axis: what it is made of.
        low, high: the numbers at its ends; names are 1 apart, from 0.
        start, end: the pixels at these.
    """

    axis: Axis
    low: float
    high: float
    start: float
    end: float

    def at(self, value: Value) -> float:
        """The pixel of a number or name; what lies beyond the axis is at its end."""
        number = self.axis.names.index(value) if isinstance(value, str) else float(value or 0)
        share = (min(max(number, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    @property
    def crosses_zero(self) -> bool:
        """Whether numbers on both sides of 0 are shown."""
        return not self.axis.names and self.low < 0 < self.high

    def ticks(self) -> list[tuple[float, str]]:
        """What is written along it, and at which numbers."""
        if self.axis.names:
            return list(enumerate(self.axis.labels or self.axis.names))
        if self.axis.ticks:
            return list(self.axis.ticks)
        room = abs(self.end - self.start)
        step = _step((self.high - self.low) / max(2.0, room / 55), whole=self.axis.whole)
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        return [(place * step, self._text(place * step, step)) for place in range(first, last + 1)]

    def _text(self, number: float, step: float) -> str:
        if self.axis.percent:
            return f"{fixed(100 * number, max(0, -floor(log10(100 * step) + 1e-9)))} %"
        if abs(number) >= LONG or step < 1e-6:
            return f"{number:.3g}"
        return fixed(number, max(0, -floor(log10(step) + 1e-9)))


def _step(least: float, *, whole: bool) -> float:
    """The next of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** floor(log10(least)) if least > 0 else 1.0
    step = next(power * one for one in (1, 2, 5, 10) if power * one >= least * (1 - 1e-9))
    return max(1.0, step) if whole else step


def scale(axis: Axis, numbers: Sequence[float], start: float, end: float) -> Scale:
    """The scale of an axis that shows these numbers between two pixels."""
    if axis.names:
        return Scale(axis, -0.5, len(axis.names) - 0.5, start, end)
    known = [min(max(one, -HUGE), HUGE) for one in (*numbers, *([0.0] if axis.zero else []))]
    low, high = min(known, default=0.0), max(known, default=1.0)
    if low == high:
        around = max(1.0, 0.1 * abs(low))
        low, high = (0.0, 1.0) if 0 <= low <= 1 else (low - around, high + around)
    free = MARGIN * (high - low)
    low -= 0 if axis.zero and low == 0 else free
    high += 0 if axis.zero and high == 0 else free
    least, most = axis.ends
    low, high = low if least is None else least, high if most is None else most
    high = high if high > low else low + 1
    return Scale(axis, low, high, *((end, start) if axis.turned else (start, end)))


def width_of(text: str) -> float:
    """About how many pixels a text takes."""
    return FONT * sum(map(_share, text))


def _share(sign: str) -> float:
    if sign in NARROW:
        return 0.32
    if sign in BROAD:
        return 0.92
    return 0.7 if sign.isupper() else 1.0 if ord(sign) > 0x2E80 else 0.57


def fitted(text: str, room: float) -> str:
    """A text that takes no more than so many pixels: its end is left out where it is longer."""
    if width_of(text) <= room:
        return text
    kept = len(text)
    while kept > 1 and width_of(text[:kept]) + FONT > room:
        kept -= 1
    return f"{text[:kept].rstrip()}…"


def short(label: str, most: int = 18) -> str:
    """A label of no more than so many letters.

    >>> short("a-model-with-a-long-name"), short("gpt")
    ('a-model-with-a-lo…', 'gpt')
    """
    return label if len(label) <= most else label[: most - 1] + "…"


def lines_of(texts: Sequence[str], room: float, beside: float) -> Iterator[list[int]]:
    """The places of texts in lines that are not longer than so many pixels.

    Args:
        beside: what each takes besides its letters.
    """
    line: list[int] = []
    used = 0.0
    for place, text in enumerate(texts):
        size = width_of(text) + beside
        if line and used + size > room:
            yield line
            line, used = [], 0.0
        line.append(place)
        used += size
    if line:
        yield line
