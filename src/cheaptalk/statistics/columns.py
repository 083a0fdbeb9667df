"""Columns of numbers: how statistics take them, and what they refuse."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cheaptalk.rules import CheaptalkError

FloatArray = NDArray[np.float64]


class StatisticsError(CheaptalkError):
    """The data do not determine what was asked of them."""


def demand_columns(frame: pl.DataFrame, names: Sequence[str], purpose: str) -> None:
    """Refuse a frame that lacks a column.

    Raises:
        StatisticsError: naming the columns that it lacks and what for.
    """
    absent = [f'"{name}"' for name in names if name not in frame.columns]
    if absent:
        raise StatisticsError(f"there is no column {', '.join(absent)} to {purpose}")


def with_numbers(frame: pl.DataFrame, names: Sequence[str], purpose: str) -> pl.DataFrame:
    """The rows that have a value in every one of some columns, as decimal numbers.

    Raises:
        StatisticsError: a column is absent, or holds something other than finite numbers.
    """
    demand_columns(frame, names, purpose)
    for name in names:
        kind = frame.schema[name]
        if not (kind.is_numeric() or kind in (pl.Boolean, pl.Null)):
            raise StatisticsError(f'"{name}" holds {kind}, and numbers are needed to {purpose}')
    used = frame.with_columns(pl.col(*names).cast(pl.Float64)).drop_nulls(list(names))
    for name in names:
        if not used[name].is_finite().all():
            raise StatisticsError(f'"{name}" has values that are no finite numbers: make them null')
    return used
