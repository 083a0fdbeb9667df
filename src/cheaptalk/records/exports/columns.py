"""Columns of exported tables, derived from declarations, the games' models and declared rows.

``columns.csv`` declares each column that all games share once, for all forms of a study's data:
exported tables, records in JSON, frames and SQL views.
"""

import csv
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args, get_type_hints

from pydantic import BaseModel

from cheaptalk.field_docs import documented_fields
from cheaptalk.models import Failure
from cheaptalk.models.calls import Route
from cheaptalk.players import Kind
from cheaptalk.records.record import Status
from cheaptalk.records.store.schema import CALL_STATES
from cheaptalk.rules import field_meanings

TEXT: Final = "text"
INTEGER: Final = "integer"
NUMBER: Final = "number"
BOOLEAN: Final = "boolean"
JSON: Final = "JSON"
DATE_TIME: Final = "date-time"
"""Type of times: in rows, seconds since 1970; in CSV, JSON lines and SQL views, ISO 8601 text."""
TYPES = {"string": TEXT, "integer": INTEGER, "number": NUMBER, "boolean": BOOLEAN}
PYTHON_TYPES: dict[Any, str] = {str: TEXT, int: INTEGER, float: NUMBER, bool: BOOLEAN}
PYTHON_TYPES |= {kind | None: type_ for kind, type_ in PYTHON_TYPES.items()}
TRUTH = "true | false"
PARAMETER = "game_"
"""Prefix of columns with parameters of the game."""
TIME = "UTC"
"""Range of a column that contains times."""
BOUNDS = {"exclusiveMinimum": ">", "minimum": ">=", "exclusiveMaximum": "<", "maximum": "<="}


@dataclass(frozen=True)
class Column:
    """A column of a table, with the function that reads its value.

    Attributes:
        name: the column's name; columns of several games can share it.
        type: text, integer, number, boolean, date-time or JSON (as text).
        range: the unit or the possible values, if they can be listed briefly.
        meaning: a description.
        of: reads the value from a row's source; returns None for a missing value.
        group: the kind of column, which becomes a prefix if another kind has the same name.
        game: the game with this column; empty for all games.
    """

    name: str
    type: str
    range: str
    meaning: str
    of: Callable[[Any], Any]
    group: str = ""
    game: str = ""


@dataclass(frozen=True)
class Exported:
    """An annotation of a row's field that describes its column in an exported table.

    Attributes:
        range: the unit or the possible values; for :data:`TIME`, the field contains seconds since
            1970.
        name: the column's name; by default the field's.
    """

    range: str = ""
    name: str = ""


class SharedColumn(NamedTuple):
    """A column that all games share, as declared in ``columns.csv``.

    Attributes:
        tables: the tables with this column.
        formats: where the column appears: ``table`` (CSV and Parquet), ``json`` (JSON lines),
            ``view`` (SQL) and ``frame``.
        value: the attribute or method call that reads the column from a row of an exported table.
        sql: a Jinja template of the column's expression in SQL; ``TABLE`` is the table's name.
    """

    tables: str
    name: str
    formats: str
    type: str
    range: str
    value: str
    sql: str
    meaning: str


CHOICES = {
    "status": Status,
    "kind": Kind,
    "failure": Failure,
    "route": get_args(Route),
    "call_state": CALL_STATES,
}


def _read_declarations() -> Iterator[SharedColumn]:
    choices = {name: " | ".join(values) for name, values in CHOICES.items()}
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        for row in list(csv.reader(file))[1:]:
            declared = SharedColumn(*row)
            yield declared._replace(range=declared.range.format(**choices))


SHARED_COLUMNS = list(_read_declarations())


def shared_columns(table: str, form: str) -> list[SharedColumn]:
    """Return the declared columns of a table in one form, in order."""
    return [
        declared
        for declared in SHARED_COLUMNS
        if table in declared.tables.split() and form in declared.formats.split()
    ]


def table_columns(table: str) -> list[Column]:
    """Return the columns of an exported table that all games share."""
    return [
        column(declared.name, declared.type, declared.range, declared.meaning, declared.value)
        for declared in shared_columns(table, "table")
    ]


def row_columns(row_type: type[tuple[Any, ...]]) -> list[Column]:
    """Return a column for each field of a named tuple, which rows have as ``record``.

    A field's type determines the column's type, and the docstring below the field is the meaning.
    A field without :class:`Exported` has the range of its type.
    """
    meanings = dict(documented_fields(row_type))
    annotated = get_type_hints(row_type, include_extras=True)
    columns = []
    for field, hint in get_type_hints(row_type).items():
        type_ = PYTHON_TYPES.get(hint, JSON)
        (exported,) = getattr(annotated[field], "__metadata__", (Exported(),))
        range_ = exported.range or (TRUTH if type_ == BOOLEAN else "")
        column_type = DATE_TIME if range_ == TIME else type_
        meaning, value = meanings.get(field, ""), f"record.{field}"
        columns.append(column(exported.name or field, column_type, range_, meaning, value))
    return columns


def column(name: str, type_: str, range_: str, meaning: str, value: str) -> Column:
    """Return a column that reads an attribute, or calls a method with a text, of each row."""
    path, parenthesis, argument = value.removesuffix(")").partition("(")
    get = attrgetter(path)

    def read(row: Any) -> Any:
        return get(row)(argument) if parenthesis else get(row)

    return Column(name, type_, range_, meaning, read)


def settled(columns: Sequence[Column]) -> list[Column]:
    """Make column names unique across groups by prefixing later duplicates with their group."""
    owners: dict[str, str] = {}
    named = []
    for column in columns:
        if owners.setdefault(column.name, column.group) != column.group:
            column = replace(column, name=f"{column.group}_{column.name}")
        named.append(column)
    return named


def columns_of(
    model: type[BaseModel],
    roles: Sequence[str],
    data: Callable[[Any], Mapping[str, Any] | None],
    *,
    group: str,
    game: str,
    prefix: str = "",
) -> list[Column]:
    """Return a table column for each scalar field of a pydantic model, including nested models.

    Names of nested fields are joined by ``_``. A field with one value per role becomes one column
    per role. Other lists and mappings are JSON. ``data`` returns the model's JSON data from a row's
    source.
    """
    schema = model.model_json_schema(mode="serialization")
    if "properties" not in schema:  # a model with its own serializer
        schema = model.model_json_schema()
    fields = _scalars(model, schema, schema.get("$defs", {}), roles, prefix, data)
    return [
        Column(name, _type(field), _range(field), meaning, read, group, game)
        for name, field, meaning, read in fields
    ]


def _scalars(
    model: type[BaseModel],
    schema: Mapping[str, Any],
    definitions: Mapping[str, Any],
    roles: Sequence[str],
    prefix: str,
    data: Callable[[Any], Any],
) -> Iterator[tuple[str, Mapping[str, Any], str, Callable[[Any], Any]]]:
    """Yield the name, JSON schema, meaning and reader of each scalar field of a model."""
    for field_name, meaning in field_meanings(model).items():
        field = _plain(schema["properties"][field_name], definitions)
        meaning = meaning or f"{field_name.replace('_', ' ')}: {_about(model, field_name)}"
        values = field.get("prefixItems", ())
        inner = _model_in(model.model_fields[field_name].annotation)
        name, read = prefix + field_name, partial(_entry, data, field_name)
        if inner is not None and "properties" in field:
            yield from _scalars(inner, field, definitions, roles, f"{name}_", read)
        elif values and len(values) == len(roles):
            for index, role in enumerate(roles):
                element, here = _plain(values[index], definitions), f"{meaning} Here: {role}."
                yield f"{name}_{role}", element, here, partial(_entry, read, index)
        else:
            yield name, field, meaning, read


def _entry(data: Callable[[Any], Any], key: str | int, source: Any) -> Any:
    """Return an entry of the data of a row's source; None if it is missing."""
    entries = data(source)
    if entries is None or (isinstance(entries, Mapping) and key not in entries):
        return None
    return entries[key]


def _type(schema: Mapping[str, Any]) -> str:
    return TYPES.get(schema.get("type", ""), JSON)


def _range(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if _type(schema) == BOOLEAN:
        return TRUTH
    bounds = [f"{sign} {schema[key]:,.15g}" for key, sign in BOUNDS.items() if key in schema]
    if "maxLength" in schema:
        bounds.append(f"at most {schema['maxLength']:,} characters")
    return ", ".join(bounds)


def _about(model: type[BaseModel], name: str) -> str:
    """Return the first paragraph of the docstring of the class that defines a field."""
    bases = [base for base in reversed(model.__mro__) if issubclass(base, BaseModel)]
    owner = next(base for base in bases if name in base.model_fields)
    return paragraph(inspect.getdoc(owner) or "")


def _model_in(annotation: Any) -> type[BaseModel] | None:
    kinds = (annotation, *get_args(annotation))
    return next(
        (kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None
    )


def _plain(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema with its reference resolved and without the null option."""
    other_keys = {key: value for key, value in schema.items() if key not in ("$ref", "anyOf")}
    options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
    if "$ref" in schema:
        return {**_plain(definitions[schema["$ref"].rpartition("/")[2]], definitions), **other_keys}
    if len(options) == 1:
        return {**_plain(options[0], definitions), **other_keys}
    return schema


def paragraph(text: str) -> str:
    """Return a text's first paragraph on one line."""
    return " ".join(text.partition("\n\n")[0].split())
