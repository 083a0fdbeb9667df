"""Confidence limits from standard errors, bootstrap draws, and counts of outcomes."""

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, stdtrit

from cheaptalk.statistics.columns import FloatArray

Numbers: TypeAlias = NDArray[Any]
Bounds: TypeAlias = tuple[float, float]
"""The minimum and the maximum of a value."""
BoundsColumns: TypeAlias = tuple[str, str]
"""The names of two columns with the bounds of each row."""
UNBOUNDED: Bounds = (-math.inf, math.inf)
ROUNDING = 1e-14
"""The relative size of rounding errors in a difference of 0."""


def t_quantile(freedom: ArrayLike, level: float = 0.95) -> Numbers:
    """Return the half-width, in standard errors, of a Student interval with a given level.

    >>> t_quantile([9, 1e6]).round(2).tolist()
    [2.26, 1.96]
    """
    return np.asarray(stdtrit(np.asarray(freedom, dtype=np.float64), (1 + level) / 2))


def t_limits(
    value: float, error: float, freedom: float, level: float = 0.95, bounds: Bounds = UNBOUNDED
) -> Bounds:
    """Return Student's confidence interval of an estimate, limited to the bounds."""
    width = float(t_quantile(freedom, level)) * error
    return max(value - width, bounds[0]), min(value + width, bounds[1])


def welch(variance: pl.Expr, fourths: pl.Expr) -> pl.Expr:
    """Return the degrees of freedom of a sum of independent variances (Welch, Satterthwaite).

    ``fourths`` is the sum of their squares, each divided by its degrees of freedom.
    """
    return pl.when(fourths > 0).then(variance.pow(2) / fourths).otherwise(1.0)


def unseen_share(count: float, level: float = 0.95) -> float:
    """Return the largest probability of an outcome that none of ``count`` observations showed."""
    return float(1 - (1 - level) ** (1 / count))


def share_limits(hits: int, trials: int) -> Bounds:
    """Return the exact 95 % interval of a share (Clopper and Pearson 1934)."""
    interval = scipy.stats.binomtest(hits, trials).proportion_ci()
    return float(interval.low), float(interval.high)


def percentile_tail(level: float, freedom: float) -> float:
    """Return the tail probability of expanded percentiles; see :func:`.bootstrap`."""
    return float(ndtr(stdtrit(freedom, (1 - level) / 2)))


def expanded(level: float, freedom: int) -> float:
    """Return the tail probability of percentile intervals, corrected for few clusters.

    Independent draws of clusters understate the variance of means by 1 / (freedom + 1).

    >>> round(expanded(0.95, 10_000), 3), round(expanded(0.95, 19), 3)
    (0.025, 0.016)
    """
    return float(ndtr(stdtrit(freedom, (1 - level) / 2) * math.sqrt((freedom + 1) / freedom)))


def percentiles(draws: FloatArray, tail: float = 0.025) -> FloatArray:
    """Return the percentiles ``tail`` and 1 - ``tail`` along the first axis, ignoring NaN."""
    return np.asarray(np.nanquantile(draws, [tail, 1 - tail], axis=0))


def draw_summary(
    estimates: Sequence[float] | FloatArray, draws: FloatArray, tail: float, *, basic: bool = False
) -> pl.DataFrame:
    """Return bootstrap means, standard errors and intervals; undefined draws (NaN) are ignored.

    ``draws`` has shape (draws, numbers). Basic intervals are twice the estimate minus the opposite
    percentile. There is one row per number: ``estimate``, ``mean``, ``error``, ``low``, ``high``
    and ``undefined`` (the share of undefined draws); undefined numbers are null.
    """
    rows = []
    for value, column in zip(estimates, draws.T, strict=True):
        defined = column[np.isfinite(column)]
        low, high = percentiles(defined, tail) if len(defined) else (math.nan, math.nan)
        if basic:
            low, high = 2 * value - high, 2 * value - low
        error = float(defined.std(ddof=1)) if len(defined) > 1 else math.nan
        mean = float(defined.mean()) if len(defined) else math.nan
        rows.append((value, mean, error, low, high, 1 - len(defined) / len(column)))
    names = ("estimate", "mean", "error", "low", "high", "undefined")
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Float64), orient="row")
    return frame.with_columns(pl.when(pl.all().is_finite()).then(pl.all()))


def jackknife_error(without: FloatArray) -> float:
    """Return the standard error from estimates that each leave out one cluster.

    The jackknife of Efron and Tibshirani (1993, An Introduction to the Bootstrap, chapter 11).
    """
    squares = float(((without - without.mean()) ** 2).sum())
    return math.sqrt((len(without) - 1) / len(without) * squares)
