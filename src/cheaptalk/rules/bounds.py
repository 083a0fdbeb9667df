"""Bounds: the least and the most that a payoff or a measure can be."""

from collections.abc import Iterator
from math import inf, isfinite
from typing import Any, Final

Bounds = tuple[float, float]

SHARE: Final = (0.0, 1.0)
PERCENT: Final = (0.0, 100.0)
COUNT: Final = (0.0, inf)
"""Bounds of measures: of shares, of scores from 0 to 100, and of what is counted."""
Path = tuple[str | int, ...]
"""Where a number stands in data: the keys and positions that lead to it."""
SLACK = 1e-9
"""How far sums of floating-point numbers may lie beyond their bounds, relative to these."""


def mean_bounds(own: Bounds, total: Bounds, places: int, filled: int) -> Bounds:
    """The least and the most that the mean over some of the places of a role can be.

    Args:
        own: of one place.
        total: of all places together.
        places: how many there are.
        filled: how many of them the mean is over, from 1.

    One of ten wins: one's own chance can be 1, the mean over five places 0.2, over all ten 0.1.

    >>> [mean_bounds((0, 1), (1, 1), 10, filled) for filled in (1, 5, 10)]
    [(0.0, 1.0), (0.0, 0.2), (0.1, 0.1)]
    """
    (least, most), rest = own, places - filled
    taken = (rest * most, rest * least) if rest else (0.0, 0.0)
    bottom, top = ((end - by) / filled for end, by in zip(total, taken, strict=True))
    return max(float(least), bottom), min(float(most), top)


def within(value: float, bounds: Bounds) -> bool:
    """Whether a number lies in its bounds, but for rounding.

    >>> within(1 + 1e-12, SHARE), within(1.001, SHARE), within(float("nan"), (-inf, inf))
    (True, False, False)
    """
    least, most = bounds
    if least <= value <= most:
        return True
    slack = SLACK * max([1.0, *(abs(one) for one in bounds if isfinite(one))])
    return least - slack <= value <= most + slack


def beyond(value: float, bounds: Bounds) -> str:
    """A number with the bounds that it lies beyond, as it stands in an error.

    >>> beyond(35.0, (0.0, 10.0))
    '35, which is not between 0 and 10'
    """
    least, most = (f"{one:,.15g}" for one in bounds)
    return f"{value:,.15g}, which is not between {least} and {most}"


def numbers(value: Any, path: Path = ()) -> Iterator[tuple[Path, int | float]]:
    """The numbers in data, and where they stand."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from numbers(part, (*path, key))
    elif isinstance(value, list | tuple):
        for at, part in enumerate(value):
            yield from numbers(part, (*path, at))
