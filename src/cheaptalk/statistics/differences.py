"""Differences of means: p-values and intervals that stay honest in small samples."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from scipy.special import stdtr, stdtrit

from cheaptalk.statistics.columns import FloatArray
from cheaptalk.statistics.intervals import Bounds, BoundsColumns

LEAST_FREEDOM = 2.0
"""Degrees of freedom below which a difference is inconclusive: t is 4.3 with two, 12.7 with one."""
UNBOUNDED: Bounds = (-math.inf, math.inf)


def two_sided_p(
    difference: float, error: float | None, freedom: float, constant_p: float | None = None
) -> float | None:
    """Return the two-sided p-value of no difference, from Student's t.

    Args:
        difference: of the means.
        error: its standard error; None if unknown, 0 if nothing varied.
        freedom: degrees of freedom of the error.
        constant_p: the p-value of a difference that did not vary; see :func:`sign_flip_p`.

    Returns:
        None if the data cannot test the difference: the error is unknown, or it has fewer than
        :data:`LEAST_FREEDOM` degrees of freedom.
    """
    if error == 0:
        return constant_p
    if error is None or not is_testable(freedom):
        return None
    return float(2 * stdtr(freedom, -abs(difference) / error))


def t_limits(
    difference: float, error: float | None, freedom: float, level: float,
    bounds: Bounds = UNBOUNDED,
) -> tuple[float, float] | tuple[None, None]:  # fmt: skip
    """Return Student's interval of a difference within what the difference can be.

    Args:
        level: the share of such intervals that cover the true difference, in (0, 1).
        bounds: the smallest and the largest possible difference; an observed difference outside
            of them shows that they are wrong, and they cut nothing.

    Returns:
        Nothing if the error is unknown or 0, or has too few degrees of freedom.
    """
    if not error or not is_testable(freedom):
        return None, None
    width = float(stdtrit(freedom, (1 + level) / 2)) * error
    least, most = bounds if bounds[0] <= difference <= bounds[1] else UNBOUNDED
    return max(difference - width, least), min(difference + width, most)


def is_testable(freedom: float) -> bool:
    """Whether a standard error has enough degrees of freedom to test a difference."""
    return round(freedom, 6) >= LEAST_FREEDOM


def sign_flip_p(parts: FloatArray, chances: FloatArray | float = 0.5) -> float:
    """Return the p-value of a difference that is the same in all instances of each stratum.

    Such a difference has no standard error, but equal players are unlikely to produce it: if two
    players are exchangeable, each instance's part of the difference is as likely to be positive as
    negative. If all parts have one sign, the p-value is twice the probability of that; six paired
    instances give 0.031. If signs are mixed, Hoeffding's inequality (1963, Probability
    Inequalities for Sums of Bounded Random Variables, JASA 58) bounds it from above.

    Args:
        parts: what each instance adds to the difference.
        chances: the probability of each part's sign among exchangeable players, such as 1 in 6 for
            two instances of one player that both lie above two of another player.

    >>> sign_flip_p(np.full(6, 0.1)), sign_flip_p(np.zeros(6))
    (0.03125, 1.0)
    """
    moved = parts != 0
    flipped, own = parts[moved], np.broadcast_to(chances, parts.shape)[moved]
    if not len(flipped):
        return 1.0
    if (flipped > 0).all() or (flipped < 0).all():
        return float(min(1.0, 2 * np.prod(own)))
    return float(min(1.0, 2 * np.exp(-(flipped.sum() ** 2) / (2 * (flipped**2).sum()))))


def combined_freedom(variances: Sequence[float], freedoms: Sequence[float]) -> float:
    """Return Satterthwaite's degrees of freedom of a sum of independent variances; 1 if it is 0."""
    total, fourths = sum(variances), 0.0
    for variance, freedom in zip(variances, freedoms, strict=True):
        fourths += variance**2 / freedom
    return total**2 / fourths if fourths else 1.0


def difference_bounds(
    first: pl.DataFrame, second: pl.DataFrame, bounds: Bounds | BoundsColumns
) -> Bounds:
    """Return the smallest and the largest possible difference of two means, second less first.

    Args:
        first, second: the observations behind the means.
        bounds: of one observation, as :func:`.mean_intervals` takes them.
    """
    (low, high), (least, most) = (_mean_bounds(side, bounds) for side in (first, second))
    return least - high, most - low


def _mean_bounds(frame: pl.DataFrame, bounds: Bounds | BoundsColumns) -> Iterator[float]:
    ends: tuple[float | str, ...] = bounds
    for end, unknown in zip(ends, UNBOUNDED, strict=True):
        if not isinstance(end, str):
            yield float(end)
        elif frame[end].null_count() or frame.is_empty():
            yield unknown
        else:
            yield float(frame[end].cast(pl.Float64).to_numpy().mean())
