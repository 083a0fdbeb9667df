"""JSON schemas as providers accept them."""

from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

KEPT = frozenset({
    "type", "description", "properties", "required", "additionalProperties", "items",
    "prefixItems", "anyOf", "enum", "const", "minimum", "maximum", "$ref", "$defs",
})  # fmt: skip
"""Keywords that every provider of strict schemas knows. The rest only narrows: texts' lengths, for
one. What an answer breaks of that, its reader finds."""
RENAMED = {"ge": "minimum", "le": "maximum"}
"""What pydantic calls bounds that stand behind a validator."""


class _Loose(Exception):
    """A part of the schema that no strict one can express."""


class Sendable(NamedTuple):
    """A schema as it is sent.

    Attributes:
        schema: the schema.
        strict: whether the server can be held to it: every field is required and known.
    """

    schema: dict[str, Any]
    strict: bool


def sendable(schema: dict[str, Any]) -> Sendable:
    """A schema without what servers do not know, and strict wherever it can be.

    In a strict one every field is required, those with a default too: what satisfies it satisfies
    the original. A mapping with any names, or a list with a form for each place, makes it loose.
    """
    return _sendable(msgspec.json.encode(schema))


@lru_cache(maxsize=256)
def _sendable(encoded: bytes) -> Sendable:
    schema = msgspec.json.decode(encoded)
    try:
        return Sendable(_walked(schema, strict=True), True)
    except _Loose:
        return Sendable(_walked(schema, strict=False), False)


def _walked(spec: Any, *, strict: bool) -> Any:
    if not isinstance(spec, dict):
        return spec
    if strict and ("prefixItems" in spec or isinstance(spec.get("additionalProperties"), dict)):
        raise _Loose
    known = {RENAMED.get(key, key): value for key, value in spec.items()}
    kept = {key: value for key, value in known.items() if key in KEPT}
    for key in ("properties", "$defs"):
        if key in kept:
            inside = kept[key].items()
            kept[key] = {name: _walked(one, strict=strict) for name, one in inside}
    for key in ("anyOf", "prefixItems"):
        if key in kept:
            kept[key] = [_walked(one, strict=strict) for one in kept[key]]
    for key in ("items", "additionalProperties"):
        if key in kept:
            kept[key] = _walked(kept[key], strict=strict)
    if strict and spec.get("type") == "object":
        kept.setdefault("properties", {})
        kept |= {"required": list(kept["properties"]), "additionalProperties": False}
    return kept
