"""JSON schemas derived from answer forms with blanks in a request's text."""

import json
import re
from collections.abc import Mapping
from typing import Any

BLANKS: Mapping[str, Mapping[str, Any]] = {
    "<whole number>": {"type": "integer"},
    "<number>": {"type": "number"},
    '"<text>"': {"type": "string"},
    "true or false": {"type": "boolean"},
    "<value>": {"type": "string"},
    "null": {"type": "null"},
}
"""Schemas of the blanks of a form; see :class:`.JsonCodec`."""


def forms(text: str) -> list[str]:
    """Return the outermost passages in balanced braces, in order.

    >>> forms('Say {"a": {"b": 1}} or {"c": 2}.')
    ['{"a": {"b": 1}}', '{"c": 2}']
    """
    matches, depth, start = [], 0, 0
    for index, character in enumerate(text):
        if character == "{":
            start = index if depth == 0 else start
            depth += 1
        elif character == "}" and depth:
            depth -= 1
            if depth == 0:
                matches.append(text[start : index + 1])
    return matches


def schema_of_form(form: str) -> dict[str, Any]:
    """Return the JSON schema of a form with blanks; fields that cannot be parsed are omitted.

    >>> schema_of_form('{"bid": <whole number>, "say": "yes" or "no"}')["properties"]
    {'bid': {'type': 'integer'}, 'say': {'enum': ['yes', 'no']}}
    """
    fields: dict[str, Any] = {}
    for part in _split(form.strip()[1:-1]):
        name, colon, blank = part.partition(":")
        if colon and re.fullmatch(r'"\w+"', name.strip()):
            fields[json.loads(name)] = _schema_of_blank(blank.strip())
    return {"type": "object", "properties": fields, "required": list(fields)}


def _schema_of_blank(blank: str) -> dict[str, Any]:
    if blank in BLANKS:
        return dict(BLANKS[blank])
    options = blank.split(" or ")
    if len(options) > 1:
        read = [_schema_of_blank(option) for option in options]
        consts = [option["const"] for option in read if "const" in option]
        return {"enum": consts} if len(consts) == len(read) else {"anyOf": read}
    if blank.startswith("{"):
        return schema_of_form(blank)
    if blank.startswith("["):
        inside = _split(blank[1:-1])
        items = [_schema_of_blank(part.strip()) for part in inside if part.strip() != "..."]
        if "..." in (part.strip() for part in inside):
            return {"type": "array", "items": items[0] if items else {}, "minItems": 1}
        return {"type": "array", "prefixItems": items, "items": False}
    if re.fullmatch(r'"[^"<>]+"', blank) and blank != '"..."':
        return {"const": json.loads(blank)}
    return {"type": "string"}


def _split(text: str) -> list[str]:
    parts, depth, quoted = [""], 0, False
    for character in text:
        quoted ^= character == '"'
        if not quoted:
            depth += (character in "{[") - (character in "}]")
        if character == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += character
    return parts
