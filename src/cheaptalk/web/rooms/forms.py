"""Forms: an action's schema as fields that a person fills in, and what they wrote as an answer."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cheaptalk.styles.writing import PLAIN, Writing
from cheaptalk.text import capital, plain

SLIDER = 1_000
"""Whole numbers up to which a slider stands beside a field."""
SPACES = " '\u2019\u00a0\u202f"
"""What some put between thousands, whatever their language."""
MINUS = "\u2212"
NUMERAL = rf"[-+{MINUS}$.,\s{SPACES}]*[0-9][-+{MINUS}$.,\s{SPACES}0-9]*"
"""What looks like a number, in whatever way it is written."""


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


class Unclear(ValueError):
    """Something that may be a number, and may be another one; it is asked for again."""


def answer_text(
    schema: Mapping[str, Any], posted: Mapping[str, str], writing: Writing = PLAIN
) -> str:
    """What was filled in, as the JSON text that the player reads; illegal values stay as written.

    Args:
        writing: how the person writes numbers.

    Raises:
        Unclear: a number can be read in two ways.

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
        whole = (written or "").replace(",", " ").split()
        texts = [parts[name] for name in order] if parts else whole
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
    return number_text(written, writing) if field.kind == "amount" else written.strip()


def _pairs(written: str) -> Iterator[tuple[str, str]]:
    """A mapping that is written in lines."""
    for line in written.splitlines():
        key, colon, value = line.rpartition(":")
        if colon:
            yield key.strip(), value.strip()


def _whole(written: str, writing: Writing) -> int | str:
    """A whole number, as people write it; anything else for the rules to refuse."""
    text = number_text(written, writing)
    return int(text) if re.fullmatch("-?[0-9]{1,30}", text) else text


def plain_numbers(
    posted: Mapping[str, str], numbers: Iterable[str], writing: Writing
) -> dict[str, str]:
    """Return what was posted, its numbers with a point before decimals and nothing else.

    A number that can be read in two ways becomes no number, so that it is asked for again.

    Args:
        numbers: the names of the fields that hold numbers.
        writing: how the page's language writes numbers.

    >>> plain_numbers({"age": "1.000", "why": "1,5"}, ["age"], PLAIN)
    {'age': '1.000 ?', 'why': '1,5'}
    """
    plain = dict(posted)
    for name in plain.keys() & {*numbers}:
        try:
            plain[name] = number_text(plain[name], writing)
        except Unclear as unclear:
            plain[name] = f"{unclear} ?"
    return plain


def number_text(written: str, writing: Writing) -> str:
    """A number as the rules read it; anything else as it is written.

    Raises:
        Unclear: it is written otherwise than the language writes numbers, or as some write
            thousands and others decimals.

    >>> from cheaptalk.styles import WRITINGS
    >>> [number_text("1.000,50 $", WRITINGS["german"]), number_text("-$1,000.5", PLAIN)]
    ['1000.50', '-1000.5']
    >>> number_text("1.000", WRITINGS["german"]), number_text("seven", PLAIN)
    ('1000', 'seven')
    >>> number_text("1.000", PLAIN)
    Traceback (most recent call last):
    cheaptalk.web.rooms.forms.Unclear: 1.000
    """
    text = written.strip()
    if not re.fullmatch(NUMERAL, text):
        return text
    comma, point = re.escape(writing.comma), re.escape(writing.point)
    thousands = rf"[0-9]{{1,3}}(?:[{comma}{SPACES}][0-9]{{3}})+"
    found = re.fullmatch(
        rf"([-+\u2212]?)\s*\$?\s*({thousands}|[0-9]*)(?:{point}([0-9]+))?\s*\$?", text
    )
    if found is None:
        raise Unclear(text)
    sign, whole, decimals = found.groups()
    either = len(decimals or "") == 3 and re.fullmatch("[1-9][0-9]{0,2}", whole)
    if either or re.match("0[0-9]", whole):
        raise Unclear(text)
    digits = re.sub("[^0-9]", "", whole)
    return f"{'-' if sign in ('-', MINUS) else ''}{digits}{'.' if decimals else ''}{decimals or ''}"
