"""Positions of numbers and names along an axis, and their labels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from cheaptalk.reports.charts.marks import Axis, Value
from cheaptalk.text import LONG, fixed

FONT = 12
"""Font size, in pixels."""
NARROW, BROAD = frozenset("iljtfrI.,:;'|!()[] "), frozenset("mwMW@%—…")
HUGE = 1e307
"""Numbers beyond this, on either side, are drawn at the end of their axis."""
MARGIN = 0.04
"""Share of an axis that stays free beyond its outermost mark."""


@dataclass(frozen=True)
class Scale:
    """An axis between two pixel positions; its names are 1 apart, from 0."""

    axis: Axis
    low: float
    high: float
    start: float
    end: float

    def at(self, value: Value) -> float:
        """Return the pixel position of a number or name, limited to the ends of the axis."""
        number = self.axis.names.index(value) if isinstance(value, str) else float(value or 0)
        share = (min(max(number, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    @property
    def crosses_zero(self) -> bool:
        return not self.axis.names and self.low < 0 < self.high

    def ticks(self) -> list[tuple[float, str]]:
        """Return the positions and labels of the ticks."""
        if self.axis.names:
            return list(enumerate(self.axis.labels or self.axis.names))
        if self.axis.ticks:
            return list(self.axis.ticks)
        room = abs(self.end - self.start)
        step = _step((self.high - self.low) / max(2.0, room / 55), integer=self.axis.integer)
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        return [(index * step, self._text(index * step, step)) for index in range(first, last + 1)]

    def _text(self, number: float, step: float) -> str:
        if self.axis.percent:
            return f"{fixed(100 * number, max(0, -floor(log10(100 * step) + 1e-9)))} %"
        if abs(number) >= LONG or step < 1e-6:
            return f"{number:.3g}"
        return fixed(number, max(0, -floor(log10(step) + 1e-9)))


def _step(minimum: float, *, integer: bool) -> float:
    """Round a tick distance up to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** floor(log10(minimum)) if minimum > 0 else 1.0
    step = next(
        power * factor for factor in (1, 2, 5, 10) if power * factor >= minimum * (1 - 1e-9)
    )
    return max(1.0, step) if integer else step


def scale(axis: Axis, numbers: Sequence[float], start: float, end: float) -> Scale:
    """Return the scale of an axis that spans the given numbers between two pixel positions."""
    if axis.names:
        return Scale(axis, -0.5, len(axis.names) - 0.5, start, end)
    finite = [min(max(number, -HUGE), HUGE) for number in (*numbers, *([0.0] if axis.zero else []))]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    if low == high:
        around = max(1.0, 0.1 * abs(low))
        low, high = (0.0, 1.0) if 0 <= low <= 1 else (low - around, high + around)
    free = MARGIN * (high - low)
    low -= 0 if axis.zero and low == 0 else free
    high += 0 if axis.zero and high == 0 else free
    minimum, maximum = axis.ends
    low, high = low if minimum is None else minimum, high if maximum is None else maximum
    high = high if high > low else low + 1
    return Scale(axis, low, high, *((end, start) if axis.turned else (start, end)))


def width_of(text: str) -> float:
    """Return the approximate width of a text, in pixels."""
    return FONT * sum(map(_share, text))


def _share(sign: str) -> float:
    if sign in NARROW:
        return 0.32
    if sign in BROAD:
        return 0.92
    return 0.7 if sign.isupper() else 1.0 if ord(sign) > 0x2E80 else 0.57


def fitted(text: str, room: float) -> str:
    """Return a text truncated to a width in pixels."""
    if width_of(text) <= room:
        return text
    length = len(text)
    while length > 1 and width_of(text[:length]) + FONT > room:
        length -= 1
    return f"{text[:length].rstrip()}…"


def short(label: str, max_length: int = 18) -> str:
    """Return a label truncated to a number of characters.

    >>> short("a-model-with-a-long-name"), short("gpt")
    ('a-model-with-a-lo…', 'gpt')
    """
    return label if len(label) <= max_length else label[: max_length - 1] + "…"


def lines_of(texts: Sequence[str], room: float, margin: float) -> Iterator[list[int]]:
    """Break texts into lines of at most ``room`` pixels; yield the text indices of each line."""
    line: list[int] = []
    used = 0.0
    for index, text in enumerate(texts):
        size = width_of(text) + margin
        if line and used + size > room:
            yield line
            line, used = [], 0.0
        line.append(index)
        used += size
    if line:
        yield line
