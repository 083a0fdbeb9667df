"""Means of the values of a metric, with intervals that hold for few clusters."""

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
    """Return mean differences of paired matches with their 95 % intervals, cell by cell.

    They are differences that chance can make, because a player randomises. The intervals are those
    of :func:`.difference_limits`, clustered as the matches are. Strata are ignored: without an
    effect the mean of each is 0, so that they explain no variance, and many of them have two
    clusters only, whose differences may happen to agree, which would make the interval far too
    narrow.

    Args:
        frame: a row per pair, with the columns of :data:`CLUSTER`.
        column: the differences.
        by: the columns whose combinations are the cells.
        bounds: the smallest and the largest possible difference.

    Returns:
        The columns of :func:`.mean_intervals`. Differences that never varied have its interval. The
        others have none with fewer than two degrees of freedom.
    """
    means = mean_intervals(
        frame, [column], by, cluster=CLUSTER, strata=(), bounds={column: bounds}
    )  # fmt: skip
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
    """Return means with their 95 % intervals, cell by cell; see :func:`.mean_intervals`.

    If values vary between strata only and have no interval for that, strata are ignored, which errs
    on the side of caution.

    Args:
        frame: a row per match, with the columns of :data:`CLUSTER`.
        column: the values.
        by: the columns whose combinations are the cells.
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
