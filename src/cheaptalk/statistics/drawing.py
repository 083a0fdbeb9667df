"""Clusters of rows, drawn again with replacement, within strata."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cheaptalk.rules.errors import counted
from cheaptalk.statistics.errors import StatisticsError
from cheaptalk.statistics.values import demand_columns

Places = NDArray[np.int64]
FEW = 20
"""Fewer clusters than this make bootstrap intervals too narrow more often than not."""


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
        """A warning where there are few clusters."""
        if self.count >= FEW:
            return ()
        return (f"{self.count} clusters are few: the intervals are likely too narrow",)

    def draws(self, number: int, generator: np.random.Generator) -> Iterator[Places]:
        """Clusters drawn with replacement, as many from each stratum as it has."""
        sizes = np.bincount(self.strata)[self.strata]
        starts = np.searchsorted(self.strata, self.strata)
        for _ in range(number):
            yield starts + (generator.random(self.count) * sizes).astype(np.int64)

    def rows(self, draws: Iterator[Places]) -> Iterator[Places]:
        """The rows of the clusters drawn, draw by draw."""
        order = np.argsort(self.codes, kind="stable")
        sizes = np.bincount(self.codes, minlength=self.count)
        starts = np.cumsum(sizes) - sizes
        for drawn in draws:
            many = sizes[drawn]
            first = np.cumsum(many) - many
            yield order[np.repeat(starts[drawn] - first, many) + np.arange(many.sum())]


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
