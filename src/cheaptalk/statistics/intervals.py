"""Means with confidence intervals that are clustered by instance.

Matches on the same instance are correlated: a generous instance is generous to every pairing.
Treating these matches as independent would make intervals too narrow.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cheaptalk.rules.bounds import SHARE, SLACK
from cheaptalk.statistics.columns import (
    Frame,
    StatisticsError,
    as_polars,
    demand_clusters,
    demand_columns,
    demand_level,
    demand_numbers,
    present_numbers,
)
from cheaptalk.statistics.limits import (
    ROUNDING,
    UNBOUNDED,
    Bounds,
    BoundsColumns,
    Numbers,
    t_quantile,
)
from cheaptalk.statistics.participants import PEOPLE, freedom_of_sizes, people_variances

Codes: TypeAlias = NDArray[np.int64]

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
SIGNS = (-1, 1)
"""The directions of the lower and the upper bound."""
ROW = "mean_intervals.row"
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
    frame: Frame,
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
        values: the columns to average, with one row per match.
        by: the columns whose combinations define the cells; if empty, all rows form one cell.
        cluster: the columns that identify clusters.
        strata: the cluster columns that identify strata; empty for no strata. The default is the
            configuration, if it is among the cluster columns.
        level: the confidence level, in (0, 1).
        bounds: the minimum and the maximum of each column's values: two numbers, or the names of
            two columns if bounds differ between rows. By default, booleans have the bounds 0 and 1.
        people: the optional column that lists the participants of each match; matches that share a
            participant are then also clustered (see :func:`.people_variances`). None to ignore
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
    frame = as_polars(frame)
    if strata is None:
        strata = STRATA if set(STRATA) < set(cluster) else ()
    demand_level(level)
    demand_clusters(frame, cluster, "add one with with_row_index if rows are independent")
    for names in (by, strata):
        demand_columns(frame, names, "group by")
    if not values:
        raise StatisticsError("name at least one column to average")
    demand_columns(frame, values, "average")
    all_bounds = bounds or {}
    ends = [end for name in values for end in all_bounds.get(name, ()) if isinstance(end, str)]
    demand_numbers(frame, ends, "bound means by")
    design = [_codes(frame, [*by, *keys]) for keys in ((), strata, cluster)]
    listed = frame[people].to_numpy() if people in frame.columns else None
    parts = []
    for name in values:
        rows, numbers = present_numbers(frame, name, "average")
        natural = SHARE if frame.schema[name] == pl.Boolean else UNBOUNDED
        pair: tuple[float | str, float | str] = all_bounds.get(name, natural)
        limits: list[Numbers | float] = [
            _rows_of(frame, end, sign)[rows] if isinstance(end, str) else end
            for end, sign in zip(pair, SIGNS, strict=True)
        ]
        parts.append(_cells(design, rows, numbers, limits, listed, level))
    cells = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    keys = [frame[key][cells["row"]] for key in by]
    metric = pl.Series(
        "metric",
        [name for name, part in zip(values, parts, strict=True) for _ in part["row"]],
        pl.String,
    )
    return pl.DataFrame([*keys, metric, *_columns(cells, level)])


def _codes(frame: pl.DataFrame, keys: Sequence[str]) -> Codes:
    """Number the combinations of values in these columns, for each row."""
    codes = np.zeros(len(frame), dtype=np.int64)
    if keys and len(frame):
        rows = frame.select(pl.int_range(pl.len()).alias(ROW), *dict.fromkeys(keys))
        groups = rows.group_by(pl.exclude(ROW), maintain_order=True).agg(ROW)[ROW]
        codes[groups.explode().to_numpy()] = np.repeat(
            np.arange(len(groups)), groups.list.len().to_numpy()
        )
    return codes


def _renumbered(codes: Codes) -> tuple[Codes, Codes]:
    """Number codes from 0 in the order of their first appearance, and return these positions."""
    first = np.full(int(codes.max(initial=-1)) + 1, len(codes))
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    order = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(codes))]
    numbers = np.empty(len(first), dtype=np.int64)
    numbers[order] = np.arange(len(order))
    return numbers[codes], first[order]


def _rows_of(frame: pl.DataFrame, end: str, sign: int) -> Numbers:
    """Return each row's bound; infinite if it is null."""
    return frame[end].cast(pl.Float64).fill_null(sign * math.inf).to_numpy()


def _sums(codes: Codes, weights: Numbers | None, size: int) -> Numbers:
    return np.bincount(codes, weights, size)


def _exact_means(values: Numbers, codes: Codes, size: int) -> Numbers:
    """Return the mean of each group, without rounding error if all of its values are equal."""
    first = np.empty(size)
    first[codes[::-1]] = values[::-1]
    varied = _sums(codes, values != first[codes], size) > 0
    return np.where(varied, _sums(codes, values, size) / _sums(codes, None, size), first)


def _wider(end: Numbers | float, sign: int) -> Numbers:
    """Shift a finite bound up (``sign`` 1) or down (-1) by the rounding error of sums."""
    finite = np.isfinite(end)
    shift = SLACK * np.maximum(1, np.abs(end, where=finite, out=np.ones_like(end, dtype=float)))
    return np.where(finite, end + sign * shift, end)


def _cells(
    design: Sequence[Codes],
    rows: NDArray[np.bool_],
    values: Numbers,
    limits: Sequence[Numbers | float],
    listed: Numbers | None,
    level: float,
) -> dict[str, Numbers]:
    """Return the moments of each cell's values, in the order in which cells first appear.

    Args:
        design: the number of each row's cell, of its stratum within the cell, and of its cluster.
        rows: the rows with a value.
        values: these values.
        limits: the lower and the upper bound of all values, or of each value.
        listed: the participants of each row of the frame.
    """
    cells, strata, clusters = (codes[rows] for codes in design)
    cell, cell_at = _renumbered(cells)
    cluster, cluster_at = _renumbered(clusters)
    of_cluster = cell[cluster_at]
    part, part_at = _renumbered(_merged(strata[cluster_at], of_cluster))
    stratum, of_part, size = part[cluster], of_cluster[part_at], len(cell_at)
    counts = _sums(cell, None, size)
    ends = [
        _end(end, sign, values, cell, stratum, of_part)
        for end, sign in zip(limits, SIGNS, strict=True)
    ]
    inner = _sums(cell, ends[0].inner & ends[1].inner, size) > 0
    centre = _exact_means(values, stratum, len(part_at))
    off, sizes = _deviations(values - centre[stratum], values, cluster, len(cluster_at))
    off /= counts[of_cluster]
    number = _sums(part, None, len(part_at))
    squares, cubes = (_sums(part, off**k, len(part_at)) for k in (2, 3))
    freedom = freedom_of_sizes(sizes, part, len(part_at))
    variance = np.where(number > 1, number / np.maximum(number - 1, 1) * squares, 0.0)
    fourths = np.divide(variance**2, freedom, out=np.zeros(len(freedom)), where=number > 1)
    columns = {"clusters": number, "strata": None, "variance": variance, "squares": squares}
    columns |= {"cubes": cubes, "fourths": fourths}
    total = {name: _sums(of_part, column, size) for name, column in columns.items()}
    still = total["variance"][of_part] == 0
    share = _sums(stratum, None, len(part_at)) / counts[of_part]
    reach = [
        _unseen(share * np.abs(centre - end.of_part), number, of_part, still, size, level)
        for end in ends
    ]
    total["freedom"] = np.divide(
        total["variance"] ** 2,
        total["fourths"],
        out=total["clusters"] - total["strata"] * 1.0,
        where=total["fourths"] > 0,
    )
    if listed is not None:
        by_people = people_variances(values, listed[rows], cell, stratum, cluster)
        raised = by_people[0] > total["variance"] * (1 + SLACK)
        total["variance"] = np.fmax(total["variance"], by_people[0])
        total["freedom"] = np.fmin(total["freedom"], by_people[1])
        total["cubes"] = np.where(raised, 0.0, total["cubes"])
    return total | {
        "row": np.flatnonzero(rows)[cell_at],
        "n": counts,
        "mean": _exact_means(values, cell, size),
        "least": ends[0].of_cell,
        "most": ends[1].of_cell,
        "share": ~(inner | ends[0].differs | ends[1].differs),
        "below": reach[0],
        "above": reach[1],
    }


def _merged(stratum: Codes, cell: Codes) -> Codes:
    """Merge strata with one cluster within each cell; merge all if there is only one of them.

    Args:
        stratum, cell: the numbers of each cluster's stratum and cell.
    """
    thin = np.bincount(stratum)[stratum] == 1 if len(stratum) else np.zeros(0, dtype=bool)
    merged = thin | (_sums(cell, thin, 0)[cell] == 1)
    return np.where(merged, cell, 1 + cell.max(initial=0) + stratum)


class _End(NamedTuple):
    """A bound of the values: its mean by cell and by stratum, and which values are within it.

    Attributes:
        of_cell, of_part: infinite if a value of the cell violates the bound.
        inner: whether each value differs from the bound by more than rounding.
        differs: whether the bound differs within each cell.
    """

    of_cell: Numbers
    of_part: Numbers
    inner: Numbers
    differs: Numbers


def _end(
    end: Numbers | float, sign: int, values: Numbers, cell: Codes, stratum: Codes, of_part: Codes
) -> _End:
    size, parts = int(cell.max(initial=-1)) + 1, len(of_part)
    violated = _sums(cell, sign * (values - _wider(end, sign)) > 0, size) > 0
    if isinstance(end, float | int):
        of_cell = np.where(violated, sign * math.inf, end)
        each, of_part, differs = of_cell[cell], of_cell[of_part], np.zeros(size, dtype=bool)
    else:
        each = np.where(violated[cell], sign * math.inf, end)
        of_cell, of_part = _exact_means(each, cell, size), _exact_means(each, stratum, parts)
        differs = _sums(cell, each != of_cell[cell], size) > 0
    return _End(of_cell, of_part, sign * (_wider(each, -sign) - values) > 0, differs)


def _deviations(
    off: Numbers, values: Numbers, cluster: Codes, clusters: int
) -> tuple[Numbers, Numbers]:
    """Return the sum of each cluster's deviations, 0 within rounding, and its number of values."""
    sizes, largest = _sums(cluster, None, clusters), np.zeros(clusters)
    np.maximum.at(largest, cluster, np.abs(values))
    sums = _sums(cluster, off, clusters)
    return np.where(np.abs(sums) <= ROUNDING * largest * sizes, 0.0, sums), sizes


def _unseen(
    room: Numbers, clusters: Numbers, cell: Codes, still: Numbers, cells: int, level: float
) -> Numbers:
    """Return how far the true means of cells without variation can be from the observed ones.

    In a stratum of G clusters, an unobserved outcome with a probability of q at a distance of
    ``room`` adds q * room. The sum is maximal at q = 1 - t * G / room, with a common t for all
    strata with q >= 0, such that the product of (1 - q) ** G is 1 - ``level``.

    Args:
        room, clusters, cell: of each stratum.
        still: whether no stratum of the cell varies.
    """
    reach = np.zeros(cells)
    reach[cell[still & np.isinf(room)]] = math.inf
    parts = np.flatnonzero(still & (room > 0) & np.isfinite(reach)[cell])
    ratio = room[parts] / clusters[parts]
    parts = parts[np.lexsort([-ratio, cell[parts]])]
    for members in np.split(parts, np.flatnonzero(np.diff(cell[parts])) + 1):
        rooms, sizes = room[members], clusters[members]
        size = np.cumsum(sizes)
        log = (math.log(1 - level) - np.cumsum(sizes * np.log(sizes / rooms))) / size
        last = np.flatnonzero(log <= np.log(rooms / sizes))[-1:]
        reach[cell[members[last]]] = (np.cumsum(rooms) - np.exp(log) * size)[last]
    return reach


def _columns(cells: Mapping[str, Numbers], level: float) -> Iterator[pl.Series]:
    """Yield the columns of :func:`mean_intervals` that follow the metric."""
    freedom, variance = cells["freedom"], cells["variance"]
    clusters, strata = cells["clusters"], cells["strata"]
    fixed, single, still = cells["least"] == cells["most"], freedom <= 0, variance == 0
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        skew = np.where(cells["squares"] > 0, cells["cubes"] / cells["squares"] ** 1.5, 0.0)
        low, high = _limits(cells, skew, level)
        steep = np.abs(skew) * t_quantile(freedom, level) / STEEPEST
        for_freedom = (clusters - strata) * (ENOUGH - 1) / freedom + strata
        enough = np.round(np.maximum(for_freedom, clusters * steep**2), 6)
    wanted = ~single & ~still & ~cells["share"] & (enough > clusters)
    yield pl.Series("n", cells["n"], pl.UInt32)
    yield pl.Series("clusters", clusters.astype(np.int64), pl.UInt32)
    yield pl.Series("mean", cells["mean"], pl.Float64)
    yield pl.Series("freedom", freedom, pl.Float64)
    error = np.where(fixed | ~(single | still), np.sqrt(variance), np.nan)
    for name, numbers in (("error", error), ("low", low), ("high", high)):
        yield pl.Series(name, numbers, pl.Float64, nan_to_null=True)
    needed = np.where(wanted, np.ceil(enough), np.nan)
    yield pl.Series("wanted", needed, pl.Float64, nan_to_null=True).cast(pl.Int64)
    notes = [
        None if known else ONE_CLUSTER if one_cluster else CONSTANT if constant else None
        for known, one_cluster, constant in zip(fixed, single, still, strict=True)
    ]
    yield pl.Series("note", notes, pl.String)
    yield pl.Series("skew", skew, pl.Float64)


def without_rounding(difference: pl.Expr, size: pl.Expr, terms: pl.Expr | int = 1) -> pl.Expr:
    """Set a sum of ``terms`` differences to 0 if it is within their rounding error."""
    return pl.when(difference.abs() <= ROUNDING * size * terms).then(0.0).otherwise(difference)


def _limits(cells: Mapping[str, Numbers], skew: Numbers, level: float) -> tuple[Numbers, Numbers]:
    mean, variance, freedom, minimum, maximum = (
        cells[name] for name in ("mean", "variance", "freedom", "least", "most")
    )
    quantile = t_quantile(freedom, level)
    constant = mean - cells["below"], mean + cells["above"]
    share = _wilson(mean, variance, quantile, minimum, maximum, cells["n"])
    transformed = tuple(
        mean - hall_quantile(end, skew) * variance**0.5 for end in (quantile, -quantile)
    )
    forms = [freedom <= 0, variance == 0, cells["share"]]
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
