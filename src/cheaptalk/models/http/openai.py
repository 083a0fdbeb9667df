"""Models behind any URL that speaks OpenAI's chat format: what is sent, and what a reply says."""

from typing import Any

import msgspec
from msgspec import Struct

from cheaptalk.models.calls import Failure, ModelCall, Reply, Route, Usage
from cheaptalk.models.http.decoding import Content, reply_id, words_and_thoughts
from cheaptalk.models.http.failures import broken, complaint
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.settings import wire
from cheaptalk.models.structured_output import sendable
from cheaptalk.models.usage import IMPOSSIBLE, read_usage


class Function(Struct):
    """Which tool is called, and what with."""

    name: str | None = None
    arguments: str | None = None


class ToolCall(Struct):
    """A call of a tool."""

    function: Function


class ChatReply(Struct):
    """A message of the model's."""

    content: Content = None
    refusal: str | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    tool_calls: list[ToolCall] | None = None


class ChatChoice(Struct):
    """An answer."""

    message: ChatReply | None = None
    finish_reason: str | None = None
    error: Any = None


class Details(Struct):
    """Tokens of a special kind."""

    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class ChatUsage(Struct):
    """Tokens used."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: Details | None = None
    completion_tokens_details: Details | None = None


class Completion(Struct):
    """A server's reply."""

    choices: list[ChatChoice] | None = None
    id: Any = None
    model: str | None = None
    system_fingerprint: str | None = None
    usage: Any = None
    error: Any = None


def body(call: ModelCall, route: Route = "text") -> dict[str, Any]:
    """A call in the chat format.

    Args:
        route: how the answer's form is asked for.

    Raises:
        ValueError: the model does not take the call's settings.
    """
    messages = [{"role": one.role, "content": one.content} for one in call.messages]
    name = ModelName.parse(call.model).model
    settings = wire(call.settings, call.model)
    return {"model": name, "messages": messages} | settings | _asked(call, route)


def _asked(call: ModelCall, route: Route) -> dict[str, Any]:
    """What asks for an answer of the call's form by this route."""
    form = call.form
    if form is None or route == "text":
        return {}
    sent = sendable(form.json_schema)
    if route == "schema":
        inside = {"name": form.name, "schema": sent.schema, "strict": sent.strict}
        return {"response_format": {"type": "json_schema", "json_schema": inside}}
    function = {"name": form.name, "parameters": sent.schema, "strict": sent.strict}
    choice = {"type": "function", "function": {"name": form.name}}
    return {"tools": [{"type": "function", "function": function}], "tool_choice": choice}


def read(data: Any) -> Reply:
    """A completion as a reply.

    Raises:
        ValueError: it is none; servers are not trusted to keep to the format.
    """
    response = msgspec.convert(data, Completion)
    choices = response.choices or ()
    choice = choices[0] if choices else None
    failed = response.error or (choice and choice.error)
    known: dict[str, Any] = {
        "id": reply_id(response.id),
        "model": response.model,
        "fingerprint": response.system_fingerprint,
    } | read_usage(response.usage, ChatUsage, _usage)
    if failed:
        return complaint(failed).model_copy(update=known)
    if choice is None or choice.message is None:
        return broken("the reply holds no choice", retry=True, **known)
    message = choice.message
    messages = [one.message for one in choices if one.message is not None]
    called = [one.function for each in messages for one in each.tool_calls or ()]
    said = [words_and_thoughts(one.content) for one in messages]
    thoughts = (message.reasoning_content, message.reasoning, said[0][1])
    known |= {
        "finish": choice.finish_reason,
        "reasoning": next((one for one in thoughts if isinstance(one, str) and one), None),
        "tools": tuple(one.name for one in called if one.name) or None,
    }
    if choice.finish_reason == "content_filter":
        detail = message.refusal or "stopped by the provider's content filter"
        return Reply(failure=Failure.FILTERED, detail=detail, **known)
    if message.refusal:
        return Reply(failure=Failure.REFUSED, detail=message.refusal, **known)
    whole = [*(words for words, _ in said), *(one.arguments for one in called)]
    return Reply(text="\n".join(one for one in whole if one), **known)


def _usage(counted: ChatUsage) -> Usage:
    """Tokens used; what only the total counts is reasoning, as at Gemini's endpoint."""
    asked, answered = counted.prompt_tokens or 0, counted.completion_tokens or 0
    hidden = (counted.total_tokens or asked + answered) - asked - answered
    if hidden < 0:
        return IMPOSSIBLE
    cached, reasoned = counted.prompt_tokens_details, counted.completion_tokens_details
    return Usage(
        input_tokens=asked,
        output_tokens=answered + hidden,
        cached_tokens=(cached and cached.cached_tokens) or 0,
        reasoning_tokens=(reasoned and reasoned.reasoning_tokens) or hidden,
    )
