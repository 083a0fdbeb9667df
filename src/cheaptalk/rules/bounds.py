"""Bounds: the minimum and maximum of a payoff or a metric."""

from collections.abc import Iterator
from math import inf, isfinite
from typing import Any, Final

Bounds = tuple[float, float]

SHARE: Final = (0.0, 1.0)
PERCENT: Final = (0.0, 100.0)
COUNT: Final = (0.0, inf)
"""Bounds of metrics that are shares, scores from 0 to 100, and counts."""
Path = tuple[str | int, ...]
"""The keys and indices that lead to a number in nested data."""
SLACK = 1e-9
"""Relative tolerance for rounding errors in sums of floating-point numbers."""


def mean_bounds(seat_bounds: Bounds, total: Bounds, seats: int, filled: int) -> Bounds:
    """Return the bounds of the mean payoff of several seats that share a role.

    Args:
        seat_bounds: the bounds of one seat's payoff.
        total: the bounds of the sum over all ``seats`` of the role.
        filled: the number of seats in the mean, at least 1.

    For example, exactly one of ten players wins 1: one seat can win 1, the mean over five seats is
    at most 0.2, and the mean over all ten is 0.1.

    >>> [mean_bounds((0, 1), (1, 1), 10, filled) for filled in (1, 5, 10)]
    [(0.0, 1.0), (0.0, 0.2), (0.1, 0.1)]
    """
    (minimum, maximum), others = seat_bounds, seats - filled
    offsets = (others * maximum, others * minimum) if others else (0.0, 0.0)
    bottom, top = ((end - offset) / filled for end, offset in zip(total, offsets, strict=True))
    return max(float(minimum), bottom), min(float(maximum), top)


def within(value: float, bounds: Bounds) -> bool:
    """Return whether a number lies within its bounds, up to floating-point error.

    >>> within(1 + 1e-12, SHARE), within(1.001, SHARE), within(float("nan"), (-inf, inf))
    (True, False, False)
    """
    minimum, maximum = bounds
    if minimum <= value <= maximum:
        return True
    slack = SLACK * max([1.0, *(abs(bound) for bound in bounds if isfinite(bound))])
    return minimum - slack <= value <= maximum + slack


def beyond(value: float, bounds: Bounds) -> str:
    """Describe a number and the bounds that it violates, for an error message."""
    minimum, maximum = (f"{bound:,.15g}" for bound in bounds)
    return f"{value:,.15g}, which is not between {minimum} and {maximum}"


def numbers(value: Any, path: Path = ()) -> Iterator[tuple[Path, int | float]]:
    """Yield every number in nested data, with its path."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from numbers(part, (*path, key))
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from numbers(part, (*path, index))
