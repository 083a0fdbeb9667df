"""Forms: an action's schema as fields that a person fills in, and what they wrote as an answer."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cheaptalk.styles.writing import PLAIN, Writing
from cheaptalk.text import capital, plain
from cheaptalk.web.typed_numbers import BadNumber, plain_number, typed_list

SLIDER = 1_000
"""Whole numbers up to which a slider stands beside a field."""
NOT_FINITE = re.compile("[-+]?(nan|inf|infinity)", re.IGNORECASE)
"""Words that Python reads as numbers."""


class Field(NamedTuple):
    """A field of a form.

    Attributes:
        name: in the answer.
        label: what people read.
        kind: ``choice``, ``whole``, ``amount``, ``words``, ``truth``, ``list`` or ``mapping``.
        optional: whether it may stay empty.
        about: how it is to be filled in.
        options: of a choice, in order.
        low, high: bounds of a number; None where only the rules bound it.
        most: characters of words.
    """

    name: str
    label: str
    kind: str
    optional: bool = False
    about: str = ""
    options: tuple[str, ...] = ()
    low: int | float | None = None
    high: int | float | None = None
    most: int | None = None

    @property
    def slides(self) -> bool:
        """Whether a slider helps."""
        return (
            self.kind == "whole" and self.low is not None and self.high is not None
            and self.high - self.low <= SLIDER
        )  # fmt: skip


KINDS = {
    "integer": "whole", "number": "amount", "string": "words", "boolean": "truth",
    "array": "list", "object": "mapping",
}  # fmt: skip
"""Kinds of fields by their types in a schema."""


def fields(schema: Mapping[str, Any]) -> list[Field]:
    """The fields of an answer, words first, and a single choice, whose buttons send, last."""
    found = list(_fields(schema))
    order = {"words": 0, "choice": 2}
    return sorted(found, key=lambda one: order.get(one.kind, 1))


def _fields(schema: Mapping[str, Any]) -> Iterator[Field]:
    for name, spec in schema.get("properties", {}).items():
        kinds = spec.get("anyOf", [spec])
        inner = next((one for one in kinds if one.get("type") != "null"), spec)
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
    """A choice as it stands on its button.

    >>> option_label("COUNTEROFFER"), option_label("john")
    ('Counteroffer', 'John')
    """
    return capital(option.lower() if option.isupper() else plain(option))


def answer_text(
    schema: Mapping[str, Any], posted: Mapping[str, str], writing: Writing = PLAIN
) -> str:
    """Return what was filled in as the JSON text that the player reads.

    Args:
        writing: how the person writes numbers.

    Raises:
        BadNumber: a number field holds something that is no clear number.

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
    """One field's value; None where it was left out."""
    parts = {
        name.partition(".")[2]: text for name, text in posted.items()
        if name.startswith(f"{field.name}.") and text.strip()
    }  # fmt: skip
    written = posted.get(field.name)
    if field.kind == "list":
        order = sorted(parts, key=lambda name: (len(name), name))
        texts = [parts[name] for name in order] if parts else typed_list(written or "", writing)
        return [_whole(text, writing) for text in texts] if texts or not field.optional else None
    if field.kind == "mapping":
        pairs = parts or dict(_pairs(written or ""))
        return {key: _whole(text, writing) for key, text in pairs.items()}
    if written is None or (field.optional and not written.strip()):
        return None
    if field.kind == "words":
        return written.replace("\r\n", "\n")
    if field.kind == "truth":
        return written == "true"
    if field.kind == "whole":
        return _whole(written, writing)
    return _amount(written, writing) if field.kind == "amount" else written.strip()


def _pairs(written: str) -> Iterator[tuple[str, str]]:
    """A mapping that is written in lines."""
    for line in written.splitlines():
        key, colon, value = line.rpartition(":")
        if colon:
            yield key.strip(), value.strip()


def _whole(written: str, writing: Writing) -> int | str:
    """Return a number as an integer if it is whole; the rules refuse other numbers."""
    text = _amount(written, writing)
    return int(text) if re.fullmatch("-?[0-9]{1,30}", text) else text


def _amount(written: str, writing: Writing) -> str:
    """Return a number in plain digits, or words for the rules to refuse.

    Raises:
        BadNumber: it is no clear number, though Python would read it as one.
    """
    try:
        return plain_number(written, writing)
    except BadNumber:
        if any(map(str.isdigit, written)) or NOT_FINITE.fullmatch(written.strip()):
            raise
        return written.strip()
