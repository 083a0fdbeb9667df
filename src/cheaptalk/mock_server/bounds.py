"""Bounds of numbers, parsed from the text of a request."""

import math
import re
from typing import NamedTuple

NUMBER = r"-?\$?(\d[\d,]*(?:\.\d+)?)"
BETWEEN = re.compile(rf"(?:from|between) {NUMBER} (?:to|and) {NUMBER}", re.IGNORECASE)
AT_MOST = re.compile(
    rf"(?:at most|up to|no more than|not (?:lie )?above|not exceed|less than or equal to) {NUMBER}"
    rf"|{NUMBER}(?: \w+){{0,3}} at most",
    re.IGNORECASE,
)
AT_LEAST = re.compile(
    rf"(?:at least|no less than|not (?:lie )?below|greater than or equal to) {NUMBER}",
    re.IGNORECASE,
)


class Bounds(NamedTuple):
    """A closed range of numbers, unbounded by default."""

    low: float = -math.inf
    high: float = math.inf

    def within(self, other: "Bounds") -> "Bounds":
        """Return the intersection with another range, or this range if they are disjoint."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Bounds(low, high) if low <= high else self


def named_bounds(text: str) -> Bounds:
    """Parse the bounds of a number from a request; bounds stated later take precedence.

    >>> named_bounds("A whole number from 3 to 1,900.")
    Bounds(low=3.0, high=1900.0)
    >>> named_bounds("Bid at least 2. Bob pays 40 thousand dollars at most.")
    Bounds(low=2.0, high=40.0)
    """
    bounds = Bounds()
    for low, high in BETWEEN.findall(text)[-1:]:
        bounds = Bounds(_read(low), _read(high))
    for groups in AT_MOST.findall(text)[-1:]:
        bounds = bounds._replace(high=min(bounds.high, _read("".join(groups))))
    for low in AT_LEAST.findall(text)[-1:]:
        bounds = bounds._replace(low=max(bounds.low, _read(low)))
    return bounds if bounds.low <= bounds.high else Bounds()


def _read(number: str) -> float:
    return float(number.replace(",", "").rstrip("."))
