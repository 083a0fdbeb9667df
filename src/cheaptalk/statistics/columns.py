"""Columns of frames: their validation, with error messages that suggest a fix, and joins."""

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cheaptalk.rules import CheaptalkError, suggest
from cheaptalk.rules.arguments import describe_type

FloatArray = NDArray[np.float64]
NOT_FINITE = '"{}" has values that are not finite; replace them by null'
LISTED = 12
"""Maximum number of columns listed in an error."""


class ArrowFrame(Protocol):
    """A data frame with Arrow's interface, such as one of pandas, pyarrow or DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Frame: TypeAlias = pl.DataFrame | ArrowFrame
"""A data frame of polars, pandas or another library."""
describe_type(Frame, "a data frame of polars or pandas")


class StatisticsError(CheaptalkError, ValueError):
    """Raised if the data or the arguments do not determine a statistic."""


def as_polars(frame: Frame) -> pl.DataFrame:
    """Return a data frame as a polars frame; missing values become null.

    Raises:
        StatisticsError: the object isn't a data frame.
    """
    if isinstance(frame, pl.DataFrame):
        return frame
    kind = f"{type(frame).__module__}.{type(frame).__qualname__}"
    if isinstance(frame, pl.LazyFrame):
        raise StatisticsError(f"the frame must be a data frame, not a {kind}; call .collect()")
    if not hasattr(frame, "__arrow_c_stream__"):
        raise StatisticsError(f"the frame must be a data frame of polars or pandas, not a {kind}")
    return pl.DataFrame(frame)


def demand_columns(frame: pl.DataFrame, names: Sequence[str], purpose: str) -> None:
    """Raise a StatisticsError if a frame lacks a column."""
    for name in names:
        if name not in frame.columns:
            columns = frame.columns
            text = suggest(name, columns)
            if len(columns) > LISTED and text == f'"{name}" (known: {", ".join(columns)})':
                omitted = len(columns) - LISTED
                text = f'"{name}" (known: {", ".join(columns[:LISTED])} and {omitted} more)'
            raise StatisticsError(f"no column {text} to {purpose}")


def demand_clusters(frame: pl.DataFrame, cluster: Sequence[str], alternative: str) -> None:
    """Raise a StatisticsError unless columns to cluster by are given and in the frame."""
    if not cluster:
        raise StatisticsError(f"name at least one column to cluster by; {alternative}")
    demand_columns(frame, [], "cluster by")
    try:
        demand_columns(frame, cluster, "cluster by")
    except StatisticsError as error:
        raise StatisticsError(f"{error}; name the columns in cluster; {alternative}") from None


def demand_level(level: float) -> None:
    """Raise a StatisticsError if a confidence level is outside (0, 1)."""
    if not 0 < level < 1:
        raise StatisticsError(f"the confidence level must be between 0 and 1, not {level}")


def demand_draws(draws: int) -> None:
    """Raise a StatisticsError if there are fewer than two bootstrap draws."""
    if draws < 2:
        raise StatisticsError(f"draws must be at least 2, not {draws}")


def as_numbers(values: Sequence[float] | FloatArray, name: str) -> FloatArray:
    """Return values as an array; raise a StatisticsError if a value isn't a finite number."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise StatisticsError(f"{name} must be numbers, not {values!r}") from None
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise StatisticsError(f"{name} must be finite numbers; omit undefined values")
    return numbers


def demand_numbers(frame: pl.DataFrame, names: Sequence[str], purpose: str) -> None:
    """Raise a StatisticsError if a column is missing or isn't numeric."""
    demand_columns(frame, names, purpose)
    for name in names:
        kind = frame.schema[name]
        if not (kind.is_numeric() or kind in (pl.Boolean, pl.Null)):
            raise StatisticsError(f'"{name}" has type {kind}; numbers are needed to {purpose}')


def with_numbers(frame: pl.DataFrame, names: Sequence[str], purpose: str) -> pl.DataFrame:
    """Return the rows without nulls in the given columns, with these columns as finite floats."""
    demand_numbers(frame, names, purpose)
    names = list(dict.fromkeys(names))
    floats = frame.lazy().with_columns(pl.col(*names).cast(pl.Float64))
    rows = floats.drop_nulls(names).collect()
    for name in names:
        if not np.isfinite(rows[name].to_numpy()).all():
            raise StatisticsError(NOT_FINITE.format(name))
    return rows


def present_numbers(
    frame: pl.DataFrame, name: str, purpose: str
) -> tuple[NDArray[np.bool_], FloatArray]:
    """Return which rows of a column have a value, and these values, which must be finite."""
    demand_numbers(frame, [name], purpose)
    column = frame[name].cast(pl.Float64)
    numbers, present = column.to_numpy(), np.ones(len(column), dtype=bool)
    if column.null_count():
        present = column.is_not_null().to_numpy()
        numbers = numbers[present]
    if not np.isfinite(numbers).all():
        raise StatisticsError(NOT_FINITE.format(name))
    return present, numbers


def with_matching(
    frame: pl.DataFrame,
    other: pl.DataFrame,
    on: str | Sequence[str],
    validate: Literal["1:1", "m:1"] = "1:1",
) -> pl.DataFrame:
    """Add the columns of another frame's matching rows; nulls match nulls.

    ``validate`` tells which side's rows must be unique in the columns ``on``; polars raises
    ComputeError if they are not.
    """
    return frame.join(
        other, on=on, how="left", nulls_equal=True, maintain_order="left", validate=validate
    )
