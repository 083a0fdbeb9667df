"""Writing tables: CSV with the standard library, Parquet with polars."""

import csv
import math
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO, TypeAlias

from cheaptalk.records.encoding import data_of, standard_json
from cheaptalk.records.exports.columns import BOOLEAN, INTEGER, JSON, NUMBER, TEXT, Column
from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.display import spreadsheet_text

BATCH = 5_000
"""Rows that are held in memory before they are written to Parquet."""


Sink: TypeAlias = Callable[[Sequence[Any]], None]
"""Takes rows, one after the other, their values in the order of the columns."""
Reader: TypeAlias = Callable[[Any], Any]
"""Reads a column's value off a row's source; None where there is none."""
Writer: TypeAlias = Callable[[Any], Any]
"""Makes a value that is there one of a column's type."""


class Sheet:
    """A table: its columns, some of which belong to one game only.

    Attributes:
        types: the type of each column, by name, in order; text where games differ.
    """

    def __init__(self, columns: Iterable[Column]) -> None:
        self.columns = list(columns)
        self.types: dict[str, str] = {}
        for column in self.columns:
            known = self.types.setdefault(column.name, column.type)
            if known != column.type:
                both = {known, column.type} == {INTEGER, NUMBER}
                self.types[column.name] = NUMBER if both else TEXT
        self._of_game: dict[str, list[tuple[int, Reader, Writer]]] = {}

    def row(self, source: Any) -> list[Any]:
        """The values of a row, in the order of the columns."""
        cells: list[Any] = [None] * len(self.types)
        for place, read, write in self._readers(source.game):
            found = read(source)
            if found is not None:
                cells[place] = write(found)
        return cells

    def _readers(self, game: str) -> list[tuple[int, Reader, Writer]]:
        """For each column that a game has: where it stands, how it is read, and made a value."""
        if game not in self._of_game:
            places = {name: place for place, name in enumerate(self.types)}
            self._of_game[game] = [
                (places[one.name], one.of, VALUES[self.types[one.name]])
                for one in self.columns
                if one.game in ("", game)
            ]
        return self._of_game[game]


def _text(found: Any) -> str:
    return _holdable(found if isinstance(found, str) else _json(found))


def _json(found: Any) -> str:
    return _holdable(standard_json(found, ensure_ascii=False))


def _holdable(text: str) -> str:
    """A plain text that UTF-8 can hold: halves of surrogate pairs are escaped."""
    if type(text) is str and text.isascii():
        return text
    return text.encode(errors="backslashreplace").decode()


def _number(found: Any) -> float | None:
    """A number; an undefined one is none."""
    return None if math.isnan(found) else float(found)


def _same(found: Any) -> Any:
    return _holdable(found) if isinstance(found, str) else found


VALUES: Mapping[str, Writer] = {
    TEXT: _text, JSON: _json, NUMBER: _number, INTEGER: _same, BOOLEAN: _same,
}  # fmt: skip
"""What a value that is there becomes in a column of each type."""


class _Unquoted:
    """A cell that the csv module takes for a number, and writes without quotes.

    Python 3.12's ``csv.QUOTE_STRINGS`` will do for absent values; Python 3.11 lacks it.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __float__(self) -> float:
        raise TypeError("this cell is no number")


ABSENT = _Unquoted("")
BOOLEANS = {True: _Unquoted("true"), False: _Unquoted("false")}


def csv_writer(file: TextIO, *, raw: bool = False) -> Sink:
    """Return what writes rows to a CSV file: text in quotes, and nothing for an absent value.

    Args:
        raw: write texts as they are, even those that a spreadsheet takes for formulas.
    """
    write = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n").writerow

    def cell(value: Any) -> Any:
        if isinstance(value, str):
            return value if raw else spreadsheet_text(value)
        if value is None:
            return ABSENT
        return BOOLEANS[value] if isinstance(value, bool) else value

    def add(row: Iterable[Any]) -> None:
        write(map(cell, row))

    return add


def csv_line(row: Iterable[Any], *, raw: bool = False) -> str:
    """Return a row as a line of CSV, as :func:`csv_writer` writes it.

    >>> print(csv_line(['Say "yes".', "", None, -0.1, True, "=1+1"]), end="")
    "Say ""yes"".","",,-0.1,true,"'=1+1"
    """
    out = StringIO()
    csv_writer(out, raw=raw)([*row])
    return out.getvalue()


def bare_csv(rows: Iterable[Iterable[str]]) -> str:
    """Texts as CSV with quotes only where they must be, as platforms that pay people read it.

    >>> print(bare_csv([["5f0c", "1.50"], ["=1+1", "a,b"]]), end="")
    5f0c,1.50
    '=1+1,"a,b"
    """
    out = StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    for row in rows:
        write(map(spreadsheet_text, row))
    return out.getvalue()


@contextmanager
def csv_sink(
    folder: Path, name: str, types: dict[str, str], *, raw: bool = False
) -> Iterator[Sink]:
    """A CSV file (RFC 4180, UTF-8) in a folder."""
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        csv_writer(file)([*types])
        yield csv_writer(file, raw=raw)


@contextmanager
def lines_sink(
    folder: Path, name: str, types: dict[str, str], *, raw: bool = True
) -> Iterator[Sink]:
    """A file of JSON lines in a folder: an object a row, all of its texts as they are."""
    del raw
    nested = [type_ == JSON for type_ in types.values()]
    with (folder / f"{name}.jsonl").open("w", encoding="utf-8", newline="") as file:

        def add(row: Sequence[Any]) -> None:
            values = (
                data_of(found) if is_nested and found is not None else found
                for found, is_nested in zip(row, nested, strict=True)
            )  # fmt: skip
            file.write(standard_json(dict(zip(types, values, strict=True))) + "\n")

        yield add


def polars() -> ModuleType:
    """The polars package.

    Raises:
        CheaptalkError: it is not installed.
    """
    try:
        return import_module("polars")
    except ImportError:
        raise CheaptalkError('Parquet needs polars: pip install "cheaptalk[analysis]"') from None


@contextmanager
def parquet_sink(
    folder: Path, name: str, types: dict[str, str], *, raw: bool = True
) -> Iterator[Sink]:
    """A Parquet file in a folder: rows go to files of their own, which are joined at the end.

    No spreadsheet takes a text in it for a formula, so it holds all of them raw.
    """
    del raw
    pl = polars()
    kinds = {INTEGER: pl.Int64, NUMBER: pl.Float64, BOOLEAN: pl.Boolean}
    schema = {column: kinds.get(type_, pl.String) for column, type_ in types.items()}
    rows: list[Sequence[Any]] = []
    batches: list[Path] = []

    def flush() -> None:
        batch = folder / f"{name}.{len(batches)}.part"
        pl.DataFrame(rows, schema=schema, orient="row").write_parquet(batch)
        batches.append(batch)
        rows.clear()

    def add(row: Sequence[Any]) -> None:
        rows.append(row)
        if len(rows) == BATCH:
            flush()

    yield add
    flush()
    join_parquet(batches, folder / f"{name}.parquet")
    for batch in batches:
        batch.unlink()


def join_parquet(parts: Sequence[Path], whole: Path) -> None:
    """Make one Parquet file of several of the same columns."""
    polars().scan_parquet(parts).sink_parquet(whole)


def join_text(parts: Sequence[Path], whole: Path, headings: int = 0) -> None:
    """Make one text of several, which begin with as many lines of headings: these stand once."""
    with whole.open("wb") as joined:
        for number, part in enumerate(parts):
            with part.open("rb") as lines:
                for _ in range(headings if number else 0):
                    lines.readline()
                shutil.copyfileobj(lines, joined, length=1 << 20)
