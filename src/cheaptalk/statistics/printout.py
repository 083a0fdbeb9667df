"""Results as text: a line that says how they were made, a table, and notes."""

from collections.abc import Sequence
from typing import Any

import polars as pl


def printed(head: str, frame: pl.DataFrame, notes: Sequence[str] = ()) -> str:
    """A result as a table of plain text, four significant digits a number.

    >>> print(printed("Effects", pl.DataFrame({"level": ["a", "b"], "low": [0.123456, None]})))
    Effects
    level  low
    a      0.1235
    b      -
    """
    rows = [frame.columns, *([_cell(value) for value in row] for row in frame.iter_rows())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join([head, *lines, *(f"Note: {note}." for note in notes)])


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
