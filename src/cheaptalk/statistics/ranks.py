"""Ranks of groups by their means, with ranges of ranks that the data support."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray
from scipy.special import stdtrit

from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.statistics.columns import (
    FloatArray,
    Frame,
    StatisticsError,
    as_polars,
    demand_columns,
    demand_draws,
    demand_level,
    with_numbers,
)
from cheaptalk.statistics.differences import (
    LEAST_FREEDOM,
    growth_for_power,
    wider_quantiles,
)
from cheaptalk.statistics.intervals import INSTANCES
from cheaptalk.statistics.limits import ROUNDING, percentile_tail
from cheaptalk.statistics.participants import PEOPLE
from cheaptalk.statistics.resampling import Clusters, clusters_of

ENOUGH_FREEDOM = 5
"""Minimum degrees of freedom for percentiles of ranks. With five clusters, one of two equal groups
is ahead in all clusters, and therefore in all draws, in 6 % of studies; with six, in 3 %."""
PERCENTILES_OF_PEOPLE = "percentiles of ranks do not reflect the sampling of participants"


class Lead(NamedTuple):
    """The difference between the best group's mean and that of a group ``behind``.

    Attributes:
        low, high: the confidence interval, simultaneous for all pairs of groups; None if the error
            is unknown or 0.
        sure: whether the lead is significant.
        constant: whether the difference didn't vary within any stratum.
    """

    behind: str
    size: float
    low: float | None
    high: float | None
    freedom: float
    sure: bool
    constant: bool


@dataclass(frozen=True, eq=False, repr=False)
class RankRanges(Printed):
    """Groups ranked by their means, with rank ranges.

    Attributes:
        label: a description of the ranges.
        frame: one row per group, the best first: ``group``, ``n`` (rows), ``mean``, ``error``,
            ``rank`` (1 is best; ties share the smaller rank), ``low``, ``high`` (percentiles of the
            rank over draws), ``first`` (the share of draws in which the group is best, ties
            shared), ``sure_low``, ``sure_high`` (the simultaneous confidence set of the rank).
        growth: the factor by which the number of clusters must grow to confirm the best group's
            rank with a power of 80 %, if true differences equal observed differences. Infinite if
            no feasible number suffices; None if the rank is significant, or the factor unknown.
        leads: the leads of the best group over each other group.
    """

    value: str
    label: str
    frame: pl.DataFrame = field(repr=False)
    notes: tuple[str, ...]
    growth: float | None = None
    leads: tuple[Lead, ...] = ()

    def printout(self) -> Printout:
        return Printout.of(f"Ranks by {self.value}; {self.label}", self.frame, self.notes)


def rank_ranges(
    frame: Frame,
    value: str,
    by: str,
    *,
    cluster: Sequence[str] = INSTANCES,
    strata: Sequence[str] = (),
    highest: bool = True,
    draws: int = 2_000,
    seed: int | np.random.Generator = 0,
    level: float = 0.95,
    people: str | None = PEOPLE,
) -> RankRanges:
    """Rank groups by their means, with a confidence set and a bootstrap range of each rank.

    ``sure_low`` to ``sure_high`` are simultaneous confidence sets of the ranks of all groups. A
    group ranks below another group if the difference of their means exceeds c standard errors
    (Mogstad, Romano, Shaikh and Wilhelm 2024, Inference for Ranks, Review of Economic Studies
    91(1)). Standard errors are those of :func:`.mean_intervals`. c is the Bonferroni-corrected
    quantile of Student's t with Satterthwaite's degrees of freedom, or more if the difference is
    skewed (:func:`.wider_quantiles`). A difference with fewer than two degrees of freedom, or
    without any variation, isn't significant.

    ``low`` to ``high`` are expanded percentiles of a group's rank over draws, including all ranks
    that ties share. Clusters are drawn as in :func:`.bootstrap`, jointly for all groups. For nearly
    tied groups, these percentiles cover the true rank less often than their nominal level. With
    fewer than five degrees of freedom, they include ``sure_low`` to ``sure_high``; see
    :data:`ENOUGH_FREEDOM`. Means that differ only by rounding errors are ties, also in draws.

    If the frame lists participants, the standard error of a difference is at least that of
    clustering by participant; see :func:`.mean_intervals`. Draws ignore participants.

    If no two groups share a cluster of a stratum, each group's clusters are drawn separately. If a
    group has only one cluster in such a stratum, the stratum becomes one cluster, and all such
    strata form one stratum.

    Args:
        value: a column of numbers; rows without a value are ignored.
        by: the column that identifies the groups.
        cluster: as in :func:`.bootstrap`.
        strata: as in :func:`.bootstrap`.
        highest: whether the highest mean is best, not the lowest.
        draws: as in :func:`.bootstrap`.
        seed: as in :func:`.bootstrap`.
        level: the confidence level, in (0, 1).
        people: the optional column that lists the participants of each row; None to ignore
            participants.

    Raises:
        StatisticsError: an argument is invalid, a column is missing, or there are fewer than two
            groups or clusters.
    """
    frame = as_polars(frame)
    demand_draws(draws)
    demand_level(level)
    demand_columns(frame, [by], "rank by")
    rows = with_numbers(frame, [value], "rank by").drop_nulls(by)
    names = sorted(rows[by].unique().to_list())
    if len(names) < 2:
        raise StatisticsError(f'"{by}" has fewer than two groups with a value of "{value}"')
    rows = _with_units(rows, by, cluster, strata)
    clusters = clusters_of(rows, ["unit"], ["pool"])
    groups = rows[by].replace_strict(dict(zip(names, range(len(names)), strict=True))).to_numpy()
    numbers = rows[value].to_numpy() * (1 if highest else -1)
    means, resampled = _means(groups, numbers, clusters, draws, np.random.default_rng(seed))
    notes, incomplete = clusters.notes, draws - len(resampled)
    notes += (f"{incomplete} draws lack a group and are ignored",) if incomplete else ()
    if len(resampled) < 2:
        raise StatisticsError("nearly all draws lack a group: use groups with more clusters")
    label = f"{level * 100:g} %, {len(resampled)} bootstrap draws of {clusters.label}"
    parts, errors = _parts(groups, numbers, clusters), None
    if people in rows.columns and rows[people].list.len().sum():
        listed = rows[people].fill_null([]).to_list()
        errors = _errors_by_person(listed, groups, numbers, clusters)
        notes += (PERCENTILES_OF_PEOPLE,)
    above, growth, leads = _surely_above(names, means, parts, clusters, level, errors)
    tail = percentile_tail(level, clusters.freedom)
    ranked = _ranked(names, np.bincount(groups), means, resampled, above, tail, highest)
    if clusters.freedom < ENOUGH_FREEDOM:
        ranked = ranked.with_columns(
            low=pl.min_horizontal("low", "sure_low"), high=pl.max_horizontal("high", "sure_high")
        )
    return RankRanges(value, label, ranked, notes, growth, leads)


def _with_units(
    frame: pl.DataFrame, by: str, cluster: Sequence[str], strata: Sequence[str]
) -> pl.DataFrame:
    """Add columns with each row's resampling unit and the stratum of that unit."""
    demand_columns(frame, [*cluster, *strata], "draw by")
    keys = list(dict.fromkeys([*strata, *cluster]))
    unit = pl.struct(keys).rank("dense") if cluster else pl.int_range(pl.len())
    stratum = pl.struct(list(strata)).rank("dense") if strata else pl.lit(0)
    units = frame.with_columns(
        unit=unit.cast(pl.Int64), stratum=stratum.cast(pl.Int64), group=pl.col(by).rank("dense")
    )
    shared = pl.col("group").n_unique().over("unit").max().over("stratum") > 1
    min_units = pl.col("unit").n_unique().over("stratum", "group").min().over("stratum")
    thin = ~shared & (min_units < 2) & pl.lit(bool(strata))
    return units.with_columns(
        unit=pl.when(thin).then(-1 - pl.col("stratum")).otherwise("unit"),
        pool=pl.when(thin)
        .then(pl.lit(""))
        .when(shared | (min_units < 2))
        .then(pl.format("{}", "stratum"))
        .otherwise(pl.format("{} {}", "stratum", "group")),
    )


def _means(
    groups: NDArray[np.int64],
    numbers: FloatArray,
    clusters: Clusters,
    draws: int,
    generator: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Return the groups' means, and those of bootstrap draws that include all groups."""
    size = int(groups.max()) + 1
    cells = clusters.codes * size + groups
    counts = np.bincount(cells, minlength=clusters.count * size).astype(np.float64)
    sums = np.bincount(cells, numbers, minlength=clusters.count * size)
    sums_and_counts = np.hstack([sums.reshape(-1, size), counts.reshape(-1, size)])
    resampled = np.full((draws, size), np.nan)
    for index, sample in enumerate(clusters.draws(draws, generator)):
        totals = np.bincount(sample, minlength=clusters.count).astype(np.float64) @ sums_and_counts
        if totals[size:].all():
            resampled[index] = totals[:size] / totals[size:]
    total = sums_and_counts.sum(axis=0)
    noise = ROUNDING * float(np.abs(numbers).max(initial=0.0))
    means = _with_ties(total[:size] / total[size:], noise)
    return means, _with_ties(resampled[~np.isnan(resampled[:, 0])], noise)


def _with_ties(means: FloatArray, noise: float) -> FloatArray:
    """Set means that differ by at most ``noise`` to the same value, along the last axis."""
    order = np.argsort(means, axis=-1)
    ranked = np.take_along_axis(means, order, axis=-1)
    distinct = np.diff(ranked, axis=-1, prepend=-np.inf) > noise
    group_starts = np.maximum.accumulate(np.where(distinct, np.arange(means.shape[-1]), 0), axis=-1)
    tied = np.empty_like(means)
    np.put_along_axis(tied, order, np.take_along_axis(ranked, group_starts, axis=-1), axis=-1)
    return tied


def _ranked(
    names: Sequence[object],
    rows: NDArray[np.int64],
    means: FloatArray,
    resampled: FloatArray,
    above: NDArray[np.bool_],
    tail: float,
    highest: bool,
) -> pl.DataFrame:
    ranks, last = (scipy.stats.rankdata(-resampled, method=ties, axis=1) for ties in ("min", "max"))
    low = np.quantile(ranks, tail, axis=0, method="inverted_cdf")
    high = np.quantile(last, 1 - tail, axis=0, method="inverted_cdf")
    is_first = ranks == 1
    columns = {
        "group": [str(name) for name in names],
        "n": rows,
        "mean": means if highest else -means,
        "error": resampled.std(axis=0, ddof=1),
        "rank": scipy.stats.rankdata(-means, method="min").astype(np.int64),
        "low": low.astype(np.int64),
        "high": high.astype(np.int64),
        "first": (is_first / is_first.sum(axis=1, keepdims=True)).mean(axis=0),
        "sure_low": 1 + above.sum(axis=0),
        "sure_high": len(means) - above.sum(axis=1),
    }
    return pl.DataFrame(columns).sort("rank", "group")


class _Parts(NamedTuple):
    """Contributions of clusters to means and deviations of groups, shape (clusters, groups)."""

    means: FloatArray
    deviations: FloatArray


def _parts(groups: NDArray[np.int64], numbers: FloatArray, clusters: Clusters) -> _Parts:
    size = int(groups.max()) + 1
    cells, shape = clusters.codes * size + groups, (clusters.count, size)
    counts = np.bincount(cells, minlength=clusters.count * size).reshape(shape)
    sums = np.bincount(cells, numbers, minlength=clusters.count * size).reshape(shape)
    rows = counts.sum(axis=0)
    deviations = (sums - counts * sums.sum(axis=0) / rows) / rows
    starts = np.flatnonzero(np.diff(clusters.strata, prepend=-1))
    sizes = np.diff(starts, append=clusters.count)
    centres = np.add.reduceat(deviations, starts, axis=0) / sizes[:, None]
    return _Parts(sums / rows, deviations - np.repeat(centres, sizes, axis=0))


def _errors(parts: _Parts, clusters: Clusters) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the standard error, degrees of freedom and skewness for each pair of groups."""
    size = parts.means.shape[1]
    total, fourths, plain, cubes = (np.zeros((size, size)) for _ in range(4))
    starts = np.flatnonzero(np.diff(clusters.strata, prepend=-1))
    for deviations in np.split(parts.deviations, starts[1:]):
        count = len(deviations)
        squares = deviations.T @ deviations * count / (count - 1)
        spread = np.diag(squares)
        variance = np.maximum(spread[:, None] + spread - 2 * squares, 0.0)
        total += variance
        fourths += variance**2 / (count - 1)
        plain += variance * (count - 1) / count
        third, mixed = (deviations**3).sum(axis=0), deviations.T**2 @ deviations
        cubes += third[:, None] - third - 3 * (mixed - mixed.T)
    noise = (ROUNDING * clusters.count * np.abs(parts.means).max(initial=0.0)) ** 2
    total = np.where(total <= noise, 0.0, total)
    varied = total > 0
    freedom = np.divide(total**2, fourths, out=np.zeros_like(total), where=varied)
    skews = np.divide(cubes, plain**1.5, out=np.zeros_like(total), where=varied)
    return np.sqrt(total), freedom, skews


def _errors_by_person(
    listed: Sequence[Sequence[str]],
    groups: NDArray[np.int64],
    numbers: FloatArray,
    clusters: Clusters,
) -> tuple[FloatArray, FloatArray]:
    """Return standard errors, clustered by participant, and degrees of freedom for all pairs.

    Deviations are from the stratum's mean and then from the group's mean, with the correction of
    :func:`.people_variances`. With fewer than two participants, the variance is 0.
    """
    size = int(groups.max()) + 1
    codes = {name: code for code, name in enumerate(dict.fromkeys(chain(*listed)))}
    strata, members = clusters.strata[clusters.codes], np.bincount(groups)
    stratum_sizes = np.bincount(strata)
    deviations = numbers - (np.bincount(strata, numbers) / np.maximum(stratum_sizes, 1))[strata]
    deviations -= (np.bincount(groups, deviations) / members)[groups]
    deviations *= (
        (stratum_sizes / np.maximum(stratum_sizes - 1, 1))[strata]
        * (1 - 1 / len(deviations))
        / members[groups]
    )
    rows = np.repeat(np.arange(len(listed)), [len(set(names)) for names in listed])
    person = np.array([codes[name] for names in listed for name in dict.fromkeys(names)])
    sums, played = np.zeros((len(codes), size)), np.zeros((len(codes), size), dtype=bool)
    np.add.at(sums, (person, groups[rows]), deviations[rows])
    played[person, groups[rows]] = True
    count = (played[:, :, None] | played[:, None]).sum(axis=0).astype(np.float64)
    variance = ((sums[:, :, None] - sums[:, None]) ** 2).sum(axis=0)
    return np.sqrt(variance * count / np.maximum(count - 1, 1)), np.maximum(count - 1, 0)


def _surely_above(
    names: Sequence[object],
    means: FloatArray,
    parts: _Parts,
    clusters: Clusters,
    level: float,
    by_person: tuple[FloatArray, FloatArray] | None,
) -> tuple[NDArray[np.bool_], float | None, tuple[Lead, ...]]:
    """Return significant differences, the sample growth needed, and the best group's leads."""
    gaps = means[:, None] - means
    errors, freedom, skews = _errors(parts, clusters)
    tail = (1 - level) / (len(means) * (len(means) - 1))
    if by_person is not None:
        skews = np.where(by_person[0] > errors, 0.0, skews)
        errors, freedom = np.maximum(errors, by_person[0]), np.minimum(freedom, by_person[1])
    below, beyond = wider_quantiles(-stdtrit(np.maximum(freedom, 1.0), tail), skews)
    testable = (np.round(freedom, 6) >= LEAST_FREEDOM) & (errors > 0)
    above = testable & (gaps > below * errors)
    leader = int(means.argmax())
    gap, error = gaps[leader], errors[leader]
    lows, highs = gap - below[leader] * error, gap + beyond[leader] * error
    leads = tuple(
        Lead(
            str(names[index]),
            float(gap[index]),
            float(lows[index]) if is_testable else None,
            float(highs[index]) if is_testable else None,
            float(freedom[leader, index]),
            bool(above[leader, index]),
            bool(error[index] == 0),
        )
        for index, is_testable in enumerate(testable[leader])
        if index != leader
    )
    return np.asarray(above), _growth(leads, error, parts, tail, leader), leads


def _growth(
    leads: Sequence[Lead], errors: FloatArray, parts: _Parts, tail: float, leader: int
) -> float | None:
    unknown = any(lead.low is None and not lead.sure for lead in leads)
    if unknown or all(lead.sure for lead in leads):
        return None
    others = np.flatnonzero((np.arange(len(errors)) != leader) & (errors > 0))
    differences = (parts.deviations[:, [leader]] - parts.deviations[:, others]).T
    varied = [lead for lead in leads if not lead.constant]
    sizes, freedom = [lead.size for lead in varied], min(lead.freedom for lead in varied)
    return growth_for_power(sizes, errors[others], freedom, differences, tail)
