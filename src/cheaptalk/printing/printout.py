"""Results that print as a table, also in notebooks, and that can be written as CSV and LaTeX."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from cheaptalk.atomic_files import whole_file
from cheaptalk.printing.latex import Cell, Column, cell, latex_table
from cheaptalk.rules import CheaptalkError, counted
from cheaptalk.rules.display import (
    LONGEST,
    brief,
    cell_text,
    html_table,
    is_missing,
    is_number,
    spreadsheet_text,
)

MOST_ROWS = 60
"""Maximum number of rows that are printed; files contain all rows."""

SMALLEST_P = 0.001
"""The smallest p-value that LaTeX tables contain."""


class Framed(Protocol):
    """A data frame of polars, as far as it is printed."""

    @property
    def columns(self) -> list[str]: ...
    def rows(self) -> list[tuple[Any, ...]]: ...


class Printout(NamedTuple):
    """A result as a table.

    Attributes:
        title: the title; its first line describes the result in a single line.
        columns: the titles of the columns.
        rows: the cells of each row, as unformatted values; None if undefined.
        notes: remarks on how to read the table.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    notes: Sequence[str] = ()

    @classmethod
    def of(cls, title: str, frame: Framed, notes: Sequence[str] = ()) -> "Printout":
        """Return the printout of a data frame."""
        return cls(title, frame.columns, frame.rows(), notes)

    @property
    def shown(self) -> "Printout":
        """Return the printout with at most :data:`MOST_ROWS` rows, and a note on omitted rows."""
        omitted = len(self.rows) - MOST_ROWS
        if omitted <= 0:
            return self
        note = f"and {counted(omitted, 'more row')}"
        return self._replace(rows=self.rows[:MOST_ROWS], notes=(*self.notes, note))

    def text(self) -> str:
        """Return the table as text with four significant digits.

        >>> print(Printout("Effects", ["level", "low"], [["a", 0.123456], ["b", None]]).text())
        Effects
        level  low
        a      0.1235
        b      -
        """
        title, columns, rows, notes = self.shown
        table = [list(columns), *(list(map(cell_text, row)) for row in rows)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table if rows]
        return "\n".join([title, *lines, *(f"Note: {note.rstrip('.')}." for note in notes)])

    def html(self) -> str:
        """Return the table as HTML."""
        return html_table(*self.shown)

    def csv(self, *, raw_cells: bool = False) -> str:
        """Return the rows as CSV with twelve digits.

        >>> print(Printout("", ["level", "low"], [["=a", 1 / 3], ["b", None]]).csv(), end="")
        level,low
        '=a,0.333333333333
        b,
        """
        file = StringIO()
        writer = csv.writer(file, lineterminator="\n")
        for row in (self.columns, *self.rows):
            texts = map(_csv_cell, row)
            writer.writerow(texts if raw_cells else map(spreadsheet_text, texts))
        return file.getvalue()

    def latex(self, label: str) -> str:
        """Return the table in LaTeX with four significant digits; see :func:`.latex_table`.

        Columns without a value are omitted.
        """
        columns, cells = [], {}
        for index, title in enumerate(self.columns):
            values = [row[index] for row in self.rows]
            present = [value for value in values if not is_missing(value)]
            if not present and any(not is_missing(value) for row in self.rows for value in row):
                continue
            numeric = all(is_number(value) and not isinstance(value, str) for value in present)
            columns.append(Column(str(index), title, numeric=numeric))
            cells[str(index)] = [_latex_cell(title, value) for value in values]
        sentences = (text.rstrip(".") + "." for text in (*self.title.splitlines(), *self.notes))
        return latex_table(" ".join(sentences), label, columns, cells)


class Printed:
    """A result that prints as a table; its ``repr`` is a single line.

    Notebooks show it as HTML. Subclasses define :meth:`printout`; by default, it has a row for each
    field of a dataclass.
    """

    __slots__ = ()

    def printout(self) -> Printout:
        """Return the result as a table."""
        names = getattr(self, "__dataclass_fields__", ())
        rows = [(name.replace("_", " "), _summary(getattr(self, name))) for name in names]
        rows = [row for row in rows if row[1] not in (None, "")]
        return Printout(type(self).__name__, ["field", "value"], rows)

    def data(self) -> Printout:
        """Return the table that :meth:`to_csv` writes: the result's frame, or the printed table."""
        frame = getattr(self, "frame", None)
        return self.printout() if frame is None else Printout.of("", frame)

    def to_csv(self, path: Path | str, *, raw_cells: bool = False) -> None:
        """Write the result as a CSV file with twelve digits; an existing file is replaced.

        Args:
            raw_cells: whether not to escape texts that spreadsheets take for formulas.

        Raises:
            CheaptalkError: the file cannot be written.
        """
        try:
            with whole_file(Path(path)) as file:
                file.write(self.data().csv(raw_cells=raw_cells))
        except OSError as error:
            raise CheaptalkError(f"{path}: cannot be written: {error.strerror}") from error

    def latex(self, label: str = "") -> str:
        """Return the result as a table in LaTeX, for the packages booktabs, array and longtable.

        Args:
            label: the LaTeX label; by default, the name of the result's type.
        """
        return self.printout().latex(label or type(self).__name__.lower())

    def __repr__(self) -> str:
        line = str(self).partition("\n")[0]
        if line == type(self).__name__:  # the default title
            line = ", ".join(" ".join(map(cell_text, row)) for row in self.printout().rows)
        return brief(self, line)

    def __str__(self) -> str:
        return self.printout().text()

    def _repr_html_(self) -> str:
        return self.printout().html()


def frames_html(frames: Mapping[str, Framed]) -> str:
    """Return several data frames as HTML, with their names as titles."""
    return "".join(Printout.of(name, frame).html() for name, frame in frames.items())


def _latex_cell(title: str, value: object) -> Cell:
    """Return a cell in LaTeX; small p-values are a bound, because their digits are meaningless."""
    if is_missing(value):
        return cell("")
    is_p = title.partition("_")[0] == "p"
    if is_p and isinstance(value, float) and value < SMALLEST_P:
        return cell(f"< {SMALLEST_P}", numeric=True)
    return cell(cell_text(value), numeric=is_number(value) and not isinstance(value, str))


def _csv_cell(value: object) -> str:
    if is_missing(value):
        return ""
    if isinstance(value, float):
        return repr(float(f"{value:.12g}"))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _summary(value: object) -> object:
    """Return a field's value as a cell: a number, or a text in one line."""
    if value is None or isinstance(value, str | bool) or is_number(value):
        return value
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_summary(inner)}" for key, inner in value.items()) or None
    if hasattr(value, "shape"):
        return f"{' x '.join(map(str, value.shape))} values"
    if isinstance(value, Iterable) and not hasattr(value, "_fields"):
        return ", ".join(str(_summary(inner)) for inner in value) or None
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
