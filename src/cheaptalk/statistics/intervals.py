"""Means with intervals that know which matches share a deal.

Matches on one deal are alike: a deal that is generous to one pairing is generous to the next.
Treating them as independent makes intervals too narrow; clustering by deal makes them honest.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import stdtrit

from cheaptalk.rules.bounds import SHARE, SLACK

Numbers: TypeAlias = NDArray[Any]
Bounds: TypeAlias = tuple[float, float]
"""The least and the most that a value can be."""
BoundsColumns: TypeAlias = tuple[str, str]
"""The columns of a frame that tell them row by row."""

DEALS = ("configuration", "deal")
"""The columns that tell which matches share a deal."""
STRATA = ("configuration",)
"""The column that tells which matches share a configuration."""
FEW = 20
"""Fewer clusters than this make intervals too narrow more often than not."""
ENOUGH = 25
"""Clusters that show how skewed values are."""
SYMMETRIC = 1e-6
"""Skewness that is none."""
ROUNDING = 1e-14
"""What floating point leaves of a difference that is 0, against the size of what it is between."""
STEEPEST = 0.9
"""Skewness times quantile, at the most: where it is 1, the transformation is too steep to use."""


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
    bounds: Mapping[str, Bounds | BoundsColumns] | None = None,
) -> pl.DataFrame:
    """Means of some columns, cell by cell, with cluster-robust intervals that hold for thin data.

    With N matches in G clusters, x_i a match's value, m their mean, and u_g the sum of
    (x_i - m) / N over the matches of cluster g, the variance of m is estimated as

        V = G / (G - 1) * sum over clusters g of u_g ** 2.

    This is the estimator CR1 of Cameron and Miller (2015, A Practitioner's Guide to
    Cluster-Robust Inference, Journal of Human Resources 50(2), section II) for a regression on a
    constant. Matches count alike, whatever the sizes of their clusters.

    With strata (the configurations of a design that were chosen, not drawn), deviations are from
    each stratum's own mean, and V is the sum of the strata's V_h with their G_h clusters (Cochran
    1977, Sampling Techniques, sections 5.4 and 9A.5): what differs from configuration to
    configuration is then no uncertainty. Strata with one cluster are collapsed into one stratum; a
    single such stratum collapses the whole cell, which errs on the side of caution (section
    5A.12). There are f = V ** 2 / sum of (V_h ** 2 / (G_h - 1)) degrees of freedom
    (Satterthwaite), so that a stratum on a large scale counts for what it adds.

    The interval takes one of three forms, with t the quantile of Student's t:

    - **Means** are freed of skewness by Hall's transformation (1992, On the Removal of Skewness by
      Transformation, Journal of the Royal Statistical Society B 54(1)). With c the sum of
      u_g ** 3 over that of u_g ** 2 to the power of 1.5, held within -/+ 0.9 / t, and
      h(y) = 3 / c * ((1 + c * (y - c / 6)) ** (1 / 3) - 1), the interval is
      m - h(t) * sqrt(V) to m - h(-t) * sqrt(V), or m -/+ t * sqrt(V) where c is 0.
    - **Shares**, whose values are all one of their bounds, have Wilson's interval for as many
      independent observations as have the same variance, p * (1 - p) / V for the share p, and N at
      the most (Korn and Graubard 1998, Confidence Intervals for Proportions with Small
      Expected Number of Positive Counts Estimated from Survey Data, Survey Methodology 24(2)).
    - **What did not vary** over G clusters: what was never seen comes with a probability of no more
      than q = 1 - (1 - level) ** (1 / G), else it would have been seen with a probability of
      ``level``; and it lies within the bounds (a, b). The interval is m - q * (m - a) to
      m + q * (b - m), and there is none without finite bounds.

    No interval leaves the bounds. There is none of a mean that can only be what it is, and a single
    cluster gives none. Missing values are left out, and a
    cell without any value is no row.

    Args:
        frame: one row a match.
        values: the columns to take means of.
        by: the columns whose combinations are the cells; all rows are one cell without any.
        cluster: the columns that tell the clusters apart.
        strata: those of the cluster columns that tell the strata apart; none: no strata.
        level: the share of such intervals that cover the true mean, in (0, 1).
        bounds: the least and the most that a value can be, by column: two numbers, or the columns
            that hold them where they differ from row to row, of which a mean has the means. Only
            of a column of booleans are they known without: 0 and 1.

    Returns:
        One row a cell and value: the columns of ``by``, then ``measure`` (the value's name),
        ``n`` (matches), ``clusters``, ``mean``, ``freedom`` (degrees of freedom), ``error`` (the
        standard error, null of one cluster), ``low`` and ``high`` (null where there is no
        interval), and ``wanted``: how many clusters would do where these are too few to tell a
        skew that makes the interval too narrow; null where they are enough, and of shares.
    """
    cell = [*by, "measure"]
    given = bounds or {}
    long = pl.concat(
        frame.select(
            *by, *cluster, pl.lit(name).alias("measure"),
            pl.col(name).cast(pl.Float64).alias("value"),
            *_ends(*given.get(name, _natural_bounds(frame[name].dtype))),
        ).drop_nulls("value")
        for name in values
    )  # fmt: skip
    long, stratum = _stratified(long, cell, cluster, strata)
    long = _bounded(long, cell)
    cells = _moments(long, cell, cluster, stratum)
    low, high = _limits(cells, level)
    freedom, apart = pl.col("freedom"), pl.col("clusters") - pl.col("strata")
    few = (freedom.round(6) < ENOUGH - 1) & (pl.col("variance") > 0) & ~pl.col("share")
    return cells.select(
        *cell, "n", "clusters", "mean", "freedom",
        error=pl.when(freedom > 0).then(pl.col("variance").sqrt()),
        low=pl.Series(low, dtype=pl.Float64).fill_nan(None),
        high=pl.Series(high, dtype=pl.Float64).fill_nan(None),
        wanted=pl.when(few).then(
            (apart * (ENOUGH - 1) / freedom + pl.col("strata")).round(6).ceil().cast(pl.Int64)
        ),
    )  # fmt: skip


def _natural_bounds(kind: pl.DataType) -> Bounds:
    """What values of a kind can be."""
    return SHARE if kind == pl.Boolean else (-math.inf, math.inf)


def _ends(least: float | str, most: float | str) -> Iterator[pl.Expr]:
    """The columns ``least`` and ``most``, null where rows have no bounds."""
    for name, end in (("least", least), ("most", most)):
        one = pl.col(end) if isinstance(end, str) else pl.lit(end)
        yield one.cast(pl.Float64).alias(name)


def _bounded(long: pl.DataFrame, cell: Sequence[str]) -> pl.DataFrame:
    """Values with their bounds, of which those that a value of the cell breaks are none.

    Returns:
        ``least`` and ``most`` of the cell's mean, and ``inner``: whether a value is none of its own
        bounds, or these differ within the cell.
    """
    value = pl.col("value")
    least, most = pl.col("least").fill_null(-math.inf), pl.col("most").fill_null(math.inf)
    own = long.with_columns(
        least=pl.when((value >= _wider(least, -1)).all().over(cell))
        .then(least)
        .otherwise(-math.inf),
        most=pl.when((value <= _wider(most, 1)).all().over(cell)).then(most).otherwise(math.inf),
    )
    differ = [pl.col(end).min().over(cell) < pl.col(end).max().over(cell)
              for end in ("least", "most")]  # fmt: skip
    return own.with_columns(
        inner=value.is_between("least", "most", closed="none") | differ[0] | differ[1],
        least=_exact_mean(cell, "least"), most=_exact_mean(cell, "most"),
    )  # fmt: skip


def _wider(end: pl.Expr, sign: int) -> pl.Expr:
    """An end of what values can be, moved by as much as sums of decimals may be off."""
    return (
        pl.when(end.is_finite())
        .then(end + sign * SLACK * pl.max_horizontal(1, end.abs()))
        .otherwise(end)
    )


def _moments(
    long: pl.DataFrame, cell: Sequence[str], cluster: Sequence[str], stratum: Sequence[str]
) -> pl.DataFrame:
    """A row a cell: what intervals are made of."""
    long = long.with_columns(
        mean=_exact_mean(cell), centre=_exact_mean([*cell, *stratum]), size=pl.len().over(cell),
    )  # fmt: skip
    same = [pl.col("mean", "least", "most").first(), pl.col("n").sum()]
    off, count = pl.col("off"), pl.col("clusters")
    clusters = (
        long.group_by(*cell, *stratum, *cluster, maintain_order=True)
        .agg(
            pl.col("mean", "least", "most", "size").first(),
            pl.len().alias("n"),
            without_rounding(
                (pl.col("value") - pl.col("centre")).sum(), pl.col("value").abs().max(), pl.len()
            ).alias("off"),
            pl.col("inner").any(),
        )
        .with_columns(off / pl.col("size"))
    )
    parts = (
        clusters.group_by(*cell, *stratum, maintain_order=True)
        .agg(
            *same,
            pl.col("inner").any(),
            pl.len().alias("clusters"),
            off.pow(2).sum().alias("squares"),
            off.pow(3).sum().alias("cubes"),
        )
        .with_columns(
            variance=pl.when(count > 1)
            .then(count / (count - 1) * pl.col("squares"))
            .otherwise(0.0),
        )
    )
    variance = pl.col("variance")
    return (
        parts.group_by(cell, maintain_order=True)
        .agg(
            *same,
            ~pl.col("inner").any().alias("share"),
            count.sum(),
            pl.len().alias("strata"),
            variance.sum(),
            pl.col("squares", "cubes").sum(),
            (variance.pow(2) / (count - 1)).filter(count > 1).sum().alias("fourths"),
        )
        .with_columns(
            freedom=pl.when(pl.col("fourths") > 0)
            .then(variance.pow(2) / pl.col("fourths"))
            .otherwise((count - pl.col("strata")).cast(pl.Float64)),
        )
    )


def without_rounding(difference: pl.Expr, size: pl.Expr, terms: pl.Expr | int = 1) -> pl.Expr:
    """A sum of differences; 0 where it is no more than floating point leaves of one that is 0.

    Args:
        size: of the largest of the numbers that it is between.
        terms: how many differences it sums.
    """
    return pl.when(difference.abs() <= ROUNDING * size * terms).then(0.0).otherwise(difference)


def _limits(cells: pl.DataFrame, level: float) -> tuple[Numbers, Numbers]:
    """The ends of the cells' intervals; not a number where there are none."""
    mean, squares, variance, freedom, least, most = (
        cells[name].to_numpy()
        for name in ("mean", "squares", "variance", "freedom", "least", "most")
    )
    quantile = stdtrit(freedom, (1 + level) / 2)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        unseen = 1 - (1 - level) ** (1 / cells["clusters"].to_numpy())
        constant = mean - unseen * (mean - least), mean + unseen * (most - mean)
        share = _wilson(mean, variance, quantile, least, most, cells["n"].to_numpy())
        skew = cells["cubes"].to_numpy() / squares**1.5
        other = tuple(mean - _hall(end, skew) * variance**0.5 for end in (quantile, -quantile))
    forms = [freedom <= 0, variance == 0, cells["share"].to_numpy()]
    low, high = (
        np.select(forms, [np.nan, constant[end], share[end]], other[end]) for end in (0, 1)
    )
    known = np.isfinite(low) & np.isfinite(high) & (least < most)
    return (
        np.where(known, np.maximum(low, least), np.nan),
        np.where(known, np.minimum(high, most), np.nan),
    )


def _hall(quantile: Numbers, skew: Numbers) -> Numbers:
    """A quantile of Student's t as it is for a mean of this skewness."""
    most = STEEPEST / np.abs(quantile)
    symmetric = np.abs(skew) < SYMMETRIC
    bend = np.where(symmetric, 1, np.clip(skew, -most, most))
    bent = 3 / bend * (np.cbrt(1 + bend * (quantile - bend / 6)) - 1)
    return np.where(symmetric, quantile, bent)


def _wilson(
    mean: Numbers, variance: Numbers, quantile: Numbers, least: Numbers, most: Numbers, n: Numbers
) -> tuple[Numbers, Numbers]:
    """Wilson's interval of shares, by their effective sizes."""
    span = most - least
    share = (mean - least) / span
    square = share * (1 - share)
    size = np.minimum(square * span**2 / variance, n)
    shrunk = 1 + quantile**2 / size
    centre = (share + quantile**2 / (2 * size)) / shrunk
    width = quantile / shrunk * np.sqrt(square / size + (quantile / (2 * size)) ** 2)
    return least + span * (centre - width), least + span * (centre + width)


def _exact_mean(over: Sequence[str], of: str = "value") -> pl.Expr:
    """The mean within groups; where all values are equal, that value to the last bit."""
    value = pl.col(of)
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
