"""Bounds of numbers that a request names in words."""

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
    """The range of a number, both ends included; infinite if there is no end."""

    low: float = -math.inf
    high: float = math.inf

    def within(self, other: "Bounds") -> "Bounds":
        """The range that both allow; this one if they exclude each other."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Bounds(low, high) if low <= high else self


def named_bounds(text: str) -> Bounds:
    """Return the bounds of a number that a request names in words; the last of each kind count.

    >>> named_bounds("A whole number from 3 to 1,900.")
    Bounds(low=3.0, high=1900.0)
    >>> named_bounds("Bid at least 2. Bob pays 40 thousand dollars at most.")
    Bounds(low=2.0, high=40.0)
    """
    found = Bounds()
    for low, high in BETWEEN.findall(text)[-1:]:
        found = Bounds(_read(low), _read(high))
    for groups in AT_MOST.findall(text)[-1:]:
        found = found._replace(high=min(found.high, _read("".join(groups))))
    for low in AT_LEAST.findall(text)[-1:]:
        found = found._replace(low=max(found.low, _read(low)))
    return found if found.low <= found.high else Bounds()


def _read(number: str) -> float:
    return float(number.replace(",", "").rstrip("."))
