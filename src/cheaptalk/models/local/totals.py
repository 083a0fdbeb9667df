"""Grammars of objects whose numbers must add up to a total, which no JSON schema can express.

The total determines the last number, and limits all other numbers. Because limits depend on earlier
numbers, the grammar is renewed after each number.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cheaptalk.rules.actions import TOTAL, Schema

BLANK = "BLANK"


def has_total(schema: Any) -> bool:
    """Return whether an object, or the value of one of its fields, has a total."""
    fields = schema.get("properties", {}) if isinstance(schema, Mapping) else {}
    return bool(fields) and (TOTAL in schema or any(map(has_total, fields.values())))


def numbers_in(schema: Schema, text: str) -> list[str]:
    """Return the complete numbers at the beginning of an answer, as written, in order."""
    numbers, position = [], 0
    for name in _names(schema):
        pattern = rf"(?<!\\){re.escape(json.dumps(name))}: ?([-+.\deE]+) ?[,}}]"
        match = re.compile(pattern).search(text, position)
        if match is None:
            break
        numbers.append(match[1])
        position = match.end(1)
    return numbers


def _names(schema: Schema) -> Iterator[str]:
    for name, field in schema["properties"].items():
        if has_total(field):
            yield from _names(field)
        elif TOTAL in schema and field.get("type") in ("integer", "number"):
            yield name


def grammar(schema: Schema, numbers: Sequence[str]) -> str:
    """Return the Lark grammar of an answer that begins with these numbers.

    Args:
        schema: a schema for which :func:`has_total` is true.
    """
    rules: list[str] = []
    written = iter(numbers)
    start = _object(schema, written, rules)
    return "\n".join([f"start: {start}", f"{BLANK}: / ?/", *rules])


def _object(schema: Schema, written: Iterator[str], rules: list[str]) -> str:
    fields = schema["properties"]
    names = [*_names(schema)] if TOTAL in schema else []
    rest = schema.get(TOTAL, 0)
    parts = []
    for name, field in fields.items():
        if has_total(field):
            value = _object(field, written, rules)
        elif name in names:
            later = [fields[other].get("minimum", 0) for other in names[names.index(name) + 1 :]]
            number = next(written, None)
            if number is not None:
                rest -= float(number)
                value = json.dumps(number)
            elif not later:
                value = json.dumps(f"{rest:.15g}")
            else:
                high = min(field.get("maximum", rest), rest - sum(later))
                high = int(high) if field["type"] == "integer" else high
                value = _rule(field | {"maximum": high}, rules)
        else:
            value = _rule(field, rules)
        parts.append(f"{json.dumps(json.dumps(name) + ':')} {BLANK} {value}")
    return '"{" ' + f' "," {BLANK} '.join(parts) + ' "}"'


def _rule(schema: Schema, rules: list[str]) -> str:
    rules.append(f"value_{len(rules)}: %json {json.dumps(schema)}")
    return f"value_{len(rules) - 1}"


class TotalMatcher:
    """A matcher of an answer with a total, with the interface of the library's matchers.

    Args:
        schema: a schema for which :func:`has_total` is true.
        compiled: returns the library's matcher of a Lark grammar.
        decoded: returns the text of tokens.
    """

    def __init__(
        self,
        schema: Schema,
        compiled: Callable[[str], Any],
        decoded: Callable[[Sequence[int]], str],
    ) -> None:
        self._schema = schema
        self._compiled = compiled
        self._decoded = decoded
        self._missing = len([*_names(schema)])
        self._tokens: list[int] = []
        self._numbers: list[str] = []
        self._matcher = compiled(grammar(schema, ()))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._matcher, name)

    def consume_token(self, token: int) -> bool:
        """Read a token; return whether the grammar accepts it."""
        self._tokens.append(token)
        accepted: bool = self._matcher.consume_token(token)
        if accepted and len(self._numbers) < self._missing:
            numbers = numbers_in(self._schema, self._decoded(self._tokens))
            if len(numbers) > len(self._numbers):
                self._numbers = numbers
                self._matcher = self._compiled(grammar(self._schema, numbers))
                accepted = self._matcher.consume_tokens(self._tokens)
        return accepted
