"""Codecs: how an answer is asked for and read.

A codec turns an action type into a form to fill in and a reply into exactly one action, or says
why it cannot. It never guesses: two different answers in one reply are ambiguous.
"""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, Protocol

from pydantic import ValidationError

from cheaptalk.rules import Action, Ask, explain


class Unreadable(ValueError):
    """A reply in which no answer could be read; the message tells its author why."""


class Illegal(Unreadable):
    """A reply whose answer the rules refuse; the message is the rules' reason."""


class Codec(Protocol):
    """How answers are written down in one style."""

    def form(self, action: type[Action]) -> str:
        """What an answer must look like, as shown to the player."""

    def write(self, action: Action) -> str:
        """An action as a reply that :meth:`read` reads as the same action."""

    def read(self, reply: str, ask: Ask) -> Action:
        """The one action that the reply contains.

        Raises:
            Unreadable: there is none, or more than one.
            Illegal: there is one, and the rules refuse it.
        """


NO_OBJECT = "it contains no JSON object"
NOT_JSON = (
    "what stands in braces is not JSON: names and words need double quotes, and numbers stand "
    "without commas or units"
)


class JsonCodec:
    """Answers as one JSON object, alone or among other words."""

    def form(self, action: type[Action]) -> str:
        schema = action.model_json_schema()
        return _blank(schema, schema.get("$defs", {}))

    def write(self, action: Action) -> str:
        fields = type(action).model_fields
        idle = {
            name for name, field in fields.items() if field.default is getattr(action, name) is None
        }
        return action.model_dump_json(exclude=idle if len(idle) < len(fields) else None)

    def read(self, reply: str, ask: Ask) -> Action:
        readable: list[Action] = []
        problems: list[str] = []
        for data in _objects(reply):
            known = _known(data, ask.action)
            try:
                action = ask.action.model_validate(known)
            except ValidationError as error:
                problems.append(explain(error))
            else:
                if not known and ask.action.model_fields:
                    problems.append("it has none of the fields asked for")
                elif action not in readable:
                    readable.append(action)
        if len(readable) > 1:
            raise Unreadable("the reply contains more than one answer; give exactly one")
        if not readable:
            why = problems[-1] if problems else NOT_JSON if "{" in reply else NO_OBJECT
            raise Unreadable(f"no answer could be read from the reply: {why}")
        reason = ask.refuse(readable[0])
        if reason is not None:
            raise Illegal(reason)
        return readable[0]


def _known(data: dict[str, Any], action: type[Action]) -> dict[str, Any]:
    """The fields of an action in an object; one of several words may be written in capitals."""
    words = _words(action)
    return {
        name: words[name].get(value.strip().casefold(), value)
        if name in words and isinstance(value, str)
        else value
        for name, value in data.items()
        if name in action.model_fields
    }


@cache
def _words(action: type[Action]) -> dict[str, dict[str, str]]:
    """The words that fields can hold, by field and in small letters."""
    found = {}
    for name, spec in action.model_json_schema().get("properties", {}).items():
        options = [word for word in spec.get("enum", ()) if isinstance(word, str)]
        small = {word.casefold(): word for word in options}
        if options and len(small) == len(options):
            found[name] = small
    return found


PLAIN = {
    "number": "<number>", "integer": "<whole number>", "string": '"<text>"',
    "boolean": "true or false", "null": "null",
}  # fmt: skip
"""Blanks of the plain types of a JSON schema."""


def _blank(spec: dict[str, Any], defs: dict[str, Any]) -> str:
    """What a value of a JSON schema looks like, with blanks to fill in."""
    if "$ref" in spec:
        return _blank(defs[spec["$ref"].rpartition("/")[2]], defs)
    if "anyOf" in spec:
        return " or ".join(dict.fromkeys(_blank(option, defs) for option in spec["anyOf"]))
    if "enum" in spec:
        return " or ".join(json.dumps(option) for option in spec["enum"])
    if "const" in spec:
        return json.dumps(spec["const"])
    if spec.get("type") == "array":
        return f"[{_blanks_of_items(spec, defs)}]"
    if spec.get("type") == "object":
        return "{" + _blanks_of_fields(spec, defs) + "}"
    return PLAIN.get(spec.get("type", ""), "<value>")


def _blanks_of_items(spec: dict[str, Any], defs: dict[str, Any]) -> str:
    if "prefixItems" in spec:
        return ", ".join(_blank(item, defs) for item in spec["prefixItems"])
    return f"{_blank(spec.get('items', {}), defs)}, ..."


def _blanks_of_fields(spec: dict[str, Any], defs: dict[str, Any]) -> str:
    inside = [f"{json.dumps(name)}: {_blank(field, defs)}"
              for name, field in spec.get("properties", {}).items()]  # fmt: skip
    if isinstance(spec.get("additionalProperties"), dict):
        inside.append(f'"<text>": {_blank(spec["additionalProperties"], defs)}, ...')
    return ", ".join(inside)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The outermost JSON objects in a text, in order; their strings may hold line breaks.

    An object that gives one key two different values is ambiguous. In one that the text breaks
    off, no smaller one is looked for: it would not be the answer that was meant.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_without_conflict, strict=False)
    start = text.find("{")
    while start >= 0:
        try:
            data, end = decoder.raw_decode(text, start)
        except Unreadable:
            raise
        except RecursionError as error:
            raise Unreadable("the reply is nested too deeply to be read") from error
        except json.JSONDecodeError as error:
            if error.pos > start + 1 and _at_end(error):
                raise Unreadable("the reply breaks off within a JSON object") from error
            end = start + 1
        except ValueError:  # a number of thousands of digits
            end = start + 1
        else:
            yield data
        start = text.find("{", end)


def _at_end(error: json.JSONDecodeError) -> bool:
    """Whether JSON is broken because the text ends."""
    return error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")


def _without_conflict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise Unreadable(f'the reply gives "{key}" two different values; give exactly one')
        found[key] = value
    return found
