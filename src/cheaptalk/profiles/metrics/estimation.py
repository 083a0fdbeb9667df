"""Means of a metric's values with intervals, and the smallest effects that a design detects."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
from scipy.optimize import brentq
from scipy.special import chdtri, ndtr

from cheaptalk.rules.bounds import SLACK, Bounds
from cheaptalk.statistics import holm, mean_intervals, permutation_test
from cheaptalk.statistics.differences import difference_limits
from cheaptalk.statistics.limits import t_quantile

LEVEL = 0.95
POWER = 0.8
"""The power with which a detectable effect is detected."""
NODES = 4_000
"""Quantiles of the variance's distribution over which power is averaged."""
CLUSTER = ("stratum", "cluster")
"""The columns that identify the clusters of a metric's values."""


def mean_differences(
    frame: pl.DataFrame, column: str, by: Sequence[str] = (), *, bounds: Bounds
) -> pl.DataFrame:
    """Return mean differences between paired matches of a randomising player, with 95 % intervals.

    The clustered intervals are those of :func:`.difference_limits`. Strata are ignored for two
    reasons: without an effect they explain no variance, because each stratum has the mean 0; and
    many strata have only two clusters. If the differences of two clusters agree by chance, a
    stratified interval is far too narrow.

    Differences that are all equal have the interval of :func:`.mean_intervals`. Other differences
    have no interval with fewer than two degrees of freedom.
    """
    means = mean_intervals(frame, [column], by, cluster=CLUSTER, strata=(), bounds={column: bounds})
    limits: list[tuple[float | None, float | None]] = []
    for row in means.iter_rows(named=True):
        spread = (row["mean"], row["error"], row["freedom"], LEVEL, bounds, row["skew"])
        limits.append(difference_limits(*spread) if row["error"] else (row["low"], row["high"]))
    return means.with_columns(
        pl.Series(name, [limit[end] for limit in limits], dtype=pl.Float64)
        for end, name in enumerate(("low", "high"))
    )


def stratified_means(
    frame: pl.DataFrame, column: str, by: Sequence[str] = (), *, bounds: Bounds
) -> pl.DataFrame:
    """Return the stratified means of a column by group, with 95 % intervals.

    If values vary only between strata, there is no stratified interval. Strata are then ignored,
    which makes the interval wider.
    """
    options: dict[str, Any] = {"cluster": CLUSTER, "bounds": {column: bounds}}
    stratified = mean_intervals(frame, [column], by, strata=CLUSTER[:1], **options)
    unknown = stratified["low"].is_null() & (stratified["freedom"] > 0)
    if not unknown.any():
        return stratified
    plain = mean_intervals(frame, [column], by, strata=(), **options)
    cells = [*by, "metric"]
    rows = pl.concat([stratified.filter(~unknown), plain.filter(unknown)])
    return stratified.select(cells).join(rows, cells, maintain_order="left", validate="1:1")


def sign_flip_p(frame: pl.DataFrame, column: str) -> float:
    """Return the p-value of a mean difference, from a sign-flip test over clusters."""
    clusters = frame.group_by(CLUSTER, maintain_order=True).agg(pl.col(column).sum())
    sums = clusters[column].sort().to_numpy()
    moved = sums[np.abs(sums) > SLACK]
    return permutation_test(moved, 0 * moved, paired=True).p if len(moved) else 1.0


def corrected_ps(frames: Mapping[str, pl.DataFrame], column: str) -> dict[str, float]:
    """Return the p-values of mean differences by key, with Holm's correction for all of them."""
    ps = holm([sign_flip_p(frame, column) for frame in frames.values()])
    return dict(zip(frames, map(float, ps), strict=True))


@lru_cache(maxsize=4_096)
def noncentrality(freedom: float, level: float) -> float:
    """Return the effect, in standard errors, that a two-sided t test detects with 80 % power.

    Let t be the critical value, Z standard normal and V chi-squared with f degrees of freedom. The
    test of an effect of d standard errors rejects if Z + d > t * sqrt(V / f). Its probability is
    the mean of Phi(d - t * sqrt(V / f)) over quantiles of V. This computation is stable for the
    large noncentralities of few degrees of freedom. Rejections on the wrong side are ignored.

    >>> round(noncentrality(1e6, 0.05), 2)
    2.8
    >>> round(noncentrality(9, 0.05), 2)
    3.15

    Args:
        freedom: degrees of freedom of the standard error, above 0.
        level: the level of the test, in (0, 1).
    """
    upper = (np.arange(NODES) + 0.5) / NODES
    critical = float(t_quantile(freedom, 1 - level))
    bounds = critical * np.sqrt(chdtri(freedom, upper) / freedom)

    def excess(effect: float) -> float:
        return float(np.mean(ndtr(effect - bounds))) - POWER

    return float(brentq(excess, 0, float(bounds.max()) + 10))


def detectable_effect(
    error: float | None,
    freedom: float | None,
    clusters: int | None,
    reach: float,
    level: float,
    largest: float = np.inf,
) -> float | None:
    """Return the smallest effect on a mean that is detected with 80 % power; None if none is.

    The effect is :func:`noncentrality` times the standard error. If the values are equal in all G
    clusters, the standard error of an effect d is sqrt(d * (reach - d) / G), as if d / reach of the
    clusters differed by ``reach``, the distance from the mean to the farther bound.
    """
    if not freedom or not clusters:
        return None
    needed = noncentrality(round(freedom, 6), level)
    effect = needed * error if error else np.inf
    if not error and np.isfinite(reach):
        effect = reach * needed**2 / (clusters + needed**2)
    return float(effect) if effect <= largest and np.isfinite(effect) else None


def permits(clusters: int | None, level: float) -> bool:
    """Return whether a sign-flip test of ``clusters`` values can be significant at a level.

    >>> permits(6, 0.05), permits(5, 0.05)
    (True, False)
    """
    return clusters is not None and 2.0 ** (1 - clusters) <= level
