"""Models behind any URL that speaks OpenAI's chat format: what is sent, and what a reply says."""

from collections.abc import Awaitable
from typing import Any

import msgspec
from msgspec import Struct

from cheaptalk.models.calls import Count, Failure, ModelCall, Reply, Route, Usage
from cheaptalk.models.http.transport import CALL_HEADER, Wire, broken, complaint
from cheaptalk.models.model_strings import OURS, ModelName
from cheaptalk.models.settings import wire
from cheaptalk.models.structured_output import Known, sendable


class Function(Struct):
    """What a tool is called with."""

    arguments: str | None = None


class ToolCall(Struct):
    """A call of a tool."""

    function: Function


class Said(Struct):
    """A message of the model's."""

    content: str | None = None
    refusal: str | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    tool_calls: list[ToolCall] | None = None


class Choice(Struct):
    """An answer."""

    message: Said | None = None
    finish_reason: str | None = None
    error: Any = None


class Details(Struct):
    """Tokens of a special kind."""

    cached_tokens: Count | None = None
    reasoning_tokens: Count | None = None


class Counted(Struct):
    """Tokens used."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    total_tokens: Count | None = None
    prompt_tokens_details: Details | None = None
    completion_tokens_details: Details | None = None


class Completion(Struct):
    """A server's reply."""

    choices: list[Choice] | None = None
    model: str | None = None
    system_fingerprint: str | None = None
    usage: Counted | None = None
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
    said = msgspec.convert(data, Completion)
    choice = said.choices[0] if said.choices else None
    failed = said.error or (choice and choice.error)
    known: dict[str, Any] = {
        "model": said.model, "fingerprint": said.system_fingerprint, "usage": _usage(said.usage),
    }  # fmt: skip
    if failed:
        return complaint(failed).model_copy(update=known)
    if choice is None or choice.message is None:
        return broken("the reply holds no choice", retry=True, **known)
    message = choice.message
    known |= {"finish": choice.finish_reason, "reasoning": _reasoning(message)}
    if choice.finish_reason == "content_filter":
        detail = message.refusal or "stopped by the provider's content filter"
        return Reply(failure=Failure.FILTERED, detail=detail, **known)
    if message.refusal:
        return Reply(failure=Failure.REFUSED, detail=message.refusal, **known)
    return Reply(text=_text(message), **known)


def _text(message: Said) -> str:
    """The answer: the arguments of the tools that were called, else the message."""
    called = [one.function.arguments for one in message.tool_calls or ()]
    arguments = "\n".join(one for one in called if one)
    return arguments or message.content or ""


def _reasoning(message: Said) -> str | None:
    for found in (message.reasoning_content, message.reasoning):
        if isinstance(found, str) and found:
            return found
    return None


def _usage(counted: Counted | None) -> Usage:
    """Tokens used; what only the total counts is reasoning, as at Gemini's endpoint."""
    if counted is None:
        return Usage()
    asked, answered = counted.prompt_tokens or 0, counted.completion_tokens or 0
    hidden = max(0, (counted.total_tokens or 0) - asked - answered)
    cached, reasoned = counted.prompt_tokens_details, counted.completion_tokens_details
    return Usage(
        input_tokens=asked,
        output_tokens=answered + hidden,
        cached_tokens=(cached and cached.cached_tokens) or 0,
        reasoning_tokens=(reasoned and reasoned.reasoning_tokens) or hidden,
    )


NOT_FOUND = 404
"""The status of what is not there: the model, or the page behind a wrong URL."""
USUAL_ENDS = ("/v1", OURS["gemini"].url)
"""How URLs end at which the chat format is spoken."""


class OpenAIModels:
    """Makes calls to servers that speak the chat format.

    Use as an asynchronous context manager, or :meth:`close` it. The strictest way of asking for an
    answer's form that a server refuses is not tried there again.
    """

    def __init__(self, wire: Wire | None = None) -> None:
        self._wire = wire or Wire()
        self._routes = Known()

    async def __aenter__(self) -> "OpenAIModels":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._wire.close()

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Make one call. Every failure comes back as a reply that says what failed.

        Args:
            number: identifies the call in the server's log.
            deadline: seconds until the call counts as timed out, from sending to the last byte.

        Raises:
            ValueError: the model does not take the call's settings.
        """
        name = ModelName.parse(call.model)
        headers = {CALL_HEADER: number}
        if name.key:
            headers["Authorization"] = f"Bearer {name.key}"

        def send(route: Route, left: float) -> Awaitable[Reply]:
            url, sent = f"{name.url}/chat/completions", body(call, route)
            return self._wire.post(url, headers, sent, name.key, left, read)

        reply = await self._routes.ask(call, deadline, send)
        if reply.status == NOT_FOUND and not name.url.endswith(USUAL_ENDS):
            hint = f"the URL mostly ends in /v1, and calls go to {name.url}/chat/completions"
            return reply.model_copy(update={"detail": f"{reply.detail} ({hint})"})
        return reply
