"""Columns of exported tables, derived from declarations, the games' models and declared rows.

``columns.csv`` declares each column that all games share once, for all forms of a study's data:
exported tables, records in JSON, frames and SQL views.
"""

import csv
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args, get_type_hints

from pydantic import BaseModel

from cheaptalk.models import Failure
from cheaptalk.models.calls import Route
from cheaptalk.players import Kind
from cheaptalk.records.record import Status
from cheaptalk.records.store.schema import CALL_STATES
from cheaptalk.rules import field_meanings
from cheaptalk.rules.field_docs import documented_fields

TEXT: Final = "text"
INTEGER: Final = "integer"
NUMBER: Final = "number"
BOOLEAN: Final = "boolean"
JSON: Final = "JSON"
TYPES = {"string": TEXT, "integer": INTEGER, "number": NUMBER, "boolean": BOOLEAN}
PYTHON_TYPES: dict[Any, str] = {str: TEXT, int: INTEGER, float: NUMBER, bool: BOOLEAN}
PYTHON_TYPES |= {kind | None: type_ for kind, type_ in PYTHON_TYPES.items()}
TRUTH = "true | false"
TIME = "UTC, ISO 8601"
"""Range of a column that contains times, which are exported as text."""
BOUNDS = {"exclusiveMinimum": ">", "minimum": ">=", "exclusiveMaximum": "<", "maximum": "<="}


@dataclass(frozen=True)
class Column:
    """A column of a table, with the function that reads its value.

    Attributes:
        name: the column's name; columns of several games can share it.
        type: text, integer, number, boolean or JSON (as text).
        range: the unit or the possible values, if they can be listed briefly.
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
        column_type = TEXT if range_ == TIME else type_
        meaning, value = meanings.get(field, ""), f"record.{field}"
        columns.append(column(exported.name or field, column_type, range_, meaning, value))
    return columns


def column(name: str, type_: str, range_: str, meaning: str, value: str) -> Column:
    """Return a column that reads an attribute, or calls a method with a text, of each row.

    An attribute of the range :data:`TIME` contains seconds since 1970.
    """
    path, parenthesis, argument = value.removesuffix(")").partition("(")
    get = attrgetter(path)

    def read(row: Any) -> Any:
        content = get(row)(argument) if parenthesis else get(row)
        return moment(content) if range_ == TIME else content

    return Column(name, type_, range_, meaning, read)


def moment(seconds: float | None) -> str | None:
    """Return a time in UTC in ISO 8601 format.

    >>> moment(1.5)
    '1970-01-01T00:00:01.500000Z'
    """
    if seconds is None:
        return None
    utc = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    return utc.isoformat(timespec="microseconds") + "Z"


def settled(columns: Sequence[Column]) -> list[Column]:
    """Make column names unique across groups by prefixing later duplicates with their group."""
    owners: dict[str, str] = {}
    named = []
    for column in columns:
        if owners.setdefault(column.name, column.group) != column.group:
            column = replace(column, name=f"{column.group}_{column.name}")
        named.append(column)
    return named


class NestedColumn(NamedTuple):
    """A column for a scalar in nested data, with the scalar's path, name, schema and meaning."""

    path: tuple[str | int, ...]
    name: str
    schema: Mapping[str, Any]
    meaning: str

    @property
    def type(self) -> str:
        return TYPES.get(self.schema.get("type", ""), JSON)

    @property
    def range(self) -> str:
        if "enum" in self.schema:
            return " | ".join(map(str, self.schema["enum"]))
        if self.type == BOOLEAN:
            return TRUTH
        bounds = [
            f"{sign} {self.schema[key]:,.15g}" for key, sign in BOUNDS.items() if key in self.schema
        ]
        if "maxLength" in self.schema:
            bounds.append(f"at most {self.schema['maxLength']:,} characters")
        return ", ".join(bounds)


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
    return [
        Column(
            prefix + part.name,
            part.type,
            part.range,
            part.meaning,
            partial(_at, part.path, data),
            group,
            game,
        )
        for part in parts(model, schema, schema.get("$defs", {}), roles)
    ]


def _at(
    path: tuple[str | int, ...], data: Callable[[Any], Mapping[str, Any] | None], source: Any
) -> Any:
    value: Any = data(source)
    for step in path:
        if value is None or (isinstance(value, Mapping) and step not in value):
            return None
        value = value[step]
    return value


def parts(
    model: type[BaseModel],
    schema: Mapping[str, Any],
    definitions: Mapping[str, Any],
    roles: Sequence[str],
) -> Iterator[NestedColumn]:
    """Yield a nested column for each scalar field in the JSON schema of a pydantic model."""
    for name, meaning in field_meanings(model).items():
        field = _plain(schema["properties"][name], definitions)
        meaning = meaning or f"{name.replace('_', ' ')}: {_about(model, name)}"
        values = field.get("prefixItems", ())
        inner = _model_in(model.model_fields[name].annotation)
        if inner is not None and "properties" in field:
            for part in parts(inner, field, definitions, roles):
                yield part._replace(path=(name, *part.path), name=f"{name}_{part.name}")
        elif values and len(values) == len(roles):
            for index, role in enumerate(roles):
                element = _plain(values[index], definitions)
                yield NestedColumn(
                    (name, index), f"{name}_{role}", element, f"{meaning} Here: {role}."
                )
        else:
            yield NestedColumn((name,), name, field, meaning)


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
