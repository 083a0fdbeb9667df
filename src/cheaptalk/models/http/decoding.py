"""Lenient decoding of JSON from servers, complete or streamed."""

import json
import math
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, TypeAlias

import msgspec

ID_LENGTHS = range(16, 201)
"""Accepted lengths of reply ids.

Ids of OpenAI, Anthropic and vLLM have 25 characters or more; servers that repeat ids use fewer than
16.
"""
LONG_NUMBER = 20
"""Maximum digits of an integer; longer integers become text."""


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class _ToolCall(msgspec.Struct):
    function: _Function | None = None
    index: int = 0


class ContentPart(msgspec.Struct):
    """One part of a message's content: text or reasoning."""

    text: str | None = None
    thinking: "str | list[ContentPart] | None" = None


Content: TypeAlias = str | list[ContentPart] | None
"""A message's content, as one text or in parts."""


def words_and_thoughts(content: Content) -> tuple[str, str]:
    """Return the text and the reasoning in a message's content."""
    if isinstance(content, list):
        text = "".join(part.text or "" for part in content)
        inner = (words_and_thoughts(part.thinking)[0] for part in content)
        return text, "".join(inner)
    return content or "", ""


def reply_id(value: Any) -> str | None:
    """Return a reply's id, or None if its format does not guarantee uniqueness.

    >>> reply_id("chatcmpl-B9MHDbslfkBeAs8l4bebG"), reply_id("chatcmpl-1")
    ('chatcmpl-B9MHDbslfkBeAs8l4bebG', None)
    """
    return value if isinstance(value, str) and len(value) in ID_LENGTHS else None


class _Delta(msgspec.Struct):
    content: Content = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None
    index: int = 0


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    id: Any = None
    model: str | None = None
    system_fingerprint: str | None = None
    usage: Any = None
    error: Any = None


def joined(data: bytes) -> dict[str, Any]:
    """Join a stream of chunks into one completion; raise ValueError if it is incomplete."""
    completion: dict[str, Any] = {}
    choices: dict[int, list[_Choice]] = {}
    for chunk in _chunks(data):
        if chunk.error:
            return {"error": chunk.error}
        for name in ("id", "model", "system_fingerprint", "usage"):
            if getattr(chunk, name) is not None:
                completion[name] = getattr(chunk, name)
        for choice in chunk.choices or ():
            choices.setdefault(choice.index, []).append(choice)
    if not choices:
        raise ValueError("the stream is incomplete")
    return completion | {"choices": [_joined_choice(choices[index]) for index in sorted(choices)]}


def _joined_choice(pieces: Sequence[_Choice]) -> dict[str, Any]:
    deltas = [piece.delta for piece in pieces if piece.delta is not None]
    finish = next((piece.finish_reason for piece in reversed(pieces) if piece.finish_reason), None)
    if finish is None:
        raise ValueError("the stream is incomplete")
    calls: dict[int, list[_Function]] = {}
    for call in chain.from_iterable(delta.tool_calls or () for delta in deltas):
        if call.function is not None:
            calls.setdefault(call.index, []).append(call.function)
    contents = [words_and_thoughts(delta.content) for delta in deltas]
    message: dict[str, Any] = {
        name: "".join(getattr(delta, name) or "" for delta in deltas) or None
        for name in ("refusal", "reasoning_content", "reasoning")
    }
    message["content"] = "".join(text for text, _ in contents) or None
    message["reasoning"] = "".join(thoughts for _, thoughts in contents) or message["reasoning"]
    message["tool_calls"] = [
        {"function": {
            "name": next((function.name for function in calls[index] if function.name), None),
            "arguments": "".join(function.arguments or "" for function in calls[index]),
        }}
        for index in sorted(calls)
    ]  # fmt: skip
    return {"message": message, "finish_reason": finish}


def _chunks(data: bytes) -> Iterator[_Chunk]:
    for line in data.splitlines():
        payload = line.removeprefix(b"data:").strip()
        if line.startswith(b"data:") and payload != b"[DONE]":
            yield msgspec.convert(decoded(payload), _Chunk)


def decoded(data: bytes) -> Any:
    """Decode JSON leniently: numbers out of range, NaN and infinities become text.

    >>> decoded(b'{"tokens": 1e999, "seconds": NaN, "text": "7"}')
    {'tokens': '1e999', 'seconds': 'NaN', 'text': '7'}
    """
    try:
        return msgspec.json.decode(data)
    except ValueError:
        value = json.loads(data, parse_int=_integer, parse_float=_number, parse_constant=str)
        return msgspec.json.decode(json.dumps(value))  # strict in all other respects


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= LONG_NUMBER else digits


def _number(digits: str) -> float | str:
    number = float(digits)
    return number if math.isfinite(number) else digits
