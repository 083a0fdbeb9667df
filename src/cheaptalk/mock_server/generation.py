"""Generation of JSON values from a JSON schema, determined by a number in [0, 1)."""

import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from cheaptalk.mock_server.bounds import Bounds

Schema: TypeAlias = Mapping[str, Any]
MAX_ITEMS = 3
"""Items of a list whose schema allows any number."""
FORMATS = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "email": "player@example.org",
    "uri": "https://example.org/",
    "url": "https://example.org/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
"""A string of each format."""
LOW_KEYS, HIGH_KEYS = ("minimum", "ge"), ("maximum", "le")
ABOVE_KEYS, BELOW_KEYS = ("exclusiveMinimum", "gt"), ("exclusiveMaximum", "lt")
"""Bounds of numbers; pydantic writes the short ones of fields behind a validator."""


def fraction(text: str) -> float:
    """Return a number in [0, 1) derived from the hash of a text."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 2**32


class Generator:
    """A generator of values that match a JSON schema.

    Args:
        root: the complete schema, with the ``$defs`` to which references point.
        luck: determines all random choices.
        bounds: bounds named in the request, for numbers that the schema does not limit.
        typical: the range of a number without any bounds.
        words: strings named in the request, which are tried for patterns.
    """

    def __init__(
        self,
        root: Schema,
        draw: float,
        *,
        bounds: Bounds = Bounds(),  # noqa: B008 - immutable
        typical: Bounds = Bounds(0, 9),
        words: Sequence[str] = (),  # noqa: B008 - immutable
    ) -> None:
        self.root = root
        self.luck = draw
        self.bounds = bounds
        self.typical = typical
        self.words = words
        self._makers: Mapping[str, Callable[[Schema, float], Any]] = {
            "object": self._object,
            "array": self._array,
            "string": self._string,
            "integer": self._integer,
            "number": self._number,
            "boolean": lambda _, draw: draw < 0.5,
            "null": lambda _, draw: None,
        }

    def value(self, schema: Schema, draw: float | None = None) -> Any:
        """Generate a value for a schema or a subschema."""
        draw = self.luck if draw is None else draw
        schema = self.resolved(schema)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return _pick(schema["enum"], draw)
        for key in ("anyOf", "oneOf"):
            if key in schema:
                options = [option for option in schema[key] if option.get("type") != "null"]
                shared = {name: part for name, part in schema.items() if name != key}
                return self.value(shared | dict(_pick(options or schema[key], draw)), draw)
        kind = schema.get("type", _implied(schema))
        if isinstance(kind, list):
            kind = _pick([name for name in kind if name != "null"] or kind, draw)
        return self._makers[kind](schema, draw)

    def resolved(self, schema: Schema) -> Schema:
        """Return a schema with its references and ``allOf`` expanded."""
        while "$ref" in schema or "allOf" in schema:
            merged = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
            parts = list(schema.get("allOf", ()))
            if "$ref" in schema:
                parts.append(self._referred(schema["$ref"]))
            for part in parts:
                merged = {**part, **merged}
            schema = merged
        return schema

    def _referred(self, reference: str) -> Schema:
        schema: Any = self.root
        for step in reference.lstrip("#/").split("/"):
            schema = schema[step.replace("~1", "/").replace("~0", "~")]
        return schema  # type: ignore[no-any-return]

    def _object(self, schema: Schema, draw: float) -> dict[str, Any]:
        properties = schema.get("properties", {})
        required = schema.get("required", ())
        names = [name for name in properties if name in required] or list(properties)[:1]
        fields = {
            name: self.value(properties[name], _apart(draw, name, top=schema is self.root))
            for name in names
        }
        extra = schema.get("additionalProperties")
        if isinstance(extra, Mapping):
            for n in range(max(int(schema.get("minProperties", 0)), int(not fields)) - len(fields)):
                name = self.words[n] if n < len(self.words) else f"key_{n + 1}"
                fields[name] = self.value(extra, _apart(draw, name))
        return fields

    def _array(self, schema: Schema, draw: float) -> list[Any]:
        fixed = schema.get("prefixItems", ())
        low = int(schema.get("minItems", 0))
        high = int(schema.get("maxItems", max(low, len(fixed), MAX_ITEMS)))
        items = schema.get("items", {"type": "integer"})
        count = max(low, len(fixed)) if items is False else max(low, len(fixed), min(high, 1))
        values: list[Any] = []
        tries = iter(range(100 * (count + 1)))
        while len(values) < count:
            index = len(values)
            part = fixed[index] if index < len(fixed) else items
            item = self.value(part, _apart(draw, str(next(tries))))
            if not schema.get("uniqueItems") or item not in values:
                values.append(item)
        return values

    def _string(self, schema: Schema, draw: float) -> str:
        if schema.get("format") in FORMATS:
            return FORMATS[schema["format"]]
        low, high = int(schema.get("minLength", 0)), int(schema.get("maxLength", 4_000))
        pattern = schema.get("pattern")
        text = f"My luck is {draw:.3f}."
        if pattern is not None:
            candidates = [word for word in self.words if re.search(pattern, word)]
            return _pick(candidates, draw) if candidates else matching(pattern, low)
        return text[:high].ljust(low, ".")

    def _range(self, schema: Schema, step: float) -> Bounds:
        lows = [*_given(schema, LOW_KEYS), *(bound + step for bound in _given(schema, ABOVE_KEYS))]
        highs = [*_given(schema, HIGH_KEYS), *(high - step for high in _given(schema, BELOW_KEYS))]
        declared = Bounds(max(lows, default=-math.inf), min(highs, default=math.inf))
        bounds = declared.within(self.bounds)
        if math.isfinite(bounds.low) and math.isfinite(bounds.high):
            return bounds
        bounds = bounds.within(self.typical)
        low, high = bounds
        if not math.isfinite(low):
            low = min(0.0, high)
        return Bounds(low, high if math.isfinite(high) else low + 9)

    def _integer(self, schema: Schema, draw: float) -> int:
        step = int(schema.get("multipleOf", 1))
        low, high = self._range(schema, 1)
        first, last = math.ceil(low / step), math.floor(high / step)
        return step * (first + int((last - first + 1) * draw))

    def _number(self, schema: Schema, draw: float) -> float:
        step = schema.get("multipleOf")
        low, high = self._range(schema, step or 0.01)
        if step:
            first, last = math.ceil(low / step), math.floor(high / step)
            return float(round(step * (first + int((last - first + 1) * draw)), 9))
        value = low + (high - low) * draw
        return float(min(max(round(value, 2), low), high))


def _given(schema: Schema, keys: Sequence[str]) -> Iterator[float]:
    return (float(schema[key]) for key in keys if isinstance(schema.get(key), int | float))


def _pick(options: Sequence[Any], draw: float) -> Any:
    return options[int(draw * len(options))]


def _apart(draw: float, name: str, *, top: bool = False) -> float:
    return draw if top else fraction(f"{draw!r}/{name}")


def _implied(schema: Schema) -> str:
    if "properties" in schema or "additionalProperties" in schema:
        return "object"
    return "array" if "items" in schema or "prefixItems" in schema else "string"


def matching(pattern: str, min_length: int = 0) -> str:
    """Return a short string that matches a regular expression made of common constructs.

    >>> matching("^[A-C]{2}-[0-9]+$")
    'AA-0'
    """
    parser = re._parser  # type: ignore[attr-defined]
    text = "".join(_spelled(parser.parse(pattern)))
    return text.ljust(min_length, text[-1:] or ".")


def _spelled(parsed: Any) -> Iterator[str]:
    for operation, argument in parsed:
        match str(operation):
            case "LITERAL":
                yield chr(argument)
            case "NOT_LITERAL":
                yield "a" if argument != ord("a") else "b"
            case "ANY":
                yield "a"
            case "IN":
                yield _member(argument)
            case "BRANCH":
                yield from _spelled(argument[1][0])
            case "SUBPATTERN":
                yield from _spelled(argument[3])
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                low, high, part = argument
                for _ in range(max(int(low), 1) if int(high) else 0):
                    yield from _spelled(part)


CATEGORIES = {"CATEGORY_DIGIT": "0", "CATEGORY_WORD": "a", "CATEGORY_SPACE": " "}
PRINTABLE = [chr(one) for one in (*range(97, 123), *range(48, 58), 32, *range(33, 48))]


def _member(options: Any) -> str:
    kinds = [(str(kind), argument) for kind, argument in options]
    if kinds[0][0] == "NEGATE":
        barred = {_first(kind, argument) for kind, argument in kinds[1:]}
        ranges = [argument for kind, argument in kinds if kind == "RANGE"]
        return next(
            character
            for character in PRINTABLE
            if character not in barred
            and not any(low <= ord(character) <= high for low, high in ranges)
        )
    return _first(*kinds[0])


def _first(kind: str, argument: Any) -> str:
    if kind == "RANGE":
        return chr(argument[0])
    return CATEGORIES.get(str(argument), "-") if kind == "CATEGORY" else chr(argument)
