"""The codebook of an export: the meaning of every column, as CSV, JSON and Markdown."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cheaptalk.records.encoding import standard_json
from cheaptalk.records.exports import sheets
from cheaptalk.records.exports.columns import Column, SharedColumn
from cheaptalk.studies.exports.wide import WideColumn

CODEBOOK = "codebook"
"""Name of the codebook's files, without the extension."""


class CodebookEntry(NamedTuple):
    """The meaning of a column in the tables of one game or of all games.

    Attributes:
        range: the admissible values or, for columns without ``unit``, their unit.
        missing: what a missing value means.
        question: for answers, the question by language, as JSON.
        labels: the values that have a label, with their labels by language, as JSON.
    """

    table: str
    column: str
    game: str
    type: str
    range: str
    meaning: str
    unit: str = ""
    missing: str = ""
    question: str = ""
    labels: str = ""


def entries_of(
    tables: Mapping[str, Sequence[Column | SharedColumn]],
) -> Iterator[CodebookEntry]:
    """Yield the codebook entry of each column of each table."""
    for table, columns in tables.items():
        for column in columns:
            game = getattr(column, "game", "")
            described = (column.type, column.range, column.meaning)
            if not isinstance(column, WideColumn):
                yield CodebookEntry(table, column.name, game, *described)
                continue
            labels = [{"value": value, **texts} for value, texts in column.labels]
            yield CodebookEntry(
                table,
                column.name,
                column.of_game,
                *described,
                column.unit,
                column.missing,
                standard_json(dict(column.texts), ensure_ascii=False) if column.texts else "",
                standard_json(labels, ensure_ascii=False) if labels else "",
            )


INTRODUCTION = """\
Every column of every table of this export. A column without a game exists for all games; a column
of several games has a row for each. A seat is a position in a match, filled by one player. It has
a role, such as buyer, and one actor or, with short-lived players, several. If a column does not
apply, or a number is undefined, the cell is empty: a missing value, not an empty text. In JSON, NaN
and infinite numbers are null. In CSV files, text is quoted and missing values are not; some
programs need an option for this (DuckDB: ``allow_quoted_nulls=false``). A date-time in CSV or JSON
is text in ISO 8601 format.
"""


def write_codebook(folder: Path, entries: Sequence[CodebookEntry]) -> None:
    """Write the codebook to ``codebook.csv``, ``codebook.json`` and ``codebook.md`` in a folder."""
    lines = [sheets.csv_line(CodebookEntry._fields), *map(sheets.csv_line, entries)]
    data = json.dumps([_as_json(entry) for entry in entries], ensure_ascii=False, indent=1)
    text = [f"# Codebook\n\n{INTRODUCTION}"]
    for table in dict.fromkeys(entry.table for entry in entries):
        of_table = [entry for entry in entries if entry.table == table]
        named = [
            name for name in CodebookEntry._fields[1:]
            if name in CORE or any(getattr(entry, name) for entry in of_table)
        ]  # fmt: skip
        rows = [named, ["---"] * len(named)]
        rows += [[_shown(name, getattr(entry, name)) for name in named] for entry in of_table]
        text.append(f"\n## {table}\n\n" + "".join(map(_markdown_row, rows)))
    for suffix, content in (("csv", "".join(lines)), ("json", data + "\n"), ("md", "".join(text))):
        file = folder / f"{CODEBOOK}.{suffix}"
        file.write_text(content, encoding="utf-8", newline="")


CORE = CodebookEntry._fields[1:6]
"""Columns of every table in Markdown; the others are omitted if they are empty."""
NESTED = ("question", "labels")


def _as_json(entry: CodebookEntry) -> dict[str, Any]:
    fields = entry._asdict()
    return fields | {name: json.loads(fields[name]) for name in NESTED if fields[name]}


def _shown(name: str, text: str) -> str:
    """Return a field of an entry as readable text.

    >>> _shown("labels", '[{"value":1,"en":"never","de":"nie"}]')
    '1 = never (de: nie)'
    """
    if name not in NESTED or not text:
        return text
    data = json.loads(text)
    if name == "question":
        return _translated(data)
    values = ((item.pop("value"), item) for item in data)
    return "; ".join(f"{value} = {_translated(texts)}" for value, texts in values if texts)


def _translated(texts: Mapping[str, str]) -> str:
    first, *others = texts.items()
    more = ", ".join(f"{code}: {text}" for code, text in others)
    return f"{first[1]} ({more})" if more else first[1]


def _markdown_row(cells: Iterable[str]) -> str:
    texts = (" ".join(cell.split()).replace("|", "\\|") for cell in cells)
    return "| " + " | ".join(texts) + " |\n"
