"""Columns of exported tables, read off what games declare about themselves."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel

from cheaptalk.rules import field_meanings

TEXT, INTEGER, NUMBER, BOOLEAN, JSON = "text", "integer", "number", "boolean", "JSON"
TYPES = {"string": TEXT, "integer": INTEGER, "number": NUMBER, "boolean": BOOLEAN}
BOUNDS = {"exclusiveMinimum": ">", "minimum": ">=", "exclusiveMaximum": "<", "maximum": "<="}


@dataclass(frozen=True)
class Column:
    """A column of a table, with the function that fills it.

    Attributes:
        name: its name; columns of several games can share one.
        type: text, integer, number, boolean or JSON (as text).
        range: its unit, or the values it can have, where that can be said in short.
        meaning: what it holds.
        of: reads its value off a row's source; None where there is none.
        group: the kind of column it is, put before its name where another kind has that name.
        game: the game it belongs to; empty for all.
    """

    name: str
    type: str
    range: str
    meaning: str
    of: Callable[[Any], Any]
    group: str = ""
    game: str = ""


def settled(columns: Sequence[Column]) -> list[Column]:
    """The columns with those renamed whose name an earlier kind of column has."""
    owners: dict[str, str] = {}
    done = []
    for column in columns:
        if owners.setdefault(column.name, column.group) != column.group:
            column = replace(column, name=f"{column.group}_{column.name}")
        done.append(column)
    return done


class NestedColumn(NamedTuple):
    """A plain value within nested data: its path, its name as a column, schema and meaning."""

    path: tuple[str | int, ...]
    name: str
    schema: Mapping[str, Any]
    meaning: str

    @property
    def type(self) -> str:
        return TYPES.get(self.schema.get("type", ""), JSON)

    @property
    def range(self) -> str:
        """The legal values as far as the schema names them."""
        if "enum" in self.schema:
            return " | ".join(map(str, self.schema["enum"]))
        if self.type == BOOLEAN:
            return "true | false"
        bounds = [f"{sign} {self.schema[key]:,.15g}" for key, sign in BOUNDS.items()
                  if key in self.schema]  # fmt: skip
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
    """A column for each plain value that a model's data hold.

    Nested fields are joined by ``_``. A field with one value for each role becomes a column for
    each, named after the role. Other lists and mappings are JSON.

    Args:
        data: finds the model's data, as JSON, in a row's source.
    """
    schema = model.model_json_schema(mode="serialization")
    if "properties" not in schema:  # a model with a serialiser of its own
        schema = model.model_json_schema()
    return [
        Column(
            prefix + part.name, part.type, part.range, part.meaning,
            partial(_at, part.path, data), group, game,
        )
        for part in parts(model, schema, schema.get("$defs", {}), roles)
    ]  # fmt: skip


def _at(
    path: tuple[str | int, ...], data: Callable[[Any], Mapping[str, Any] | None], source: Any
) -> Any:
    found: Any = data(source)
    for step in path:
        if found is None or (isinstance(found, Mapping) and step not in found):
            return None
        found = found[step]
    return found


def parts(
    model: type[BaseModel],
    schema: Mapping[str, Any],
    definitions: Mapping[str, Any],
    roles: Sequence[str],
) -> Iterator[NestedColumn]:
    """The plain values within a model's data, which a JSON schema describes."""
    for name, meaning in field_meanings(model).items():
        field = _plain(schema["properties"][name], definitions)
        meaning = meaning or f"{name.replace('_', ' ')}: {_about(model, name)}"
        values = field.get("prefixItems", ())
        inner = _model_in(model.model_fields[name].annotation)
        if inner is not None and "properties" in field:
            for part in parts(inner, field, definitions, roles):
                yield part._replace(path=(name, *part.path), name=f"{name}_{part.name}")
        elif values and len(values) == len(roles):
            for place, role in enumerate(roles):
                one = _plain(values[place], definitions)
                yield NestedColumn((name, place), f"{name}_{role}", one, f"{meaning} Here: {role}.")
        else:
            yield NestedColumn((name,), name, field, meaning)


def _about(model: type[BaseModel], name: str) -> str:
    """What the class that brings in a field says of itself."""
    bases = [base for base in reversed(model.__mro__) if issubclass(base, BaseModel)]
    owner = next(base for base in bases if name in base.model_fields)
    return paragraph(inspect.getdoc(owner) or "")


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model that a field holds, if it is one."""
    kinds = (annotation, *get_args(annotation))
    return next(
        (one for one in kinds if isinstance(one, type) and issubclass(one, BaseModel)), None
    )


def _plain(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema with its reference followed; of "this or null", this."""
    rest = {key: value for key, value in schema.items() if key not in ("$ref", "anyOf")}
    options = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    if "$ref" in schema:
        return {**_plain(definitions[schema["$ref"].rpartition("/")[2]], definitions), **rest}
    if len(options) == 1:
        return {**_plain(options[0], definitions), **rest}
    return schema


def paragraph(text: str) -> str:
    """A text's first paragraph, on one line."""
    return " ".join(text.partition("\n\n")[0].split())
