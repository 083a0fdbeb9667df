"""Correlations with intervals that say how they were made."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import polars as pl
from scipy import stats
from scipy.special import ndtri

from cheaptalk.rules.display import brief
from cheaptalk.statistics.columns import StatisticsError, demand_level, with_numbers
from cheaptalk.statistics.intervals import DEALS
from cheaptalk.statistics.printout import Tabular
from cheaptalk.statistics.resampling import bootstrap

Method = Literal["pearson", "spearman", "kendall"]
IntervalKind = Literal["fisher", "bootstrap"]
TESTS = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


@dataclass(frozen=True, repr=False)
class Correlation(Tabular):
    """A correlation of two columns.

    Attributes:
        x, y: the columns.
        method: ``pearson``, ``spearman`` or ``kendall`` (tau-b).
        n: rows that have both.
        estimate: in [-1, 1].
        low, high: its interval; None where there are too few rows for one.
        p: two-sided, of none, rows taken as independent; None for bootstrap intervals.
        label: how the interval was made, in words.
        notes: what a reader should know.
    """

    x: str
    y: str
    method: str
    n: int
    estimate: float
    low: float | None
    high: float | None
    p: float | None
    label: str
    notes: tuple[str, ...] = ()

    @property
    def frame(self) -> pl.DataFrame:
        """One row: the attributes but the notes, the label as ``interval``."""
        names = ("x", "y", "method", "n", "estimate", "low", "high", "p")
        row = {name: getattr(self, name) for name in names} | {"interval": self.label}
        return pl.DataFrame([row], schema_overrides=dict.fromkeys(names[4:], pl.Float64))

    def __repr__(self) -> str:
        return brief(
            self,
            f"{self.x} with {self.y}: {self.estimate:.4g}; {self.label}"
            if self.estimate is not None
            else f"{self.x} with {self.y}: undefined",
        )

    def printout(self) -> tuple[str, pl.DataFrame, Sequence[str]]:
        """The correlation as a table of one row."""
        return self.label, self.frame.drop("interval"), self.notes


def correlation(
    frame: pl.DataFrame,
    x: str,
    y: str,
    *,
    method: Method = "pearson",
    interval: IntervalKind = "bootstrap",
    cluster: Sequence[str] = DEALS,
    draws: int = 2_000,
    seed: int | np.random.Generator = 0,
    level: float = 0.95,
) -> Correlation:
    """The correlation of two columns, such as a first offer with the final payoff (000, 4.4).

    ``fisher`` takes rows as independent and, for Pearson, nearly normal: on the scale of artanh
    the standard error is 1 / sqrt(n - 3) for Pearson, sqrt((1 + r^2 / 2) / (n - 3)) for Spearman
    (Bonett and Wright 2000, Psychometrika 65(1)) and sqrt(0.437 / (n - 4)) for Kendall (Fieller,
    Hartley and Pearson 1957, Biometrika 44). ``bootstrap`` draws clusters, and assumes neither.

    Args:
        x: a column of numbers.
        y: another; rows that lack one of the two are left out.
        method: ``pearson`` (linear), ``spearman`` (of ranks) or ``kendall`` (of orders, tau-b).
        interval: ``fisher`` or ``bootstrap``.
        cluster: the columns that tell clusters apart, for ``bootstrap``.
        draws: as in :func:`.bootstrap`.
        seed: as in :func:`.bootstrap`.
        level: of the interval, in (0, 1).

    Raises:
        StatisticsError: an argument makes no sense, a column is absent or does not vary, or there
            are fewer than three rows.
    """
    if method not in TESTS:
        raise StatisticsError(f'method is one of {", ".join(TESTS)}, not "{method}"')
    if interval not in ("fisher", "bootstrap"):
        raise StatisticsError(f'interval is "fisher" or "bootstrap", not "{interval}"')
    demand_level(level)
    used = with_numbers(frame, [x, y], "correlate")
    if len(used) < 3:
        raise StatisticsError(f'{len(used)} rows have both "{x}" and "{y}", and three are needed')
    for name in (x, y):
        if used[name].min() == used[name].max():
            raise StatisticsError(f'"{name}" is {used[name][0]} in every row: nothing correlates')
    if interval == "fisher":
        return _fisher(used, x, y, method, level)
    statistic = partial(_statistic, x=x, y=y, method=method)
    found = bootstrap(used, statistic, cluster=cluster, draws=draws, seed=seed, level=level)
    row = found.frame.row(0, named=True)
    ends = (row["estimate"], row["low"], row["high"])
    return Correlation(x, y, method, len(used), *ends, None, found.label, found.notes)


def _statistic(frame: pl.DataFrame, *, x: str, y: str, method: str) -> dict[str, float | None]:
    first, second = frame[x].to_numpy(), frame[y].to_numpy()
    if not np.ptp(first) or not np.ptp(second):
        return {method: None}
    if method == "kendall":
        return {method: float(stats.kendalltau(first, second).statistic)}
    if method == "spearman":
        first, second = stats.rankdata(first), stats.rankdata(second)
    return {method: float(np.corrcoef(first, second)[0, 1])}


def _fisher(used: pl.DataFrame, x: str, y: str, method: str, level: float) -> Correlation:
    n = len(used)
    found = TESTS[method](used[x].to_numpy(), used[y].to_numpy())
    r = min(max(float(found.statistic), -1.0), 1.0)
    left = n - 4 if method == "kendall" else n - 3
    label = f"{level * 100:g} %, Fisher's z, {n} rows taken as independent"
    named = (x, y, method, n, r)
    if left < 1:
        notes = (f"{n} rows are too few for an interval",)
        return Correlation(*named, None, None, float(found.pvalue), label, notes)
    variance = {"pearson": 1.0, "spearman": 1 + r * r / 2, "kendall": 0.437}[method] / left
    width = ndtri((1 + level) / 2) * math.sqrt(variance)
    middle = math.atanh(r) if abs(r) < 1 else math.copysign(math.inf, r)
    low, high = math.tanh(middle - width), math.tanh(middle + width)
    return Correlation(*named, low, high, float(found.pvalue), label)
