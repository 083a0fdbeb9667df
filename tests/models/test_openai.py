"""Calls to servers with the OpenAI chat format, over real HTTP."""

import asyncio
import json
from contextlib import nullcontext
from typing import Any

import pytest
from aiohttp import web

from cheaptalk.mock_server.formats import completion
from cheaptalk.models import ChatMessage, Failure, ModelCall, ModelSettings, Reply, Usage
from cheaptalk.models.clients import open_models
from cheaptalk.models.http.transport import CALL_HEADER
from tests.fakes import Server, at_home
from tests.model_server import Handler

KEY = "sk-very-secret-42"
CHAT = (
    ChatMessage(role="system", content="Be brief."),
    ChatMessage(role="user", content="Hello there."),
)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_API_KEY", KEY)


def ask(url: str, deadline: float = 30, *, home: bool = True, **settings: Any) -> Reply:
    """Call a server, at its provider's own URL or at another one."""
    call = ModelCall(
        model=f"vllm/tiny@{url}", messages=CHAT, settings=ModelSettings.model_validate(settings)
    )

    async def call_model() -> Reply:
        async with open_models() as models:
            return await models.call(call, "m/0/alice/0/1", deadline)

    with at_home("vllm", url) if home else nullcontext():
        return asyncio.run(call_model())


def reply_to(handler: Handler, deadline: float = 30) -> Reply:
    """Return the reply to a call to a server with this handler."""
    with Server(handler=handler) as server:
        return ask(server.url, deadline)


def completion_handler(**changes: Any) -> Handler:
    """Return a handler of completions with changes to their first choice."""

    async def handler(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        data = completion(body, "Good day.")
        data["choices"][0] |= changes
        return web.json_response(data)

    return handler


def json_handler(data: Any, status: int = 200) -> Handler:
    """Return a handler that always sends the same JSON."""

    async def handler(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        return web.json_response(data, status=status)

    return handler


def text_handler(text: str, kind: str = "application/json", status: int = 200) -> Handler:
    """Return a handler that always sends the same text."""

    async def handler(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        return web.Response(text=text, content_type=kind, status=status)

    return handler


def test_answer_and_usage() -> None:
    reply = reply_to(completion_handler())
    assert reply == Reply(
        text="Good day.",
        model="tiny-2026-01-01",
        finish="stop",
        usage=Usage(input_tokens=4, output_tokens=2),
        sent={},
        seconds=reply.seconds,
    )
    assert reply.seconds > 0


def test_request_body_and_headers() -> None:
    with Server(handler=completion_handler()) as server:
        ask(server.url, temperature=0.5, max_tokens=7, stop=["END"])
    assert server.bodies == [
        {
            "model": "tiny",
            "messages": [message.model_dump() for message in CHAT],
            "temperature": 0.5,
            "max_tokens": 7,
            "stop": ["END"],
        }
    ]
    assert server.headers[CALL_HEADER] == "m/0/alice/0/1" == server.calls[0]
    assert server.headers["Authorization"] == f"Bearer {KEY}"


def test_missing_key_sends_no_authorization(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLLM_API_KEY")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-provider")
    with Server(handler=completion_handler()) as server:
        assert ask(server.url).text == "Good day."
    assert "Authorization" not in server.headers


def test_refusal_is_not_retried() -> None:
    cases: list[tuple[dict[str, Any], Failure, str]] = [
        (
            {"message": {"role": "assistant", "refusal": "I must decline."}},
            Failure.REFUSED,
            "I must decline.",
        ),
        (
            {"finish_reason": "content_filter"},
            Failure.FILTERED,
            "stopped by the provider's content filter",
        ),
    ]
    for changes, failure, detail in cases:
        reply = reply_to(completion_handler(**changes))
        assert (reply.text, reply.failure, reply.detail) == (None, failure, detail)
        assert not reply.retry
        assert reply.usage == Usage(input_tokens=4, output_tokens=2)


def test_empty_answer_is_valid() -> None:
    reply = reply_to(completion_handler(message={"role": "assistant", "content": None}))
    assert (reply.text, reply.failure) == ("", None)


def test_error_status_is_provider_error() -> None:
    for status in (400, 401, 403, 404, 422, 408, 409, 429, 500, 502, 503):
        reply = reply_to(json_handler({"error": {"message": f"because of {KEY}"}}, status))
        assert (reply.text, reply.failure) == (None, Failure.PROVIDER_ERROR)
        assert reply.retry is (status in (408, 409, 429) or status >= 500)
        assert reply.detail is not None
        assert f"status {status}" in reply.detail
        assert "because of [key]" in reply.detail


def test_filtered_prompt_is_not_provider_error() -> None:
    error = {"error": {"code": "content_filter", "message": "The prompt was filtered."}}
    reply = reply_to(json_handler(error, 400))
    assert (reply.failure, reply.retry) == (Failure.FILTERED, False)
    assert reply.detail == "status 400: The prompt was filtered."


def test_exhausted_quota_is_not_retried() -> None:
    quota = {"error": {"code": "insufficient_quota", "message": "You exceeded your quota."}}
    reply = reply_to(json_handler(quota, 429))
    assert (reply.failure, reply.retry, reply.status) == (Failure.PROVIDER_ERROR, False, 429)


def test_error_in_completion_is_provider_error() -> None:
    reply = reply_to(json_handler({"error": {"code": 429, "message": "slow down"}}))
    assert (reply.failure, reply.retry) == (Failure.PROVIDER_ERROR, True)
    assert reply.detail == "status 429: slow down"


def test_retry_after_is_reported() -> None:
    async def busy(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        return web.Response(status=429, headers={"Retry-After": "7"})

    reply = reply_to(busy)
    assert (reply.retry, reply.retry_after, reply.status) == (True, 7, 429)


def test_reply_includes_reasoning_and_token_details() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 40},
    }
    message = {"content": "Seven.", "reasoning_content": "Let me see."}
    data = {
        "model": "tiny-1",
        "system_fingerprint": "fp_1",
        "choices": [{"message": message, "finish_reason": "length"}],
        "usage": usage,
    }
    reply = reply_to(json_handler(data))
    assert reply.usage == Usage(
        input_tokens=100, output_tokens=50, cached_tokens=64, reasoning_tokens=40
    )
    assert (reply.text, reply.reasoning) == ("Seven.", "Let me see.")
    assert (reply.truncated, reply.fingerprint) == (True, "fp_1")


def test_reasoning_tokens_are_derived_from_total() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 40}
    data = {"choices": [{"message": {"content": "Yes."}}], "usage": usage}
    assert reply_to(json_handler(data)).usage == Usage(
        input_tokens=10, output_tokens=30, reasoning_tokens=25
    )


def stream_handler(*pieces: Any) -> Handler:
    """Return a handler that streams even if the request doesn't set ``stream``."""
    lines = [": a comment", *(f"data: {json.dumps(piece)}" for piece in pieces), "data: [DONE]"]
    return text_handler("\n\n".join(lines), "text/event-stream")


def test_thinking_parts_are_reasoning() -> None:
    for streamed in [True, False]:
        parts: list[dict[str, Any]] = [
            {"type": "thinking", "thinking": [{"type": "text", "text": "Let me see."}]},
            {"type": "text", "text": "Se"},
            {"type": "text", "text": "ven."},
        ]
        pieces = [{"choices": [{"delta": {"content": [part]}}]} for part in parts]
        end = {"choices": [{"delta": {"content": ""}, "finish_reason": "stop"}]}
        plain = completion_handler(message={"role": "assistant", "content": parts})
        reply = reply_to(stream_handler(*pieces, end) if streamed else plain)
        assert (reply.text, reply.reasoning) == ("Seven.", "Let me see.")


def piece(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"model": "tiny-1", "choices": [{"delta": delta, "finish_reason": finish}]}


def test_unrequested_stream_is_assembled() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    parts = [piece(content="Good "), piece(content="day."), piece("stop"), {"usage": usage}]
    reply = reply_to(stream_handler(*parts))
    assert (reply.text, reply.finish, reply.model) == ("Good day.", "stop", "tiny-1")
    assert reply.usage == Usage(input_tokens=3, output_tokens=2)


def test_stream_request_includes_usage() -> None:
    bodies: list[dict[str, Any]] = []
    streamed = stream_handler(piece("stop", content="Good day."))

    async def handler(request: web.Request, body: dict[str, Any]) -> web.StreamResponse | None:
        bodies.append(body)
        return await streamed(request, body)

    with Server(handler=handler) as server:
        assert ask(server.url, stream=True).text == "Good day."
    assert bodies[0]["stream"] is True
    assert bodies[0]["stream_options"] == {"include_usage": True}


def test_streamed_tool_arguments_are_assembled() -> None:
    def arguments(text: str) -> list[dict[str, Any]]:
        return [{"index": 0, "function": {"arguments": text}}]

    parts = [piece(tool_calls=arguments('{"a":')), piece("tool_calls", tool_calls=arguments(" 1}"))]
    assert reply_to(stream_handler(*parts)).text == '{"a": 1}'


def test_incomplete_stream_is_provider_error() -> None:
    reply = reply_to(stream_handler(piece(content="Good ")))
    assert (reply.text, reply.failure, reply.retry) == (None, Failure.PROVIDER_ERROR, True)
    assert reply.detail is not None
    assert "the stream is incomplete" in reply.detail


def test_error_in_stream_is_provider_error() -> None:
    reply = reply_to(
        stream_handler(piece(content="Go"), {"error": {"code": 503, "message": "gone"}})
    )
    assert (reply.text, reply.failure, reply.retry) == (None, Failure.PROVIDER_ERROR, True)


def test_malformed_reply_is_retried() -> None:
    for handler in [
        text_handler("<html>Bad gateway</html>", "text/html"),
        json_handler({}),
        json_handler({"choices": []}),
        json_handler({"choices": [{}]}),
        json_handler({"choices": [7]}),
        completion_handler(message={"role": "assistant", "content": [{"type": "text", "text": 7}]}),
        completion_handler(message={"role": "assistant", "tool_calls": [{"id": "1"}]}),
    ]:
        reply = reply_to(handler)
        assert (reply.text, reply.failure) == (None, Failure.PROVIDER_ERROR)
        assert reply.detail
        assert reply.retry


async def close_midway(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"id": ')
    assert request.transport is not None
    request.transport.close()
    return response


async def hang_up(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def test_lost_connection_is_provider_error() -> None:
    for handler in [close_midway, hang_up]:
        reply = reply_to(handler)
        assert (reply.text, reply.failure) == (None, Failure.PROVIDER_ERROR)
        assert reply.detail is not None
        assert reply.detail.startswith("connection failed: ")
        assert reply.retry
