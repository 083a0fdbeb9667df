"""JSON as servers write it: whole or streamed, with numbers beyond all measure."""

import json
import math
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, TypeAlias

import msgspec

ID_LENGTHS = range(16, 201)
"""Characters of a reply id that is kept. OpenAI, Anthropic and vLLM give 25 or more; servers whose
ids repeat (a number up to 1,000, or one id for all replies) give fewer than 16."""
LONG_NUMBER = 20
"""Digits of a whole number that is read as one, where JSON is read leniently."""


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class _ToolCall(msgspec.Struct):
    function: _Function | None = None
    index: int = 0


class ContentPart(msgspec.Struct):
    """A part of a message whose content comes as a list: words, or thoughts before them."""

    text: str | None = None
    thinking: "str | list[ContentPart] | None" = None


Content: TypeAlias = str | list[ContentPart] | None
"""What a message says, whole or in parts."""


def words_and_thoughts(content: Content) -> tuple[str, str]:
    """The words of a message's content, and the thoughts that come with them."""
    if isinstance(content, list):
        words = "".join(part.text or "" for part in content)
        inner = (words_and_thoughts(part.thinking)[0] for part in content)
        return words, "".join(inner)
    return content or "", ""


def reply_id(given: Any) -> str | None:
    """Return a reply's id as its server gave it; None if it cannot be unique.

    >>> reply_id("chatcmpl-B9MHDbslfkBeAs8l4bebG"), reply_id("chatcmpl-1")
    ('chatcmpl-B9MHDbslfkBeAs8l4bebG', None)
    """
    return given if isinstance(given, str) and len(given) in ID_LENGTHS else None


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
    """One completion in the chat format from a whole stream of its pieces.

    Raises:
        ValueError: the stream breaks off, or is none of that format.
    """
    whole: dict[str, Any] = {}
    choices: dict[int, list[_Choice]] = {}
    for chunk in _chunks(data):
        if chunk.error:
            return {"error": chunk.error}
        for name in ("id", "model", "system_fingerprint", "usage"):
            if getattr(chunk, name) is not None:
                whole[name] = getattr(chunk, name)
        for choice in chunk.choices or ():
            choices.setdefault(choice.index, []).append(choice)
    if not choices:
        raise ValueError("the stream breaks off")
    return whole | {"choices": [_joined_choice(choices[index]) for index in sorted(choices)]}


def _joined_choice(pieces: Sequence[_Choice]) -> dict[str, Any]:
    """One choice from its pieces."""
    deltas = [one.delta for one in pieces if one.delta is not None]
    finish = next((one.finish_reason for one in reversed(pieces) if one.finish_reason), None)
    if finish is None:
        raise ValueError("the stream breaks off")
    calls: dict[int, list[_Function]] = {}
    for call in chain.from_iterable(delta.tool_calls or () for delta in deltas):
        if call.function is not None:
            calls.setdefault(call.index, []).append(call.function)
    said = [words_and_thoughts(delta.content) for delta in deltas]
    message: dict[str, Any] = {
        name: "".join(getattr(delta, name) or "" for delta in deltas) or None
        for name in ("refusal", "reasoning_content", "reasoning")
    }
    message["content"] = "".join(words for words, _ in said) or None
    message["reasoning"] = "".join(thoughts for _, thoughts in said) or message["reasoning"]
    message["tool_calls"] = [
        {"function": {
            "name": next((one.name for one in calls[place] if one.name), None),
            "arguments": "".join(one.arguments or "" for one in calls[place]),
        }}
        for place in sorted(calls)
    ]  # fmt: skip
    return {"message": message, "finish_reason": finish}


def _chunks(data: bytes) -> Iterator[_Chunk]:
    for line in data.splitlines():
        said = line.removeprefix(b"data:").strip()
        if line.startswith(b"data:") and said != b"[DONE]":
            yield msgspec.convert(decoded(said), _Chunk)


def decoded(data: bytes) -> Any:
    """JSON as servers write it: numbers beyond all measure, and those that are none, become text.

    >>> decoded(b'{"tokens": 1e999, "seconds": NaN, "text": "7"}')
    {'tokens': '1e999', 'seconds': 'NaN', 'text': '7'}

    Raises:
        ValueError: it is no JSON.
    """
    try:
        return msgspec.json.decode(data)
    except ValueError:
        found = json.loads(data, parse_int=_whole, parse_float=_number, parse_constant=str)
        return msgspec.json.decode(json.dumps(found))  # as strict in all else


def _whole(written: str) -> int | str:
    return int(written) if len(written) <= LONG_NUMBER else written


def _number(written: str) -> float | str:
    found = float(written)
    return found if math.isfinite(found) else written
