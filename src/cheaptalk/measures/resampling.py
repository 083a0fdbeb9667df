"""Intervals of agreement, by drawing whole deals again."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

DRAWS = 2_000
"""Resamples of a bootstrap."""
CELLS = 2_000_000
"""Numbers that a bootstrap draws at once, so that memory stays flat."""
ENOUGH = 10
"""Deals from which on an interval is given."""

Counts = NDArray[np.int64]
"""How often the reference said one verdict (rows) and the judge another (columns), by deal."""
Statistic = Callable[[NDArray[Any]], NDArray[np.float64]]
"""A number of each of some tables; not a number where it is not defined."""


class Interval(NamedTuple):
    """A value, its 95 % interval, and the deals that it rests on.

    Attributes:
        value: None where it is not defined.
        low, high: None where there is no interval.
        deals: those with an item that counts for it.
    """

    value: float | None
    low: float | None
    high: float | None
    deals: int

    @property
    def missing(self) -> str:
        """Why there is no interval; empty where there is one."""
        if self.value is None or self.low is not None:
            return ""
        if self.deals < ENOUGH:
            return f"too few deals for an interval ({self.deals}; it takes {ENOUGH})"
        return "no interval: no two deals differ in it"


def interval(tables: Counts, statistic: Statistic, counts: Statistic, seed: int) -> Interval:
    """A statistic of all tables together, with its interval over resamples of deals.

    The interval is the 2.5 % and 97.5 % quantile over 2,000 bootstrap samples of whole deals (Efron
    and Tibshirani 1993, An Introduction to the Bootstrap, chapter 13), since what is said on one
    deal is not independent. There is none with fewer than ten deals, for which it would be too
    narrow (Cameron and Miller 2015, section VI), nor where the samples all give one value.

    Args:
        tables: one for each deal.
        statistic: the number.
        counts: how many items of a table count for it.
        seed: of the bootstrap.
    """
    value = float(statistic(tables.sum(axis=0)[None])[0])
    deals = int(np.count_nonzero(counts(tables)))
    if np.isnan(value):
        return Interval(None, None, None, deals)
    if deals < ENOUGH:
        return Interval(value, None, None, deals)
    drawn = _resampled(tables, statistic, np.random.default_rng(seed))
    low, high = np.quantile(drawn[~np.isnan(drawn)], (0.025, 0.975))
    if high - low < 1e-12:
        return Interval(value, None, None, deals)
    return Interval(value, float(low), float(high), deals)


def _resampled(
    tables: Counts, statistic: Statistic, draw: np.random.Generator
) -> NDArray[np.float64]:
    """The statistic of resamples of the deals, as many as there are."""
    deals = len(tables)
    flat = tables.reshape(deals, -1).astype(float)
    values = []
    at_once = max(1, CELLS // deals)
    for start in range(0, DRAWS, at_once):
        size = min(at_once, DRAWS - start)
        times = draw.multinomial(deals, np.full(deals, 1 / deals), size=size)
        values.append(statistic((times @ flat).reshape(size, *tables.shape[1:])))
    return np.concatenate(values)
