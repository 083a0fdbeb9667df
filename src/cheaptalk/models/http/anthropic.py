"""Anthropic's models, in the messages format: what is sent, and what a reply says.

It is as thin as the chat format: adapting the official package would take as many lines.
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
"""What every request carries beside the key."""
CUT_OFF = {"max_tokens": "length", "model_context_window_exceeded": "length"}
"""Why a text breaks off, and what the rest of this package calls it."""


class ContentBlock(Struct):
    """A part of an answer."""

    type: str
    name: str | None = None
    text: str | None = None
    thinking: str | None = None
    input: Any = None


class MessagesUsage(Struct):
    """Tokens used: three kinds of input apart."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class MessagesReply(Struct):
    """A server's reply."""

    content: list[ContentBlock] | None = None
    id: Any = None
    model: str | None = None
    stop_reason: str | None = None
    usage: Any = None
    error: Any = None


def body(call: ModelCall, route: Route = "text") -> dict[str, Any]:
    """A call in the messages format: the system's words apart, and no message without words.

    Args:
        route: how the answer's form is asked for: in words, or as a tool that must be called.

    Raises:
        ValueError: the model does not take the call's settings.
    """
    system = "\n\n".join(one.content for one in call.messages if one.role == "system")
    talk = [one for one in call.messages if one.role != "system" and one.content.strip()]
    sent: dict[str, Any] = {
        "model": ModelName.parse(call.model).model,
        "messages": [one.model_dump() for one in talk],
    }
    if system:
        sent["system"] = system
    if call.form is not None and route == "tool":
        schema = sendable(call.form.json_schema).schema
        sent["tools"] = [{"name": call.form.name, "input_schema": schema}]
        sent["tool_choice"] = {"type": "tool", "name": call.form.name}
    return sent | wire(call.settings, call.model)


def read(data: Any) -> Reply:
    """An answer in the messages format as a reply.

    Raises:
        ValueError: it is none.
    """
    response = msgspec.convert(data, MessagesReply)
    if response.error:
        return complaint(response.error)
    if response.content is None:
        raise ValueError("it has no content")
    blocks = response.content
    finish = CUT_OFF.get(response.stop_reason or "", response.stop_reason)
    known: dict[str, Any] = {
        "id": reply_id(response.id),
        "model": response.model,
        "finish": finish,
        "reasoning": "\n\n".join(one.thinking for one in blocks if one.thinking) or None,
    } | read_usage(response.usage, MessagesUsage, _usage)
    if response.stop_reason == "refusal":
        words = "".join(one.text or "" for one in blocks)
        return Reply(failure=Failure.REFUSED, detail=words or "the model declined", **known)
    called = [one for one in blocks if one.type == "tool_use"]
    known["tools"] = tuple(one.name for one in called if one.name) or None
    words = "".join(one.text or "" for one in blocks if one.type == "text")
    said = [words, *(json.dumps(one.input, ensure_ascii=False) for one in called)]
    return Reply(text="\n".join(one for one in said if one), **known)


def _usage(counted: MessagesUsage) -> Usage:
    cached = counted.cache_read_input_tokens or 0
    fresh = (counted.input_tokens or 0) + (counted.cache_creation_input_tokens or 0)
    return Usage(
        input_tokens=fresh + cached,
        output_tokens=counted.output_tokens or 0,
        cached_tokens=cached,
    )
