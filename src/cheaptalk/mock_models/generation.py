"""Values generated from a request's JSON schema, form and bounds, and a number in [0, 1)."""

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from cheaptalk.models.structured_output import RANGES_NOTE
from cheaptalk.rules.actions import TOTAL_NOTE

NUMBER = r"-?\$?(\d[\d,]*(?:\.\d+)?)"
BETWEEN = re.compile(rf"(?:from|between) {NUMBER} (?:to|and) {NUMBER}", re.IGNORECASE)
AT_MOST = re.compile(
    rf"(?:at most|up to|no more than|not (?:lie )?above|not exceed|less than or equal to) {NUMBER}"
    rf"|{NUMBER}(?: \w+){{0,3}} at most",
    re.IGNORECASE,
)
AT_LEAST = re.compile(
    rf"(?:at least|no less than|not (?:lie )?below|greater than or equal to) {NUMBER}",
    re.IGNORECASE,
)


class Bounds(NamedTuple):
    """A closed range of numbers, unbounded by default."""

    low: float = -math.inf
    high: float = math.inf

    def within(self, other: "Bounds") -> "Bounds":
        """Return the intersection with another range, or this range if they are disjoint."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Bounds(low, high) if low <= high else self


def named_bounds(text: str) -> Bounds:
    """Parse the bounds of a number from a request; bounds stated later take precedence.

    >>> named_bounds("A whole number from 3 to 1,900.")
    Bounds(low=3.0, high=1900.0)
    >>> named_bounds("Bid at least 2. Bob pays 40 thousand dollars at most.")
    Bounds(low=2.0, high=40.0)
    """
    bounds = Bounds()
    for low, high in BETWEEN.findall(text)[-1:]:
        bounds = Bounds(_read(low), _read(high))
    for groups in AT_MOST.findall(text)[-1:]:
        bounds = bounds._replace(high=min(bounds.high, _read("".join(groups))))
    for low in AT_LEAST.findall(text)[-1:]:
        bounds = bounds._replace(low=max(bounds.low, _read(low)))
    return bounds if bounds.low <= bounds.high else Bounds()


def _read(number: str) -> float:
    return float(number.replace(",", "").rstrip("."))


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
    parts = [part.strip() for part in _split(form.strip()[1:-1])]
    for part in parts:
        name, colon, blank = part.partition(":")
        if colon and re.fullmatch(r'"\w+"', name.strip()):
            fields[json.loads(name)] = _schema_of_blank(blank.strip())
    schema = {"type": "object", "properties": fields, "required": list(fields)}
    return schema | ({"additionalProperties": True} if "..." in parts else {})


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
    return {"type": "string"} if blank.startswith('"') else {}


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


UNBOUNDED, DIGITS = Bounds(), Bounds(0, 9)


class Generator:
    """A generator of values that match a JSON schema.

    ``root`` is the complete schema, ``draw`` determines all random choices, and ``typical`` is the
    range of a number without any bounds. The request may name ``bounds``, for numbers that the
    schema does not limit, and ``words``, which are tried for patterns.
    """

    def __init__(
        self,
        root: Schema,
        draw: float,
        *,
        bounds: Bounds = UNBOUNDED,
        typical: Bounds = DIGITS,
        words: Sequence[str] = (),
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
        choices = _aligned([properties[name] for name in names], draw)
        fields = {
            name: self.value(part, _apart(draw, name, top=schema is self.root))
            for name, part in zip(names, choices, strict=True)
        }
        extra = schema.get("additionalProperties")
        if isinstance(extra, Mapping):
            for n in range(max(int(schema.get("minProperties", 0)), int(not fields)) - len(fields)):
                name = self.words[n] if n < len(self.words) else f"key_{n + 1}"
                fields[name] = self.value(extra, _apart(draw, name))
        total = _total(schema)
        return fields if total is None else fields | _adding_up(fields, total)

    def _array(self, schema: Schema, draw: float) -> list[Any]:
        fixed = schema.get("prefixItems", ())
        low = int(schema.get("minItems", 0))
        high = int(schema.get("maxItems", max(low, len(fixed), MAX_ITEMS)))
        items = schema.get("items", {"type": "integer"})
        fixed = fixed or [{**items, "minimum": a, "maximum": b} for a, b in _ranges(schema)]
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
        bounds = _declared(schema, step).within(self.bounds)
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

    def allows(self, schema: Schema, value: Any) -> bool:
        """Return whether a schema allows a value.

        Only types, choices, bounds and fields are checked. Fields that can be null may be missing,
        and fields that the schema doesn't mention are not allowed by default.
        """
        schema = self.resolved(schema)
        if not schema:
            return True
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return any(self.allows(option, value) for option in schema[key])
        if "const" in schema or "enum" in schema:
            return value in schema.get("enum", [schema.get("const")])
        if isinstance(value, dict):
            return schema.get("type") == "object" and self._allows_fields(schema, value)
        if isinstance(value, list):
            fixed = schema.get("prefixItems") or [schema.get("items", {})] * len(value)
            return len(fixed) == len(value) and all(map(self.allows, fixed, value))
        if isinstance(value, int | float) and not isinstance(value, bool):
            low, high = _declared(schema, 0)
            return schema.get("type") in ("integer", "number") and low <= value <= high
        return schema.get("type") == TYPES[type(value)]

    def _allows_fields(self, schema: Schema, fields: Mapping[str, Any]) -> bool:
        properties = schema.get("properties", {})
        missing = set(schema.get("required", ())) - fields.keys()
        if not fields.keys() <= properties.keys() and not schema.get("additionalProperties"):
            return False
        return all(
            self.allows(part, fields.get(name))
            for name, part in properties.items()
            if name in fields or name in missing
        )


TYPES = {str: "string", bool: "boolean", type(None): "null"}


def _declared(schema: Schema, step: float) -> Bounds:
    """Return the range of a number; bounds that it must not reach are moved by ``step``."""
    lows = [*_given(schema, LOW_KEYS), *(bound + step for bound in _given(schema, ABOVE_KEYS))]
    highs = [*_given(schema, HIGH_KEYS), *(bound - step for bound in _given(schema, BELOW_KEYS))]
    return Bounds(max(lows, default=-math.inf), min(highs, default=math.inf))


def _aligned(parts: Sequence[Schema], draw: float) -> Sequence[Schema]:
    """Choose the same alternative of all fields with equally many alternatives.

    Strict schemas cannot contain a choice between objects. Our client then merges the objects to
    one, in which the first alternatives of all fields belong together, and so on.
    """
    counts = [len(part.get("anyOf", ())) for part in parts]
    return [
        _pick(part["anyOf"], draw) if count and counts.count(count) > 1 else part
        for part, count in zip(parts, counts, strict=True)
    ]


def _total(schema: Schema) -> float | None:
    """Return the sum of an object's numbers, if its schema fixes it."""
    pattern = TOTAL_NOTE.format(r"(-?[\d.,]*\d)")
    stated = re.search(pattern, schema.get("description", ""))
    return float(stated[1].replace(",", "")) if stated else None


def _ranges(schema: Schema) -> list[tuple[int, int]]:
    """Return the ranges of a list's numbers, if its description states them."""
    text = schema.get("description", "").partition(RANGES_NOTE)[2]
    return [(int(low), int(high)) for low, high in re.findall(r"(-?\d+) to (-?\d+)", text)]


def _adding_up(fields: Mapping[str, Any], total: float) -> dict[str, Any]:
    """Return smaller numbers, except for the last one, that add up to a total."""
    numbers = {name: value for name, value in fields.items() if isinstance(value, int | float)}
    *names, last = numbers
    rest = total
    for name in names:
        numbers[name] = min(numbers[name], rest)
        rest -= numbers[name]
    return numbers | {last: rest}


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
