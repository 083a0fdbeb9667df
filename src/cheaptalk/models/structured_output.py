"""Structured output: ways to ask for an answer of a given form, and those that a server knows."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from cheaptalk.models.calls import Failure, ModelCall, Reply, Route
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.settings import routes

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


COMPLAINTS: dict[Route, re.Pattern[str]] = {
    "schema": re.compile(
        "response_format|schema|structured|grammar|guided|strict|requested parameters",
        re.IGNORECASE,
    ),
    "tool": re.compile("tool|function|schema|strict|requested parameters", re.IGNORECASE),
}
"""What a server's refusal names that does not know a way of asking for an answer's form."""
REFUSALS = (400, 404, 422)
"""The statuses of such a refusal."""


def ways(call: ModelCall) -> Sequence[Route]:
    """How a call's answer can be asked for: as it demands, else by all ways, strictest first."""
    if call.form is None:
        return ("text",)
    if call.form.route != "auto":
        return (call.form.route,)
    return routes(call.settings, ModelName.parse(call.model))


def refuses(reply: Reply, route: Route | None) -> bool:
    """Whether a server refused a call for the way in which its answer was asked for."""
    return (
        route in COMPLAINTS
        and reply.failure is Failure.PROVIDER_ERROR
        and reply.status in REFUSALS
        and COMPLAINTS[route].search(reply.detail or "") is not None
    )


def offered(reply: Reply, call: ModelCall) -> Reply:
    """A reply as an answer to a call: what a tool says that was not offered is none.

    Its words are kept in the detail.
    """
    others = sorted({*(reply.tools or ())} - {call.form.name if call.form else ""})
    if not others or reply.text is None:
        return reply
    said = f"called {', '.join(others)}, which was not offered: {reply.text}"
    return reply.model_copy(update={"text": "", "detail": said})


class Known:
    """Which ways the servers of models are still to be asked by: one refused is not tried again.

    Args:
        earlier: replies that may have been refusals, with their models.
    """

    def __init__(self, earlier: Iterable[tuple[str, Reply]] = ()) -> None:
        self._refused: set[tuple[str, Route]] = set()
        for model, reply in earlier:
            self.note(model, reply.route, reply)

    def left(self, call: ModelCall) -> Sequence[Route]:
        """The ways to ask for a call's answer, in the order in which they are to be tried."""
        found = ways(call)
        if len(found) == 1:
            return found
        return [one for one in found if (call.model, one) not in self._refused]

    def note(self, model: str, route: Route | None, reply: Reply) -> bool:
        """Note what came of a way; whether the server refused it."""
        refused = refuses(reply, route)
        if refused and route is not None:
            self._refused.add((model, route))
        return refused
