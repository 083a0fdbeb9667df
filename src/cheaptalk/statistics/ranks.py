"""Rankings with the ranks that each could have, given how noisy means are."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit
from scipy.stats import rankdata

from cheaptalk.statistics.columns import (
    FloatArray,
    StatisticsError,
    demand_columns,
    demand_draws,
    demand_level,
    with_numbers,
)
from cheaptalk.statistics.differences import LEAST_FREEDOM, wider_quantiles
from cheaptalk.statistics.intervals import DEALS, ROUNDING
from cheaptalk.statistics.participants import PEOPLE
from cheaptalk.statistics.planning import correlations_of, growth_for_power
from cheaptalk.statistics.printout import Tabular
from cheaptalk.statistics.resampling import Clusters, clusters_of

ENOUGH_FREEDOM = 5
"""Degrees of freedom that draws need to show an order. Of two equal groups one is ahead on each of
five clusters in 6 % of studies, and in all draws then; on each of six in 3 %."""
PERCENTILES_OF_PEOPLE = "percentiles of ranks leave out that other participants might play"


class Lead(NamedTuple):
    """The difference between the means of the best group and another group.

    Attributes:
        behind: the other group.
        size: the difference, at least 0.
        low, high: the interval that decides whether the lead is sure, which holds for all pairs of
            groups at once; None if the error is unknown or 0.
        freedom: degrees of freedom of its error.
        sure: whether the best group is surely ahead.
        constant: whether the difference never varied within a stratum.
    """

    behind: str
    size: float
    low: float | None
    high: float | None
    freedom: float
    sure: bool
    constant: bool


@dataclass(frozen=True, eq=False, repr=False)
class RankRanges(Tabular):
    """Groups in order of their means.

    Attributes:
        value: the column whose means are ranked.
        label: how ranges were made, in words.
        frame: one row a group, best first: ``group``, ``n`` (rows), ``mean``, ``error``, ``rank``
            (1 is best, ties share the smaller), ``low``, ``high`` (percentiles of its rank over
            draws), ``first`` (the share of draws in which it is best, ties shared),
            ``sure_low``, ``sure_high`` (ranks that hold for all groups at once).
        notes: what a reader should know.
        more: how many times as many clusters would make the best group's first rank sure in four of
            five studies, if differences are what they seem; infinite if no sensible number would,
            None if the rank is sure or the clusters do not tell.
        leads: of the best group over each other group.
    """

    value: str
    label: str
    frame: pl.DataFrame = field(repr=False)
    notes: tuple[str, ...]
    more: float | None = None
    leads: tuple[Lead, ...] = ()

    def printout(self) -> tuple[str, pl.DataFrame, Sequence[str]]:
        """The ranking as a table."""
        return f"Ranks by {self.value}; {self.label}", self.frame, self.notes


def rank_ranges(
    frame: pl.DataFrame,
    value: str,
    by: str,
    *,
    cluster: Sequence[str] = DEALS,
    strata: Sequence[str] = (),
    highest: bool = True,
    draws: int = 2_000,
    seed: int | np.random.Generator = 0,
    level: float = 0.95,
    people: str | None = PEOPLE,
) -> RankRanges:
    """The ranks of groups by their means, with two ranges of each.

    Clusters are drawn again as in :func:`.bootstrap`, the same for all groups. ``low`` to ``high``
    are expanded percentiles of the group's rank over draws, from the first to the last rank that
    its ties share; they describe the noise, but where groups are nearly tied they cover the true
    rank less often than they say. With fewer than five degrees of freedom they are no narrower
    than ``sure_low`` to ``sure_high``; see :data:`ENOUGH_FREEDOM`. ``sure_low`` to
    ``sure_high`` hold for all groups at once with the given level: a group is surely below as many
    others as have a mean above its own by more than c standard errors of their difference
    (Mogstad, Romano, Shaikh and Wilhelm 2024, Inference for Ranks, Review of Economic Studies
    91(1)).

    Means whose difference is no more than rounding leaves are ties, in draws, too.

    Standard errors are those of :func:`.mean_intervals`, and c is the quantile of Student's t with
    the difference's Satterthwaite degrees of freedom whose intervals hold for all pairs at once
    (Bonferroni), or more where the difference is skewed (:func:`.wider_quantiles`).
    With fewer than two of these no difference is sure, and neither is one that never varied.

    If the frame names participants, the standard error of a difference is not below that of
    clustering by participant, and has no more degrees of freedom; see :func:`.mean_intervals`.
    ``low``, ``high`` and ``first`` are of draws of clusters, in which participants stay the same.

    In a stratum where no two groups share a cluster, each group's clusters are drawn apart. If one
    of them has a single cluster there, the stratum shows no spread of that group: it becomes one
    cluster, and all such strata one stratum.

    Args:
        value: a column of numbers; rows without one are left out.
        by: the column whose values are the groups.
        highest: whether the highest mean is best.
        cluster: as in :func:`.bootstrap`, as are all that follow.
        strata: within which clusters are drawn.
        draws: how many.
        seed: a number or a generator.
        level: of the ranges, in (0, 1).
        people: a column of lists that names the participants of each row, if the frame has it;
            None: never.

    Raises:
        StatisticsError: an argument makes no sense, a column is absent, or there are fewer than two
            groups or clusters.
    """
    demand_draws(draws)
    demand_level(level)
    demand_columns(frame, [by], "rank by")
    used = with_numbers(frame, [value], "rank by").drop_nulls(by)
    names = sorted(used[by].unique().to_list())
    if len(names) < 2:
        raise StatisticsError(f'"{by}" has fewer than two groups with a value of "{value}"')
    used = _with_units(used, by, cluster, strata)
    clusters = clusters_of(used, ["unit"], ["pool"])
    groups = used[by].replace_strict(dict(zip(names, range(len(names)), strict=True))).to_numpy()
    numbers = used[value].to_numpy() * (1 if highest else -1)
    means, drawn = _means(groups, numbers, clusters, draws, np.random.default_rng(seed))
    lost = draws - len(drawn)
    notes: tuple[str, ...] = (f"{lost} draws lack a group, and do not count",) if lost else ()
    if len(drawn) < 2:
        raise StatisticsError("draws lack a group nearly always: it has too few clusters to rank")
    label = f"{level * 100:g} %, {len(drawn)} bootstrap draws of {clusters.label}"
    parts, errors = _parts(groups, numbers, clusters), None
    if people in used.columns and used[people].list.len().sum():
        listed = used[people].fill_null([]).to_list()
        errors = _errors_by_person(listed, groups, numbers, clusters)
        notes += (PERCENTILES_OF_PEOPLE,)
    above, more, leads = _surely_above(names, means, parts, clusters, level, errors)
    tail = float(ndtr(stdtrit(clusters.freedom, (1 - level) / 2)))
    ranked = _ranked(names, np.bincount(groups), means, drawn, above, tail, highest)
    if clusters.freedom < ENOUGH_FREEDOM:
        ranked = ranked.with_columns(
            low=pl.min_horizontal("low", "sure_low"), high=pl.max_horizontal("high", "sure_high")
        )
    return RankRanges(value, label, ranked, clusters.notes + notes, more, leads)


def _with_units(
    frame: pl.DataFrame, by: str, cluster: Sequence[str], strata: Sequence[str]
) -> pl.DataFrame:
    """Add ``unit`` and ``pool``: what is drawn, and from what, as :func:`rank_ranges` says."""
    demand_columns(frame, [*cluster, *strata], "draw by")
    keys = list(dict.fromkeys([*strata, *cluster]))
    unit = pl.struct(keys).rank("dense") if cluster else pl.int_range(pl.len())
    stratum = pl.struct(list(strata)).rank("dense") if strata else pl.lit(0)
    made = frame.with_columns(
        unit=unit.cast(pl.Int64), stratum=stratum.cast(pl.Int64), group=pl.col(by).rank("dense")
    )
    shared = pl.col("group").n_unique().over("unit").max().over("stratum") > 1
    fewest = pl.col("unit").n_unique().over("stratum", "group").min().over("stratum")
    thin = ~shared & (fewest < 2) & pl.lit(bool(strata))
    return made.with_columns(
        unit=pl.when(thin).then(-1 - pl.col("stratum")).otherwise("unit"),
        pool=pl.when(thin)
        .then(pl.lit(""))
        .when(shared | (fewest < 2))
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
    """Each group's mean, and its means over draws that have all groups, shape (draws, groups)."""
    size = int(groups.max()) + 1
    cells = clusters.codes * size + groups
    many = np.bincount(cells, minlength=clusters.count * size).astype(np.float64)
    sums = np.bincount(cells, numbers, minlength=clusters.count * size)
    both = np.hstack([sums.reshape(-1, size), many.reshape(-1, size)])
    drawn = np.full((draws, size), np.nan)
    for place, taken in enumerate(clusters.draws(draws, generator)):
        totals = np.bincount(taken, minlength=clusters.count).astype(np.float64) @ both
        if totals[size:].all():
            drawn[place] = totals[:size] / totals[size:]
    whole = both.sum(axis=0)
    noise = ROUNDING * float(np.abs(numbers).max(initial=0.0))
    means = _with_ties(whole[:size] / whole[size:], noise)
    return means, _with_ties(drawn[~np.isnan(drawn[:, 0])], noise)


def _with_ties(means: FloatArray, noise: float) -> FloatArray:
    """Means along the last axis, equal where a gap to the next one is no more than noise."""
    order = np.argsort(means, axis=-1)
    ranked = np.take_along_axis(means, order, axis=-1)
    apart = np.diff(ranked, axis=-1, prepend=-np.inf) > noise
    first = np.maximum.accumulate(np.where(apart, np.arange(means.shape[-1]), 0), axis=-1)
    tied = np.empty_like(means)
    np.put_along_axis(tied, order, np.take_along_axis(ranked, first, axis=-1), axis=-1)
    return tied


def _ranked(
    names: Sequence[object],
    rows: NDArray[np.int64],
    means: FloatArray,
    drawn: FloatArray,
    above: NDArray[np.bool_],
    tail: float,
    highest: bool,
) -> pl.DataFrame:
    ranks, last = (rankdata(-drawn, method=ties, axis=1) for ties in ("min", "max"))
    low = np.quantile(ranks, tail, axis=0, method="inverted_cdf")
    high = np.quantile(last, 1 - tail, axis=0, method="inverted_cdf")
    best = ranks == 1
    made = pl.DataFrame(
        {
            "group": [str(name) for name in names],
            "n": rows,
            "mean": means if highest else -means,
            "error": drawn.std(axis=0, ddof=1),
            "rank": rankdata(-means, method="min").astype(np.int64),
            "low": low.astype(np.int64),
            "high": high.astype(np.int64),
            "first": (best / best.sum(axis=1, keepdims=True)).mean(axis=0),
            "sure_low": 1 + above.sum(axis=0),
            "sure_high": len(means) - above.sum(axis=1),
        }
    )
    return made.sort("rank", "group")


class _Parts(NamedTuple):
    """What each cluster adds to each group's mean, and to the deviation from it.

    Attributes:
        means: shape (clusters, groups).
        deviations: from the mean of the cluster's stratum, same shape.
    """

    means: FloatArray
    deviations: FloatArray


def _parts(groups: NDArray[np.int64], numbers: FloatArray, clusters: Clusters) -> _Parts:
    size = int(groups.max()) + 1
    cells, shape = clusters.codes * size + groups, (clusters.count, size)
    many = np.bincount(cells, minlength=clusters.count * size).reshape(shape)
    sums = np.bincount(cells, numbers, minlength=clusters.count * size).reshape(shape)
    rows = many.sum(axis=0)
    deviations = (sums - many * sums.sum(axis=0) / rows) / rows
    starts = np.flatnonzero(np.diff(clusters.strata, prepend=-1))
    sizes = np.diff(starts, append=clusters.count)
    centres = np.add.reduceat(deviations, starts, axis=0) / sizes[:, None]
    return _Parts(sums / rows, deviations - np.repeat(centres, sizes, axis=0))


def _errors(parts: _Parts, clusters: Clusters) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Standard errors of all pairs' differences, their degrees of freedom, and their skews."""
    size = parts.means.shape[1]
    total, fourths, plain, cubes = (np.zeros((size, size)) for _ in range(4))
    starts = np.flatnonzero(np.diff(clusters.strata, prepend=-1))
    for own in np.split(parts.deviations, starts[1:]):
        count = len(own)
        squares = own.T @ own * count / (count - 1)
        spread = np.diag(squares)
        variance = np.maximum(spread[:, None] + spread - 2 * squares, 0.0)
        total += variance
        fourths += variance**2 / (count - 1)
        plain += variance * (count - 1) / count
        third, mixed = (own**3).sum(axis=0), own.T**2 @ own
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
    """Standard errors of all pairs' differences by participant, and their degrees of freedom.

    Deviations are from the stratum's mean and then from the group's, and allow for the rows of a
    stratum as in :func:`.clustered_by_people`. A row counts for each of its participants;
    a pair of groups has those who are in a row of either. Without two there is no variance.
    """
    size = int(groups.max()) + 1
    codes = {name: code for code, name in enumerate(dict.fromkeys(chain(*listed)))}
    strata, members = clusters.strata[clusters.codes], np.bincount(groups)
    many = np.bincount(strata)
    off = numbers - (np.bincount(strata, numbers) / np.maximum(many, 1))[strata]
    off -= (np.bincount(groups, off) / members)[groups]
    off *= (many / np.maximum(many - 1, 1))[strata] * (1 - 1 / len(off)) / members[groups]
    rows = np.repeat(np.arange(len(listed)), [len(set(names)) for names in listed])
    person = np.array([codes[name] for names in listed for name in dict.fromkeys(names)])
    sums, played = np.zeros((len(codes), size)), np.zeros((len(codes), size), dtype=bool)
    np.add.at(sums, (person, groups[rows]), off[rows])
    played[person, groups[rows]] = True
    count = (played[:, :, None] | played[:, None]).sum(axis=0).astype(np.float64)
    variance = ((sums[:, :, None] - sums[:, None]) ** 2).sum(axis=0)
    return np.sqrt(variance * count / np.maximum(count - 1, 1)), np.maximum(count - 1, 0)


def _surely_above(
    names: Sequence[object], means: FloatArray, parts: _Parts, clusters: Clusters, level: float,
    by_person: tuple[FloatArray, FloatArray] | None,
) -> tuple[NDArray[np.bool_], float | None, tuple[Lead, ...]]:  # fmt: skip
    """Whether i's mean surely exceeds j's, for all pairs at once; shape (groups, groups).

    And how many times as many clusters would show that of the best and all others, and the leads
    of the best.
    """
    gaps = means[:, None] - means
    errors, freedom, skews = _errors(parts, clusters)
    tail = (1 - level) / (len(means) * (len(means) - 1))
    if by_person is not None:
        skews = np.where(by_person[0] > errors, 0.0, skews)
        errors, freedom = np.maximum(errors, by_person[0]), np.minimum(freedom, by_person[1])
    below, beyond = wider_quantiles(-stdtrit(np.maximum(freedom, 1.0), tail), skews)
    testable = (np.round(freedom, 6) >= LEAST_FREEDOM) & (errors > 0)
    above = testable & (gaps > below * errors)
    best = int(means.argmax())
    leads = tuple(
        Lead(
            str(names[at]), float(gaps[best, at]),
            float(gaps[best, at] - below[best, at] * errors[best, at]) if known else None,
            float(gaps[best, at] + beyond[best, at] * errors[best, at]) if known else None,
            float(freedom[best, at]), bool(above[best, at]), bool(errors[best, at] == 0),
        )
        for at, known in enumerate(testable[best]) if at != best
    )  # fmt: skip
    return np.asarray(above), _growth(leads, errors[best], parts, tail, best), leads


def _growth(
    leads: Sequence[Lead], errors: FloatArray, parts: _Parts, tail: float, best: int
) -> float | None:
    """How many times as many clusters would show that the best is ahead of all others."""
    unknown = any(one.low is None and not one.sure for one in leads)
    if unknown or all(one.sure for one in leads) or min(one.size for one in leads) <= 0:
        return None
    rest = np.flatnonzero((np.arange(len(errors)) != best) & (errors > 0))
    apart = (parts.deviations[:, [best]] - parts.deviations[:, rest]).T
    growth = growth_for_power(
        [one.size for one in leads if not one.constant], errors[rest],
        min(one.freedom for one in leads if not one.constant),
        correlations_of(apart), tail=tail,
    )  # fmt: skip
    return math.inf if growth is None else growth
