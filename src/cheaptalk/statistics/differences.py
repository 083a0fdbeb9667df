"""Small-sample p-values and confidence intervals of differences in means."""

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import polars as pl
import scipy
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from cheaptalk.statistics.columns import FloatArray
from cheaptalk.statistics.intervals import (
    STEEPEST,
    STRATA,
    hall_quantile,
)
from cheaptalk.statistics.limits import (
    UNBOUNDED,
    Bounds,
    BoundsColumns,
    Numbers,
    t_quantile,
    unseen_share,
)

LEAST_FREEDOM = 2.0
"""Minimum degrees of freedom of a test; the quantile t is 4.3 with two, but 12.7 with one."""


def two_sided_p(
    difference: float,
    error: float | None,
    freedom: float,
    constant_p: float | None = None,
    skew: float = 0.0,
) -> float | None:
    """Return the two-sided p-value for no difference, consistent with confidence intervals.

    ``constant_p`` is the p-value of a difference that did not vary, from
    :func:`constant_difference_p`; the result is then at least 0.5 ** ``freedom``, so that one
    participant's matches don't count as many observations. The result is None if the error is
    unknown or has fewer than :data:`LEAST_FREEDOM` degrees of freedom.
    """
    if constant_p is not None:
        return max(constant_p, float(0.5**freedom))
    if not error or not is_testable(freedom):
        return None
    errors, toward = abs(difference) / error, math.copysign(skew, skew * difference)
    if toward < 0 and errors > 0:
        errors = _unskewed(errors, toward)
    return float(2 * stdtr(freedom, -errors))


def _unskewed(errors: float, skew: float) -> float:
    """Return Student's t quantile for the half-width of a skewness-adjusted interval."""

    def excess(quantile: float) -> float:
        return float(wider_quantiles(np.array(quantile), np.array(skew))[0]) - errors

    minimum = errors * 1e-9
    return minimum if excess(minimum) > 0 else float(scipy.optimize.brentq(excess, minimum, errors))


def wider_quantiles(quantile: Numbers, skew: Numbers) -> tuple[Numbers, Numbers]:
    """Return an interval's widths below and above a difference, in standard errors.

    Each width is the larger of Student's and Hall's (see :func:`.mean_intervals`). Student's is too
    small if only one of two players has skewed outcomes. Hall's is too small if both players do,
    because the difference is then symmetric with heavy tails.
    """
    below, above = hall_quantile(quantile, skew), -hall_quantile(-quantile, skew)
    return np.maximum(quantile, below), np.maximum(quantile, above)


def difference_limits(
    difference: float,
    error: float | None,
    freedom: float,
    level: float,
    bounds: Bounds = UNBOUNDED,
    skew: float = 0.0,
) -> tuple[float, float] | tuple[None, None]:
    """Return a difference's confidence interval; (None, None) if its error is unknown or 0.

    Args:
        error: the standard error, with ``freedom`` degrees of freedom.
        level: the confidence level, in (0, 1).
        bounds: the smallest and the largest possible difference; ignored if the observed difference
            violates them.
        skew: the skewness of the difference; see :func:`.mean_intervals`.
    """
    if not error or not is_testable(freedom):
        return None, None
    quantile = t_quantile(freedom, level)
    below, above = (float(width) * error for width in wider_quantiles(quantile, np.array(skew)))
    minimum, maximum = bounds if bounds[0] <= difference <= bounds[1] else UNBOUNDED
    return max(difference - below, minimum), min(difference + above, maximum)


def steepness(freedom: float, level: float, skew: float) -> float:
    """Return the steepness of Hall's transformation, relative to the maximum usable steepness."""
    return skew * float(t_quantile(freedom, level)) / STEEPEST


def constant_limits(
    difference: float, freedom: float, level: float, bounds: Bounds = UNBOUNDED
) -> tuple[float, float] | tuple[None, None]:
    """Return the confidence interval of a bounded difference without observed variation.

    An outcome that did not occur in n = ``freedom`` + 1 observations has a probability of at most
    q = 1 - (1 - level) ** (1 / n); see :func:`.mean_intervals`.
    """
    minimum, maximum = bounds
    if freedom <= 0 or not (-math.inf < minimum <= difference <= maximum < math.inf):
        return None, None
    unseen = unseen_share(freedom + 1, level)
    below, above = difference - minimum, maximum - difference
    return difference - unseen * below, difference + unseen * above


def is_testable(freedom: float) -> bool:
    """Return whether a standard error has enough degrees of freedom for a test."""
    return round(freedom, 6) >= LEAST_FREEDOM


def constant_difference_p(arrangements: Iterable[int]) -> float:
    """Return the p-value of a difference that doesn't vary within any stratum.

    The standard error of such a difference cannot be estimated. If two players are exchangeable,
    all arrangements of a stratum's outcomes are equally likely: n paired instances have 2 ** n
    arrangements. In two of them, one for each sign, the difference is constant. The p-value is the
    probability of such arrangements in all strata in which the players differ, which is that of an
    infinite t statistic in a permutation test. Each degree of freedom halves the p-value.

    >>> constant_difference_p([2**6]), constant_difference_p([2**4, 2**3])
    (0.03125, 0.03125)
    """
    return math.prod((min(1.0, 2 / count) for count in arrangements), start=1.0)


def constant_p_of_instances(instances: pl.DataFrame) -> float:
    """Return the p-value of a difference without variation, from each player's instances.

    Each instance has a ``configuration``, its ``part`` of the difference, and whether the ``first``
    and the ``second`` player played it. Configurations with one instance form one stratum, as in
    :func:`.mean_intervals`.
    """
    single = pl.len().over(STRATA) == 1
    pooled = single | (single.sum() == 1)
    strata = (
        instances.with_columns(
            stratum=pl.when(~pooled).then("configuration"), both=pl.col("first") & pl.col("second")
        )
        .group_by("stratum", maintain_order=True)
        .agg(pl.col("both", "first", "second").sum(), moved=(pl.col("part") != 0).any())
        .filter("moved")
    )
    counts = strata.select("both", "first", "second").iter_rows()
    return constant_difference_p(arrangements_of(*row) for row in counts)


def arrangements_of(pairs: int, first: int = 0, second: int = 0) -> int:
    """Return the number of ways to permute a stratum's outcomes between exchangeable players.

    Pairs are instances that both players played; without any, each player has its own instances.

    >>> arrangements_of(6), arrangements_of(0, 5, 5)
    (64, 252)
    """
    return 2**pairs if pairs else math.comb(first + second, first)


def combined_freedom(variances: Sequence[float], freedoms: Sequence[float]) -> float:
    """Return Satterthwaite's degrees of freedom of a sum of variances; their sum if all are 0."""
    total, fourths = sum(variances), 0.0
    for variance, freedom in zip(variances, freedoms, strict=True):
        fourths += variance**2 / freedom
    return total**2 / fourths if fourths else max(1.0, sum(freedoms))


def difference_bounds(
    first: pl.DataFrame, second: pl.DataFrame, bounds: Bounds | BoundsColumns
) -> Bounds:
    """Return the bounds of the second mean minus the first, from those of one observation."""
    (low, high), (minimum, maximum) = (_mean_bounds(side, bounds) for side in (first, second))
    return minimum - high, maximum - low


def _mean_bounds(frame: pl.DataFrame, bounds: Bounds | BoundsColumns) -> Iterator[float]:
    ends: tuple[float | str, ...] = bounds
    for end, unknown in zip(ends, UNBOUNDED, strict=True):
        if not isinstance(end, str):
            yield float(end)
        elif frame[end].null_count() or frame.is_empty():
            yield unknown
        else:
            yield float(frame[end].cast(pl.Float64).to_numpy().mean())


POWER = 0.8
"""The probability of detecting all differences after the growth of the sample."""
DRAWS = 3_000
"""Monte Carlo draws for the power, which give a standard error of 0.7 percentage points."""
SMALLEST, LARGEST = 0.05, 1e6
"""The minimum and maximum growth factor."""


def growth_for_power(
    sizes: ArrayLike, errors: ArrayLike, freedom: float, deviations: ArrayLike, tail: float
) -> float | None:
    """Return the factor by which the sample must grow to detect all differences.

    It is infinite if no feasible number suffices, and None if a difference is not positive. A
    difference is detected if it exceeds t standard errors, with t the quantile of Student's t at
    1 - ``tail``; the degrees of freedom grow with the observations. The joint power is that of a
    multivariate noncentral t distribution, estimated from the same draws for every growth.

    Args:
        deviations: the deviations of each difference from its mean, shape (differences,
            observations), which determine the correlations.
    """
    shifts = np.asarray(sizes, dtype=np.float64) / np.asarray(errors, dtype=np.float64)
    if not (shifts > 0).all():
        return None
    rows = np.asarray(deviations, dtype=np.float64)
    norms = np.sqrt((rows**2).sum(axis=1))
    norms = np.where(norms > 0, norms, np.inf)
    correlation = rows @ rows.T / np.outer(norms, norms)
    np.fill_diagonal(correlation, 1.0)
    generator = np.random.default_rng(0)
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    normal = generator.normal(size=(DRAWS, len(shifts))) @ root.T
    scale = generator.normal(size=DRAWS)

    def power_at(growth: float) -> float:
        grown = max(freedom * growth, 1.0)
        part = 2 / (9 * grown)  # chi square by Wilson and Hilferty (1931)
        spread = np.maximum(1 - part + scale * part**0.5, 0.0) ** 1.5
        exceeds: FloatArray = normal + shifts * growth**0.5
        quantile = float(stdtrit(grown, 1 - tail))
        return float((exceeds > quantile * spread[:, None]).all(axis=1).mean())

    low, high = np.log(SMALLEST), np.log(LARGEST)
    if power_at(LARGEST) < POWER:
        return math.inf
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (low, middle) if power_at(float(np.exp(middle))) >= POWER else (middle, high)
    return float(np.exp(high))
