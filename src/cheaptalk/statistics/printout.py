"""Results as text: a heading, a table and notes."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import polars as pl

from cheaptalk.rules.display import Printed, html_table


def printed(head: str, frame: pl.DataFrame, notes: Sequence[str] = ()) -> str:
    """Format a result as a plain-text table with four significant digits.

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


class Tabular(Printed):
    """A result that prints as a plain-text table, and as HTML in a notebook."""

    __slots__ = ()

    @abstractmethod
    def printout(self) -> tuple[str, pl.DataFrame, Sequence[str]]:
        """Return the heading, the table and the notes."""

    def __str__(self) -> str:
        return printed(*self.printout())

    def _repr_html_(self) -> str:
        head, frame, notes = self.printout()
        rows = (map(_cell, row) for row in frame.iter_rows())
        return html_table(head, frame.columns, rows, notes)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
