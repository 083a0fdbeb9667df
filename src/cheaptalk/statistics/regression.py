"""Regressions on numeric and categorical variables, and predicted means."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy.special import stdtr

from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.rules.errors import counted
from cheaptalk.statistics.columns import (
    FloatArray,
    Frame,
    StatisticsError,
    as_polars,
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
    confounding_note,
    covariate_of,
    design_of,
    factor_of,
    is_number,
)
from cheaptalk.statistics.intervals import FEW, INSTANCES
from cheaptalk.statistics.limits import t_quantile

Errors = Literal["classical", "HC3", "cluster"]
ENOUGH_TREATED = 25
"""Minimum number of clusters with a level, and with the reference, for a reliable interval."""
MOST_NAMED = 8
"""Maximum number of levels named in a note."""
LEAST = 10
"""Minimum degrees of freedom, and minimum number of clusters, for estimating errors."""
NARROW = "if the outcome is a share or skewed, the intervals are too narrow"


@dataclass(frozen=True, eq=False, repr=False)
class Regression(Printed):
    """A regression of an outcome on numeric and categorical variables.

    Attributes:
        coefficients: the constant, each level's effect relative to its reference, then the effect
            of one additional unit of each number, in the outcome's unit.
        clusters: the number of clusters; None if errors are not clustered.
        r2: the share of the outcome's variance that the factors explain, in [0, 1]; None if the
            outcome is constant.
        method: the name of the error estimator.
        notes: warnings about omitted rows and factors, and about unreliable errors.
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
        """A label of the intervals: level, method, number of clusters, and distribution."""
        clusters = "" if self.clusters is None else f", {counted(self.clusters, 'cluster')}"
        freedom = "Satterthwaite's" if self.covariance.reduced else self.covariance.freedom
        return (
            f"{self.level * 100:g} %, {self.method}{clusters}, t with {freedom} degrees of freedom"
        )

    @property
    def inference_problem(self) -> str:
        """The reason why intervals cannot be estimated, or ""."""
        return _inference_problem(self.rows - self.design.rank, self.clusters)

    @property
    def adjusted_r2(self) -> float | None:
        """The adjusted R2; None if there are no residual degrees of freedom."""
        freedom = self.rows - self.design.rank
        if self.r2 is None or freedom == 0:
            return None
        return 1 - (1 - self.r2) * (self.rows - 1) / freedom

    @cached_property
    def frame(self) -> pl.DataFrame:
        """A table of effects, one row per covariate and per factor level (including references).

        Columns: ``factor`` (``(constant)`` first), ``level`` (null for the constant and for
        numbers), ``reference`` (whether the level is the reference), ``n`` (rows with the level),
        ``estimate`` (0 for references), ``error``, ``low``, ``high``, ``p`` (two-sided, of no
        effect), ``freedom`` and ``interval`` (the label). Undefined values are null; the notes
        explain why.
        """
        lines = self.estimates(np.eye(self.design.width)).rows()
        counts = np.bincount(self.design.active.ravel(), minlength=self.design.width + 1)
        rows: list[tuple[Any, ...]] = [("(constant)", None, False, self.rows, *lines[0])]
        for factor in self.design.factors:
            columns = dict(zip(factor.effect_levels, self.design.columns(factor.name), strict=True))
            reference_count = self.rows - int(counts[list(columns.values())].sum())
            rows += [
                (factor.name, level, False, int(counts[columns[level]]), *lines[columns[level]])
                if level in columns
                else (factor.name, level, True, reference_count, 0.0, None, None, None, None, None)
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
        table = pl.DataFrame(rows, schema={**names, **numbers}, orient="row")
        return table.with_columns(interval=pl.lit(self.label))

    def estimates(self, weights: FloatArray) -> pl.DataFrame:
        """Return weighted sums of coefficients, one per row, with standard errors and intervals.

        Args:
            weights: shape (sums, columns of the design).

        Returns:
            ``estimate``, ``error``, ``low``, ``high``, ``p`` (two-sided, of no effect; null if the
            error is 0) and ``freedom``. All are null if the rows do not determine the sum; all but
            ``estimate`` are null if the error of a coefficient is unknown.
        """
        estimate, weights = weights @ self.coefficients, self.design.standardised(weights)
        squares = np.einsum("ij,jk,ik->i", weights, self.covariance.matrix, weights)
        error = np.sqrt(np.maximum(squares, 0))
        sizes = np.abs(weights).max(axis=1, keepdims=True, initial=0)
        weights = np.divide(weights, sizes, out=np.zeros_like(weights), where=sizes > 0)
        unknown_error = (np.abs(weights) > SINGULAR) @ self.covariance.unknown
        freedom = self.covariance.freedoms(weights)
        defined = ~unknown_error & (freedom > 0) & (not self.inference_problem)
        safe_freedom = np.where(defined, freedom, 1.0)
        width = t_quantile(safe_freedom, self.level) * error
        size = np.divide(np.abs(estimate), error, out=np.full(len(error), np.nan), where=error > 0)
        columns = {
            "error": error,
            "low": estimate - width,
            "high": estimate + width,
            "p": 2 * stdtr(safe_freedom, -size),
            "freedom": freedom,
        }
        estimable = self.design.estimable(weights)
        conditions = {"estimate": estimable, **dict.fromkeys(columns, defined & estimable)}
        return pl.DataFrame({"estimate": estimate, **columns}).with_columns(
            pl.when(pl.Series(condition)).then(pl.col(name)).fill_nan(None).alias(name)
            for name, condition in conditions.items()
        )

    def printout(self) -> Printout:
        r2 = "undefined" if self.r2 is None else f"{self.r2:.4f}"
        head = f"{self.outcome}: n = {self.rows}, R2 = {r2}\nIntervals: {self.label}"
        return Printout.of(head, self.frame.drop("interval", "reference"), self.notes)


def ols(
    frame: Frame,
    outcome: str,
    factors: Sequence[str],
    *,
    reference: Mapping[str, Any] | None = None,
    composites: Mapping[str, Sequence[str]] | None = None,
    errors: Errors = "cluster",
    cluster: Sequence[str] = INSTANCES,
    level: float = 0.95,
) -> Regression:
    """Regress an outcome on numeric and categorical variables by ordinary least squares.

    A numeric column is one regressor; the effect is that of one additional unit. A column of
    strings, booleans or categories is a factor, and so is a numeric column named ``C(column)``. A
    factor has a column of zeros and ones for each level except the reference. The effect of a level
    is the expected change in the outcome from the reference to this level, with other factors
    fixed. The levels of a composite are the combinations of several columns, such as GLEE's market
    (complete information, messages, horizon), so that all interactions are included (GLEE,
    appendix F.1).

    Unidentified effects raise an error. A factor with one level or a constant number is omitted
    with a note, and a constant outcome has effects of exactly 0. Rows without an outcome are
    omitted with a note.

    Args:
        outcome: a numeric column.
        factors: columns, ``C(column)`` for numeric columns to treat as factors, or names of
            composites.
        reference: the reference level of each factor, a value of the column; for a composite, a
            value for each column, in order, or the level's text.
        composites: the columns of each composite factor.
        errors: ``cluster`` for rows correlated within clusters (CR1 and t with G - 1 degrees of
            freedom; if a level or a reference is in fewer than 20 clusters, CR2 and t with
            Satterthwaite's degrees of freedom); ``HC3`` for independent rows of any variance, or
            ``classical`` for equal variance (t with n - p degrees of freedom).
        cluster: the columns that identify clusters; by default, the instance of a configuration. If
            people play several matches, use the column of participants.
        level: the confidence level, in (0, 1).

    Raises:
        StatisticsError: an argument is invalid, a column, a reference level or a factor's value is
            missing, no row has an outcome, or factors are confounded.
    """
    frame = as_polars(frame)
    results = regressions(
        frame,
        [outcome],
        factors,
        reference=reference,
        composites=composites,
        errors=[errors],
        cluster=cluster,
        level=level,
    )
    return results[outcome, errors]


def regressions(
    frame: Frame,
    outcomes: Sequence[str],
    factors: Sequence[str],
    *,
    reference: Mapping[str, Any] | None = None,
    composites: Mapping[str, Sequence[str]] | None = None,
    errors: Sequence[Errors] = ("cluster",),
    cluster: Sequence[str] = INSTANCES,
    level: float = 0.95,
    partial: bool = False,
) -> dict[tuple[str, Errors], Regression]:
    """Regress several outcomes on the same factors, with several types of standard errors.

    Shared computations run once, so this function is faster than separate calls of :func:`ols`,
    which documents the other arguments and the errors.

    Args:
        partial: whether to report confounded effects as null with a note, instead of raising an
            error.

    Returns:
        The regressions by outcome and type of errors.
    """
    frame = as_polars(frame)
    _check(level, factors)
    declared = {column_of(name): level_name for name, level_name in (reference or {}).items()}
    designs: dict[bytes, tuple[Design, list[str]]] = {}
    clusters: dict[bytes, Clusters] = {}
    results: dict[tuple[str, Errors], Regression] = {}
    for outcome in outcomes:
        rows_used = with_numbers(frame, [outcome], "explain")
        if rows_used.is_empty():
            raise StatisticsError(
                f'no row has a value of "{outcome}"; a regression needs at least one'
            )
        missing = len(frame) - len(rows_used)
        note = f'{counted(missing, "row")} without a value of "{outcome}" omitted'
        notes = [note] if missing else []
        rows = frame[outcome].is_null().to_numpy().tobytes()
        if rows not in designs:
            designs[rows] = _design(rows_used, factors, composites or {}, declared, partial)
        design, design_notes = designs[rows]
        values = rows_used[outcome].to_numpy()
        base = values[0]  # taken off first, so that equal outcomes leave residuals of exactly 0
        coefficients = design.inverse @ (design.matrix.T @ (values - base))
        residuals = values - base - design.matrix @ coefficients
        residuals[np.abs(residuals) < 1e-12 * np.abs(values).max()] = 0
        coefficients[0] += base
        total = float(((values - values.mean()) ** 2).sum()) if np.ptp(values) else 0.0
        r2 = 1 - float(residuals @ residuals) / total if total else None
        for kind in errors:
            if kind == "cluster" and rows not in clusters:
                demand_clusters(rows_used, cluster, 'errors="HC3" assumes independent rows')
                codes = rows_used.select(pl.struct(cluster).rank("dense") - 1).to_series()
                clusters[rows] = Clusters(design, codes.to_numpy().astype(np.int64))
            if kind == "cluster":
                covariance = clustered(residuals, clusters[rows])
            else:
                covariance = (hc3 if kind == "HC3" else classical)(design, residuals)
            warnings = _warnings(design, covariance, residuals, values)
            cluster_method = f"cluster-robust ({covariance.method}) by {', '.join(cluster)}"
            results[outcome, kind] = Regression(
                outcome,
                design,
                design.unstandardised(coefficients),
                covariance,
                len(rows_used),
                None if covariance.clusters is None else covariance.clusters.count,
                r2,
                cluster_method if kind == "cluster" else kind,
                level,
                (*notes, *design_notes, *warnings),
            )
    return results


def _design(
    frame: pl.DataFrame,
    factors: Sequence[str],
    composites: Mapping[str, Sequence[str]],
    reference: Mapping[str, Any],
    partial: bool,
) -> tuple[Design, list[str]]:
    """Return the design, and notes on regressors whose effect cannot be estimated."""
    categorical: list[Factor] = []
    covariates: list[Covariate] = []
    notes: list[str] = []
    for name in factors:
        if name not in composites and is_number(frame, name):
            covariate = covariate_of(frame, name, reference)
            if covariate.scale:
                covariates.append(covariate)
            else:
                notes.append(
                    f'"{name}" is {covariate.centre:g} in every row here, so it has no effect'
                )
            continue
        column = column_of(name)
        factor = factor_of(frame, column, composites.get(name, [column]), reference)
        if factor.effect_levels:
            categorical.append(factor)
        else:
            level = factor.reference
            notes.append(f'"{column}" has only the level {level} here, so it has no effect')
    design = design_of(frame, categorical, covariates, partial=partial)
    return design, notes + [confounding_note(group) for group in design.confounded if partial]


def _check(level: float, factors: Sequence[str]) -> None:
    demand_level(level)
    if len(set(map(column_of, factors))) < len(factors):
        raise StatisticsError("factors must be a list of distinct names")


def _warnings(
    design: Design, covariance: Covariance, residuals: FloatArray, values: FloatArray
) -> list[str]:
    """Return warnings about standard errors that are unknown or unreliable."""
    clusters = covariance.clusters
    if len(residuals) == design.rank:
        return ["errors cannot be estimated from as many rows as effects"]
    if clusters is not None and clusters.count == 1:
        return ["errors cannot be estimated from one cluster"]
    freedom = len(residuals) - design.rank
    if reason := _inference_problem(freedom, clusters.count if clusters else None):
        return [reason]
    notes = []
    if not residuals.any():
        notes.append("the factors fit the outcome exactly, so there is no residual variation")
    if covariance.unknown.any():
        notes.append(covariance.why)
    if clusters is not None and residuals.any():
        notes += _small_sample_notes(clusters, freedom)
        if still := _constant(design, values):
            never = "the outcome never varied at these levels, so their intervals are too narrow"
            notes.append(f"{never}: {', '.join(still)}")
    return notes


def _constant(design: Design, values: FloatArray) -> list[str]:
    """Return the levels that have several rows, all with the same outcome."""
    constant = []
    for position, factor in enumerate(design.factors, start=1):
        levels = design.active[:, position]
        minimum, maximum = np.full(design.width + 1, np.inf), np.full(design.width + 1, -np.inf)
        np.minimum.at(minimum, levels, values)
        np.maximum.at(maximum, levels, values)
        unvaried = (minimum == maximum) & (np.bincount(levels, minlength=design.width + 1) > 1)
        columns = dict(zip(factor.effect_levels, design.columns(factor.name), strict=True))
        constant += [
            f"{factor.name} {level}"
            for level in factor.levels
            if unvaried[columns.get(level, design.width)]
        ]
    return constant


def _inference_problem(freedom: int, clusters: int | None) -> str:
    prefix = "the uncertainty of effects cannot be estimated"
    if freedom < LEAST:
        return f"{prefix}: {counted(freedom, 'degree')} of freedom; at least {LEAST} are needed"
    if clusters is not None and clusters < LEAST:
        return f"{prefix}: {counted(clusters, 'cluster')}; at least {LEAST} are needed"
    return ""


def _small_sample_notes(clusters: Clusters, freedom: int) -> Iterator[str]:
    """Yield warnings about too few clusters (overall or with a level) or degrees of freedom."""
    count, design = clusters.count, clusters.design
    spread = zip(design.names, clusters.spread.tolist(), strict=True)
    thin = [
        f"{name if level is None else f'{name} {level}'} ({number})"
        for (name, level), number in list(spread)[1:]
        if 1 < number < ENOUGH_TREATED
    ]
    if count < FEW:
        yield f"{count} clusters are few: {NARROW}"
        return
    if thin:
        caution = f"few of the {count} clusters have these levels or their reference"
        more = f" and {len(thin) - MOST_NAMED} more" if len(thin) > MOST_NAMED else ""
        yield f"{caution}: {NARROW}: {', '.join(thin[:MOST_NAMED])}{more}"
    if freedom < FEW:
        rows = len(clusters.codes)
        yield (
            f"{rows} rows for {design.width} columns leave {freedom} degrees of freedom: "
            "the intervals are likely too narrow"
        )


@dataclass(frozen=True, eq=False, repr=False)
class PredictedMeans(Printed):
    """Predicted means of combinations of factor levels.

    Attributes:
        over: a description of the distribution of the other factors.
        frame: one row per cell: a column for each factor of the cells, then ``estimate``,
            ``error``, ``low``, ``high``, ``freedom`` and ``interval`` (the label).
    """

    regression: Regression
    over: str
    frame: pl.DataFrame = field(repr=False)

    def printout(self) -> Printout:
        fit = self.regression
        head = f"{fit.outcome} predicted over {self.over}\nIntervals: {fit.label}"
        return Printout.of(head, self.frame.drop("interval"), fit.notes)


def predicted_means(
    regression: Regression,
    by: Sequence[str] = (),
    *,
    configurations: Frame | None = None,
    weight: str | None = None,
) -> PredictedMeans:
    """Predict each cell's mean outcome, with the same distribution of other factors in all cells.

    Raw means of cells depend on the configurations that their players happened to play. In
    predicted means, all other factors have the same distribution in every cell: that of the
    regression's rows, or that of given configurations, for example those with high inflation (GLEE,
    footnote 11). Intervals treat this distribution as fixed.

    Args:
        by: the factors that define the cells; if empty, there is one cell.
        configurations: one row per configuration to average over, with the columns of at least one
            other factor. Other factors keep their distribution in the regression's rows.
        weight: the column of ``configurations`` with weights, >= 0; by default, equal weights.

    Raises:
        StatisticsError: ``configurations`` has a level that the regression lacks, a factor is
            unknown, or weights are invalid.
    """
    design = regression.design
    for name in by:
        design.columns(name)  # raises an error for unknown factors
    cells = [next(factor for factor in design.factors if factor.name == name) for name in by]
    shares, over = design.active_shares(), "the regression's configurations"
    if configurations is not None:
        shares, over = _reweighted(design, shares, by, as_polars(configurations), weight)
    elif weight is not None:
        raise StatisticsError("a weight needs configurations; none are given")
    combinations = list(product(*(factor.levels for factor in cells)))
    weights = np.tile(shares, (len(combinations), 1))
    for row, levels in zip(weights, combinations, strict=True):
        for factor, level in zip(cells, levels, strict=True):
            columns = design.columns(factor.name)
            row[columns] = [float(level == effect_level) for effect_level in factor.effect_levels]
    names = pl.DataFrame(combinations, schema=dict.fromkeys(by, pl.String), orient="row")
    means = regression.estimates(weights).drop("p")
    labelled = (names.hstack(means) if by else means).with_columns(
        interval=pl.lit(regression.label)
    )
    return PredictedMeans(regression, over, labelled)


def _reweighted(
    design: Design,
    shares: FloatArray,
    by: Sequence[str],
    configurations: pl.DataFrame,
    weight: str | None,
) -> tuple[FloatArray, str]:
    """Return the columns' means over weighted configurations, and a description of the weights."""
    if configurations.is_empty():
        raise StatisticsError("configurations has no rows to average over; add at least one")
    weights = np.ones(len(configurations))
    if weight is not None:
        weighted = with_numbers(configurations, [weight], "weight configurations by")
        weights = weighted[weight].to_numpy()
        if len(weighted) < len(configurations) or (weights < 0).any() or not weights.any():
            raise StatisticsError(f'the weights in "{weight}" must be >= 0 and not all 0')
    changed, unchanged = shares.copy(), []
    for factor in design.factors:
        if factor.name in by:
            continue
        if not set(factor.columns) <= set(configurations.columns):
            unchanged.append(factor.name)
            continue
        codes = factor.codes(configurations)
        counts = np.bincount(codes + 1, weights, minlength=len(factor.effect_levels) + 1)
        changed[design.columns(factor.name)] = counts[1:] / weights.sum()
    for column, covariate in enumerate(design.covariates, start=design.levels):
        if covariate.name not in configurations.columns:
            unchanged.append(covariate.name)
            continue
        values = with_numbers(configurations, [covariate.name], "average over")
        if len(values) < len(configurations):
            raise StatisticsError(f'"{covariate.name}" is missing in some configurations')
        changed[column] = values[covariate.name].to_numpy() @ weights / weights.sum()
    suffix = f", {' and '.join(unchanged)} as in the regression's rows" if unchanged else ""
    return changed, f"{len(configurations)} given configurations{suffix}"
