"""The columns of a regression: numbers as they are, factors as zeros and ones.

Each level of a factor has a column of its own, except for the declared reference level.
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
"""The smallest eigenvalue, of columns scaled to length 1, at which they count as independent."""
MIXED = 1e-6
"""How much of a column, scaled to length 1, a sum must hold for its effect to be mixed in."""
CONSTANT = 1e-12
"""How much a number must vary, relative to its size, to count as varying at all."""
CATEGORICAL = re.compile(r"C\((.+)\)")
"""How a column of numbers is named whose values are levels, as in the formulas of R and patsy."""
SHOWN = 12
"""How many levels an error names at most."""


@dataclass(frozen=True)
class Factor:
    """A factor of a regression.

    Attributes:
        name: as effects are listed under.
        columns: whose values make its levels; more than one for a composite.
        levels: as text, in the order of the columns' values.
        reference: the level that the others are compared with.
    """

    name: str
    columns: tuple[str, ...]
    levels: tuple[str, ...]
    reference: str

    @property
    def others(self) -> list[str]:
        """The levels that have an effect: all but the reference."""
        return [level for level in self.levels if level != self.reference]

    def codes(self, frame: pl.DataFrame) -> NDArray[np.int64]:
        """Which level each row has: its index in ``others``, or -1 for the reference.

        Raises:
            StatisticsError: a row has no level, or one that the factor does not know.
        """
        texts = level_texts(frame, self.columns)
        places = {level: place for place, level in enumerate(self.others)} | {self.reference: -1}
        strange = [text for text in texts.unique().to_list() if text not in places]
        if strange:
            raise StatisticsError(
                f'"{self.name}" has no level {_listed(sorted(map(str, strange)))}; '
                f"its levels are {_listed(self.levels)}"
            )
        coded = texts.replace_strict(places, return_dtype=pl.Int64)
        return np.asarray(coded.to_numpy(), dtype=np.int64)


@dataclass(frozen=True)
class Covariate:
    """A regressor that is a number: its effect is that of one unit more.

    The column of a design is (x - centre) / scale, so that neither the number's unit nor its origin
    costs precision, as with a year or a time stamp.

    Attributes:
        name: of its column.
        centre: the mean of its values.
        scale: their standard deviation; 0 for a number that never varies.
    """

    name: str
    centre: float
    scale: float

    def standardised(self, frame: pl.DataFrame) -> NDArray[np.float64]:
        """Return (x - centre) / scale of each row."""
        values = frame[self.name].cast(pl.Float64).to_numpy()
        return np.asarray((values - self.centre) / self.scale)


@dataclass(frozen=True, eq=False)
class Design:
    """The columns of a regression: a constant, each factor's levels, then the covariates.

    Coefficients are those of the numbers themselves. The columns hold standardised numbers, and
    :meth:`standardised` takes weights of coefficients to weights of these columns.

    Attributes:
        factors: in the order of their columns.
        active: the columns that are 1 in each row, shape (rows, factors + 1); ``width`` where the
            factor has its reference level.
        partial: whether columns may add up to one another; their effects are then not known.
        covariates: in the order of their columns.
        numbers: the standardised covariates, shape (rows, covariates).
    """

    factors: tuple[Factor, ...]
    active: NDArray[np.int64]
    partial: bool = False
    covariates: tuple[Covariate, ...] = ()
    numbers: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def names(self) -> list[tuple[str, str | None]]:
        """The regressor and level of each column; the level of what has none is None."""
        names: list[tuple[str, str | None]] = [("(constant)", None)]
        names += [(factor.name, level) for factor in self.factors for level in factor.others]
        return names + [(covariate.name, None) for covariate in self.covariates]

    @property
    def width(self) -> int:
        """How many columns there are."""
        return self.levels + len(self.covariates)

    @property
    def levels(self) -> int:
        """How many columns the constant and the levels of factors take: all but the covariates."""
        return 1 + sum(len(factor.others) for factor in self.factors)

    def standardised(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weights of the columns for weights of coefficients, both (sums, ``width``).

        With numbers as columns a sum c'b is the same as z'g with standardised ones, where
        z_j = (c_j - c_0 centre_j) / scale_j for a covariate j, and z_j = c_j for all others.
        """
        if not self.covariates:
            return weights
        found, centre, scale = weights.astype(float), self._centres, self._scales
        own = found[:, self.levels :]
        found[:, self.levels :] = (own - found[:, :1] * centre) / scale
        return found

    def unstandardised(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coefficients of the numbers from those of the columns, shape (``width``,)."""
        found = coefficients.copy()
        found[self.levels :] /= self._scales
        found[0] -= found[self.levels :] @ self._centres
        return found

    @property
    def _centres(self) -> NDArray[np.float64]:
        return np.array([covariate.centre for covariate in self.covariates])

    @property
    def _scales(self) -> NDArray[np.float64]:
        return np.array([covariate.scale for covariate in self.covariates])

    def columns(self, name: str) -> range:
        """The columns of a factor."""
        start = 1
        for factor in self.factors:
            if factor.name == name:
                return range(start, start + len(factor.others))
            start += len(factor.others)
        if any(covariate.name == name for covariate in self.covariates):
            raise StatisticsError(f'"{name}" is a number and has no levels')
        known = [factor.name for factor in self.factors]
        raise StatisticsError(f"there is no factor {suggest(name, known)}")

    def active_shares(self) -> NDArray[np.float64]:
        """The share of rows in which each level's column is 1, then the covariates' means."""
        found = np.bincount(self.active.ravel(), minlength=self.width + 1)
        shares = found[: self.width] / len(self.active)
        shares[self.levels :] = self._centres
        return np.asarray(shares)

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """The columns themselves, X, shape (rows, ``width``)."""
        each = len(self.factors) + 1
        coded = one_hot(self.active.ravel(), self.width + 1, each)[:, : self.levels]
        if not self.covariates:
            return coded
        return sparse.csr_array(sparse.hstack([coded, sparse.csr_array(self.numbers)]))

    @cached_property
    def _spectrum(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """One over the columns' lengths, and eigenvalues and eigenvectors of X'X scaled by it."""
        crossed = (self.matrix.T @ self.matrix).toarray()
        scale = 1 / np.sqrt(np.diag(crossed))
        return scale, *eigh(crossed * np.outer(scale, scale))

    @cached_property
    def idle(self) -> NDArray[np.float64]:
        """Sums of columns that are 0 in every row, shape (width, sums), by columns of length 1."""
        _, values, vectors = self._spectrum
        found: NDArray[np.float64] = vectors[:, values < SINGULAR * values[-1]]
        return found

    @property
    def rank(self) -> int:
        """How many columns are left when those that add up to others are taken away."""
        return self.width - int(self.idle.shape[1])

    def estimable(self, weights: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which sums the rows determine, by the weights of the columns (sums, ``width``)."""
        scale = self._spectrum[0]
        return np.asarray((np.abs((weights * scale) @ self.idle) < MIXED).all(axis=1))

    @property
    def confounded(self) -> list[list[str]]:
        """The factors with effects that cannot be told apart, together as they are mixed."""
        linked = sparse.csr_array(np.abs(self.idle @ self.idle.T) > MIXED)
        _, groups = connected_components(linked, directed=False)
        mixed = np.abs(self.idle).max(axis=1, initial=0) > MIXED
        together = (np.flatnonzero(mixed & (groups == group)) for group in np.unique(groups[mixed]))
        return [list(dict.fromkeys(self.names[at][0] for at in of if at)) for of in together]

    @cached_property
    def basis(self) -> NDArray[np.float64]:
        """A matrix L, shape (width, rank), with orthonormal X L, by way of columns of length 1.

        Raises:
            StatisticsError: columns add up to one another and may not; the message names factors.
        """
        if self.idle.size and not self.partial:
            raise StatisticsError(
                f"{told_apart(self.confounded[0])}; leave one out, or join them as a composite"
            )
        scale, values, vectors = self._spectrum
        known = self.idle.shape[1]  # eigenvalues ascend
        values, vectors = values[known:], vectors[:, known:]
        found: NDArray[np.float64] = vectors / np.sqrt(values) * scale[:, None]
        return found

    @cached_property
    def inverse(self) -> NDArray[np.float64]:
        """The inverse of X'X; a generalised one if partial.

        Raises:
            StatisticsError: as :attr:`basis`.
        """
        return np.asarray(self.basis @ self.basis.T)


def told_apart(factors: Sequence[str]) -> str:
    """That the effects of some factors cannot be."""
    return (
        f"the effects of {' and '.join(factors)} cannot be told apart: their levels always go "
        "together"
    )


def one_hot(codes: NDArray[np.int64], width: int, each: int = 1) -> sparse.csr_array:
    """Rows of zeros with ones where the codes say, ``each`` a row."""
    starts = np.arange(0, len(codes) + 1, each)
    return sparse.csr_array((np.ones(len(codes)), codes, starts), (len(starts) - 1, width))


def design_of(
    frame: pl.DataFrame,
    factors: Sequence[Factor],
    covariates: Sequence[Covariate] = (),
    *,
    partial: bool = False,
) -> Design:
    """Lay factors and covariates out over the rows of a frame; see :class:`Design`."""
    active, start = [np.zeros(len(frame), dtype=np.int64)], 1
    width = 1 + sum(len(factor.others) for factor in factors) + len(covariates)
    for factor in factors:
        codes = factor.codes(frame)
        active.append(np.where(codes < 0, width, start + codes))
        start += len(factor.others)
    numbers = [covariate.standardised(frame) for covariate in covariates]
    return Design(
        tuple(factors), np.column_stack(active), partial, tuple(covariates),
        np.column_stack(numbers) if numbers else np.empty((len(frame), 0)),
    )  # fmt: skip


def is_number(frame: pl.DataFrame, name: str) -> bool:
    """Whether a regressor is a number: a numeric column that is not named as ``C(column)``."""
    return name in frame.columns and frame.schema[name].is_numeric()


def covariate_of(frame: pl.DataFrame, name: str, reference: Mapping[str, Any]) -> Covariate:
    """Return a numeric regressor with the centre and scale that it has in a frame.

    Raises:
        StatisticsError: a reference level is declared for it, or a value is missing or not finite.
    """
    if name in reference:
        raise StatisticsError(
            f'"{name}" holds numbers and has no reference level: write "C({name})" for an effect '
            "of each of its values, or declare no reference"
        )
    _demand_values(frame, [name])
    values = with_numbers(frame, [name], "explain with")[name].to_numpy()
    centre, size = float(values.mean()), float(np.abs(values).max())
    varies = float(np.ptp(values)) > CONSTANT * size
    return Covariate(name, centre, float(values.std()) if varies else 0.0)


def column_of(name: str) -> str:
    """Return the column that a regressor names: ``age`` for ``C(age)``."""
    found = CATEGORICAL.fullmatch(name)
    return found[1] if found else name


def _demand_values(frame: pl.DataFrame, columns: Sequence[str]) -> None:
    for column in columns:
        missing = frame[column].null_count()
        if missing:
            raise StatisticsError(
                f'"{column}" is missing in {missing} of {len(frame)} rows: '
                "filter them out, or give them a level of their own"
            )


def factor_of(
    frame: pl.DataFrame, name: str, columns: Sequence[str], reference: Mapping[str, Any]
) -> Factor:
    """A factor with the levels that a frame has.

    Raises:
        StatisticsError: a column, a reference level or a value is missing, or a composite's
            reference has too many parts.
    """
    demand_columns(frame, columns, f'make the factor "{name}" of')
    for column in columns:
        if frame.schema[column].is_nested():
            raise StatisticsError(
                f'"{column}" holds {frame.schema[column]}, and a factor\'s levels are texts, '
                "booleans or other single values"
            )
    _demand_values(frame, columns)
    values = frame.select(columns).unique().sort(columns)
    levels = tuple(level_texts(values, columns).to_list())
    if name not in reference:
        raise StatisticsError(f'declare a reference level for "{name}": one of {_listed(levels)}')
    wanted = _reference_text(frame, columns, reference[name])
    if wanted not in levels:
        raise StatisticsError(
            f'the reference level {wanted} of "{name}" is absent: there are {_listed(levels)}'
        )
    return Factor(name, tuple(columns), levels, wanted)


def level_texts(frame: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """The level of each row as text: the value, or ``column=value`` for each part of several."""
    if len(columns) == 1:
        return frame[columns[0]].cast(pl.String)
    parts = [pl.lit(f"{column}=") + pl.col(column).cast(pl.String) for column in columns]
    return frame.select(pl.concat_str(parts, separator=" ").alias("level"))["level"]


def _reference_text(frame: pl.DataFrame, columns: Sequence[str], value: Any) -> str:
    """A declared level as text: a value, a value for each column of a composite, or text."""
    if isinstance(value, str) and len(columns) > 1:
        return value
    parts = [value] if len(columns) == 1 else list(value)
    if len(parts) != len(columns):
        raise StatisticsError(
            f"a level of {_listed(columns)} has {len(columns)} parts, not {value}"
        )
    alike = {
        column: _as_in(frame.schema[column], part)
        for column, part in zip(columns, parts, strict=True)
    }
    return str(level_texts(pl.DataFrame(alike), columns)[0])


def _as_in(kind: pl.DataType, value: Any) -> pl.Series:
    """A value as a column of a kind holds it, so that 12 is 12.0 among decimals."""
    if kind.is_numeric() and isinstance(value, int | float) and not isinstance(value, bool):
        return pl.Series([value]).cast(pl.Float64 if kind.is_float() else pl.Series([value]).dtype)
    return pl.Series([str(value).lower() if isinstance(value, bool) else str(value)])


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
