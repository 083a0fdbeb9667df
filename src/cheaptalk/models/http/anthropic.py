"""Anthropic's Messages format: request bodies and responses.

An adapter to the official package would be equally long.
"""

import json
from typing import Any

import msgspec
from msgspec import Struct

from cheaptalk.models.calls import Failure, ModelCall, Reply, Route, Usage
from cheaptalk.models.http.decoding import reply_id
from cheaptalk.models.http.failures import complaint
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.settings import wire
from cheaptalk.models.structured_output import sendable
from cheaptalk.models.usage import read_usage

HEADERS = {"anthropic-version": "2023-06-01"}
"""Headers of every request, without the key."""
CUT_OFF = {"max_tokens": "length", "model_context_window_exceeded": "length"}
"""Normalised finish reasons of truncated texts, by stop reason."""


class ContentBlock(Struct):
    """One block of a response's content."""

    type: str
    name: str | None = None
    text: str | None = None
    thinking: str | None = None
    input: Any = None


class MessagesUsage(Struct):
    """Token usage with three kinds of input tokens."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class MessagesReply(Struct):
    """A response in the Messages format."""

    content: list[ContentBlock] | None = None
    id: Any = None
    model: str | None = None
    stop_reason: str | None = None
    usage: Any = None
    error: Any = None


def body(call: ModelCall, route: Route = "text") -> dict[str, Any]:
    """Return a call's request body; raise ValueError for unsupported settings.

    Empty messages are dropped. The route ``tool`` forces a tool call.
    """
    system = "\n\n".join(message.content for message in call.messages if message.role == "system")
    dialogue = [
        message for message in call.messages if message.role != "system" and message.content.strip()
    ]
    sent: dict[str, Any] = {
        "model": ModelName.parse(call.model).model,
        "messages": [message.model_dump() for message in dialogue],
    }
    if system:
        sent["system"] = system
    if call.form is not None and route == "tool":
        schema = sendable(call.form.json_schema).schema
        sent["tools"] = [{"name": call.form.name, "input_schema": schema}]
        sent["tool_choice"] = {"type": "tool", "name": call.form.name}
    return sent | wire(call.settings, call.model)


def read(data: Any) -> Reply:
    """Parse a response in the Messages format; raise ValueError if it is invalid."""
    response = msgspec.convert(data, MessagesReply)
    if response.error:
        return complaint(response.error)
    if response.content is None:
        raise ValueError("the response has no content")
    blocks = response.content
    finish = CUT_OFF.get(response.stop_reason or "", response.stop_reason)
    fields: dict[str, Any] = {
        "id": reply_id(response.id),
        "model": response.model,
        "finish": finish,
        "reasoning": "\n\n".join(block.thinking for block in blocks if block.thinking) or None,
    } | read_usage(response.usage, MessagesUsage, _usage)
    if response.stop_reason == "refusal":
        text = "".join(block.text or "" for block in blocks)
        return Reply(failure=Failure.REFUSED, detail=text or "the model declined", **fields)
    called = [block for block in blocks if block.type == "tool_use"]
    fields["tools"] = tuple(block.name for block in called if block.name) or None
    text = "".join(block.text or "" for block in blocks if block.type == "text")
    texts = [text, *(json.dumps(block.input, ensure_ascii=False) for block in called)]
    return Reply(text="\n".join(text for text in texts if text), **fields)


def _usage(counted: MessagesUsage) -> Usage:
    cached = counted.cache_read_input_tokens or 0
    fresh = (counted.input_tokens or 0) + (counted.cache_creation_input_tokens or 0)
    return Usage(
        input_tokens=fresh + cached, output_tokens=counted.output_tokens or 0, cached_tokens=cached
    )
