"""Any statistic of a frame with its standard error and interval, by drawing its clusters anew."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from cheaptalk.rules.errors import counted
from cheaptalk.statistics.columns import (
    StatisticsError,
    demand_columns,
    demand_draws,
    demand_level,
)
from cheaptalk.statistics.intervals import DEALS, FEW, few_clusters, without_rounding
from cheaptalk.statistics.printout import Tabular

Places = NDArray[np.int64]
Statistic = Callable[[pl.DataFrame], Mapping[str, float | None]]
"""Numbers of a frame by name; None (or NaN) where one is not defined."""


@dataclass(frozen=True, eq=False, repr=False)
class Resampled(Tabular):
    """Statistics of a frame, and of frames drawn from it.

    Attributes:
        frame: one row a statistic: ``statistic``, ``estimate`` (of the frame itself), ``error``
            (standard deviation over draws), ``low``, ``high`` (expanded percentiles of the draws),
            ``undefined`` (the share of draws without a value, which do not count) and ``interval``
            (the label). Null where not defined.
        drawn: the statistics of each draw, a column each, null where undefined.
        label: how intervals were made, in words.
        notes: what a reader should know.
    """

    frame: pl.DataFrame = field(repr=False)
    drawn: pl.DataFrame = field(repr=False)
    label: str
    notes: tuple[str, ...]

    def printout(self) -> tuple[str, pl.DataFrame, Sequence[str]]:
        """The statistics as a table."""
        return self.label, self.frame.drop("interval"), self.notes


@dataclass(frozen=True, eq=False)
class Clusters:
    """Which rows of a frame share a cluster, and which clusters share a stratum.

    Attributes:
        codes: each row's cluster, shape (rows,).
        strata: each cluster's stratum, in ascending order, shape (clusters,).
    """

    codes: Places
    strata: Places

    @property
    def count(self) -> int:
        """How many clusters there are."""
        return len(self.strata)

    @property
    def freedom(self) -> int:
        """How many clusters there are, less one for each stratum."""
        return self.count - len(np.unique(self.strata))

    @property
    def label(self) -> str:
        """Clusters and strata in words."""
        many = len(np.unique(self.strata))
        within = f" in {counted(many, 'stratum').replace('stratums', 'strata')}" if many > 1 else ""
        return counted(self.count, "cluster") + within

    @property
    def notes(self) -> tuple[str, ...]:
        """A warning if there are few degrees of freedom."""
        return () if self.freedom >= FEW - 1 else (few_clusters(self.count, self.freedom),)

    def draws(self, number: int, generator: np.random.Generator) -> Iterator[Places]:
        """Draw clusters with replacement, as many from each stratum as it has.

        With all G clusters of a stratum drawn independently, a mean would vary by (G - 1) / G too
        little: by half where strata have two clusters. The last draw of a stratum is therefore a
        copy of another of its draws with a probability of G / (2 * (G - 1)), which gives each
        cluster's count a variance of exactly 1, and linear statistics their unbiased variance.
        """
        sizes = np.bincount(self.strata)[self.strata]
        starts = np.searchsorted(self.strata, self.strata)
        last = np.flatnonzero(starts + sizes - 1 == np.arange(self.count))
        others, chance = sizes[last] - 1, sizes[last] / (2 * (sizes[last] - 1))
        for _ in range(number):
            drawn = starts + (generator.random(self.count) * sizes).astype(np.int64)
            copied = drawn[starts[last] + (generator.random(len(last)) * others).astype(np.int64)]
            drawn[last] = np.where(generator.random(len(last)) < chance, copied, drawn[last])
            yield drawn

    def rows(self, draws: Iterator[Places]) -> Iterator[Places]:
        """The rows of the clusters drawn, draw by draw."""
        order = np.argsort(self.codes, kind="stable")
        sizes = np.bincount(self.codes, minlength=self.count)
        starts = np.cumsum(sizes) - sizes
        for drawn in draws:
            many = sizes[drawn]
            first = np.cumsum(many) - many
            yield order[np.repeat(starts[drawn] - first, many) + np.arange(many.sum())]


def bootstrap(
    frame: pl.DataFrame,
    statistic: Statistic,
    *,
    cluster: Sequence[str] = DEALS,
    strata: Sequence[str] = (),
    draws: int = 2_000,
    seed: int | np.random.Generator = 0,
    level: float = 0.95,
) -> Resampled:
    """Standard errors and intervals of any statistic, by the cluster bootstrap.

    In each draw the clusters of each stratum are drawn again with replacement, as many as there
    are, and with a cluster come all its rows (Efron and Tibshirani 1993, An Introduction to the
    Bootstrap, chapters 6 and 13; Davison and Hinkley 1997, section 3.8). One draw of each stratum
    can copy another, which makes up for the (G - 1) / G by which means of G clusters would vary too
    little (Rao and Wu 1988, Resampling Inference with Complex Survey Data, JASA 83, rescale
    draws for this); see :meth:`.Clusters.draws`.

    Percentiles are too narrow by as much as a normal quantile is for a mean. With G clusters in H
    strata, f = G - H and t Student's quantile with f degrees of freedom, the interval therefore
    ends at the percentiles Phi(-/+ t), the expanded percentiles of Hesterberg (2015, What Teachers
    Should Know About the Bootstrap, The American Statistician 69(4)).

    Args:
        statistic: maps a frame to numbers by name, the same names for every frame.
        cluster: the columns that tell clusters apart, such as deals; none: every row by itself.
        strata: the columns within whose values clusters are drawn, such as configurations that
            were chosen; strata with one cluster are collapsed as in :func:`.mean_intervals`.
        draws: how many, >= 2.
        seed: a number or a generator; the same number gives the same draws.
        level: of the intervals, in (0, 1).

    Raises:
        StatisticsError: an argument makes no sense, a column is absent, or there are fewer than two
            clusters.
    """
    demand_draws(draws)
    demand_level(level)
    clusters = clusters_of(frame, cluster, strata)
    estimate = statistic(frame)
    if not isinstance(estimate, Mapping):
        raise StatisticsError(
            f'the statistic must return numbers by name, such as {{"mean": 1.5}}, not {estimate!r}'
        )
    drawing = clusters.draws(draws, np.random.default_rng(seed))
    found = [statistic(frame[rows]) for rows in clusters.rows(drawing)]
    columns = {name: [_known(one[name]) for one in found] for name in estimate}
    drawn = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Float64))
    label = (
        f"{level * 100:g} %, expanded percentiles of {draws} bootstrap draws of {clusters.label}"
    )
    if not estimate:
        raise StatisticsError("the statistic gives no numbers")
    tail, value = float(ndtr(stdtrit(clusters.freedom, (1 - level) / 2))), pl.col("value")
    numbers = pl.Series([_known(one) for one in estimate.values()], dtype=pl.Float64)
    long = drawn.unpivot(variable_name="statistic")
    summary = long.group_by("statistic", maintain_order=True).agg(
        error=without_rounding(value.std(), value.abs().max()),
        low=pl.when(value.count() > 1).then(value.quantile(tail, "linear")),
        high=pl.when(value.count() > 1).then(value.quantile(1 - tail, "linear")),
        undefined=value.null_count() / draws,
        interval=pl.lit(label),
    )
    return Resampled(
        summary.insert_column(1, numbers.alias("estimate")), drawn, label, clusters.notes
    )


def _known(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def expanded(level: float, freedom: int) -> float:
    """The share of draws beyond each end of an interval that is as wide as Student's t makes it.

    For draws of independent clusters, whose means vary by 1 / (freedom + 1) too little.

    >>> round(expanded(0.95, 10_000), 3), round(expanded(0.95, 19), 3)
    (0.025, 0.016)
    """
    return float(ndtr(stdtrit(freedom, (1 - level) / 2) * math.sqrt((freedom + 1) / freedom)))


def clusters_of(frame: pl.DataFrame, cluster: Sequence[str], strata: Sequence[str]) -> Clusters:
    """The clusters of a frame; every row is one of its own where ``cluster`` is empty.

    Strata with one cluster are collapsed into one stratum, and a single such stratum collapses
    all, as :func:`.mean_intervals` does.

    Raises:
        StatisticsError: a column is absent, or there are fewer than two clusters.
    """
    demand_columns(frame, [*cluster, *strata], "draw by")
    codes = np.arange(len(frame))
    if cluster:
        keys = pl.struct(*dict.fromkeys([*strata, *cluster]))
        codes = frame.select(keys.rank("dense") - 1).to_series().to_numpy()
    if not len(codes) or codes.max() < 1:
        raise StatisticsError("resampling needs two clusters or more, and here there are fewer")
    first = np.unique(codes, return_index=True)[1]
    stratum = np.zeros(len(first), dtype=np.int64)
    if strata:
        ranks = frame.select(pl.struct(*strata).rank("dense")).to_series().to_numpy()
        stratum = np.asarray(ranks, dtype=np.int64)[first]
    stratum = np.where(np.bincount(stratum)[stratum] == 1, 0, stratum)
    stratum = np.zeros_like(stratum) if (stratum == 0).sum() == 1 else stratum
    order = np.argsort(stratum, kind="stable")
    places = np.argsort(order, kind="stable")
    return Clusters(places[codes], stratum[order])
