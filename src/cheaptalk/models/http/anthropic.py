"""Anthropic's models, in the messages format.

The client is as thin as the chat format's: adapting the official package would take as many lines.
"""

import json
from collections.abc import Awaitable
from typing import Any

import msgspec
from msgspec import Struct

from cheaptalk.models.calls import Count, Failure, Message, ModelCall, Reply, Route, Usage
from cheaptalk.models.http.transport import CALL_HEADER, Wire, complaint
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.settings import wire
from cheaptalk.models.structured_output import Known, sendable

VERSION = "2023-06-01"
CUT_OFF = {"max_tokens": "length", "model_context_window_exceeded": "length"}
"""Why a text breaks off, and what the rest of this package calls it."""


class Block(Struct):
    """A part of an answer."""

    type: str
    text: str | None = None
    thinking: str | None = None
    input: Any = None


class Counted(Struct):
    """Tokens used: three kinds of input apart."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None


class Said(Struct):
    """A server's reply."""

    content: list[Block] | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: Counted | None = None
    error: Any = None


def headers(key: str | None) -> dict[str, str]:
    """What every request to Anthropic carries."""
    return {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})


def body(call: ModelCall, route: Route = "text") -> dict[str, Any]:
    """A call in the messages format: the system's words apart, and no message without words.

    Args:
        route: how the answer's form is asked for: in words, or as a tool that must be called.

    Raises:
        ValueError: the model does not take the call's settings.
    """
    system = "\n\n".join(one.content for one in call.messages if one.role == "system")
    sent: dict[str, Any] = {
        "model": ModelName.parse(call.model).model,
        "messages": [
            _written(one) for one in call.messages if one.role != "system" and one.content.strip()
        ],
    }
    if system:
        sent["system"] = system
    if call.form is not None and route == "tool":
        schema = sendable(call.form.json_schema).schema
        sent["tools"] = [{"name": call.form.name, "input_schema": schema}]
        sent["tool_choice"] = {"type": "tool", "name": call.form.name}
    return sent | wire(call.settings, call.model)


def _written(message: Message) -> dict[str, str]:
    return {"role": message.role, "content": message.content}


def read(data: Any) -> Reply:
    """An answer in the messages format as a reply.

    Raises:
        ValueError: it is none.
    """
    said = msgspec.convert(data, Said)
    if said.error:
        return complaint(said.error)
    if said.content is None:
        raise ValueError("it has no content")
    blocks = said.content
    finish = CUT_OFF.get(said.stop_reason or "", said.stop_reason)
    known: dict[str, Any] = {
        "model": said.model,
        "finish": finish,
        "reasoning": "\n\n".join(one.thinking for one in blocks if one.thinking) or None,
        "usage": _usage(said.usage or Counted()),
    }
    if said.stop_reason == "refusal":
        words = "".join(one.text or "" for one in blocks)
        return Reply(failure=Failure.REFUSED, detail=words or "the model declined", **known)
    called = [json.dumps(one.input, ensure_ascii=False) for one in blocks if one.type == "tool_use"]
    text = "\n".join(called) or "".join(one.text or "" for one in blocks if one.type == "text")
    return Reply(text=text, **known)


def _usage(counted: Counted) -> Usage:
    cached = counted.cache_read_input_tokens or 0
    fresh = (counted.input_tokens or 0) + (counted.cache_creation_input_tokens or 0)
    return Usage(
        input_tokens=fresh + cached,
        output_tokens=counted.output_tokens or 0,
        cached_tokens=cached,
    )


class AnthropicModels:
    """Makes calls to Anthropic."""

    def __init__(self, wire: Wire | None = None) -> None:
        self._wire = wire or Wire()
        self._routes = Known()

    async def close(self) -> None:
        """Close all connections."""
        await self._wire.close()

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Make one call. Every failure comes back as a reply that says what failed.

        Args:
            number: identifies the call in a log of requests.
            deadline: seconds until the call counts as timed out, from sending to the last byte.

        Raises:
            ValueError: the model does not take the call's settings.
        """
        name = ModelName.parse(call.model)
        carried = headers(name.key) | {CALL_HEADER: number}

        def send(route: Route, left: float) -> Awaitable[Reply]:
            url, sent = f"{name.url}/messages", body(call, route)
            return self._wire.post(url, carried, sent, name.key, left, read)

        return await self._routes.ask(call, deadline, send)
