"""Report tables with declared columns, a paper's layout and its printed values."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import polars as pl

from cheaptalk.records.store.reader import specs_of
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.tables import AS_PRINTED, ERROR, STARS, Header, ReportTable
from cheaptalk.rules import CheaptalkError, suggest
from cheaptalk.yaml_files import read_yaml

PRINTED, PLAYERS = "printed", "players"
OPTIONS = {
    PRINTED: "beside: show the paper's printed values in tables with its layout",
    PLAYERS: "players shown in such tables: llms, or labels separated by commas (default: all)",
}
"""Options of all recipes that have tables with the paper's layout."""
BESIDE, LLMS = "beside", "llms"
BESIDES = (ERROR, STARS, ".half")
"""Suffixes of columns with spreads or stars of a printed number."""
COMPARED = ".as_compared"
"""Suffix of columns with names of rows without case, spaces and punctuation."""
ROW, PAPER_ROW = ".row", ".paper_row"
"""Columns with numbers of rows."""
PRINTED_NOTE = "Printed values come from the paper's own players and matches."
HERE = Path(__file__).parent
Columns: TypeAlias = Mapping[str, str] | Iterable[Header]
NOTHING: Mapping[str, Any] = MappingProxyType({})


def paper_table(
    paper: str,
    evidence: Evidence,
    layout: str,
    frame: pl.DataFrame,
    *,
    name: str = "",
    columns: Mapping[str, Columns] = NOTHING,
    facts: Mapping[str, object] = NOTHING,
    notes: Iterable[str] = (),
    leads: Callable[[Mapping[str, Any]], Lead | None] = lambda _: None,
) -> ReportTable:
    """Return a table as declared in a paper's file ``tables.yaml``.

    A layout has a ``title``, an optional ``caption`` and table number ``printed``, and ``columns``
    by key: a title, a list of the fields of :class:`.Header` after the key, or a mapping of these
    fields. It can also have ``counts``, the units of observations and clusters. If the option
    ``printed`` is set, the values in ``printed/NAME.csv`` are added to the table.

    Args:
        paper: the paper's folder.
        layout: the key of the layout.
        name: the table's name if it is not the key.
        columns: the columns of declared keys that stand for a group of columns. The declaration is
            their template: ``{}`` stands for each title.
        facts: the values of fields in the texts of the layout, such as ``{game}``.

    Raises:
        CheaptalkError: the option ``printed`` has another value.
    """
    declared = _layouts(paper)[layout]
    values = printed_values(paper, evidence, name or layout)
    title, caption, printed = (
        declared.get(part, "").format(**facts) for part in ("title", "caption", "printed")
    )
    headers: list[Header] = []
    for key, fields in declared["columns"].items():
        group = columns.get(key, {key: ""})
        if isinstance(group, Mapping):
            group = [_header(column, fields, text, facts) for column, text in group.items()]
        headers += group if values is None else _in_printed_order(group, values.columns)
    table = ReportTable(
        name or layout, title, frame, tuple(headers), caption, tuple(notes), leads, printed
    )
    if "counts" in declared:
        table = replace(table, counts=tuple(declared["counts"]))
    return table if values is None else beside(table, values)


def printed_values(paper: str, evidence: Evidence, name: str) -> pl.DataFrame | None:
    """Return the printed values of a table; None if there are none, or the option is not set.

    Raises:
        CheaptalkError: the option ``printed`` has another value.
    """
    option = evidence.options.get(PRINTED)
    if option not in (None, BESIDE):
        raise CheaptalkError(f'option {PRINTED}: expected "{BESIDE}", not "{option}"')
    file = HERE / paper / "printed" / f"{name}.csv"
    if option is None or not file.exists():
        return None
    return pl.read_csv(file, infer_schema_length=None)


@cache
def _layouts(paper: str) -> dict[str, dict[str, Any]]:
    layouts: dict[str, dict[str, Any]] = read_yaml(HERE / paper / "tables.yaml")
    return layouts


def _header(key: str, fields: Any, text: str, facts: Mapping[str, object]) -> Header:
    if not isinstance(fields, Mapping):
        values = fields if isinstance(fields, list) else [fields]
        fields = dict(zip(Header._fields[1:], values, strict=False))
    filled: dict[str, Any] = {
        name: value.format(text, **facts) if isinstance(value, str) else value
        for name, value in fields.items()
    }
    return Header(key, **filled)


def selected_labels(evidence: Evidence, labels: Sequence[str]) -> list[str]:
    """Return the labels that the option ``players`` selects for tables with the paper's layout.

    Raises:
        CheaptalkError: the option names an unknown player.
    """
    option = evidence.options.get(PLAYERS)
    if option is None:
        return list(labels)
    if option == LLMS:
        recorded = specs_of(evidence.store, evidence.study)
        specs = evidence.players or {label: versions[0] for label, versions in recorded.items()}
        return [label for label in labels if specs.get(label, {}).get("model")]
    selected = [label.strip() for label in option.split(",")]
    for label in selected:
        if label not in labels:
            raise CheaptalkError(f"option {PLAYERS}: no player {suggest(label, list(labels))}")
    return [label for label in labels if label in selected]


def beside(table: ReportTable, values: pl.DataFrame) -> ReportTable:
    """Add printed values to a table, and order its rows as in the paper.

    Rows that are not in the paper follow the paper's rows with the same first value. If the paper
    has none of the table's rows, or a single row, printed rows come last. Columns of the table stay
    in order: printed values are shown next to the computed ones, but are the last columns of files.

    Args:
        table: a table in which the columns before the first number identify rows.
        values: the same identifying columns, and numeric columns. Row names match regardless of
            case, spaces and punctuation.
    """
    numeric = (index for index, column in enumerate(table.columns) if column.decimals is not None)
    stub = [column.key for column in table.columns[: next(numeric, len(table.columns))]]
    names = [f"{key}{COMPARED}" for key in stub]
    numbers = [name for name in values.columns if name not in stub]
    texts = values.with_columns(pl.col(stub).cast(pl.String))
    printed = (
        texts.with_columns(_compared(stub))
        .rename({name: _printed_key(name, table) for name in numbers})
        .with_row_index(PAPER_ROW)
    )
    in_table = pl.col(stub[0]).is_not_null()
    computed = table.numbers.with_row_index(ROW).with_columns(_compared(stub))
    both = computed.join(
        printed,
        on=names,
        how="full",
        coalesce=True,
        nulls_equal=True,
        maintain_order="left_right",
        suffix=".paper",
        validate="m:1",
    )
    columns = tuple(_columns(table, numbers))
    shown = [column.key for column in columns if AS_PRINTED in column.key]
    frame = (
        _in_order(both.filter(in_table | pl.any_horizontal(pl.col(shown).is_not_null())), names)
        .with_columns(pl.coalesce(key, f"{key}.paper").alias(key) for key in stub)
        .drop(*names, *(f"{key}.paper" for key in stub), ROW, PAPER_ROW)
    )
    return replace(table, numbers=frame, columns=columns, notes=(*table.notes, PRINTED_NOTE))


def _compared(keys: Sequence[str]) -> pl.Expr:
    text = pl.col(keys).str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]", "")
    return text.name.suffix(COMPARED)


def _in_order(rows: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return rows in the order of the paper, grouped by their first name if they have several."""
    both = rows.filter(pl.col(ROW).is_not_null() & pl.col(PAPER_ROW).is_not_null())
    if both.is_empty() or rows[PAPER_ROW].count() < 2:
        return rows
    order = [PAPER_ROW, ROW]
    groups = [pl.col(name).min().over(names[0]) for name in order] if len(names) > 1 else []
    return rows.sort(*groups, *order, nulls_last=True, maintain_order=True)


def _in_printed_order(headers: Iterable[Header], printed: Sequence[str]) -> list[Header]:
    """Return columns in the order of the paper; other columns come last."""
    last = len(printed)
    positions = {name: position for position, name in enumerate(printed)}
    return sorted(headers, key=lambda header: positions.get(header.key, last))


def _printed_key(name: str, table: ReportTable) -> str:
    """Return the column key of a printed value, such as ``gain.printed.low`` for ``gain.low``."""
    keys = (column.key for column in table.columns if f"{name}.".startswith(f"{column.key}."))
    key = max(keys, key=len, default=name.removesuffix(ERROR))
    return f"{key}{AS_PRINTED}{name.removeprefix(key)}"


def _columns(table: ReportTable, numbers: Sequence[str]) -> Iterator[Header]:
    """Yield the table's columns, each followed by its printed values, and the other printed ones.

    Columns found only in the paper follow the columns that precede them in the paper.
    """
    known = tuple(f"{column.key}." for column in table.columns)
    keys = {column.key for column in table.columns}
    absent: dict[str, list[str]] = {}
    previous = ""
    for name in numbers:
        if name in keys:
            previous = name
        elif not f"{name}.".startswith(known) and not name.endswith(BESIDES):
            absent.setdefault(previous, []).append(name)
    groups = {column.key.removesuffix(column.title): column.group for column in table.columns}
    last = table.columns[-1]

    def only_printed(previous: str) -> Iterator[Header]:
        for name in absent.get(previous, ()):
            start = max(filter(name.startswith, groups), key=len, default="")
            title = f"{name.removeprefix(start)}, printed"
            key, group = name + AS_PRINTED, groups.get(start, "")
            yield Header(key, title, last.unit, last.decimals, group=group)

    for column in table.columns:
        if column.decimals is not None and "" in absent:
            yield from only_printed("")
            absent.pop("")
        yield column
        if column.key in keys & {*numbers}:
            title = f"{column.title}, printed"
            yield column._replace(key=column.key + AS_PRINTED, title=title, about="")
            yield from only_printed(column.key)


def position(column: str, order: Iterable[Any]) -> pl.Expr:
    """Return a sort key: the position of a column's value in an order, with unknown values last."""
    values = list(order)
    positions = range(len(values))
    return pl.col(column).replace_strict(
        values, positions, default=len(values), return_dtype=pl.Int64
    )
