"""Writing tables: CSV with the standard library, Parquet with polars."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from cheaptalk.records.encoding import standard_json
from cheaptalk.records.exports.columns import BOOLEAN, INTEGER, JSON, NUMBER, TEXT, Column
from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.display import spreadsheet_text

BATCH = 5_000
"""Rows that are held in memory before they are written to Parquet."""


Sink: TypeAlias = Callable[[Sequence[Any]], None]
"""Takes rows, one after the other, their values in the order of the columns."""


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
    """A value as a column of this type holds it; an undefined number is none."""
    if found is None:
        return None
    if type_ == JSON or (type_ == TEXT and not isinstance(found, str)):
        found = standard_json(found, ensure_ascii=False)
    if isinstance(found, str):
        return found.encode(errors="backslashreplace").decode()  # halves of surrogate pairs
    if type_ != NUMBER:
        return found
    return None if math.isnan(found) else float(found)


def csv_line(row: Iterable[Any], *, raw: bool = False) -> str:
    """A row as a line of CSV: text in quotes, so that an absent value is not an empty text.

    Args:
        raw: write texts as they are, those too that a spreadsheet takes for formulas.

    >>> print(csv_line(['Say "yes".', "", None, -0.1, True, "=1+1"]), end="")
    "Say ""yes"".","",,-0.1,true,"'=1+1"
    """
    return ",".join(_cell(found, raw) for found in row) + "\n"


def _cell(found: Any, raw: bool) -> str:
    if found is None:
        return ""
    if isinstance(found, bool):
        return "true" if found else "false"
    if not isinstance(found, str):
        return repr(found)
    text = found if raw else spreadsheet_text(found)
    return '"' + text.replace('"', '""') + '"'


@contextmanager
def csv_sink(
    folder: Path, name: str, types: dict[str, str], *, raw: bool = False
) -> Iterator[Sink]:
    """A CSV file (RFC 4180, UTF-8) in a folder."""
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        file.write(csv_line(types))

        def add(row: Sequence[Any]) -> None:
            file.write(csv_line(row, raw=raw))

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
def parquet_sink(folder: Path, name: str, types: dict[str, str]) -> Iterator[Sink]:
    """A Parquet file in a folder: rows go to files of their own, which are joined at the end."""
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
    pl.scan_parquet(batches).sink_parquet(folder / f"{name}.parquet")
    for batch in batches:
        batch.unlink()
