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
"""The least and the most that a value can be."""
BoundsColumns: TypeAlias = tuple[str, str]
"""The columns of a frame that tell them row by row."""

DEALS = ("configuration", "deal")
"""The columns that tell which matches share a deal."""
STRATA = ("configuration",)
"""The column that tells which matches share a configuration."""
FEW = 20
"""With fewer degrees of freedom than this many clusters have, intervals are likely too narrow."""
ENOUGH = 25
"""Clusters that show how skewed values are."""
SYMMETRIC = 1e-6
"""Skewness that is none."""
AT_ONCE = 500_000
"""Values whose means are taken together: each is a row of a long frame meanwhile."""
ROUNDING = 1e-14
"""What floating point leaves of a difference that is 0, against the size of what it is between."""
ONE_CLUSTER = "one cluster: the standard error is unknown"
CONSTANT = "nothing varied within strata: the standard error is unknown"
"""Notes on means whose data show no spread."""
STEEPEST = 0.9
"""Skewness times quantile, at the most: where it is 1, the transformation is too steep to use."""


def few_clusters(count: int, freedom: float) -> str:
    """Return the caution about fewer degrees of freedom than :data:`FEW` clusters have.

    >>> few_clusters(12, 11), few_clusters(30, 15)
    ('12 clusters are few: the intervals are likely too narrow', \
'30 clusters have only 15 degrees of freedom: the intervals are likely too narrow')
    """
    few = f"{count} clusters are few"
    if freedom < count - 1:
        few = f"{count} clusters have only {freedom:.0f} degrees of freedom"
    return f"{few}: the intervals are likely too narrow"


def mean_intervals(
    frame: pl.DataFrame,
    values: Sequence[str],
    by: Sequence[str] = (),
    *,
    cluster: Sequence[str] = DEALS,
    strata: Sequence[str] | None = None,
    level: float = 0.95,
    bounds: Mapping[str, Bounds | BoundsColumns] | None = None,
    people: str | None = PEOPLE,
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
    5A.12). There are f = V ** 2 / sum of (V_h ** 2 / f_h) degrees of freedom
    (Satterthwaite), so that a stratum on a large scale counts for what it adds. A stratum has
    f_h = G_h - 1 where its clusters are of one size; else, so that a few large clusters do not
    count for many, those that V_h has where the means of clusters vary alike: with A the quadratic
    form that V_h is of these means, f_h = trace(A) ** 2 / trace(A ** 2) (Satterthwaite, as Bell
    and McCaffrey 2002, Bias Reduction in Standard Errors for Linear Regression with Multi-Stage
    Samples, Survey Methodology 28(2)).

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
      m + q * (b - m), and there is none without finite bounds. Strata that did not vary each have
      a q_h of their own: those that reach furthest of all for which the product of
      (1 - q_h) ** G_h is 1 - ``level``.

    No interval leaves the bounds. There is none of a mean that can only be what it is, and a single
    cluster gives none. Missing values are left out, and a
    cell without any value is no row.

    Args:
        frame: one row a match.
        values: the columns to take means of.
        by: the columns whose combinations are the cells; all rows are one cell without any.
        cluster: the columns that tell the clusters apart.
        strata: those of the cluster columns that tell the strata apart; empty: no strata. By
            default configurations, if they are among the cluster columns.
        level: the share of such intervals that cover the true mean, in (0, 1).
        bounds: the least and the most that a value can be, by column: two numbers, or the columns
            that hold them where they differ from row to row, of which a mean has the means. Only
            of a column of booleans are they known without: 0 and 1.
        people: a column of lists that names the participants of each match, if the frame has it:
            matches that share a participant are then clustered, too; see
            :func:`.clustered_by_people`. None: never.

    Returns:
        One row a cell and value: the columns of ``by``, then ``measure`` (the value's name),
        ``n`` (matches), ``clusters``, ``mean``, ``freedom`` (degrees of freedom), ``error`` (the
        standard error, null if it is unknown; 0 only of a mean that its bounds fix), ``low`` and
        ``high`` (null where there is no interval), and ``wanted``: how many clusters would do if
        these are too few for values so skewed, or too few to tell how skewed they are, so that the
        interval is too narrow; null if they are enough, and of shares. ``note`` is
        :data:`ONE_CLUSTER` or :data:`CONSTANT` if the error is unknown, since the data show no
        spread, and null elsewhere. ``skew`` is c of Hall's transformation, and 0 where participants
        widen the error.

    Raises:
        StatisticsError: a column is absent, a value is not a number or not finite, or there is no
            value or cluster column.
    """
    if strata is None:
        strata = STRATA if set(STRATA) < set(cluster) else ()
    demand_level(level)
    demand_clusters(frame, cluster, "with_row_index makes one if rows are independent")
    for names in (by, strata):
        demand_columns(frame, names, "tell cells and strata apart by")
    if not values:
        raise StatisticsError("name one column or more to take means of")
    demand_columns(frame, values, "take means of")
    cell = [*by, "measure"]
    given = bounds or {}
    ends = (end for name in values for end in given.get(name, ()) if isinstance(end, str))
    demand_numbers(frame, list(ends), "bound means by")
    named = [pl.col(people).alias(PEOPLE)] if people in frame.columns else []

    def moments(names: Sequence[str]) -> pl.DataFrame:
        long = pl.concat(
            with_numbers(frame, [name], "take means of").select(
                *by, *cluster, pl.lit(name).alias("measure"), pl.col(name).alias("value"),
                *_ends(*given.get(name, _natural_bounds(frame.schema[name]))), *named,
            )
            for name in names
        )  # fmt: skip
        long, stratum = _stratified(long, cell, cluster, strata)
        cells = _together(_moments(_bounded(long, cell), cell, cluster, stratum), cell, level)
        return (
            clustered_by_people(long, cells, cell, [*cell, *stratum], cluster) if named else cells
        )

    together = max(1, AT_ONCE // max(1, len(frame)))
    parts = [values[at : at + together] for at in range(0, len(values), together)]
    cells = pl.concat(map(moments, parts)).with_columns(
        skew=pl.when(pl.col("squares") > 0).then(pl.col("cubes") / pl.col("squares").pow(1.5))
        .otherwise(0.0)
    )  # fmt: skip
    low, high = _limits(cells, level)
    freedoms = cells["freedom"].to_numpy()
    freedom, apart = pl.col("freedom"), pl.col("clusters") - pl.col("strata")
    varied = (freedom > 0) & (pl.col("variance") > 0) & ~pl.col("share")
    steep = pl.lit(cells["skew"].abs() * stdtrit(freedoms, (1 + level) / 2) / STEEPEST)
    enough = pl.when(varied).then(
        pl.max_horizontal(
            apart * (ENOUGH - 1) / freedom + pl.col("strata"), pl.col("clusters") * steep.pow(2)
        ).round(6)
    )  # fmt: skip
    fixed, alone, still = pl.col("least") == pl.col("most"), freedom <= 0, pl.col("variance") == 0
    return cells.select(
        *cell, "n", "clusters", "mean", "freedom",
        error=pl.when(fixed | ~(alone | still)).then(pl.col("variance").sqrt()),
        low=pl.Series(low, dtype=pl.Float64).fill_nan(None),
        high=pl.Series(high, dtype=pl.Float64).fill_nan(None),
        wanted=pl.when(enough > pl.col("clusters")).then(enough).ceil().cast(pl.Int64),
        note=pl.when(fixed).then(None)
        .when(alone).then(pl.lit(ONE_CLUSTER)).when(still).then(pl.lit(CONSTANT)),
        skew="skew",
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
        ``low`` and ``high`` of each value, ``least`` and ``most`` of the cell's mean, and
        ``inner``: whether a value is none of its own bounds, up to rounding, or these differ within
        the cell.
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
        low="least", high="most",
        inner=(value > _wider(pl.col("least"), 1)) & (value < _wider(pl.col("most"), -1))
        | differ[0] | differ[1],
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
    """A row a cell and stratum: what intervals are made of."""
    inside = [*cell, *stratum]
    long = long.with_columns(
        mean=_exact_mean(cell), centre=_exact_mean(inside), size=pl.len().over(cell),
        low=_exact_mean(inside, "low"), high=_exact_mean(inside, "high"),
    )  # fmt: skip
    same = pl.col("mean", "least", "most", "centre", "low", "high", "size").first()
    off = without_rounding(
        (pl.col("value") - pl.col("centre")).sum(), pl.col("value").abs().max(), pl.len()
    )
    clusters = long.group_by(*inside, *cluster, maintain_order=True).agg(
        same,
        pl.len().alias("n"),
        (off / pl.col("size").first()).alias("off"),
        pl.col("inner").any(),
    )
    count, off = pl.len(), pl.col("off")
    share = pl.col("n") / pl.col("n").sum()
    return (
        clusters.group_by(inside, maintain_order=True)
        .agg(
            same,
            pl.col("n").sum(),
            pl.col("inner").any(),
            count.alias("clusters"),
            off.pow(2).sum().alias("squares"),
            off.pow(3).sum().alias("cubes"),
            pl.when(share.n_unique() == 1)
            .then(count - 1.0)
            .otherwise(_freedom(share))
            .alias("freedom"),
        )
        .with_columns(
            variance=pl.when(pl.col("clusters") > 1)
            .then(pl.col("clusters") / (pl.col("clusters") - 1) * pl.col("squares"))
            .otherwise(0.0),
        )
    )


def _freedom(share: pl.Expr) -> pl.Expr:
    """The degrees of freedom of a variance over clusters that are such shares of all matches.

    With w_g these shares and S the sum of their squares, the variance is a sum of w_g ** 2 times
    the squared deviations of the clusters' means from the mean of all. Of such deviations,
    times w_g, the covariance has the terms below where all these means vary alike.
    """
    squares = share.pow(2)
    whole, ones, twos = squares.sum(), squares.dot(share), squares.dot(squares)
    own = squares * (1 - 2 * share + whole)
    crossed = whole.pow(4) - 4 * whole.pow(2) * ones + 2 * whole * twos + 2 * ones.pow(2)
    alone = (own.pow(2) - (squares * (whole - 2 * share)).pow(2)).sum()
    return own.sum().pow(2) / (alone + crossed)


def _together(parts: pl.DataFrame, cell: Sequence[str], level: float) -> pl.DataFrame:
    """A row a cell, of its strata."""
    count, variance = pl.col("clusters"), pl.col("variance")
    whole = parts.group_by(cell, maintain_order=True).agg(
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
        whole = whole.join(
            reach.rename({"reach": end}), on=list(cell), how="left", nulls_equal=True,
            maintain_order="left", validate="1:1",
        )  # fmt: skip
    return whole.with_columns(
        pl.col("below", "above").fill_null(0.0),
        freedom=pl.when(pl.col("fourths") > 0)
        .then(variance.pow(2) / pl.col("fourths"))
        .otherwise((count - pl.col("strata")).cast(pl.Float64)),
    )


def _unseen(parts: pl.DataFrame, cell: Sequence[str], level: float) -> pl.DataFrame:
    """How far means can be from what was seen, where strata did not vary.

    A stratum of G clusters whose mean can be ``room`` further, if it is what was never seen with
    a probability of q, adds q * room. The sum is greatest for q = 1 - t * G / room, with one t for
    all strata that are large enough for this not to be negative, and t as the product of
    (1 - q) ** G has to be.

    Returns:
        ``reach`` for cells with some room.
    """
    size, room = pl.col("clusters"), pl.col("room")
    ordered = parts.filter(room > 0).sort(room / size, descending=True, maintain_order=True)
    found = ordered.with_columns(
        clusters=size.cum_sum().over(cell), logs=(size * (size / room).log()).cum_sum().over(cell),
        rooms=room.cum_sum().over(cell), steep=(room / size).log(),
    ).with_columns(log=(math.log(1 - level) - pl.col("logs")) / size)  # fmt: skip
    endless = pl.col("rooms").is_infinite()
    last = (
        found.filter((pl.col("log") <= pl.col("steep")) | endless)
        .group_by(cell, maintain_order=True)
        .last()
    )
    reach = pl.when(endless).then(math.inf).otherwise(pl.col("rooms") - pl.col("log").exp() * size)
    return last.select(*cell, reach=reach)


def without_rounding(difference: pl.Expr, size: pl.Expr, terms: pl.Expr | int = 1) -> pl.Expr:
    """A sum of differences; 0 where it is no more than floating point leaves of one that is 0.

    Args:
        size: of the largest of the numbers that it is between.
        terms: how many differences it sums.
    """
    return pl.when(difference.abs() <= ROUNDING * size * terms).then(0.0).otherwise(difference)


def _limits(cells: pl.DataFrame, level: float) -> tuple[Numbers, Numbers]:
    """The ends of the cells' intervals; not a number where there are none."""
    mean, variance, freedom, least, most = (
        cells[name].to_numpy() for name in ("mean", "variance", "freedom", "least", "most")
    )
    quantile = stdtrit(freedom, (1 + level) / 2)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        constant = mean - cells["below"].to_numpy(), mean + cells["above"].to_numpy()
        share = _wilson(mean, variance, quantile, least, most, cells["n"].to_numpy())
        skew = cells["skew"].to_numpy()
        other = tuple(
            mean - hall_quantile(end, skew) * variance**0.5 for end in (quantile, -quantile)
        )
    forms = [freedom <= 0, variance == 0, cells["share"].to_numpy()]
    low, high = (
        np.select(forms, [np.nan, constant[end], share[end]], other[end]) for end in (0, 1)
    )
    known = np.isfinite(low) & np.isfinite(high) & (least < most)
    return (
        np.where(known, np.maximum(low, least), np.nan),
        np.where(known, np.minimum(high, most), np.nan),
    )


def hall_quantile(quantile: Numbers, skew: Numbers) -> Numbers:
    """Return h of Hall's transformation: a quantile of Student's t for a mean of this skewness.

    Args:
        quantile: t, positive or negative.
        skew: c, of any size; see :func:`mean_intervals`.
    """
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
    placed = long.join(
        places, on=[*cell, *cluster], how="left", nulls_equal=True, maintain_order="left",
        validate="m:1",
    )  # fmt: skip
    return placed, [*names.values()]
