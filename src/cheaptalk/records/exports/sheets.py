"""Writing tables: CSV with the standard library, Parquet with polars."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from cheaptalk.records.exports.columns import BOOLEAN, INTEGER, JSON, NUMBER, TEXT, Column
from cheaptalk.rules import CheaptalkError

BATCH = 5_000
"""Rows that are held in memory before they are written to Parquet."""


class Sink(Protocol):
    """Takes rows, one after the other."""

    def add(self, row: Sequence[Any]) -> None:
        """Write a row, its values in the order of the columns."""


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
        self._of_game: dict[str, list[Column]] = {}

    def row(self, source: Any) -> list[Any]:
        """The values of a row, in the order of the columns."""
        columns = self._of_game.get(source.game)
        if columns is None:
            columns = [one for one in self.columns if one.game in ("", source.game)]
            self._of_game[source.game] = columns
        found = {one.name: one.of(source) for one in columns}
        return [value(found.get(name), type_) for name, type_ in self.types.items()]


def value(found: Any, type_: str) -> Any:
    """A value as a column of this type holds it."""
    if found is None:
        return None
    if type_ == JSON or (type_ == TEXT and not isinstance(found, str)):
        found = json.dumps(found, ensure_ascii=False)
    if isinstance(found, str):
        return found.encode(errors="backslashreplace").decode()  # halves of surrogate pairs
    return float(found) if type_ == NUMBER else found


def csv_line(row: Iterable[Any]) -> str:
    """A row as a line of CSV: text in quotes, so that an absent value is not an empty text.

    >>> print(csv_line(['Say "yes".', "", None, 0.1, True]), end="")
    "Say ""yes"".","",,0.1,true
    """
    return ",".join(map(_cell, row)) + "\n"


def _cell(found: Any) -> str:
    if found is None:
        return ""
    if isinstance(found, bool):
        return "true" if found else "false"
    return '"' + found.replace('"', '""') + '"' if isinstance(found, str) else repr(found)


class _Csv:
    def __init__(self, file: Any) -> None:
        self.file = file

    def add(self, row: Sequence[Any]) -> None:
        self.file.write(csv_line(row))


@contextmanager
def csv_sink(folder: Path, name: str, types: dict[str, str]) -> Iterator[Sink]:
    """A CSV file (RFC 4180, UTF-8) in a folder."""
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        file.write(csv_line(types))
        yield _Csv(file)


def polars() -> ModuleType:
    """The polars package.

    Raises:
        CheaptalkError: it is not installed.
    """
    try:
        return import_module("polars")
    except ImportError:
        raise CheaptalkError('Parquet needs polars: pip install "cheaptalk[analysis]"') from None


class _Parquet:
    """Writes batches to files of their own, which are joined at the end."""

    def __init__(self, path: Path, types: dict[str, str]) -> None:
        self.polars = polars()
        self.path = path
        kinds = {INTEGER: self.polars.Int64, NUMBER: self.polars.Float64,
                 BOOLEAN: self.polars.Boolean}  # fmt: skip
        self.schema = {name: kinds.get(type_, self.polars.String) for name, type_ in types.items()}
        self.rows: list[Sequence[Any]] = []
        self.batches: list[Path] = []

    def add(self, row: Sequence[Any]) -> None:
        self.rows.append(row)
        if len(self.rows) == BATCH:
            self.flush()

    def flush(self) -> None:
        frame = self.polars.DataFrame(self.rows, schema=self.schema, orient="row")
        path = self.path.with_name(f"{self.path.stem}.{len(self.batches)}.part")
        frame.write_parquet(path)
        self.batches.append(path)
        self.rows = []

    def join(self) -> None:
        self.flush()
        self.polars.scan_parquet(self.batches).sink_parquet(self.path)
        for batch in self.batches:
            batch.unlink()


@contextmanager
def parquet_sink(folder: Path, name: str, types: dict[str, str]) -> Iterator[Sink]:
    """A Parquet file in a folder."""
    sink = _Parquet(folder / f"{name}.parquet", types)
    yield sink
    sink.join()
