"""Lines of chat in responses: their form and schema, and their separation from the answer."""

import json
import re
from typing import Any, NamedTuple

from cheaptalk.styles.codec import Codec, JsonCodec
from cheaptalk.styles.json_objects import WRAPPED, Unparsable, objects

FIELD = "chat"
"""The field of a line of chat."""
CHAT_FORM = '{"chat": "<text>"}'
CHAT_KEY = 'add the field "chat" to the JSON object.'
CHAT_TAG = "write it in the last line, after [chat]."
TAGGED = re.compile(r"^[ \t]*\[chat\](.*)\Z", re.IGNORECASE | re.MULTILINE | re.DOTALL)
"""A line of chat after the answer, in formats without fields."""


class Spoken(NamedTuple):
    """A response without its line of chat, and the line; None if there is none or it is unclear."""

    answer: str
    line: str | None


def without_chat(reply: str, codec: Codec) -> Spoken:
    """Separate the line of chat from a response; whatever it is, the answer stays readable.

    >>> from cheaptalk.styles import CODECS
    >>> without_chat('{"price": 5, "chat": "Deal?"}', CODECS["json"])
    Spoken(answer='{"price": 5}', line='Deal?')
    """
    if not isinstance(codec, JsonCodec):
        match = TAGGED.search(reply)
        return Spoken(reply, None) if match is None else Spoken(reply[: match.start()], match[1])
    try:
        candidates, _ = objects(reply)
    except Unparsable:
        return Spoken(reply, None)
    lines = []
    for candidate in reversed(candidates):
        data, found = _split(candidate.data or {})
        if found:
            lines += found
            text = json.dumps(data, ensure_ascii=False) if data else ""
            reply = reply[: candidate.start] + text + reply[candidate.end :]
    spoken = {line.strip() for line in lines if isinstance(line, str)}
    return Spoken(reply, spoken.pop() if len(spoken) == 1 else None)


def _split(data: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """Return an object without its lines of chat, also if it wraps the answer, and the lines."""
    kept, lines = {}, []
    for key, value in data.items():
        if key.casefold() == FIELD:
            lines.append(value)
        elif key in (WRAPPED, "arguments") and isinstance(value, dict):
            kept[key], inner = _split(value)
            lines += inner
        else:
            kept[key] = value
    return kept, lines


def with_chat(schema: dict[str, Any], characters: int) -> dict[str, Any]:
    """Return the schema of an answer with an optional line of chat."""
    if "anyOf" in schema:
        return {**schema, "anyOf": [with_chat(form, characters) for form in schema["anyOf"]]}
    line = {
        "anyOf": [{"type": "string", "maxLength": characters}, {"type": "null"}],
        "default": None,
        "description": "A line of chat to the other players, or null.",
    }
    return {**schema, "properties": {**schema.get("properties", {}), FIELD: line}}


def chat_schema(characters: int) -> dict[str, Any]:
    """Return the schema of a response that is only a line of chat."""
    line = {"type": "string", "maxLength": characters}
    return {"type": "object", "properties": {FIELD: line}, "required": [FIELD]}
