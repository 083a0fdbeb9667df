"""Replies that a server streams though nobody asked it to."""

from collections.abc import Iterator
from typing import Any

import msgspec

TEXTS = ("content", "refusal", "reasoning_content", "reasoning")


class _Function(msgspec.Struct):
    arguments: str | None = None


class _ToolCall(msgspec.Struct):
    function: _Function | None = None
    index: int = 0


class _Delta(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    model: str | None = None
    system_fingerprint: str | None = None
    usage: dict[str, Any] | None = None
    error: Any = None


def joined(data: bytes) -> dict[str, Any]:
    """One completion in the chat format from a whole stream of its pieces.

    Raises:
        ValueError: the stream breaks off, or is none of that format.
    """
    whole: dict[str, Any] = {}
    texts: dict[str, list[str]] = {}
    arguments: dict[int, list[str]] = {}
    finish: str | None = None
    for chunk in _chunks(data):
        if chunk.error:
            return {"error": chunk.error}
        for name in ("model", "system_fingerprint", "usage"):
            if getattr(chunk, name) is not None:
                whole[name] = getattr(chunk, name)
        for choice in chunk.choices or ():
            delta = choice.delta or _Delta()
            for name in TEXTS:
                texts.setdefault(name, []).append(getattr(delta, name) or "")
            for call in delta.tool_calls or ():
                if call.function is not None:
                    arguments.setdefault(call.index, []).append(call.function.arguments or "")
            finish = choice.finish_reason or finish
    if finish is None:
        raise ValueError("the stream breaks off")
    message: dict[str, Any] = {name: "".join(parts) or None for name, parts in texts.items()}
    message["tool_calls"] = [
        {"function": {"arguments": "".join(arguments[place])}} for place in sorted(arguments)
    ]
    return whole | {"choices": [{"message": message, "finish_reason": finish}]}


def _chunks(data: bytes) -> Iterator[_Chunk]:
    decoder = msgspec.json.Decoder(_Chunk)
    for line in data.splitlines():
        said = line.removeprefix(b"data:").strip()
        if line.startswith(b"data:") and said != b"[DONE]":
            yield decoder.decode(said)
