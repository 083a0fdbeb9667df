"""Descriptions of fields, read from the docstrings below them, and their legal values."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel


@cache
def field_meanings(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstring of each field of a model, including inherited fields; "" if missing."""
    meanings = dict.fromkeys(model.model_fields, "")
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            meanings.update(
                (name, text) for name, text in documented_fields(base) if name in meanings
            )
    return meanings


def documented_fields(owner: type) -> Iterator[tuple[str, str]]:
    """Yield name and docstring of each field that a class itself defines with a docstring."""
    try:
        source = textwrap.dedent(inspect.getsource(owner))
    except (OSError, TypeError):
        return
    body = ast.parse(source).body[0]
    assert isinstance(body, ast.ClassDef)
    for statement, following in zip(body.body, body.body[1:], strict=False):
        match statement, following:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, " ".join(inspect.cleandoc(text).split())


def attribute_docs(owner: type) -> dict[str, str]:
    """Return the field descriptions in the "Attributes" sections of a class and its bases."""
    descriptions: dict[str, str] = {}
    for base in reversed(owner.__mro__):
        _, _, section = inspect.cleandoc(base.__doc__ or "").partition("Attributes:\n")
        for names, text in re.findall(r"^    ([\w, ]+): (.*(?:\n {5,}.*)*)", section, re.MULTILINE):
            descriptions |= dict.fromkeys(names.split(", "), " ".join(text.split()))
    return descriptions


def field_ranges(model: type[BaseModel]) -> dict[str, str]:
    """Return the legal values of each field in words, ignoring custom validators."""
    properties = model.model_json_schema()["properties"]
    return {name: legal_values(spec) for name, spec in properties.items()}


KINDS = {
    "boolean": "true or false",
    "number": "number",
    "integer": "integer",
    "string": "text",
    "object": "mapping",
    "null": "null",
}
"""The types of values in words, by their names in a JSON schema."""
SIGNS = {
    "exclusiveMinimum": ">",
    "gt": ">",
    "minimum": ">=",
    "ge": ">=",
    "exclusiveMaximum": "<",
    "lt": "<",
    "maximum": "<=",
    "le": "<=",
}
"""Comparison signs by the names of bounds in a schema; pydantic uses the short names in unions."""


NOTATIONS = {
    "Horizon": "rounds, or {rounds: 99, hidden: true}",
    "Chat": "before, between or during, or {when: before, seconds: 60}",
}
"""The values of types that have short forms."""


def legal_values(spec: Mapping[str, Any]) -> str:
    """Return the values that a JSON schema allows, in words.

    >>> legal_values({"type": "integer", "minimum": 1, "maximum": 1000})
    'integer >= 1 and <= 1,000'
    """
    if "$ref" in spec:
        name = str(spec["$ref"]).rpartition("/")[2]
        return NOTATIONS.get(name, name)
    if "anyOf" in spec:
        return ", or ".join(dict.fromkeys(map(legal_values, spec["anyOf"])))
    if "enum" in spec or "const" in spec:
        return " or ".join(map(str, spec.get("enum", [spec.get("const")])))
    if spec.get("type") == "array":
        items = spec.get("prefixItems") or [spec.get("items", {})]
        item = legal_values(items[0])
        return f"{len(items)} times {item}" if "prefixItems" in spec else f"list of {item}"
    bounds = [f"{sign} {spec[key]:,.15g}" for key, sign in SIGNS.items() if key in spec]
    return " ".join([KINDS.get(spec.get("type", ""), "value"), " and ".join(bounds)]).strip()
