"""Cluster bootstrap of any statistic of a frame."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.rules.errors import counted
from cheaptalk.statistics.columns import (
    Frame,
    StatisticsError,
    as_polars,
    demand_columns,
    demand_draws,
    demand_level,
)
from cheaptalk.statistics.intervals import FEW, INSTANCES, few_clusters, without_rounding
from cheaptalk.statistics.limits import draw_summary, percentile_tail

Indices = NDArray[np.int64]
Statistic = Callable[[pl.DataFrame], Mapping[str, float | None]]
"""A function that returns numbers by name for a frame; None or NaN if undefined."""


@dataclass(frozen=True, eq=False, repr=False)
class Resampled(Printed):
    """Bootstrap estimates of a frame's statistics.

    Attributes:
        frame: one row per statistic: ``statistic``, ``estimate`` (of the original frame), ``error``
            (standard deviation over draws), ``low``, ``high`` (expanded percentiles of the draws),
            ``undefined`` (the share of ignored draws without a value) and ``interval`` (the label).
        replicates: one row per draw and one column per statistic; undefined values are null.
    """

    frame: pl.DataFrame = field(repr=False)
    replicates: pl.DataFrame = field(repr=False)
    label: str
    notes: tuple[str, ...]

    def printout(self) -> Printout:
        return Printout.of(self.label, self.frame.drop("interval"), self.notes)


@dataclass(frozen=True, eq=False)
class Clusters:
    """The number of each row's cluster, and the (ascending) number of each cluster's stratum."""

    codes: Indices
    strata: Indices

    @property
    def count(self) -> int:
        return len(self.strata)

    @property
    def freedom(self) -> int:
        """The number of clusters minus the number of strata."""
        return self.count - len(np.unique(self.strata))

    @property
    def label(self) -> str:
        """A text with the numbers of clusters and strata."""
        strata = len(np.unique(self.strata))
        return counted(self.count, "cluster") + (f" in {strata:,} strata" if strata > 1 else "")

    @property
    def notes(self) -> tuple[str, ...]:
        return () if self.freedom >= FEW - 1 else (few_clusters(self.count, self.freedom),)

    def draws(self, number: int, generator: np.random.Generator) -> Iterator[Indices]:
        """Draw the clusters of each stratum with replacement, keeping the size of the stratum.

        Independent draws of a stratum's G clusters would make the variance of a mean too small by a
        factor of (G - 1) / G. The last draw of a stratum therefore copies another draw with a
        probability of G / (2 * (G - 1)), so that each cluster's count has a variance of exactly 1,
        and linear statistics have their unbiased variance.
        """
        sizes = np.bincount(self.strata)[self.strata]
        starts = np.searchsorted(self.strata, self.strata)
        last = np.flatnonzero(starts + sizes - 1 == np.arange(self.count))
        other_draws, chance = sizes[last] - 1, sizes[last] / (2 * (sizes[last] - 1))
        for _ in range(number):
            sample = starts + (generator.random(self.count) * sizes).astype(np.int64)
            copied = sample[
                starts[last] + (generator.random(len(last)) * other_draws).astype(np.int64)
            ]
            sample[last] = np.where(generator.random(len(last)) < chance, copied, sample[last])
            yield sample

    def rows(self, draws: Iterator[Indices]) -> Iterator[Indices]:
        """Yield the row indices of each draw's clusters."""
        order = np.argsort(self.codes, kind="stable")
        sizes = np.bincount(self.codes, minlength=self.count)
        starts = np.cumsum(sizes) - sizes
        for sample in draws:
            counts = sizes[sample]
            offsets = np.cumsum(counts) - counts
            yield order[np.repeat(starts[sample] - offsets, counts) + np.arange(counts.sum())]


def bootstrap(
    frame: Frame,
    statistic: Statistic,
    *,
    cluster: Sequence[str] = INSTANCES,
    strata: Sequence[str] = (),
    draws: int = 2_000,
    seed: int | np.random.Generator = 0,
    level: float = 0.95,
) -> Resampled:
    """Estimate standard errors and intervals of any statistic by the cluster bootstrap.

    Each draw resamples the clusters of each stratum with replacement, and includes all rows of a
    drawn cluster (Efron and Tibshirani 1993, An Introduction to the Bootstrap, chapters 6 and 13;
    Davison and Hinkley 1997, section 3.8). :meth:`.Clusters.draws` corrects the variance of small
    strata, like the rescaling of Rao and Wu (1988, Resampling Inference with Complex Survey Data,
    JASA 83).

    Percentile intervals are too narrow by the ratio of normal to Student quantiles. The interval
    therefore ends at the percentiles Phi(-/+ t), with t Student's quantile for G - H degrees of
    freedom, G clusters and H strata. These are the expanded percentiles of Hesterberg (2015, What
    Teachers Should Know About the Bootstrap, The American Statistician 69(4)).

    Args:
        statistic: a function that returns numbers by name, with the same names for every frame.
        cluster: the columns that identify clusters, such as instances; if empty, each row is a
            cluster.
        strata: the columns that identify strata, such as configurations; strata with one cluster
            are merged as in :func:`.mean_intervals`.
        draws: the number of draws, >= 2.
        seed: a number or a generator.
        level: the confidence level, in (0, 1).

    Raises:
        StatisticsError: an argument is invalid, a column is missing, or there are fewer than two
            clusters.
    """
    frame = as_polars(frame)
    demand_draws(draws)
    demand_level(level)
    clusters = clusters_of(frame, cluster, strata)
    estimate = statistic(frame)
    if not isinstance(estimate, Mapping):
        raise StatisticsError(
            f'the statistic must return numbers by name, such as {{"mean": 1.5}}, not {estimate!r}'
        )
    drawing = clusters.draws(draws, np.random.default_rng(seed))
    results = [statistic(frame[rows]) for rows in clusters.rows(drawing)]
    if not estimate:
        raise StatisticsError("the statistic returned no numbers")
    columns = {name: [result[name] for result in results] for name in estimate}
    defined = pl.when(pl.all().is_finite()).then(pl.all())
    replicates = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Float64)).select(defined)
    label = (
        f"{level * 100:g} %, expanded percentiles of {draws} bootstrap draws of {clusters.label}"
    )
    values = [math.nan if value is None else value for value in estimate.values()]
    matrix = replicates.fill_null(math.nan).to_numpy()
    numbers = draw_summary(values, matrix, percentile_tail(level, clusters.freedom))
    largest = replicates.select(pl.all().abs().max()).transpose().to_series()
    several = numbers["error"].is_not_null()
    summary = numbers.select(
        pl.Series("statistic", list(estimate)),
        "estimate",
        error=without_rounding(pl.col("error"), pl.lit(largest)),
        low=pl.when(several).then("low"),
        high=pl.when(several).then("high"),
        undefined="undefined",
        interval=pl.lit(label),
    )
    return Resampled(summary, replicates, label, clusters.notes)


def clusters_of(frame: pl.DataFrame, cluster: Sequence[str], strata: Sequence[str]) -> Clusters:
    """Return the clusters of a frame; each row is its own cluster if ``cluster`` is empty.

    Strata with one cluster are merged into one stratum; if there is only one such stratum, all
    strata are merged, as in :func:`.mean_intervals`.
    """
    demand_columns(frame, [*cluster, *strata], "draw by")
    codes = np.arange(len(frame))
    if cluster:
        keys = pl.struct(*dict.fromkeys([*strata, *cluster]))
        codes = frame.select(keys.rank("dense") - 1).to_series().to_numpy()
    if not len(codes) or codes.max() < 1:
        raise StatisticsError("resampling needs at least two clusters; there are fewer")
    first_rows = np.unique(codes, return_index=True)[1]
    stratum = np.zeros(len(first_rows), dtype=np.int64)
    if strata:
        ranks = frame.select(pl.struct(*strata).rank("dense")).to_series().to_numpy()
        stratum = np.asarray(ranks, dtype=np.int64)[first_rows]
    stratum = np.where(np.bincount(stratum)[stratum] == 1, 0, stratum)
    stratum = np.zeros_like(stratum) if (stratum == 0).sum() == 1 else stratum
    order = np.argsort(stratum, kind="stable")
    positions = np.argsort(order, kind="stable")
    return Clusters(positions[codes], stratum[order])
