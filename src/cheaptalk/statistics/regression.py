"""Ordinary least squares on numbers and categorical factors, and the means they predict."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy.special import stdtr, stdtrit

from cheaptalk.rules.errors import counted
from cheaptalk.statistics.columns import (
    FloatArray,
    StatisticsError,
    demand_clusters,
    demand_level,
    with_numbers,
)
from cheaptalk.statistics.covariances import Clusters, Covariance, classical, clustered, hc3
from cheaptalk.statistics.design_matrix import (
    SINGULAR,
    Covariate,
    Design,
    Factor,
    column_of,
    covariate_of,
    design_of,
    factor_of,
    is_number,
    told_apart,
)
from cheaptalk.statistics.intervals import DEALS, FEW
from cheaptalk.statistics.printout import Tabular

Errors = Literal["classical", "HC3", "cluster"]
ENOUGH_TREATED = 25
"""Clusters that must have a level, and its reference, for its interval to be wide enough."""
LEAST = 10
"""Degrees of freedom, and clusters, below which errors cannot be told at all."""
NARROW = "where the outcome is a share or skewed, the intervals are too narrow"


@dataclass(frozen=True, eq=False, repr=False)
class Regression(Tabular):
    """A regression of an outcome on factors.

    Attributes:
        outcome: the column that is explained.
        design: the factors and how they lie over the rows.
        coefficients: the constant, each level's effect against its reference, then the effect of
            one unit more of each number, in the outcome's unit.
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
    coefficients: FloatArray = field(repr=False)
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
        freedom = "Satterthwaite's" if self.covariance.reduced else self.covariance.freedom
        return f"{self.level * 100:g} %, {self.method}{many}, t with {freedom} degrees of freedom"

    @property
    def untold(self) -> str:
        """Why nothing can be told of how uncertain effects are; empty where it can."""
        return _untold(self.rows - self.design.rank, self.clusters)

    @property
    def adjusted_r2(self) -> float | None:
        """R2 less what so many columns explain by chance; None without degrees of freedom."""
        left = self.rows - self.design.rank
        if self.r2 is None or left == 0:
            return None
        return 1 - (1 - self.r2) * (self.rows - 1) / left

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row a level, references included, then one a number.

        Columns: ``factor`` (``(constant)`` first), ``level`` (null for the constant and for
        numbers), ``reference`` (whether it is one), ``n`` (rows that have it), ``estimate`` (0 for
        references), ``error``, ``low``, ``high``,
        ``p`` (two-sided, of no effect), ``freedom`` and ``interval`` (the label). Errors, limits, p
        and degrees of freedom are null for references and where they are not defined; the notes
        say why.
        """
        lines = self.estimates(np.eye(self.design.width)).rows()
        counts = np.bincount(self.design.active.ravel(), minlength=self.design.width + 1)
        rows: list[tuple[Any, ...]] = [("(constant)", None, False, self.rows, *lines[0])]
        for factor in self.design.factors:
            own = dict(zip(factor.others, self.design.columns(factor.name), strict=True))
            rest = self.rows - int(counts[list(own.values())].sum())
            rows += [
                (factor.name, level, False, int(counts[own[level]]), *lines[own[level]])
                if level in own
                else (factor.name, level, True, rest, 0.0, None, None, None, None, None)
                for level in factor.levels
            ]
        rows += [
            (covariate.name, None, False, self.rows, *line)
            for covariate, line in zip(
                self.design.covariates, lines[self.design.levels :], strict=True
            )
        ]
        names = {"factor": pl.String, "level": pl.String, "reference": pl.Boolean, "n": pl.Int64}
        numbers = dict.fromkeys(("estimate", "error", "low", "high", "p", "freedom"), pl.Float64)
        made = pl.DataFrame(rows, schema={**names, **numbers}, orient="row")
        return made.with_columns(interval=pl.lit(self.label))

    def estimates(self, weights: FloatArray) -> pl.DataFrame:
        """Weighted sums of the coefficients, one row each, with errors and intervals.

        Args:
            weights: shape (sums, columns of the design).

        Returns:
            ``estimate``, ``error``, ``low``, ``high``, ``p`` (two-sided, of no effect; null where
            the error is 0) and ``freedom``; all but the first null where a coefficient in the sum
            has no known error, and all where the rows do not determine the sum.
        """
        estimate, weights = weights @ self.coefficients, self.design.standardised(weights)
        squares = np.einsum("ij,jk,ik->i", weights, self.covariance.matrix, weights)
        error = np.sqrt(np.maximum(squares, 0))
        sizes = np.abs(weights).max(axis=1, keepdims=True, initial=0)
        weights = np.divide(weights, sizes, out=np.zeros_like(weights), where=sizes > 0)
        blind = (np.abs(weights) > SINGULAR) @ self.covariance.unknown
        freedom = self.covariance.freedoms(weights)
        known = ~blind & (freedom > 0) & (not self.untold)
        used = np.where(known, freedom, 1.0)
        width = stdtrit(used, (1 + self.level) / 2) * error
        size = np.divide(np.abs(estimate), error, out=np.full(len(error), np.nan), where=error > 0)
        columns = {
            "error": error, "low": estimate - width, "high": estimate + width,
            "p": 2 * stdtr(used, -size), "freedom": freedom,
        }  # fmt: skip
        estimable = self.design.estimable(weights)
        shown = {"estimate": estimable, **dict.fromkeys(columns, known & estimable)}
        return pl.DataFrame({"estimate": estimate, **columns}).with_columns(
            pl.when(pl.Series(given)).then(pl.col(name)).fill_nan(None).alias(name)
            for name, given in shown.items()
        )

    def printout(self) -> tuple[str, pl.DataFrame, Sequence[str]]:
        """The effects as a table."""
        r2 = "undefined" if self.r2 is None else f"{self.r2:.4f}"
        head = f"{self.outcome}: n = {self.rows}, R2 = {r2}\nIntervals: {self.label}"
        return head, self.frame.drop("interval", "reference"), self.notes


def ols(
    frame: pl.DataFrame,
    outcome: str,
    factors: Sequence[str],
    *,
    reference: Mapping[str, Any] | None = None,
    composites: Mapping[str, Sequence[str]] | None = None,
    errors: Errors = "cluster",
    cluster: Sequence[str] = DEALS,
    level: float = 0.95,
) -> Regression:
    """Regress an outcome on numbers and categorical factors by ordinary least squares.

    A column of numbers is one regressor, whose effect is that of one unit more. A column of texts,
    booleans or categories is a factor, and so are numbers that are named as ``C(column)``. Each
    factor becomes a column of zeros and ones for every level but its reference, whose effect
    is 0 by definition; an effect is the expected change of the outcome from the reference level to
    this one, other factors held fixed. A composite takes the combinations of several columns as
    the levels of one factor, such as GLEE's market (complete information, messages, horizon) or
    a pair of players, and so holds all interactions among them (000, section 4).

    What is not identified is an error, what is not defined is null with a note: a factor with one
    level, or a number that never varies, is left out with a note, and an outcome that never varies
    has effects of exactly 0. Rows without an outcome are left out, and counted in a note.

    Coefficients come from the normal equations of the sparse columns, which takes a tenth of a
    second for 80,000 rows and 200 levels.

    Args:
        frame: one row a match.
        outcome: a column of numbers.
        factors: columns, ``C(column)`` for numbers whose values are levels, or names of composites.
        reference: the level of each factor that others are compared with: a value of its column;
            for a composite a value for each of its columns, in order, or the level's text. Numbers
            have none.
        composites: which columns make up each composite; their values are levels.
        errors: ``cluster`` (rows alike within clusters; CR1 and t with G - 1, or where a level or
            its reference is in fewer than 20 clusters CR2 and t with Satterthwaite's, effect by
            effect), ``HC3`` (independent rows of any variance; t with n - p degrees of freedom) or
            ``classical`` (independent rows of equal variance; the same).
        cluster: the columns that tell clusters apart, for ``cluster``; by default an instance of a
            configuration. Where people play several matches, name the column of participants.
        level: of the intervals, in (0, 1).

    Raises:
        StatisticsError: an argument makes no sense, a column or reference level is absent, a factor
            has no declared reference, a factor's value is missing, no row has an outcome, or
            factors cannot be told apart; the message names them.
    """
    found = regressions(
        frame, [outcome], factors, reference=reference, composites=composites, errors=[errors],
        cluster=cluster, level=level,
    )  # fmt: skip
    return found[outcome, errors]


def regressions(
    frame: pl.DataFrame,
    outcomes: Sequence[str],
    factors: Sequence[str],
    *,
    reference: Mapping[str, Any] | None = None,
    composites: Mapping[str, Sequence[str]] | None = None,
    errors: Sequence[Errors] = ("cluster",),
    cluster: Sequence[str] = DEALS,
    level: float = 0.95,
    partial: bool = False,
) -> dict[tuple[str, Errors], Regression]:
    """Regress several outcomes on the same factors, with several kinds of errors.

    What they share is computed once, so that this is several times as fast as :func:`ols` for each,
    whose arguments these are.

    Args:
        partial: estimate what can be told apart where other effects cannot: these are null, and a
            note names their factors. Without it they are an error.

    Returns:
        The regressions by outcome and kind of errors.

    Raises:
        StatisticsError: as :func:`ols` does, for any of the outcomes.
    """
    for kind in errors:
        _check(kind, level, factors)
    declared = {column_of(name): wanted for name, wanted in (reference or {}).items()}
    designs: dict[bytes, tuple[Design, list[str]]] = {}
    clusters: dict[bytes, Clusters] = {}
    found: dict[tuple[str, Errors], Regression] = {}
    for outcome in outcomes:
        used, notes = _with_outcome(frame, outcome)
        rows = frame[outcome].is_null().to_numpy().tobytes()
        if rows not in designs:
            designs[rows] = _design(used, factors, composites or {}, declared, partial)
        design, idle = designs[rows]
        values = used[outcome].to_numpy()
        base = values[0]  # taken off first, so that equal outcomes leave residuals of exactly 0
        coefficients = design.inverse @ (design.matrix.T @ (values - base))
        residuals = values - base - design.matrix @ coefficients
        residuals[np.abs(residuals) < 1e-12 * np.abs(values).max()] = 0
        coefficients[0] += base
        total = float(((values - values.mean()) ** 2).sum()) if np.ptp(values) else 0.0
        r2 = 1 - float(residuals @ residuals) / total if total else None
        for kind in errors:
            if kind == "cluster" and rows not in clusters:
                clusters[rows] = _clusters(used, design, cluster)
            covariance = _covariance(design, residuals, kind, clusters.get(rows))
            warnings = _warnings(design, covariance, residuals, values)
            by = f"cluster-robust ({covariance.method}) by {', '.join(cluster)}"
            found[outcome, kind] = Regression(
                outcome, design, design.unstandardised(coefficients), covariance, len(used),
                None if covariance.clusters is None else covariance.clusters.count, r2,
                by if kind == "cluster" else kind, level, (*notes, *idle, *warnings),
            )  # fmt: skip
    return found


def _design(
    frame: pl.DataFrame,
    factors: Sequence[str],
    composites: Mapping[str, Sequence[str]],
    reference: Mapping[str, Any],
    partial: bool,
) -> tuple[Design, list[str]]:
    """Regressors over some rows, and notes on those without an effect that is known."""
    categorical: list[Factor] = []
    covariates: list[Covariate] = []
    idle: list[str] = []
    for name in factors:
        if name not in composites and is_number(frame, name):
            covariate = covariate_of(frame, name, reference)
            if covariate.scale:
                covariates.append(covariate)
            else:
                same = f"{covariate.centre:g}"
                idle.append(f'"{name}" is {same} in every row here, and has no effect to estimate')
            continue
        own = column_of(name)
        factor = factor_of(frame, own, composites.get(name, [own]), reference)
        if factor.others:
            categorical.append(factor)
        else:
            level = factor.reference
            idle.append(f'"{own}" has one level here, {level}, and no effect to estimate')
    design = design_of(frame, categorical, covariates, partial=partial)
    return design, idle + [told_apart(group) for group in design.confounded if partial]


def _check(errors: str, level: float, factors: Sequence[str]) -> None:
    if errors not in ("classical", "HC3", "cluster"):
        raise StatisticsError(f'errors is "cluster", "HC3" or "classical", not "{errors}"')
    demand_level(level)
    if isinstance(factors, str) or len(set(map(column_of, factors))) < len(factors):
        raise StatisticsError("factors is a list of different names")


def _with_outcome(frame: pl.DataFrame, outcome: str) -> tuple[pl.DataFrame, list[str]]:
    """The rows whose outcome is known, as a decimal number."""
    used = with_numbers(frame, [outcome], "explain")
    if used.is_empty():
        raise StatisticsError(f'no row has a value of "{outcome}": there is nothing to explain')
    lost = len(frame) - len(used)
    note = f'{counted(lost, "row")} without a value of "{outcome}" left out'
    return used, [note] if lost else []


def _clusters(frame: pl.DataFrame, design: Design, cluster: Sequence[str]) -> Clusters:
    """Which rows of a design share all values of some columns."""
    demand_clusters(frame, cluster, 'errors="HC3" takes rows to be independent')
    codes = frame.select(pl.struct(cluster).rank("dense") - 1).to_series().to_numpy()
    return Clusters(design, np.asarray(codes, dtype=np.int64))


def _covariance(
    design: Design, residuals: FloatArray, errors: Errors, clusters: Clusters | None
) -> Covariance:
    """The covariance of a kind."""
    if errors == "cluster" and clusters is not None:
        return clustered(residuals, clusters)
    return (hc3 if errors == "HC3" else classical)(design, residuals)


def _warnings(
    design: Design, covariance: Covariance, residuals: FloatArray, values: FloatArray
) -> list[str]:
    """What makes errors unknown or doubtful."""
    clusters = covariance.clusters
    if len(residuals) == design.rank:
        return ["as many rows as effects leave nothing to estimate errors from"]
    if clusters is not None and clusters.count == 1:
        return ["one cluster leaves nothing to estimate errors from"]
    left = len(residuals) - design.rank
    if untold := _untold(left, clusters.count if clusters else None):
        return [untold]
    notes = []
    if not residuals.any():
        notes.append("the factors fit the outcome exactly: nothing varies beyond them")
    if covariance.unknown.any():
        notes.append(covariance.why)
    if clusters is not None and residuals.any():
        notes += _few(clusters, left)
        if still := _constant(design, values):
            never = (
                "the outcome never varied at these levels, and so their intervals are too narrow"
            )
            notes.append(f"{never}: {', '.join(still)}")
    return notes


def _constant(design: Design, values: FloatArray) -> list[str]:
    """The levels whose rows, more than one, have equal outcomes."""
    found = []
    for place, factor in enumerate(design.factors, start=1):
        levels = design.active[:, place]
        least, most = np.full(design.width + 1, np.inf), np.full(design.width + 1, -np.inf)
        np.minimum.at(least, levels, values)
        np.maximum.at(most, levels, values)
        still = (least == most) & (np.bincount(levels, minlength=design.width + 1) > 1)
        at = dict(zip(factor.others, design.columns(factor.name), strict=True))
        found += [f"{factor.name} {level}" for level in factor.levels
                  if still[at.get(level, design.width)]]  # fmt: skip
    return found


def _untold(left: int, clusters: int | None) -> str:
    """Why errors cannot be told: too few degrees of freedom or clusters; empty where they can."""
    few = "nothing can be told of how uncertain effects are"
    if left < LEAST:
        return f"{few}: {counted(left, 'degree')} of freedom, and it takes {LEAST}"
    if clusters is not None and clusters < LEAST:
        return f"{few}: {counted(clusters, 'cluster')}, and it takes {LEAST}"
    return ""


def _few(clusters: Clusters, left: int) -> Iterator[str]:
    """Whether clusters, those with some levels, or degrees of freedom are few."""
    count, design = clusters.count, clusters.design
    spread = zip(design.names, clusters.spread.tolist(), strict=True)
    thin = [
        f"{name if level is None else f'{name} {level}'} ({those})"
        for (name, level), those in list(spread)[1:]
        if 1 < those < ENOUGH_TREATED
    ]
    if count < FEW:
        yield f"{count} clusters are few: {NARROW}"
        return
    if thin:
        few = f"few of the {count} clusters have these levels, or their reference"
        yield f"{few}: {NARROW}: {', '.join(thin)}"
    if left < FEW:
        rows = len(clusters.codes)
        yield (
            f"{rows} rows for {design.width} columns leave {left} degrees of freedom: "
            "the intervals are likely too narrow"
        )


@dataclass(frozen=True, eq=False, repr=False)
class PredictedMeans(Tabular):
    """Predicted means of the cells of some factors.

    Attributes:
        regression: whose predictions they are.
        over: what the other factors are averaged over, in words.
        frame: one row a cell: a column for each factor of the cells, then ``estimate``, ``error``,
            ``low``, ``high``, ``freedom`` (null where not defined) and ``interval`` (the label).
    """

    regression: Regression
    over: str
    frame: pl.DataFrame = field(repr=False)

    def printout(self) -> tuple[str, pl.DataFrame, Sequence[str]]:
        """The means as a table."""
        fit = self.regression
        head = f"{fit.outcome} predicted over {self.over}\nIntervals: {fit.label}"
        return head, self.frame.drop("interval"), fit.notes


def predicted_means(
    regression: Regression,
    by: Sequence[str] = (),
    *,
    configurations: pl.DataFrame | None = None,
    weight: str | None = None,
) -> PredictedMeans:
    """The mean outcome of each cell, had all cells met the same configurations.

    A cell's raw mean mixes what its players do with the configurations they happened to meet. Here
    every other factor has one distribution for all cells: that of the regression's own rows, or
    that of other configurations, to ask how agents would fare where, say, inflation is high (000,
    footnote 11). Intervals hold that distribution fixed.

    Args:
        by: factors of the regression whose combinations of levels are the cells; none: one mean.
        configurations: a row for each configuration to average over, with the columns of one or
            more of the other factors; factors whose columns it lacks keep the distribution they
            have in the regression's rows, and ``over`` says which.
        weight: the column of ``configurations`` that says how often each occurs, >= 0; all alike
            without one.

    Raises:
        StatisticsError: ``configurations`` has a level that the regression does not know, there is
            no such factor, or weights make no sense.
    """
    design = regression.design
    for name in by:
        design.columns(name)  # refuses what is no factor
    cells = [next(one for one in design.factors if one.name == name) for name in by]
    shares, over = design.active_shares(), "its own configurations"
    if configurations is not None:
        shares, over = _reweighted(design, shares, by, configurations, weight)
    elif weight is not None:
        raise StatisticsError("a weight is a column of configurations, and there are none")
    combinations = list(product(*(factor.levels for factor in cells)))
    weights = np.tile(shares, (len(combinations), 1))
    for row, levels in zip(weights, combinations, strict=True):
        for factor, level in zip(cells, levels, strict=True):
            columns = design.columns(factor.name)
            row[columns] = [float(level == other) for other in factor.others]
    names = pl.DataFrame(combinations, schema=dict.fromkeys(by, pl.String), orient="row")
    means = regression.estimates(weights)
    labelled = (
        (names.hstack(means) if by else means)
        .drop("p")
        .with_columns(interval=pl.lit(regression.label))
    )
    return PredictedMeans(regression, over, labelled)


def _reweighted(
    design: Design,
    shares: FloatArray,
    by: Sequence[str],
    configurations: pl.DataFrame,
    weight: str | None,
) -> tuple[FloatArray, str]:
    """The shares of each column among weighted configurations, and what they are in words."""
    if configurations.is_empty():
        raise StatisticsError("there are no configurations to average over")
    weights = np.ones(len(configurations))
    if weight is not None:
        weighted = with_numbers(configurations, [weight], "weight configurations by")
        weights = weighted[weight].to_numpy()
        if len(weighted) < len(configurations) or (weights < 0).any() or not weights.any():
            raise StatisticsError(f'the weights in "{weight}" must be >= 0, and not all 0')
    changed, kept = shares.copy(), []
    for factor in design.factors:
        if factor.name in by:
            continue
        if not set(factor.columns) <= set(configurations.columns):
            kept.append(factor.name)
            continue
        codes = factor.codes(configurations)
        found = np.bincount(codes + 1, weights, minlength=len(factor.others) + 1)
        changed[design.columns(factor.name)] = found[1:] / weights.sum()
    for column, covariate in enumerate(design.covariates, start=design.levels):
        if covariate.name not in configurations.columns:
            kept.append(covariate.name)
            continue
        values = with_numbers(configurations, [covariate.name], "average over")
        if len(values) < len(configurations):
            raise StatisticsError(f'"{covariate.name}" is missing in some configurations')
        changed[column] = values[covariate.name].to_numpy() @ weights / weights.sum()
    own = f", {' and '.join(kept)} as in its own rows" if kept else ""
    return changed, f"{len(configurations)} given configurations{own}"
