"""Columns of numbers: how statistics take them, and what they refuse."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cheaptalk.rules import CheaptalkError, suggest

FloatArray = NDArray[np.float64]
LISTED = 12
"""How many columns an error lists at most."""


class StatisticsError(CheaptalkError, ValueError):
    """The data or the arguments do not determine the requested statistic."""


def demand_columns(frame: pl.DataFrame, names: Sequence[str], purpose: str) -> None:
    """Refuse a frame that lacks a column.

    Raises:
        StatisticsError: it names the first missing column, the nearest one that there is, and what
            the column is needed for.
    """
    if not isinstance(frame, pl.DataFrame):
        kind = f"{type(frame).__module__}.{type(frame).__qualname__}"
        raise StatisticsError(f"the frame must be a polars.DataFrame, not a {kind}")
    if isinstance(names, str):
        raise StatisticsError(f'columns are a list of names, such as ["{names}"], not a text')
    for name in names:
        if name not in frame.columns:
            known = frame.columns
            text = suggest(name, known)
            if len(known) > LISTED and text == f'"{name}" (known: {", ".join(known)})':
                rest = len(known) - LISTED
                text = f'"{name}" (known: {", ".join(known[:LISTED])} and {rest} more)'
            raise StatisticsError(f"there is no column {text} to {purpose}")


def demand_clusters(frame: pl.DataFrame, cluster: Sequence[str], otherwise: str) -> None:
    """Refuse columns of clusters that do not exist, and clusters without a column.

    Args:
        otherwise: what to do without clusters.

    Raises:
        StatisticsError: it says how to name clusters.
    """
    if not cluster:
        raise StatisticsError(f"name one column or more to cluster by; {otherwise}")
    demand_columns(frame, [], "cluster by")
    try:
        demand_columns(frame, cluster, "cluster by")
    except StatisticsError as error:
        raise StatisticsError(f"{error}; name the columns in cluster; {otherwise}") from None


def demand_level(level: float) -> None:
    """Refuse a level of confidence that is no share.

    Raises:
        StatisticsError: the level is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise StatisticsError(f"the level of an interval lies between 0 and 1, not at {level}")


def demand_draws(draws: int) -> None:
    """Refuse fewer than two draws.

    Raises:
        StatisticsError: it gives the number.
    """
    if draws < 2:
        raise StatisticsError(f"draws is 2 or more, not {draws}")


def as_numbers(values: Sequence[float] | FloatArray, what: str) -> FloatArray:
    """Return values as an array of finite numbers.

    Raises:
        StatisticsError: a value is no finite number.
    """
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise StatisticsError(f"{what} are numbers, not {values!r}") from None
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise StatisticsError(f"{what} are a list of finite numbers: leave undefined values out")
    return numbers


def demand_numbers(frame: pl.DataFrame, names: Sequence[str], purpose: str) -> None:
    """Refuse a frame that lacks a column, or has something other than numbers in it.

    Raises:
        StatisticsError: it names the column, what it holds and what numbers are needed for.
    """
    demand_columns(frame, names, purpose)
    for name in names:
        kind = frame.schema[name]
        if not (kind.is_numeric() or kind in (pl.Boolean, pl.Null)):
            raise StatisticsError(f'"{name}" holds {kind}, and numbers are needed to {purpose}')


def with_numbers(frame: pl.DataFrame, names: Sequence[str], purpose: str) -> pl.DataFrame:
    """The rows that have a value in every one of some columns, as decimal numbers.

    Raises:
        StatisticsError: a column is absent, or holds something other than finite numbers.
    """
    demand_numbers(frame, names, purpose)
    names = list(dict.fromkeys(names))
    used = frame.with_columns(pl.col(*names).cast(pl.Float64)).drop_nulls(names)
    for name in names:
        if not used[name].is_finite().all():
            raise StatisticsError(f'"{name}" has values that are no finite numbers: make them null')
    return used
