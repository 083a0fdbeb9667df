"""Means with intervals that know which matches share a deal.

Matches on one deal are alike: a deal that is generous to one pairing is generous to the next.
Treating them as independent makes intervals too narrow; clustering by deal makes them honest.
"""

from collections.abc import Sequence

import polars as pl
from scipy.special import stdtrit

DEALS = ("configuration", "deal")
"""The columns that tell which matches share a deal."""
STRATA = ("configuration",)
"""The column that tells which matches share a configuration."""
FEW = 20
"""Fewer clusters than this make intervals too narrow more often than not."""


def few_clusters(count: int) -> str:
    """What to note of fewer clusters than :data:`FEW`."""
    return f"{count} clusters are few: the intervals are likely too narrow"


def mean_intervals(
    frame: pl.DataFrame,
    values: Sequence[str],
    by: Sequence[str] = (),
    *,
    cluster: Sequence[str] = DEALS,
    strata: Sequence[str] = (),
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

    With strata (the configurations of a design that were chosen, not drawn), m is replaced by
    each stratum's own mean, the sum runs over all strata h with G_h / (G_h - 1), and t has the
    sum of G_h - 1 degrees of freedom (Cochran 1977, Sampling Techniques, sections 5.4 and 9A.5):
    what differs from configuration to configuration is then no uncertainty, and playing copies of
    one match adds none and removes none. Strata with one cluster are collapsed into one stratum;
    a single such stratum collapses the whole cell, which errs on the side of caution (section
    5A.12).

    Where all values of a stratum are equal they add nothing. A single cluster gives no interval.
    Missing values are left out, and a cell without any value is no row.

    Args:
        frame: one row a match.
        values: the columns to take means of.
        by: the columns whose combinations are the cells; all rows are one cell without any.
        cluster: the columns that tell the clusters apart.
        strata: those of the cluster columns that tell the strata apart; none: no strata.
        level: the share of such intervals that cover the true mean, in (0, 1).

    Returns:
        One row a cell and value: the columns of ``by``, then ``measure`` (the value's name),
        ``n`` (matches), ``clusters``, ``mean``, ``error`` (the standard error), ``low`` and
        ``high``; the last three are null where there is one cluster.
    """
    cell = [*by, "measure"]
    long = (
        frame.select(*by, *cluster, *(pl.col(name).cast(pl.Float64) for name in values))
        .unpivot(values, index=[*by, *cluster], variable_name="measure", value_name="value")
        .drop_nulls("value")
    )
    long, stratum = _stratified(long, cell, cluster, strata)
    long = long.with_columns(mean=_exact_mean(cell), centre=_exact_mean([*cell, *stratum]))
    clusters = long.group_by(*cell, *stratum, *cluster, maintain_order=True).agg(
        pl.len().alias("n"),
        pl.col("mean").first(),
        (pl.col("value") - pl.col("centre")).sum().alias("off"),
    )
    count = pl.col("clusters")
    parts = clusters.group_by(*cell, *stratum, maintain_order=True).agg(
        pl.col("n").sum(),
        pl.len().alias("clusters"),
        pl.col("mean").first(),
        pl.col("off").pow(2).sum().alias("squares"),
    )
    cells = parts.group_by(cell, maintain_order=True).agg(
        pl.col("n").sum(),
        count.sum(),
        pl.col("mean").first(),
        (count - 1).sum().alias("freedom"),
        (count / (count - 1) * pl.col("squares")).sum().alias("squares"),
    )
    quantiles = stdtrit(cells["freedom"].to_numpy(), (1 + level) / 2)
    mean, width = pl.col("mean"), pl.col("quantile") * pl.col("error")
    return (
        cells.with_columns(
            error=pl.when(pl.col("freedom") > 0).then(pl.col("squares").sqrt() / pl.col("n")),
            quantile=pl.Series(quantiles, dtype=pl.Float64),
        )
        .with_columns(low=mean - width, high=mean + width)
        .drop("squares", "quantile", "freedom")
    )


def _exact_mean(over: Sequence[str]) -> pl.Expr:
    """The mean within groups; where all values are equal, that value to the last bit."""
    value = pl.col("value")
    same = (value.min() == value.max()).over(over)
    return pl.when(same).then(value).otherwise(value.mean().over(over))


def _stratified(
    long: pl.DataFrame, cell: Sequence[str], cluster: Sequence[str], strata: Sequence[str]
) -> tuple[pl.DataFrame, list[str]]:
    """The frame with the columns that tell its strata apart, null where strata are collapsed."""
    names = {name: f"stratum.{name}" for name in strata}
    alone = pl.len().over([*cell, *strata]) == 1
    collapsed = pl.col("alone") | (pl.col("alone").sum().over(cell) == 1)
    places = (
        long.select(*cell, *cluster)
        .unique(maintain_order=True)
        .with_columns(alone=alone)
        .with_columns(
            pl.when(~collapsed).then(pl.col(name)).alias(shown) for name, shown in names.items()
        )
        .drop("alone")
    )
    return long.join(places, on=[*cell, *cluster], how="left", nulls_equal=True), [*names.values()]
