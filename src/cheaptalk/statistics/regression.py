"""A regression on categorical factors: its effects, with intervals that say how they were made."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtr, stdtrit

from cheaptalk.rules.errors import counted
from cheaptalk.statistics.covariances import Covariance, Floats
from cheaptalk.statistics.designs import Design
from cheaptalk.statistics.printing import printed

SINGULAR = 1e-10
"""The smallest eigenvalue, of columns scaled to length 1, at which they count as independent."""


@dataclass(frozen=True, eq=False)
class Regression:
    """A regression of an outcome on factors.

    Attributes:
        outcome: the column that is explained.
        design: the factors and how they lie over the rows.
        coefficients: the constant, then each level's effect against its reference, in the
            outcome's unit.
        covariance: how uncertain they are.
        rows: how many there were, n.
        clusters: how many; None where errors are not clustered.
        r2: the share of the outcome's variance that the factors explain, in [0, 1]; None where
            the outcome does not vary.
        method: how errors were made.
        level: the share of such intervals that cover the true effect.
        notes: what a reader should know.
    """

    outcome: str
    design: Design = field(repr=False)
    coefficients: Floats = field(repr=False)
    covariance: Covariance = field(repr=False)
    rows: int
    clusters: int | None
    r2: float | None
    method: str
    level: float
    notes: tuple[str, ...]

    @property
    def label(self) -> str:
        """The intervals' level, method, number of clusters and distribution, in words."""
        many = "" if self.clusters is None else f", {counted(self.clusters, 'cluster')}"
        freedom = self.covariance.freedom
        return f"{self.level * 100:g} %, {self.method}{many}, t with {freedom} degrees of freedom"

    @property
    def adjusted_r2(self) -> float | None:
        """R2 less what so many columns explain by chance; None without degrees of freedom."""
        left = self.rows - self.design.width
        if self.r2 is None or left == 0:
            return None
        return 1 - (1 - self.r2) * (self.rows - 1) / left

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row a level, references included.

        Columns: ``factor`` (``(constant)`` first), ``level``, ``reference`` (whether it is one),
        ``n`` (rows that have it), ``estimate`` (0 for references), ``error``, ``low``, ``high``,
        ``p`` (two-sided, of no effect) and ``interval`` (the label). Errors, limits and p are
        null for references and where they are not defined; the notes say why.
        """
        effects = self.estimates(np.eye(self.design.width))
        tested = zip(effects["estimate"], effects["error"], strict=True)
        p = [self._p(estimate, error) for estimate, error in tested]
        counts = np.bincount(self.design.active.ravel(), minlength=self.design.width + 1)
        lines = effects.with_columns(p=pl.Series(p, dtype=pl.Float64)).rows()
        rows: list[tuple[Any, ...]] = [("(constant)", None, False, self.rows, *lines[0])]
        for factor in self.design.factors:
            own = dict(zip(factor.others, self.design.columns(factor.name), strict=True))
            rest = self.rows - int(counts[list(own.values())].sum())
            rows += [
                (factor.name, level, False, int(counts[own[level]]), *lines[own[level]])
                if level in own
                else (factor.name, level, True, rest, 0.0, None, None, None, None)
                for level in factor.levels
            ]
        names = {"factor": pl.String, "level": pl.String, "reference": pl.Boolean, "n": pl.Int64}
        numbers = dict.fromkeys(("estimate", "error", "low", "high", "p"), pl.Float64)
        made = pl.DataFrame(rows, schema={**names, **numbers}, orient="row")
        return made.with_columns(interval=pl.lit(self.label))

    def estimates(self, weights: Floats) -> pl.DataFrame:
        """Weighted sums of the coefficients, one row each, with errors and intervals.

        Args:
            weights: shape (sums, columns of the design).

        Returns:
            ``estimate``, ``error``, ``low``, ``high``; all but the first null where a coefficient
            in the sum has no known error.
        """
        estimate = weights @ self.coefficients
        squares = np.einsum("ij,jk,ik->i", weights, self.covariance.matrix, weights)
        error = np.sqrt(np.maximum(squares, 0))
        blind = (np.abs(weights) > SINGULAR) @ self.covariance.unknown
        known = ~blind & (self.covariance.freedom > 0)
        width = stdtrit(max(self.covariance.freedom, 1), (1 + self.level) / 2) * error
        columns = {"error": error, "low": estimate - width, "high": estimate + width}
        return pl.DataFrame({"estimate": estimate, **columns}).with_columns(
            pl.when(pl.Series(known)).then(pl.col(name)).alias(name) for name in columns
        )

    def _p(self, estimate: float, error: float | None) -> float | None:
        """Two-sided, of no effect; None where there is no error to compare with."""
        if not error:
            return None
        return float(2 * stdtr(self.covariance.freedom, -abs(estimate) / error))

    def __str__(self) -> str:
        """The effects as a table."""
        r2 = "undefined" if self.r2 is None else f"{self.r2:.4f}"
        head = f"{self.outcome}: n = {self.rows}, R2 = {r2}\nIntervals: {self.label}"
        return printed(head, self.frame.drop("interval", "reference"), self.notes)
