"""HTML forms for game actions: fields from a JSON schema, and parsing of answers."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cheaptalk.styles.writing import PLAIN, Writing
from cheaptalk.text import capital, plain
from cheaptalk.web.typed_numbers import BadNumber, plain_number, typed_list

NOT_FINITE = re.compile("[-+]?(nan|inf|infinity)", re.IGNORECASE)
"""Text that Python's ``float`` accepts but that is not a finite number."""


class Field(NamedTuple):
    """An input field of an action's form.

    ``kind`` is ``choice``, ``whole``, ``amount``, ``words``, ``truth``, ``list`` or ``mapping``.
    The bounds ``low`` and ``high`` are None if only the rules limit a number.
    """

    name: str
    label: str
    kind: str
    optional: bool = False
    about: str = ""
    options: tuple[str, ...] = ()
    low: int | float | None = None
    high: int | float | None = None
    max_length: int | None = None


KINDS = {
    "integer": "whole",
    "number": "amount",
    "string": "words",
    "boolean": "truth",
    "array": "list",
    "object": "mapping",
}
"""Field kinds by JSON schema type."""


def fields(schema: Mapping[str, Any]) -> list[Field]:
    """Return the form fields of an action; choices come last because they submit the form."""
    order = {"words": 0, "choice": 2}
    return sorted(_fields(schema), key=lambda field: order.get(field.kind, 1))


def _fields(schema: Mapping[str, Any]) -> Iterator[Field]:
    for name, spec in schema.get("properties", {}).items():
        kinds = spec.get("anyOf", [spec])
        inner = next((kind for kind in kinds if kind.get("type") != "null"), spec)
        options = inner.get("enum") or ([inner["const"]] if "const" in inner else [])
        yield Field(
            name,
            capital(name),
            "choice" if options else KINDS.get(inner.get("type", ""), "words"),
            {"type": "null"} in kinds or "default" in spec,
            spec.get("description", ""),
            tuple(map(str, options)),
            inner.get("minimum", inner.get("ge")),
            inner.get("maximum", inner.get("le")),
            inner.get("maxLength"),
        )


def option_label(option: str) -> str:
    """Return the label of an option's button.

    >>> option_label("COUNTEROFFER"), option_label("john")
    ('Counteroffer', 'John')
    """
    return capital(option.lower() if option.isupper() else plain(option))


def answer_text(
    schema: Mapping[str, Any], posted: Mapping[str, str], writing: Writing = PLAIN
) -> str:
    """Convert submitted form values to the JSON text of an answer.

    Raises:
        BadNumber: a number field contains an ambiguous number.

    >>> schema = {"properties": {"price": {"type": "number"}, "message": {"type": "string"}}}
    >>> answer_text(schema, {"price": " 1,250 ", "message": "Fair?"})
    '{"message": "Fair?", "price": "1250"}'
    """
    answer = {}
    for field in fields(schema):
        value = _value(field, posted, writing)
        if value is not None:
            answer[field.name] = value
    return json.dumps(answer)


def _value(field: Field, posted: Mapping[str, str], writing: Writing) -> Any:
    parts = {
        name.partition(".")[2]: text
        for name, text in posted.items()
        if name.startswith(f"{field.name}.") and text.strip()
    }
    written = posted.get(field.name)
    if field.kind == "list":
        order = sorted(parts, key=lambda name: (len(name), name))
        texts = [parts[name] for name in order] if parts else typed_list(written or "", writing)
        return [_integer(text, writing) for text in texts] if texts or not field.optional else None
    if field.kind == "mapping":
        pairs = parts or dict(_pairs(written or ""))
        return {key: _integer(text, writing) for key, text in pairs.items()}
    if written is None or (field.optional and not written.strip()):
        return None
    if field.kind == "words":
        return written.replace("\r\n", "\n")
    if field.kind == "truth":
        return written == "true"
    if field.kind == "whole":
        return _integer(written, writing)
    return _amount(written, writing) if field.kind == "amount" else written.strip()


def _pairs(written: str) -> Iterator[tuple[str, str]]:
    for line in written.splitlines():
        key, colon, value = line.rpartition(":")
        if colon:
            yield key.strip(), value.strip()


def _integer(written: str, writing: Writing) -> int | str:
    text = _amount(written, writing)
    return int(text) if re.fullmatch("-?[0-9]{1,30}", text) else text


def _amount(written: str, writing: Writing) -> str:
    """Convert a typed number to plain digits; return any other text unchanged."""
    try:
        return plain_number(written, writing)
    except BadNumber:
        if any(map(str.isdigit, written)) or NOT_FINITE.fullmatch(written.strip()):
            raise
        return written.strip()
