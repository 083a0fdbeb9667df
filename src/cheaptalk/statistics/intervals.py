"""Means with intervals that know which matches share a deal.

Matches on one deal are alike: a deal that is generous to one pairing is generous to the next.
Treating them as independent makes intervals too narrow; clustering by deal makes them honest.
"""

from collections.abc import Sequence

import polars as pl
from scipy.special import stdtrit

DEALS = ("configuration", "deal")
"""The columns that tell which matches share a deal."""


def mean_intervals(
    frame: pl.DataFrame,
    values: Sequence[str],
    by: Sequence[str] = (),
    *,
    cluster: Sequence[str] = DEALS,
    level: float = 0.95,
) -> pl.DataFrame:
    """Means of some columns, cell by cell, with cluster-robust intervals.

    With N matches in G clusters, x_i a match's value and m their mean, the variance of m is
    estimated as

        V = G / (G - 1) * sum over clusters g of (sum over i in g of (x_i - m)) ** 2 / N ** 2,

    and the interval is m -/+ t * sqrt(V), where t is the quantile of Student's t with G - 1
    degrees of freedom. This is the estimator CR1 of Cameron and Miller (2015, A Practitioner's
    Guide to Cluster-Robust Inference, Journal of Human Resources 50(2), section II) for a
    regression on a constant. Matches count alike, whatever the sizes of their clusters.

    Where all values of a cell are equal, the interval is that one point. A single cluster gives
    no interval. Missing values are left out, and a cell without any value is no row.

    Args:
        frame: one row a match.
        values: the columns to take means of.
        by: the columns whose combinations are the cells; all rows are one cell without any.
        cluster: the columns that tell the clusters apart.
        level: the share of such intervals that cover the true mean, in (0, 1).

    Returns:
        One row a cell and value: the columns of ``by``, then ``measure`` (the value's name),
        ``n`` (matches), ``clusters``, ``mean``, ``error`` (the standard error), ``low`` and
        ``high``; the last three are null where there is one cluster.
    """
    cell = [*by, "measure"]
    value, mean = pl.col("value"), pl.col("mean")
    long = (
        frame.select(*by, *cluster, *(pl.col(name).cast(pl.Float64) for name in values))
        .unpivot(values, index=[*by, *cluster], variable_name="measure", value_name="value")
        .drop_nulls("value")
        .with_columns(mean=value.mean().over(cell), same=(value.min() == value.max()).over(cell))
        .with_columns(mean=pl.when("same").then(value).otherwise(mean))
    )
    totals = long.group_by(*cell, *cluster, maintain_order=True).agg(
        pl.len().alias("n"), mean.first(), (value - mean).sum().alias("off")
    )
    count = pl.col("clusters")
    cells = totals.group_by(cell, maintain_order=True).agg(
        pl.col("n").sum(),
        pl.len().alias("clusters"),
        mean.first(),
        pl.col("off").pow(2).sum().alias("squares"),
    )
    variance = count / (count - 1) * pl.col("squares") / pl.col("n") ** 2
    quantiles = stdtrit((cells["clusters"] - 1).to_numpy(), (1 + level) / 2)
    width = pl.col("quantile") * pl.col("error")
    return (
        cells.with_columns(
            error=pl.when(count > 1).then(variance.sqrt()),
            quantile=pl.Series(quantiles, dtype=pl.Float64),
        )
        .with_columns(low=mean - width, high=mean + width)
        .drop("squares", "quantile")
    )
