"""Means of a metric's values, with intervals that are valid for few clusters."""

from collections.abc import Sequence

import polars as pl

from cheaptalk.rules.bounds import Bounds
from cheaptalk.statistics import mean_intervals
from cheaptalk.statistics.differences import difference_limits

LEVEL = 0.95
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

    Args:
        frame: a row per pair, with the columns of :data:`CLUSTER`.
        column: the column of the differences.
        by: the columns that define the cells.
        bounds: the smallest and the largest possible difference.

    Returns:
        The columns of :func:`.mean_intervals`. Differences that are all equal have its interval.
        Other differences have no interval with fewer than two degrees of freedom.
    """
    means = mean_intervals(frame, [column], by, cluster=CLUSTER, strata=(), bounds={column: bounds})
    limits = [
        (row["low"], row["high"]) if not row["error"] else
        difference_limits(row["mean"], row["error"], row["freedom"], LEVEL, bounds, row["skew"])
        for row in means.iter_rows(named=True)
    ]  # fmt: skip
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

    Args:
        frame: a row per match, with the columns of :data:`CLUSTER`.
        column: the column of the values.
        by: the columns that define the cells.
        bounds: the possible range of a value.
    """
    stratified, plain = (
        mean_intervals(frame, [column], by, cluster=CLUSTER, strata=strata, bounds={column: bounds})
        for strata in (CLUSTER[:1], ())
    )
    unknown = stratified["low"].is_null() & (stratified["freedom"] > 0)
    cells = [*by, "metric"]
    rows = pl.concat([stratified.filter(~unknown), plain.filter(unknown)])
    return stratified.select(cells).join(rows, cells, maintain_order="left", validate="1:1")
