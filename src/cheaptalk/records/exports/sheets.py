"""Table files: CSV with the standard library, Parquet with polars."""

import csv
import math
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from cheaptalk.records.encoding import data_of, moment, standard_json
from cheaptalk.records.exports.columns import (
    BOOLEAN,
    DATE_TIME,
    INTEGER,
    JSON,
    NUMBER,
    TEXT,
    Column,
)
from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.display import spreadsheet_text

MOMENT = "%Y-%m-%dT%H:%M:%S%.6f%#z"
"""Format of times as text."""
EXACT = 2**53
"""Floats below this absolute value represent integers exactly."""
BATCH = 5_000
"""Maximum number of rows in memory before they are written to Parquet."""


Sink: TypeAlias = Callable[[Sequence[Any]], object]
"""Writes a row; its values are in the order of the columns."""
Reader: TypeAlias = Callable[[Any], Any]
"""Reads a column's value from a row's source; returns None for a missing value."""
Writer: TypeAlias = Callable[[Any], Any]
"""Converts a value to a column's type."""


class Sheet:
    """The columns of a table, some of which apply to only one game.

    ``types`` are the columns' types by name, in order; text if games differ.
    """

    def __init__(self, columns: Iterable[Column]) -> None:
        self.columns = list(columns)
        self.types: dict[str, str] = {}
        for column in self.columns:
            type_ = self.types.setdefault(column.name, column.type)
            if type_ != column.type:
                both = {type_, column.type} == {INTEGER, NUMBER}
                self.types[column.name] = NUMBER if both else TEXT
        self._of_game: dict[str, list[tuple[int, Reader, Writer]]] = {}

    def row(self, source: Any) -> list[Any]:
        """Return the values of a row, in the order of the columns."""
        cells: list[Any] = [None] * len(self.types)
        for index, read, write in self._readers(source.game):
            value = read(source)
            if value is not None:
                cells[index] = write(value)
        return cells

    def _readers(self, game: str) -> list[tuple[int, Reader, Writer]]:
        """Return the index, reader and writer of each column that applies to a game."""
        if game not in self._of_game:
            indices = {name: index for index, name in enumerate(self.types)}
            self._of_game[game] = [
                (indices[column.name], column.of, VALUES[self.types[column.name]])
                for column in self.columns
                if column.game in ("", game)
            ]
        return self._of_game[game]


def _text(value: Any) -> str:
    return _holdable(value if isinstance(value, str) else _json(value))


def _json(value: Any) -> str:
    return _holdable(standard_json(value, ensure_ascii=False))


def _holdable(text: str) -> str:
    """Escape unpaired surrogates, which UTF-8 cannot encode."""
    if type(text) is str and text.isascii():
        return text
    return text.encode(errors="backslashreplace").decode()


def _number(value: Any) -> float | None:
    return None if math.isnan(value) else float(value)


def _same(value: Any) -> Any:
    return _holdable(value) if isinstance(value, str) else value


VALUES: Mapping[str, Writer] = {
    TEXT: _text,
    JSON: _json,
    NUMBER: _number,
    INTEGER: _same,
    BOOLEAN: _same,
    DATE_TIME: moment,
}
"""Functions that convert a value, by column type."""


def csv_line(row: Iterable[Any], *, raw: bool = False) -> str:
    """Return a row as one line of CSV, with text quoted and missing values empty.

    Whole numbers have no decimal point, so that integers remain integers in columns of numbers.
    With ``raw``, texts that a spreadsheet interprets as formulas are unchanged.

    >>> print(csv_line(['Say "yes".', "", None, -0.1, 31.0, True, "=1+1"]), end="")
    "Say ""yes"".","",,-0.1,31,true,"'=1+1"
    """

    def cell(value: Any) -> str:
        if isinstance(value, str):
            text = (value if raw else spreadsheet_text(value)).replace('"', '""')
            return f'"{text}"'
        if value is None:
            return ""
        if isinstance(value, float) and value.is_integer() and abs(value) < EXACT:
            return str(int(value))
        return str(value).lower() if isinstance(value, bool) else str(value)

    return ",".join(map(cell, row)) + "\n"


def bare_csv(rows: Iterable[Iterable[str]]) -> str:
    """Return rows as CSV with quotes only where necessary, as payment platforms require.

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
    """Yield a function that writes rows to a CSV file (RFC 4180, UTF-8) in a folder."""
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        file.write(csv_line(types))
        yield lambda row: file.write(csv_line(row, raw=raw))


@contextmanager
def lines_sink(
    folder: Path, name: str, types: dict[str, str], *, raw: bool = True
) -> Iterator[Sink]:
    """Yield a function that writes rows to a file of JSON lines in a folder."""
    del raw
    nested = [type_ == JSON for type_ in types.values()]
    with (folder / f"{name}.jsonl").open("w", encoding="utf-8", newline="") as file:

        def add(row: Sequence[Any]) -> None:
            values = (
                data_of(value) if is_nested and value is not None else value
                for value, is_nested in zip(row, nested, strict=True)
            )
            file.write(standard_json(dict(zip(types, values, strict=True))) + "\n")

        yield add


def polars() -> ModuleType:
    """Import and return polars; raise CheaptalkError if it is not installed."""
    try:
        return import_module("polars")
    except ImportError:
        raise CheaptalkError('Parquet requires polars: pip install "cheaptalk[analysis]"') from None


@contextmanager
def parquet_sink(
    folder: Path, name: str, types: dict[str, str], *, raw: bool = True
) -> Iterator[Sink]:
    """Yield a function that writes rows to a Parquet file in a folder."""
    del raw
    pl = polars()
    kinds = {INTEGER: pl.Int64, NUMBER: pl.Float64, BOOLEAN: pl.Boolean}
    schema = {column: kinds.get(type_, pl.String) for column, type_ in types.items()}
    times = [pl.col(column) for column, type_ in types.items() if type_ == DATE_TIME]
    rows: list[Sequence[Any]] = []
    batches: list[Path] = []

    def flush() -> None:
        batch = folder / f"{name}.{len(batches)}.part"
        frame = pl.DataFrame(rows, schema=schema, orient="row")
        frame.with_columns(time.str.to_datetime(MOMENT) for time in times).write_parquet(batch)
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


def join_parquet(parts: Sequence[Path], target: Path) -> None:
    """Join Parquet files with the same columns."""
    polars().scan_parquet(parts).sink_parquet(target)


def join_text(parts: Sequence[Path], target: Path, headings: int = 0) -> None:
    """Join text files, keeping only the header lines of the first file."""
    with target.open("wb") as file:
        for number, part in enumerate(parts):
            with part.open("rb") as lines:
                for _ in range(headings if number else 0):
                    lines.readline()
                shutil.copyfileobj(lines, file, length=1 << 20)


SINKS: Mapping[str, Callable[..., AbstractContextManager[Sink]]] = {
    "csv": csv_sink,
    "jsonl": lines_sink,
    "parquet": parquet_sink,
}
"""The function that writes a table, by format."""
