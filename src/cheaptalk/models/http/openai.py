"""OpenAI's chat format: request bodies, and complete or streamed responses."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from cheaptalk.models.calls import Failure, ModelCall, Reply, Route, Usage
from cheaptalk.models.http.decoding import decoded, reply_id
from cheaptalk.models.http.failures import broken, complaint
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.settings import family, wire
from cheaptalk.models.structured_output import sendable
from cheaptalk.models.usage import IMPOSSIBLE, read_usage


class ContentPart(Struct):
    """One part of a message's content: text or reasoning."""

    text: str | None = None
    thinking: "str | list[ContentPart] | None" = None


Content: TypeAlias = str | list[ContentPart] | None
"""A message's content, as one text or in parts."""


class Function(Struct):
    """Name and arguments of a tool call."""

    name: str | None = None
    arguments: str | None = None


class ToolCall(Struct):
    """One tool call of a message, or a piece of it in a stream."""

    function: Function | None = None
    index: int = 0


class Message(Struct):
    """A message from a model, or a piece of it in a stream."""

    content: Content = None
    refusal: str | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    tool_calls: list[ToolCall] | None = None


class Choice(Struct):
    """One choice of a completion, with a ``delta`` in a stream."""

    message: Message | None = None
    delta: Message | None = None
    finish_reason: str | None = None
    index: int = 0
    error: Any = None


class Details(Struct):
    """Numbers of cached and reasoning tokens."""

    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class ChatUsage(Struct):
    """Token usage of a completion."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: Details | None = None
    completion_tokens_details: Details | None = None


class Completion(Struct):
    """A response in the chat format, or a chunk of a streamed response."""

    choices: list[Choice] | None = None
    id: Any = None
    model: str | None = None
    system_fingerprint: str | None = None
    usage: Any = None
    error: Any = None


def body(call: ModelCall, route: Route = "text") -> dict[str, Any]:
    """Return the request body of a call; raise ValueError for unsupported settings."""
    messages = [{"role": message.role, "content": message.content} for message in call.messages]
    name = ModelName.parse(call.model).model
    settings = wire(call.settings, call.model)
    return {"model": name, "messages": messages} | settings | _answer_format(call, route)


def _answer_format(call: ModelCall, route: Route) -> dict[str, Any]:
    form = call.form
    if form is None or route == "text":
        return {}
    schema, strict = sendable(form.json_schema, exact=family(ModelName.parse(call.model)).exact)
    if route == "schema":
        json_schema = {"name": form.name, "schema": schema, "strict": strict}
        return {"response_format": {"type": "json_schema", "json_schema": json_schema}}
    function = {"name": form.name, "parameters": schema, "strict": strict}
    choice = {"type": "function", "function": {"name": form.name}}
    return {"tools": [{"type": "function", "function": function}], "tool_choice": choice}


def read(data: Any) -> Reply:
    """Parse a completion; raise ValueError if it is invalid."""
    response = msgspec.convert(data, Completion)
    choices = response.choices or ()
    choice = choices[0] if choices else None
    failed = response.error or (choice and choice.error)
    fields: dict[str, Any] = {
        "id": reply_id(response.id),
        "model": response.model,
        "fingerprint": response.system_fingerprint,
    } | read_usage(response.usage, ChatUsage, _usage)
    if failed:
        return complaint(failed).model_copy(update=fields)
    if choice is None or choice.message is None:
        return broken("the response has no choices", retry=True, **fields)
    message = choice.message
    messages = [answer.message for answer in choices if answer.message is not None]
    functions = [call.function for answer in messages for call in answer.tool_calls or ()]
    called = [function for function in functions if function is not None]
    if len(called) < len(functions):
        raise ValueError("a tool call has no function")
    contents = [_text_and_reasoning(answer.content) for answer in messages]
    thoughts = (message.reasoning_content, message.reasoning, contents[0][1])
    fields |= {
        "finish": choice.finish_reason,
        "reasoning": next((text for text in thoughts if isinstance(text, str) and text), None),
        "tools": tuple(function.name for function in called if function.name) or None,
    }
    if choice.finish_reason == "content_filter":
        detail = message.refusal or "stopped by the provider's content filter"
        return Reply(failure=Failure.FILTERED, detail=detail, **fields)
    if message.refusal:
        return Reply(failure=Failure.REFUSED, detail=message.refusal, **fields)
    texts = [*(text for text, _ in contents), *(function.arguments for function in called)]
    return Reply(text="\n".join(text for text in texts if text), **fields)


def _text_and_reasoning(content: Content) -> tuple[str, str]:
    if isinstance(content, list):
        text = "".join(part.text or "" for part in content)
        return text, "".join(_text_and_reasoning(part.thinking)[0] for part in content)
    return content or "", ""


def joined(data: bytes) -> dict[str, Any]:
    """Join a stream of chunks into one completion; raise ValueError if it is incomplete."""
    completion: dict[str, Any] = {}
    choices: defaultdict[int, list[Choice]] = defaultdict(list)
    for line in data.splitlines():
        payload = line.removeprefix(b"data:").strip()
        if not line.startswith(b"data:") or payload == b"[DONE]":
            continue
        chunk = msgspec.convert(decoded(payload), Completion)
        if chunk.error:
            return {"error": chunk.error}
        for name in ("id", "model", "system_fingerprint", "usage"):
            if (value := getattr(chunk, name)) is not None:
                completion[name] = value
        for choice in chunk.choices or ():
            choices[choice.index].append(choice)
    completion["choices"] = [_joined_choice(choices[index]) for index in sorted(choices)]
    if not choices or not all(choice["finish_reason"] for choice in completion["choices"]):
        raise ValueError("the stream is incomplete")
    return completion


def _joined_choice(pieces: Sequence[Choice]) -> dict[str, Any]:
    deltas = [piece.delta for piece in pieces if piece.delta is not None]
    calls: defaultdict[int, list[Function]] = defaultdict(list)
    for call in chain.from_iterable(delta.tool_calls or () for delta in deltas):
        if call.function is not None:
            calls[call.index].append(call.function)
    texts = {
        name: "".join(text for delta in deltas if isinstance(text := getattr(delta, name), str))
        for name in ("refusal", "reasoning_content", "reasoning")
    }
    contents = [_text_and_reasoning(delta.content) for delta in deltas]
    message = {name: text or None for name, text in texts.items()} | {
        "content": "".join(text for text, _ in contents) or None,
        "reasoning": "".join(thought for _, thought in contents) or texts["reasoning"] or None,
        "tool_calls": [
            {
                "function": {
                    "name": next((piece.name for piece in functions if piece.name), None),
                    "arguments": "".join(piece.arguments or "" for piece in functions),
                }
            }
            for _, functions in sorted(calls.items())
        ],
    }
    finishes = [piece.finish_reason for piece in pieces if piece.finish_reason]
    return {"message": message, "finish_reason": finishes[-1] if finishes else None}


def _usage(counted: ChatUsage) -> Usage:
    """Convert token usage; tokens found only in the total count as reasoning (Gemini's API)."""
    input_tokens, output_tokens = counted.prompt_tokens or 0, counted.completion_tokens or 0
    hidden = (counted.total_tokens or input_tokens + output_tokens) - input_tokens - output_tokens
    if hidden < 0:
        return IMPOSSIBLE
    cached, reasoned = counted.prompt_tokens_details, counted.completion_tokens_details
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens + hidden,
        cached_tokens=(cached and cached.cached_tokens) or 0,
        reasoning_tokens=(reasoned and reasoned.reasoning_tokens) or hidden,
    )
