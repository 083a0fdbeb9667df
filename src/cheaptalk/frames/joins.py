"""Joins that keep all rows of a frame, in order."""

from collections.abc import Sequence
from typing import Literal

import polars as pl


def with_matching(
    frame: pl.DataFrame,
    other: pl.DataFrame,
    on: str | Sequence[str],
    validate: Literal["1:1", "m:1"] = "1:1",
) -> pl.DataFrame:
    """Add the columns of another frame's matching rows; nulls match nulls.

    Args:
        on: the columns that identify rows.
        validate: which side's rows must be unique.

    Raises:
        ComputeError: rows are not unique.
    """
    return frame.join(
        other, on=on, how="left", nulls_equal=True, maintain_order="left", validate=validate
    )
