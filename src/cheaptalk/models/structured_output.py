"""Structured output: JSON schemas and the answer formats that servers support."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import msgspec

from cheaptalk.models.calls import Failure, ModelCall, Reply, Route
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.settings import routes
from cheaptalk.styles.json_objects import WRAPPED

KEPT = re.compile(
    "type|description|properties|required|additionalProperties|items|prefixItems|anyOf|enum|const|"
    r"minimum|maximum|minItems|maxItems|\$ref|\$defs"
)
"""Keywords that all providers of strict schemas support.

Other keywords, such as text lengths, are checked when an answer is parsed.
"""
RENAMED = {"ge": "minimum", "le": "maximum"}
"""Pydantic's names of bounds in schemas of validated fields."""
RANGES_NOTE = "Ranges of the numbers, in order: "
"""The beginning of a description with the ranges that a list's schema cannot express."""


class _Loose(Exception): ...


class Sendable(NamedTuple):
    """A JSON schema for a request, and whether it fits the provider's strict mode."""

    schema: dict[str, Any]
    strict: bool


def sendable(schema: dict[str, Any], *, exact: bool = False) -> Sendable:
    """Convert a schema to the subset that providers support, and make it strict if possible.

    A strict schema requires all fields, including those with defaults. Mappings with arbitrary keys
    cannot be strict. Unless ``exact``, lists of integers with different ranges become lists with a
    common range, whose description states the ranges. A choice between objects becomes one object,
    because most providers reject such a choice at the top, and between objects that begin with the
    same field, unless its values differ.
    """
    return _sendable(msgspec.json.encode(schema), exact)


def standard(schema: Any, longest: int) -> Any:
    """Return a schema, or a part of one, with only standard keywords, for decoding in-process.

    Args:
        longest: the maximum characters of a text, unless the schema has a lower limit.
    """
    if isinstance(schema, list):
        return [standard(part, longest) for part in schema]
    if not isinstance(schema, dict):
        return schema
    result = {}
    for key, value in schema.items():
        named = key in ("properties", "$defs")
        parts = {name: standard(part, longest) for name, part in value.items()} if named else None
        result[RENAMED.get(key, key)] = standard(value, longest) if parts is None else parts
    if schema.get("type") == "string" and not schema.keys() & {"enum", "const", "pattern"}:
        result["maxLength"] = max(
            min(schema.get("maxLength", longest), longest), schema.get("minLength", 0)
        )
    return result


@lru_cache(maxsize=256)
def _sendable(encoded: bytes, exact: bool) -> Sendable:
    schema = msgspec.json.decode(encoded)
    if not exact and (forms := schema.get("anyOf")):
        schema = _wrapped(forms) if _distinguished(forms) else _flattened(forms)
    try:
        return Sendable(_walked(schema, strict=True, exact=exact), True)
    except _Loose:
        return Sendable(_walked(schema, strict=False, exact=exact), False)


def _distinguished(forms: Sequence[dict[str, Any]]) -> bool:
    """Return whether the first fields of objects differ in their names or their values."""
    heads = [next(iter(form["properties"].items())) for form in forms]
    keys = [f"{name} {value}" for name, spec in heads for value in spec.get("enum", [""])]
    return len(set(keys)) == len(keys)


def _wrapped(forms: list[dict[str, Any]]) -> dict[str, Any]:
    field = {"anyOf": forms}
    return {"type": "object", "properties": {WRAPPED: field}, "required": [WRAPPED]}


def _flattened(forms: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return an object with the fields of all objects; fields of some of them may be null."""
    names = dict.fromkeys(name for form in forms for name in form["properties"])
    properties = {}
    for name in names:
        specs = [form["properties"].get(name, {"type": "null"}) for form in forms]
        options = [spec for index, spec in enumerate(specs) if spec not in specs[:index]]
        properties[name] = options[0] if len(options) == 1 else {"anyOf": options}
    return {**forms[0], "properties": properties, "required": list(names)}


def _walked(spec: Any, *, strict: bool, exact: bool) -> Any:
    if not isinstance(spec, dict):
        return spec
    if strict and isinstance(spec.get("additionalProperties"), dict):
        raise _Loose
    if strict and not exact and "prefixItems" in spec:
        spec = _homogeneous(spec)
    walk = partial(_walked, strict=strict, exact=exact)
    result = {}
    for name, value in spec.items():
        key = RENAMED.get(name) or str(name)
        if key in ("properties", "$defs"):
            value = {part: walk(inner) for part, inner in value.items()}
        elif key in ("anyOf", "prefixItems"):
            value = [*map(walk, value)]
        elif key in ("items", "additionalProperties"):
            value = walk(value)
        if KEPT.fullmatch(key):
            result[key] = value
    if strict and spec.get("type") == "object":
        result.setdefault("properties", {})
        result |= {"required": list(result["properties"]), "additionalProperties": False}
    return result


def _homogeneous(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a list with one range for all numbers, and a note of their ranges."""
    parts = spec["prefixItems"]
    if any(part.keys() != {"type", "minimum", "maximum"} for part in parts):
        raise _Loose
    low, high = min(part["minimum"] for part in parts), max(part["maximum"] for part in parts)
    items = parts[0] | {"minimum": low, "maximum": high}
    ranges = ", ".join(f"{part['minimum']} to {part['maximum']}" for part in parts)
    description = f"{spec.get('description', '')} {RANGES_NOTE}{ranges}.".lstrip()
    kept = {key: value for key, value in spec.items() if key != "prefixItems"}
    return kept | {"items": items, "description": description}


COMPLAINTS: dict[Route | None, str] = {
    "schema": "response_format|schema|structured|grammar|guided|strict|requested parameters",
    "tool": "tool|function|schema|strict|requested parameters",
}
"""Words in error messages of servers that do not support an answer format."""
REFUSALS = (400, 404, 422)
"""HTTP statuses of errors about an unsupported answer format."""


def ways(call: ModelCall) -> Sequence[Route]:
    """Return the answer formats for a call, strictest first."""
    if call.form is None:
        return ("text",)
    if call.form.route != "auto":
        return (call.form.route,)
    return routes(call.settings, ModelName.parse(call.model))


def refuses(reply: Reply, route: Route | None) -> bool:
    """Return whether a server rejected a call because of its answer format."""
    return (
        route in COMPLAINTS
        and reply.failure is Failure.PROVIDER_ERROR
        and reply.status in REFUSALS
        and re.search(COMPLAINTS[route], reply.detail or "", re.IGNORECASE) is not None
    )


def offered(reply: Reply, call: ModelCall) -> Reply:
    """If a reply calls a tool that was not offered, move the reply's text to its error detail."""
    unoffered = sorted({*(reply.tools or ())} - {call.form.name if call.form else ""})
    if not unoffered or reply.text is None:
        return reply
    detail = f"called {', '.join(unoffered)}, which was not offered: {reply.text}"
    return reply.model_copy(update={"text": "", "detail": detail})


class RouteSupport:
    """A record of the answer formats that servers support, and rejected in earlier replies."""

    def __init__(self, earlier: Iterable[tuple[str, Reply]] = ()) -> None:
        self._refused: set[tuple[str, Route]] = set()
        for model, reply in earlier:
            self.note(model, reply.route, reply)

    def remaining(self, call: ModelCall) -> Sequence[Route]:
        """Return the answer formats to try for a call, in order."""
        candidates = ways(call)
        remaining = [route for route in candidates if (call.model, route) not in self._refused]
        return remaining if len(candidates) > 1 else candidates

    def note(self, model: str, route: Route | None, reply: Reply) -> bool:
        """Record a reply; return whether the server rejected the answer format."""
        refused = refuses(reply, route)
        if refused and route is not None:
            self._refused.add((model, route))
        return refused
