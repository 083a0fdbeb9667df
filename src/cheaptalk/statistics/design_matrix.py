"""Categorical factors as columns of zeros and ones, each against a declared reference level."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components

from cheaptalk.statistics.columns import StatisticsError

SINGULAR = 1e-10
"""The smallest eigenvalue, of columns scaled to length 1, at which they count as independent."""
MIXED = 1e-6
"""How much of a column, scaled to length 1, a sum must hold for its effect to be mixed in."""
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


@dataclass(frozen=True, eq=False)
class Design:
    """Factors laid out as the columns of a regression: a constant, then each level's own.

    Attributes:
        factors: in the order of their columns.
        active: the columns that are 1 in each row, shape (rows, factors + 1); ``width`` where the
            factor has its reference level.
        partial: whether columns may add up to one another; their effects are then not known.
    """

    factors: tuple[Factor, ...]
    active: NDArray[np.int64]
    partial: bool = False

    @property
    def names(self) -> list[tuple[str, str | None]]:
        """The factor and level of each column; the constant's level is None."""
        constant: list[tuple[str, str | None]] = [("(constant)", None)]
        return constant + [(of.name, level) for of in self.factors for level in of.others]

    @property
    def width(self) -> int:
        """How many columns there are."""
        return 1 + sum(len(factor.others) for factor in self.factors)

    def columns(self, name: str) -> range:
        """The columns of a factor."""
        start = 1
        for factor in self.factors:
            if factor.name == name:
                return range(start, start + len(factor.others))
            start += len(factor.others)
        raise ValueError(f'"{name}" is no factor: {_listed([one.name for one in self.factors])}')

    def active_shares(self) -> NDArray[np.float64]:
        """The share of rows in which each column is 1."""
        found = np.bincount(self.active.ravel(), minlength=self.width + 1)
        return found[: self.width] / len(self.active)

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """The columns themselves, X, shape (rows, ``width``)."""
        each = len(self.factors) + 1
        return one_hot(self.active.ravel(), self.width + 1, each)[:, : self.width]

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
        """Which sums of coefficients the rows determine, by their weights (sums, ``width``)."""
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


def design_of(frame: pl.DataFrame, factors: Sequence[Factor], *, partial: bool = False) -> Design:
    """Factors laid out over the rows of a frame; see :class:`Design` for ``partial``."""
    active, start = [np.zeros(len(frame), dtype=np.int64)], 1
    width = 1 + sum(len(factor.others) for factor in factors)
    for factor in factors:
        codes = factor.codes(frame)
        active.append(np.where(codes < 0, width, start + codes))
        start += len(factor.others)
    return Design(tuple(factors), np.column_stack(active), partial)


def factor_of(
    frame: pl.DataFrame, name: str, columns: Sequence[str], reference: Mapping[str, Any]
) -> Factor:
    """A factor with the levels that a frame has.

    Raises:
        ValueError: no reference level is declared for it, or a composite's has too many parts.
        StatisticsError: a column or the reference level is absent, or a value is missing.
    """
    for column in columns:
        if column not in frame.columns:
            raise StatisticsError(f'there is no column "{column}" for the factor "{name}"')
        missing = frame[column].null_count()
        if missing:
            raise StatisticsError(
                f'"{column}" is missing in {missing} of {len(frame)} rows: '
                "filter them out, or give them a level of their own"
            )
    values = frame.select(columns).unique().sort(columns)
    levels = tuple(level_texts(values, columns).to_list())
    if name not in reference:
        raise ValueError(f'Declare a reference level for "{name}": one of {_listed(levels)}')
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
        raise ValueError(f"A level of {_listed(columns)} has {len(columns)} parts, not {value}")
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
