"""Correlations with confidence intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import polars as pl
import scipy
from scipy.special import ndtri

from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.rules.display import brief
from cheaptalk.statistics.columns import (
    Frame,
    StatisticsError,
    as_polars,
    demand_level,
    with_numbers,
)
from cheaptalk.statistics.intervals import INSTANCES
from cheaptalk.statistics.resampling import bootstrap

Method = Literal["pearson", "spearman", "kendall"]
IntervalKind = Literal["fisher", "bootstrap"]
TESTS = {"pearson": "pearsonr", "spearman": "spearmanr", "kendall": "kendalltau"}
"""SciPy's functions by method."""


@dataclass(frozen=True, repr=False)
class Correlation(Printed):
    """The correlation of two columns.

    Attributes:
        method: ``pearson``, ``spearman`` or ``kendall`` (tau-b).
        estimate: the correlation, in [-1, 1].
        low, high: the confidence interval; None with too few rows.
        p: the two-sided p-value of no correlation between independent rows; None for the bootstrap.
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
        """The correlation as a table with one row; ``interval`` contains the label."""
        names = ("x", "y", "method", "n", "estimate", "low", "high", "p")
        row = {name: getattr(self, name) for name in names} | {"interval": self.label}
        return pl.DataFrame([row], schema_overrides=dict.fromkeys(names[4:], pl.Float64))

    def __repr__(self) -> str:
        defined = self.estimate is not None
        result = f"{self.estimate:.4g}; {self.label}" if defined else "undefined"
        return brief(self, f"{self.x} with {self.y}: {result}")

    def printout(self) -> Printout:
        return Printout.of(self.label, self.frame.drop("interval"), self.notes)


def correlation(
    frame: Frame,
    x: str,
    y: str,
    *,
    method: Method = "pearson",
    interval: IntervalKind = "bootstrap",
    cluster: Sequence[str] = INSTANCES,
    draws: int = 2_000,
    seed: int | np.random.Generator = 0,
    level: float = 0.95,
) -> Correlation:
    """Estimate the correlation of two columns.

    For example, correlate a first offer with the final payoff (GLEE, section 4).

    ``bootstrap`` resamples clusters. ``fisher`` assumes independent rows and, for Pearson,
    approximate normality. On the artanh scale, the standard error is 1 / sqrt(n - 3) for Pearson,
    sqrt((1 + r^2 / 2) / (n - 3)) for Spearman (Bonett and Wright 2000, Psychometrika 65(1)) and
    sqrt(0.437 / (n - 4)) for Kendall (Fieller, Hartley and Pearson 1957, Biometrika 44).

    Args:
        x: a column of numbers; rows without both values are ignored.
        method: ``pearson`` (linear), ``spearman`` (ranks) or ``kendall`` (tau-b).
        interval: ``bootstrap`` or ``fisher``.
        cluster: as in :func:`.bootstrap`.
        draws: as in :func:`.bootstrap`.
        seed: as in :func:`.bootstrap`.
        level: the confidence level, in (0, 1).

    Raises:
        StatisticsError: an argument is invalid, a column is missing or constant, or there are fewer
            than three rows.
    """
    frame = as_polars(frame)
    demand_level(level)
    rows = with_numbers(frame, [x, y], "correlate")
    if len(rows) < 3:
        raise StatisticsError(f'{len(rows)} rows have both "{x}" and "{y}"; at least 3 are needed')
    for name in (x, y):
        if rows[name].min() == rows[name].max():
            raise StatisticsError(
                f'"{name}" is {rows[name][0]} in every row; a correlation needs different values'
            )
    if interval == "fisher":
        return _fisher(rows, x, y, method, level)
    statistic = partial(_statistic, x=x, y=y, method=method)
    result = bootstrap(rows, statistic, cluster=cluster, draws=draws, seed=seed, level=level)
    row = result.frame.row(0, named=True)
    ends = (row["estimate"], row["low"], row["high"])
    return Correlation(x, y, method, len(rows), *ends, None, result.label, result.notes)


def _statistic(frame: pl.DataFrame, *, x: str, y: str, method: str) -> dict[str, float | None]:
    first, second = frame[x].to_numpy(), frame[y].to_numpy()
    if not np.ptp(first) or not np.ptp(second):
        return {method: None}
    if method == "kendall":
        return {method: float(scipy.stats.kendalltau(first, second).statistic)}
    if method == "spearman":
        first, second = scipy.stats.rankdata(first), scipy.stats.rankdata(second)
    return {method: float(np.corrcoef(first, second)[0, 1])}


def _fisher(rows: pl.DataFrame, x: str, y: str, method: str, level: float) -> Correlation:
    n = len(rows)
    result = getattr(scipy.stats, TESTS[method])(rows[x].to_numpy(), rows[y].to_numpy())
    r = min(max(float(result.statistic), -1.0), 1.0)
    freedom = n - 4 if method == "kendall" else n - 3
    label = f"{level * 100:g} %, Fisher's z, {n} independent rows"
    named = (x, y, method, n, r)
    if freedom < 1:
        notes = (f"{n} rows are too few for an interval",)
        return Correlation(*named, None, None, float(result.pvalue), label, notes)
    variance = {"pearson": 1.0, "spearman": 1 + r * r / 2, "kendall": 0.437}[method] / freedom
    width = ndtri((1 + level) / 2) * math.sqrt(variance)
    middle = math.atanh(r) if abs(r) < 1 else math.copysign(math.inf, r)
    low, high = math.tanh(middle - width), math.tanh(middle + width)
    return Correlation(*named, low, high, float(result.pvalue), label)
