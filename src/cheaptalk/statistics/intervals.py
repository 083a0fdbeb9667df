"""Means with confidence intervals that are clustered by instance.

Matches on the same instance are correlated: a generous instance is generous to every pairing.
Treating these matches as independent would make intervals too narrow.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import stdtrit

from cheaptalk.rules.bounds import SHARE, SLACK
from cheaptalk.statistics.columns import (
    StatisticsError,
    demand_clusters,
    demand_columns,
    demand_level,
    demand_numbers,
    with_numbers,
)
from cheaptalk.statistics.participants import PEOPLE, clustered_by_people

Numbers: TypeAlias = NDArray[Any]
Bounds: TypeAlias = tuple[float, float]
"""The minimum and the maximum of a value."""
BoundsColumns: TypeAlias = tuple[str, str]
"""The names of two columns with the bounds of each row."""

INSTANCES = ("configuration", "instance")
"""The columns that identify instances."""
STRATA = ("configuration",)
"""The column that identifies configurations."""
FEW = 20
"""The number of clusters below which intervals are likely too narrow."""
ENOUGH = 25
"""The number of clusters needed to estimate skewness."""
SYMMETRIC = 1e-6
"""Values with a smaller absolute skewness count as symmetric."""
AT_ONCE = 500_000
"""The maximum number of values processed together."""
ROUNDING = 1e-14
"""The relative size of rounding errors in a difference of 0."""
ONE_CLUSTER = "one cluster: the standard error is unknown"
CONSTANT = "nothing varied within strata: the standard error is unknown"
"""Notes on means without an estimated standard error."""
STEEPEST = 0.9
"""The maximum of skewness times quantile in Hall's transformation, which is too steep at 1."""


def few_clusters(count: int, freedom: float) -> str:
    """Return the warning that an estimate is based on few clusters or degrees of freedom.

    >>> few_clusters(12, 11), few_clusters(30, 15)
    ('12 clusters are few: the intervals are likely too narrow', \
'30 clusters have only 15 degrees of freedom: the intervals are likely too narrow')
    """
    caution = f"{count} clusters are few"
    if freedom < count - 1:
        caution = f"{count} clusters have only {freedom:.0f} degrees of freedom"
    return f"{caution}: the intervals are likely too narrow"


def mean_intervals(
    frame: pl.DataFrame,
    values: Sequence[str],
    by: Sequence[str] = (),
    *,
    cluster: Sequence[str] = INSTANCES,
    strata: Sequence[str] | None = None,
    level: float = 0.95,
    bounds: Mapping[str, Bounds | BoundsColumns] | None = None,
    people: str | None = PEOPLE,
) -> pl.DataFrame:
    """Estimate the mean of each cell with a cluster-robust confidence interval.

    With N matches in G clusters, x_i a match's value, m their mean, and u_g the sum of
    (x_i - m) / N over the matches of cluster g, the variance of m is estimated as

        V = G / (G - 1) * sum over clusters g of u_g ** 2.

    This is the estimator CR1 of Cameron and Miller (2015, A Practitioner's Guide to Cluster-Robust
    Inference, Journal of Human Resources 50(2), section II) for a regression on a constant. All
    matches have equal weight, regardless of the sizes of their clusters.

    Strata are configurations that were chosen rather than sampled. With strata, deviations are from
    the mean of the stratum, so that differences between configurations don't count as uncertainty.
    V is the sum of the strata's V_h with their G_h clusters (Cochran 1977, Sampling Techniques,
    sections 5.4 and 9A.5). Strata with one cluster are merged into one stratum; if there is only
    one such stratum, all strata of the cell are merged, which is conservative (section 5A.12).

    The degrees of freedom are f = V ** 2 / sum of (V_h ** 2 / f_h) (Satterthwaite). A stratum with
    clusters of equal size has f_h = G_h - 1. Otherwise f_h accounts for a few large clusters: with
    A the matrix of V_h as a quadratic form of cluster means with equal variances, f_h = trace(A) **
    2 / trace(A ** 2) (Bell and McCaffrey 2002, Bias Reduction in Standard Errors for Linear
    Regression with Multi-Stage Samples, Survey Methodology 28(2)).

    The interval takes one of three forms, with t the quantile of Student's t:

    - **Means** are corrected for skewness by Hall's transformation (1992, On the Removal of
      Skewness by Transformation, Journal of the Royal Statistical Society B 54(1)). The skewness c
      is the sum of u_g ** 3 over the sum of u_g ** 2 to the power of 1.5, limited to -/+ 0.9 / t.
      With h(y) = 3 / c * ((1 + c * (y - c / 6)) ** (1 / 3) - 1), the interval is m - h(t) * sqrt(V)
      to m - h(-t) * sqrt(V), or m -/+ t * sqrt(V) if c is 0.
    - **Shares**, if all values equal one of their bounds, have Wilson's interval for the effective
      sample size p * (1 - p) / V of the share p, at most N (Korn and Graubard 1998, Confidence
      Intervals for Proportions with Small Expected Number of Positive Counts Estimated from Survey
      Data, Survey Methodology 24(2)).
    - **Constant values** over G clusters: an outcome that never occurred has a probability of at
      most q = 1 - (1 - level) ** (1 / G). With the bounds (a, b) of values, the interval is m - q *
      (m - a) to m + q * (b - m), and undefined without finite bounds. Constant strata have separate
      q_h: the widest for which the product of (1 - q_h) ** G_h is 1 - ``level``.

    Intervals are limited to the bounds. Intervals are undefined for a single cluster, and for a
    mean that equals both of its bounds. Missing values are ignored, and a cell without values has
    no row.

    Args:
        frame: one row per match.
        values: the columns whose means are estimated.
        by: the columns whose combinations define the cells; if empty, all rows form one cell.
        cluster: the columns that identify clusters.
        strata: the cluster columns that identify strata; empty for no strata. The default is the
            configuration, if it is among the cluster columns.
        level: the confidence level, in (0, 1).
        bounds: the minimum and the maximum of each column's values: two numbers, or the names of
            two columns if bounds differ between rows. By default, booleans have the bounds 0 and 1.
        people: the optional column that lists the participants of each match; matches that share a
            participant are then also clustered (see :func:`.clustered_by_people`). None to ignore
            participants.

    Returns:
        One row per cell and value: the columns of ``by``, then ``metric`` (the value's name), ``n``
        (matches), ``clusters``, ``mean``, ``freedom`` (degrees of freedom), ``error`` (the standard
        error; null if unknown, 0 if the bounds determine the mean), ``low`` and ``high`` (null if
        undefined). ``wanted`` is the number of clusters that would suffice if the interval is too
        narrow because of skewness, and null otherwise. ``note`` is :data:`ONE_CLUSTER` or
        :data:`CONSTANT` if the error is unknown, and null otherwise. ``skew`` is c of Hall's
        transformation, or 0 if participants determine the error.

    Raises:
        StatisticsError: a column is missing, a value isn't a finite number, or no value or cluster
            column is named.
    """
    if strata is None:
        strata = STRATA if set(STRATA) < set(cluster) else ()
    demand_level(level)
    demand_clusters(frame, cluster, "add one with with_row_index if rows are independent")
    for names in (by, strata):
        demand_columns(frame, names, "group by")
    if not values:
        raise StatisticsError("name at least one column to average")
    demand_columns(frame, values, "average")
    cell = [*by, "metric"]
    all_bounds = bounds or {}
    ends = (end for name in values for end in all_bounds.get(name, ()) if isinstance(end, str))
    demand_numbers(frame, list(ends), "bound means by")
    participants = [pl.col(people).alias(PEOPLE)] if people in frame.columns else []

    def moments(names: Sequence[str]) -> pl.DataFrame:
        long = pl.concat(
            with_numbers(frame, [name], "average").select(
                *by, *cluster, pl.lit(name).alias("metric"), pl.col(name).alias("value"),
                *_ends(*all_bounds.get(name, _natural_bounds(frame.schema[name]))), *participants,
            )
            for name in names
        )  # fmt: skip
        long, stratum = _stratified(long, cell, cluster, strata)
        cells = _together(_moments(_bounded(long, cell), cell, cluster, stratum), cell, level)
        inside = [*cell, *stratum]
        return clustered_by_people(long, cells, cell, inside, cluster) if participants else cells

    chunk = max(1, AT_ONCE // max(1, len(frame)))
    parts = [values[start : start + chunk] for start in range(0, len(values), chunk)]
    cells = pl.concat(map(moments, parts)).with_columns(
        skew=pl.when(pl.col("squares") > 0).then(pl.col("cubes") / pl.col("squares").pow(1.5))
        .otherwise(0.0)
    )  # fmt: skip
    low, high = _limits(cells, level)
    freedoms = cells["freedom"].to_numpy()
    freedom, within = pl.col("freedom"), pl.col("clusters") - pl.col("strata")
    varied = (freedom > 0) & (pl.col("variance") > 0) & ~pl.col("share")
    steep = pl.lit(cells["skew"].abs() * stdtrit(freedoms, (1 + level) / 2) / STEEPEST)
    enough = pl.when(varied).then(
        pl.max_horizontal(
            within * (ENOUGH - 1) / freedom + pl.col("strata"), pl.col("clusters") * steep.pow(2)
        ).round(6)
    )  # fmt: skip
    fixed, single, still = pl.col("least") == pl.col("most"), freedom <= 0, pl.col("variance") == 0
    return cells.select(
        *cell, "n", "clusters", "mean", "freedom",
        error=pl.when(fixed | ~(single | still)).then(pl.col("variance").sqrt()),
        low=pl.Series(low, dtype=pl.Float64).fill_nan(None),
        high=pl.Series(high, dtype=pl.Float64).fill_nan(None),
        wanted=pl.when(enough > pl.col("clusters")).then(enough).ceil().cast(pl.Int64),
        note=pl.when(fixed).then(None)
        .when(single).then(pl.lit(ONE_CLUSTER)).when(still).then(pl.lit(CONSTANT)),
        skew="skew",
    )  # fmt: skip


def _natural_bounds(kind: pl.DataType) -> Bounds:
    return SHARE if kind == pl.Boolean else (-math.inf, math.inf)


def _ends(minimum: float | str, maximum: float | str) -> Iterator[pl.Expr]:
    """Yield expressions for the lower and the upper bound of each value; null if unbounded."""
    for name, end in (("least", minimum), ("most", maximum)):
        bound = pl.col(end) if isinstance(end, str) else pl.lit(end)
        yield bound.cast(pl.Float64).alias(name)


def _bounded(long: pl.DataFrame, cell: Sequence[str]) -> pl.DataFrame:
    """Add columns with bounds of each value and the mean, and whether values are between them.

    Bounds that a value of the cell violates are infinite. ``inner`` is whether a value differs from
    both bounds by more than rounding, or the bounds differ within the cell.
    """
    value = pl.col("value")
    minimum, maximum = pl.col("least").fill_null(-math.inf), pl.col("most").fill_null(math.inf)
    above, below = value >= _wider(minimum, -1), value <= _wider(maximum, 1)
    bounded = long.with_columns(
        least=pl.when(above.all().over(cell)).then(minimum).otherwise(-math.inf),
        most=pl.when(below.all().over(cell)).then(maximum).otherwise(math.inf),
    )
    differ = [pl.col(end).min().over(cell) < pl.col(end).max().over(cell)
              for end in ("least", "most")]  # fmt: skip
    return bounded.with_columns(
        low="least", high="most",
        inner=(value > _wider(pl.col("least"), 1)) & (value < _wider(pl.col("most"), -1))
        | differ[0] | differ[1],
        least=_exact_mean(cell, "least"), most=_exact_mean(cell, "most"),
    )  # fmt: skip


def _wider(end: pl.Expr, sign: int) -> pl.Expr:
    """Shift a finite bound up (``sign`` 1) or down (-1) by the rounding error of sums."""
    moved = end + sign * SLACK * pl.max_horizontal(1, end.abs())
    return pl.when(end.is_finite()).then(moved).otherwise(end)


def _moments(
    long: pl.DataFrame, cell: Sequence[str], cluster: Sequence[str], stratum: Sequence[str]
) -> pl.DataFrame:
    inside = [*cell, *stratum]
    long = long.with_columns(
        mean=_exact_mean(cell), centre=_exact_mean(inside), size=pl.len().over(cell),
        low=_exact_mean(inside, "low"), high=_exact_mean(inside, "high"),
    )  # fmt: skip
    constants = pl.col("mean", "least", "most", "centre", "low", "high", "size").first()
    deviation = without_rounding(
        (pl.col("value") - pl.col("centre")).sum(), pl.col("value").abs().max(), pl.len()
    )
    clusters = long.group_by(*inside, *cluster, maintain_order=True).agg(
        constants,
        pl.len().alias("n"),
        (deviation / pl.col("size").first()).alias("off"),
        pl.col("inner").any(),
    )
    count, deviation = pl.len(), pl.col("off")
    size, squares = pl.col("clusters"), pl.col("squares")
    share = pl.col("n") / pl.col("n").sum()
    return (
        clusters.group_by(inside, maintain_order=True)
        .agg(
            constants,
            pl.col("n").sum(),
            pl.col("inner").any(),
            count.alias("clusters"),
            deviation.pow(2).sum().alias("squares"),
            deviation.pow(3).sum().alias("cubes"),
            freedom=pl.when(share.n_unique() == 1).then(count - 1.0).otherwise(_freedom(share)),
        )
        .with_columns(variance=pl.when(size > 1).then(size / (size - 1) * squares).otherwise(0.0))
    )


def _freedom(share: pl.Expr) -> pl.Expr:
    """Return Satterthwaite's degrees of freedom from each cluster's share of the matches.

    The variance is the sum of share ** 2 times the squared deviations of cluster means from the
    overall mean. The terms are those of the deviations' covariance for equal variances.
    """
    squares = share.pow(2)
    total, cubes, fourths = squares.sum(), squares.dot(share), squares.dot(squares)
    diagonal = squares * (1 - 2 * share + total)
    crossed = total.pow(4) - 4 * total.pow(2) * cubes + 2 * total * fourths + 2 * cubes.pow(2)
    diagonal_part = (diagonal.pow(2) - (squares * (total - 2 * share)).pow(2)).sum()
    return diagonal.sum().pow(2) / (diagonal_part + crossed)


def _together(parts: pl.DataFrame, cell: Sequence[str], level: float) -> pl.DataFrame:
    count, variance = pl.col("clusters"), pl.col("variance")
    cells = parts.group_by(cell, maintain_order=True).agg(
        pl.col("mean", "least", "most").first(),
        pl.col("n").sum(),
        ~pl.col("inner").any().alias("share"),
        count.sum(),
        pl.len().alias("strata"),
        variance.sum(),
        pl.col("squares", "cubes").sum(),
        (variance.pow(2) / pl.col("freedom")).filter(count > 1).sum().alias("fourths"),
    )
    still = parts.filter(variance.sum().over(cell) == 0)
    for end, room in (("below", pl.col("centre") - pl.col("low")),
                      ("above", pl.col("high") - pl.col("centre"))):  # fmt: skip
        reach = _unseen(still.with_columns(room=pl.col("n") / pl.col("size") * room), cell, level)
        cells = cells.join(
            reach.rename({"reach": end}), on=list(cell), how="left", nulls_equal=True,
            maintain_order="left", validate="1:1",
        )  # fmt: skip
    return cells.with_columns(
        pl.col("below", "above").fill_null(0.0),
        freedom=pl.when(pl.col("fourths") > 0)
        .then(variance.pow(2) / pl.col("fourths"))
        .otherwise((count - pl.col("strata")).cast(pl.Float64)),
    )


def _unseen(parts: pl.DataFrame, cell: Sequence[str], level: float) -> pl.DataFrame:
    """Return how far the true means of strata without variation can be from the observed ones.

    In a stratum of G clusters, an unobserved outcome with a probability of q at a distance of
    ``room`` adds q * room. The sum is maximal at q = 1 - t * G / room, with a common t for all
    strata with q >= 0, such that the product of (1 - q) ** G is 1 - ``level``.
    """
    size, room = pl.col("clusters"), pl.col("room")
    ordered = parts.filter(room > 0).sort(room / size, descending=True, maintain_order=True)
    cumulated = ordered.with_columns(
        clusters=size.cum_sum().over(cell), logs=(size * (size / room).log()).cum_sum().over(cell),
        rooms=room.cum_sum().over(cell), steep=(room / size).log(),
    ).with_columns(log=(math.log(1 - level) - pl.col("logs")) / size)  # fmt: skip
    endless = pl.col("rooms").is_infinite()
    last = (
        cumulated.filter((pl.col("log") <= pl.col("steep")) | endless)
        .group_by(cell, maintain_order=True)
        .last()
    )
    reach = pl.when(endless).then(math.inf).otherwise(pl.col("rooms") - pl.col("log").exp() * size)
    return last.select(*cell, reach=reach)


def without_rounding(difference: pl.Expr, size: pl.Expr, terms: pl.Expr | int = 1) -> pl.Expr:
    """Set a sum of ``terms`` differences to 0 if it is within their rounding error."""
    return pl.when(difference.abs() <= ROUNDING * size * terms).then(0.0).otherwise(difference)


def _limits(cells: pl.DataFrame, level: float) -> tuple[Numbers, Numbers]:
    mean, variance, freedom, minimum, maximum = (
        cells[name].to_numpy() for name in ("mean", "variance", "freedom", "least", "most")
    )
    quantile = stdtrit(freedom, (1 + level) / 2)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        constant = mean - cells["below"].to_numpy(), mean + cells["above"].to_numpy()
        share = _wilson(mean, variance, quantile, minimum, maximum, cells["n"].to_numpy())
        skew = cells["skew"].to_numpy()
        transformed = tuple(
            mean - hall_quantile(end, skew) * variance**0.5 for end in (quantile, -quantile)
        )
    forms = [freedom <= 0, variance == 0, cells["share"].to_numpy()]
    low, high = (
        np.select(forms, [np.nan, constant[end], share[end]], transformed[end]) for end in (0, 1)
    )
    defined = np.isfinite(low) & np.isfinite(high) & (minimum < maximum)
    return (
        np.where(defined, np.maximum(low, minimum), np.nan),
        np.where(defined, np.minimum(high, maximum), np.nan),
    )


def hall_quantile(quantile: Numbers, skew: Numbers) -> Numbers:
    """Return Hall's transformation h(t) of a Student quantile for a skewness c.

    Args:
        quantile: the quantile t, positive or negative.
        skew: the skewness c; see :func:`mean_intervals`.
    """
    limit = STEEPEST / np.abs(quantile)
    symmetric = np.abs(skew) < SYMMETRIC
    bend = np.where(symmetric, 1, np.clip(skew, -limit, limit))
    bent = 3 / bend * (np.cbrt(1 + bend * (quantile - bend / 6)) - 1)
    return np.where(symmetric, quantile, bent)


def _wilson(
    mean: Numbers,
    variance: Numbers,
    quantile: Numbers,
    minimum: Numbers,
    maximum: Numbers,
    n: Numbers,
) -> tuple[Numbers, Numbers]:
    span = maximum - minimum
    share = (mean - minimum) / span
    square = share * (1 - share)
    size = np.minimum(square * span**2 / variance, n)
    shrunk = 1 + quantile**2 / size
    centre = (share + quantile**2 / (2 * size)) / shrunk
    width = quantile / shrunk * np.sqrt(square / size + (quantile / (2 * size)) ** 2)
    return minimum + span * (centre - width), minimum + span * (centre + width)


def _exact_mean(over: Sequence[str], column: str = "value") -> pl.Expr:
    """Return the mean within groups, without rounding error if all values are equal."""
    value = pl.col(column)
    constant = (value.min() == value.max()).over(over)
    return pl.when(constant).then(value).otherwise(value.mean().over(over))


def _stratified(
    long: pl.DataFrame, cell: Sequence[str], cluster: Sequence[str], strata: Sequence[str]
) -> tuple[pl.DataFrame, list[str]]:
    """Add columns that identify each row's stratum (null if merged), and return their names."""
    names = {column: f"stratum.{column}" for column in strata}
    single = pl.len().over([*cell, *strata]) == 1
    collapsed = pl.col("alone") | (pl.col("alone").sum().over(cell) == 1)
    cluster_strata = (
        long.select(*cell, *cluster)
        .unique(maintain_order=True)
        .with_columns(alone=single)
        .with_columns(
            pl.when(~collapsed).then(pl.col(column)).alias(new_name)
            for column, new_name in names.items()
        )
        .drop("alone")
    )
    stratified = long.join(
        cluster_strata, on=[*cell, *cluster], how="left", nulls_equal=True, maintain_order="left",
        validate="m:1",
    )  # fmt: skip
    return stratified, [*names.values()]
