"""Rankings with the ranks that each could have, given how noisy means are."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import rankdata

from cheaptalk.statistics.columns import (
    FloatArray,
    StatisticsError,
    demand_columns,
    demand_draws,
    demand_level,
    with_numbers,
)
from cheaptalk.statistics.intervals import DEALS
from cheaptalk.statistics.printout import Tabular
from cheaptalk.statistics.resampling import Clusters, clusters_of


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
    """

    value: str
    label: str
    frame: pl.DataFrame = field(repr=False)
    notes: tuple[str, ...]

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
) -> RankRanges:
    """The ranks of groups by their means, with two ranges of each.

    Clusters are drawn again as in :func:`.bootstrap`, the same for all groups. ``low`` to ``high``
    are percentiles of the group's rank over draws; they describe the noise, but where groups are
    nearly tied they cover the true rank less often than they say. ``sure_low`` to ``sure_high``
    hold for all groups at once with the given level: a group is surely below as many others as
    have a mean above its own by more than c standard errors of their difference, where c is the
    quantile of the largest such standardised difference over draws (Mogstad, Romano, Shaikh and
    Wilhelm 2024, Inference for Ranks, Review of Economic Studies 91(1)).

    Args:
        value: a column of numbers; rows without one are left out.
        by: the column whose values are the groups.
        highest: whether the highest mean is best.
        cluster: as in :func:`.bootstrap`, as are all that follow.
        strata: within which clusters are drawn.
        draws: how many.
        seed: a number or a generator.
        level: of the ranges, in (0, 1).

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
    clusters = clusters_of(used, cluster, strata)
    groups = used[by].replace_strict(dict(zip(names, range(len(names)), strict=True))).to_numpy()
    numbers = used[value].to_numpy() * (1 if highest else -1)
    means, drawn = _means(groups, numbers, clusters, draws, np.random.default_rng(seed))
    lost = draws - len(drawn)
    notes = (f"{lost} draws lack a group, and do not count",) if lost else ()
    if len(drawn) < 2:
        raise StatisticsError("draws lack a group nearly always: it has too few clusters to rank")
    label = f"{level * 100:g} %, {len(drawn)} bootstrap draws of {clusters.label}"
    return RankRanges(
        value, label, _ranked(names, np.bincount(groups), means, drawn, level, highest),
        clusters.notes + notes,
    )  # fmt: skip


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
    return whole[:size] / whole[size:], drawn[~np.isnan(drawn[:, 0])]


def _ranked(
    names: Sequence[object],
    rows: NDArray[np.int64],
    means: FloatArray,
    drawn: FloatArray,
    level: float,
    highest: bool,
) -> pl.DataFrame:
    ranks = rankdata(-drawn, method="min", axis=1)
    low, high = np.quantile(
        ranks, [(1 - level) / 2, (1 + level) / 2], axis=0, method="inverted_cdf"
    )
    best = ranks == 1
    above = _surely_above(means, drawn, level)
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


def _surely_above(means: FloatArray, drawn: FloatArray, level: float) -> NDArray[np.bool_]:
    """Whether i's mean surely exceeds j's, for all pairs at once; shape (groups, groups)."""
    gaps = means[:, None] - means
    size = len(means)
    off = [drawn[:, [i]] - drawn - gaps[i] for i in range(size)]
    errors = np.array([one.std(axis=0, ddof=1) for one in off])
    largest = np.zeros(len(drawn))
    for i in range(size):
        varying = errors[i] > 0
        scaled = np.abs(off[i][:, varying]) / errors[i, varying]
        largest = np.maximum(largest, scaled.max(axis=1, initial=0))
    return np.asarray(gaps > np.quantile(largest, level) * errors)
