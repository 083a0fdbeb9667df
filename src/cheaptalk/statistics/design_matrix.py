"""Design matrices of regressions: standardised covariates, and indicators of factor levels.

The declared reference level of a factor has no column.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components

from cheaptalk.rules import suggest
from cheaptalk.statistics.columns import StatisticsError, demand_columns, with_numbers

SINGULAR = 1e-10
"""Eigenvalues of unit-length columns below this share of the largest count as zero."""
MIXED = 1e-6
"""Minimum weight of a confounded column, scaled to length 1, in a linear dependency."""
CONSTANT = 1e-12
"""Minimum relative variation of a column that isn't constant."""
CATEGORICAL = re.compile(r"C\((.+)\)")
"""The name of a numeric column to treat as a factor, as in the formulas of R and patsy."""
SHOWN = 12
"""Maximum number of levels listed in an error."""


@dataclass(frozen=True)
class Factor:
    """A categorical factor of a regression; a composite factor has several columns.

    The levels are text, in the order of the columns' values.
    """

    name: str
    columns: tuple[str, ...]
    levels: tuple[str, ...]
    reference: str

    @property
    def effect_levels(self) -> list[str]:
        """All levels except the reference."""
        return [level for level in self.levels if level != self.reference]

    def codes(self, frame: pl.DataFrame) -> NDArray[np.int64]:
        """Return each row's index in ``effect_levels``, or -1 for the reference."""
        texts = level_texts(frame, self.columns)
        level_codes = {level: code for code, level in enumerate(self.effect_levels)}
        level_codes[self.reference] = -1
        unknown = [text for text in texts.unique().to_list() if text not in level_codes]
        if unknown:
            raise StatisticsError(
                f'"{self.name}" has no level {_listed(sorted(map(str, unknown)))}; '
                f"its levels are {_listed(self.levels)}"
            )
        coded = texts.replace_strict(level_codes, return_dtype=pl.Int64)
        return np.asarray(coded.to_numpy(), dtype=np.int64)


@dataclass(frozen=True)
class Covariate:
    """A numeric regressor; the effect is that of one additional unit.

    The design contains (x - centre) / scale, with mean and standard deviation (0 if constant), so
    that large numbers, such as years or time stamps, don't reduce precision.
    """

    name: str
    centre: float
    scale: float

    def standardised(self, frame: pl.DataFrame) -> NDArray[np.float64]:
        values = frame[self.name].cast(pl.Float64).to_numpy()
        return np.asarray((values - self.centre) / self.scale)


@dataclass(frozen=True, eq=False)
class Design:
    """The columns of a regression: a constant, each factor's levels, and the covariates.

    Coefficients refer to the original numbers, but the columns are standardised;
    :meth:`standardised` converts weights of coefficients to weights of columns.

    Attributes:
        active: the indices of the columns that are 1 in each row, shape (rows, factors + 1);
            ``width`` for a factor's reference level.
        partial: whether columns may be linearly dependent; the effects of such columns are unknown.
        numbers: the standardised covariates, shape (rows, covariates).
    """

    factors: tuple[Factor, ...]
    active: NDArray[np.int64]
    partial: bool = False
    covariates: tuple[Covariate, ...] = ()
    numbers: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def names(self) -> list[tuple[str, str | None]]:
        """The regressor and level of each column; the level is None for covariates."""
        names: list[tuple[str, str | None]] = [("(constant)", None)]
        names += [(factor.name, level) for factor in self.factors for level in factor.effect_levels]
        return names + [(covariate.name, None) for covariate in self.covariates]

    @property
    def width(self) -> int:
        return self.levels + len(self.covariates)

    @property
    def levels(self) -> int:
        """The number of columns for the constant and the factor levels."""
        return 1 + sum(len(factor.effect_levels) for factor in self.factors)

    def standardised(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert weights of coefficients to weights of columns, both of shape (sums, ``width``).

        For a covariate j, z_j = (c_j - c_0 centre_j) / scale_j; otherwise z_j = c_j.
        """
        if not self.covariates:
            return weights
        result, centre, scale = weights.astype(float), self._centres, self._scales
        covariates = result[:, self.levels :]
        result[:, self.levels :] = (covariates - result[:, :1] * centre) / scale
        return result

    def unstandardised(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert coefficients of standardised columns to original units, shape (``width``,)."""
        result = coefficients.copy()
        result[self.levels :] /= self._scales
        result[0] -= result[self.levels :] @ self._centres
        return result

    @property
    def _centres(self) -> NDArray[np.float64]:
        return np.array([covariate.centre for covariate in self.covariates])

    @property
    def _scales(self) -> NDArray[np.float64]:
        return np.array([covariate.scale for covariate in self.covariates])

    def columns(self, name: str) -> range:
        """Return the column indices of a factor."""
        start = 1
        for factor in self.factors:
            if factor.name == name:
                return range(start, start + len(factor.effect_levels))
            start += len(factor.effect_levels)
        if any(covariate.name == name for covariate in self.covariates):
            raise StatisticsError(f'"{name}" is a number and has no levels')
        factors = [factor.name for factor in self.factors]
        raise StatisticsError(f"unknown factor {suggest(name, factors)}")

    def active_shares(self) -> NDArray[np.float64]:
        """Return the share of rows with each factor level, followed by the covariates' means."""
        counts = np.bincount(self.active.ravel(), minlength=self.width + 1)
        shares = counts[: self.width] / len(self.active)
        shares[self.levels :] = self._centres
        return np.asarray(shares)

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """The design matrix X, shape (rows, ``width``)."""
        per_row = len(self.factors) + 1
        coded = one_hot(self.active.ravel(), self.width + 1, per_row)[:, : self.levels]
        if not self.covariates:
            return coded
        return sparse.csr_array(sparse.hstack([coded, sparse.csr_array(self.numbers)]))

    @cached_property
    def _spectrum(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Inverse column lengths, and the eigenvalues and eigenvectors of the normalised X'X."""
        crossed = (self.matrix.T @ self.matrix).toarray()
        scale = 1 / np.sqrt(np.diag(crossed))
        return scale, *eigh(crossed * np.outer(scale, scale))

    @cached_property
    def null_space(self) -> NDArray[np.float64]:
        """Linear combinations of the unit-length columns that equal zero, shape (width, sums)."""
        _, values, vectors = self._spectrum
        vectors_near_zero: NDArray[np.float64] = vectors[:, values < SINGULAR * values[-1]]
        return vectors_near_zero

    @property
    def rank(self) -> int:
        """The number of linearly independent columns."""
        return self.width - int(self.null_space.shape[1])

    def estimable(self, weights: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which weighted sums of coefficients the data identify."""
        scale = self._spectrum[0]
        return np.asarray((np.abs((weights * scale) @ self.null_space) < MIXED).all(axis=1))

    @property
    def confounded(self) -> list[list[str]]:
        """Groups of factors with effects that cannot be separated."""
        linked = sparse.csr_array(np.abs(self.null_space @ self.null_space.T) > MIXED)
        _, groups = connected_components(linked, directed=False)
        mixed = np.abs(self.null_space).max(axis=1, initial=0) > MIXED
        together = (np.flatnonzero(mixed & (groups == group)) for group in np.unique(groups[mixed]))
        return [
            list(dict.fromkeys(self.names[column][0] for column in linked_columns if column))
            for linked_columns in together
        ]

    @cached_property
    def basis(self) -> NDArray[np.float64]:
        """A matrix L, shape (width, rank), such that X L is orthonormal."""
        if self.null_space.size and not self.partial:
            raise StatisticsError(
                f"{confounding_note(self.confounded[0])}; omit one, or combine them in a composite"
            )
        scale, values, vectors = self._spectrum
        skip = self.null_space.shape[1]  # eigenvalues ascend
        values, vectors = values[skip:], vectors[:, skip:]
        orthonormal: NDArray[np.float64] = vectors / np.sqrt(values) * scale[:, None]
        return orthonormal

    @cached_property
    def inverse(self) -> NDArray[np.float64]:
        """The inverse of X'X, or a generalised inverse if effects cannot be separated."""
        return np.asarray(self.basis @ self.basis.T)


def confounding_note(factors: Sequence[str]) -> str:
    """Return a note that the effects of some factors cannot be separated."""
    return (
        f"the effects of {' and '.join(factors)} cannot be separated: their levels always occur "
        "together"
    )


def one_hot(codes: NDArray[np.int64], width: int, per_row: int = 1) -> sparse.csr_array:
    """Return an indicator matrix from column indices, with ``per_row`` ones in each row."""
    starts = np.arange(0, len(codes) + 1, per_row)
    return sparse.csr_array((np.ones(len(codes)), codes, starts), (len(starts) - 1, width))


def design_of(
    frame: pl.DataFrame,
    factors: Sequence[Factor],
    covariates: Sequence[Covariate] = (),
    *,
    partial: bool = False,
) -> Design:
    """Build the design matrix of factors and covariates from the rows of a frame."""
    active, start = [np.zeros(len(frame), dtype=np.int64)], 1
    width = 1 + sum(len(factor.effect_levels) for factor in factors) + len(covariates)
    for factor in factors:
        codes = factor.codes(frame)
        active.append(np.where(codes < 0, width, start + codes))
        start += len(factor.effect_levels)
    numbers = [covariate.standardised(frame) for covariate in covariates]
    return Design(
        tuple(factors),
        np.column_stack(active),
        partial,
        tuple(covariates),
        np.column_stack(numbers) if numbers else np.empty((len(frame), 0)),
    )


def is_number(frame: pl.DataFrame, name: str) -> bool:
    """Return whether a regressor is numeric and not declared categorical as ``C(column)``."""
    return name in frame.columns and frame.schema[name].is_numeric()


def covariate_of(frame: pl.DataFrame, name: str, reference: Mapping[str, Any]) -> Covariate:
    """Return a numeric regressor, with the centre and scale of its values in a frame."""
    if name in reference:
        raise StatisticsError(
            f'"{name}" is numeric and has no reference level; write "C({name})" to treat it as a '
            "factor, or omit the reference"
        )
    _demand_values(frame, [name])
    values = with_numbers(frame, [name], "explain with")[name].to_numpy()
    centre, size = float(values.mean()), float(np.abs(values).max())
    varies = float(np.ptp(values)) > CONSTANT * size
    return Covariate(name, centre, float(values.std()) if varies else 0.0)


def column_of(name: str) -> str:
    """Return the column of a regressor: ``age`` for ``C(age)``."""
    match = CATEGORICAL.fullmatch(name)
    return match[1] if match else name


def _demand_values(frame: pl.DataFrame, columns: Sequence[str]) -> None:
    for column in columns:
        missing = frame[column].null_count()
        if missing:
            raise StatisticsError(
                f'"{column}" is missing in {missing} of {len(frame)} rows; omit these rows, or add '
                "a separate level for missing values"
            )


def factor_of(
    frame: pl.DataFrame, name: str, columns: Sequence[str], reference: Mapping[str, Any]
) -> Factor:
    """Return a factor with the levels that occur in a frame."""
    demand_columns(frame, columns, f'make the factor "{name}" of')
    for column in columns:
        if frame.schema[column].is_nested():
            raise StatisticsError(
                f'"{column}" has type {frame.schema[column]}; levels of a factor must be text, '
                "booleans or other single values"
            )
    _demand_values(frame, columns)
    values = frame.lazy().select(columns).unique().sort(columns).collect()
    levels = tuple(level_texts(values, columns).to_list())
    if name not in reference:
        raise StatisticsError(f'declare a reference level for "{name}": one of {_listed(levels)}')
    level = _reference_text(frame, columns, reference[name])
    if level not in levels:
        raise StatisticsError(
            f'"{name}" has no reference level {level}; the levels are {_listed(levels)}'
        )
    return Factor(name, tuple(columns), levels, level)


def level_texts(frame: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """Return each row's level as text: the value, or ``column=value`` for several columns."""
    if len(columns) == 1:
        return frame[columns[0]].cast(pl.String)
    parts = [pl.lit(f"{column}=") + pl.col(column).cast(pl.String) for column in columns]
    return frame.select(pl.concat_str(parts, separator=" ").alias("level"))["level"]


def _reference_text(frame: pl.DataFrame, columns: Sequence[str], value: Any) -> str:
    if isinstance(value, str) and len(columns) > 1:
        return value
    parts = [value] if len(columns) == 1 else list(value)
    if len(parts) != len(columns):
        expected = f"a level of {_listed(columns)} has {len(columns)} parts"
        raise StatisticsError(f"{expected}, not {value}")
    values = zip(columns, parts, strict=True)
    alike = {column: _as_in(frame.schema[column], part) for column, part in values}
    return str(level_texts(pl.DataFrame(alike), columns)[0])


def _as_in(kind: pl.DataType, value: Any) -> pl.Series:
    """Convert a value to a column's type, for example 12 to 12.0 for a column of floats."""
    if kind.is_numeric() and isinstance(value, int | float) and not isinstance(value, bool):
        return pl.Series([value]).cast(pl.Float64 if kind.is_float() else pl.Series([value]).dtype)
    return pl.Series([str(value).lower() if isinstance(value, bool) else str(value)])


def _listed(names: Sequence[str]) -> str:
    suffix = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + suffix
