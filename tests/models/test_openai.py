"""Calls to servers with the OpenAI chat format, over real HTTP."""

import json
from typing import Any

import pytest

from cheaptalk.models import ChatMessage, Failure, Reply, Usage
from cheaptalk.models.http.openai import read
from cheaptalk.models.http.transport import CALL_HEADER
from tests.models.serving import Received, RequestHandler, always, exchange

KEY = "sk-very-secret-42"
CHAT = (
    ChatMessage(role="system", content="Be brief."),
    ChatMessage(role="user", content="Hello there."),
)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_API_KEY", KEY)


def ask(handler: RequestHandler, **settings: Any) -> tuple[Reply, Received]:
    """Call a server with this handler at its provider's own URL."""
    fields: dict[str, Any] = {"messages": CHAT, "settings": settings}
    (reply,), received = exchange(handler, "vllm/tiny@{url}", home=True, **fields)
    return reply, received


def completion_of(finish: str = "stop", **message: Any) -> dict[str, Any]:
    usage = {"prompt_tokens": 4, "completion_tokens": 2}
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


def stream(*pieces: Any) -> RequestHandler:
    """Return a handler that streams even if the request doesn't set ``stream``."""
    lines = [": a comment", *(f"data: {json.dumps(piece)}" for piece in pieces), "data: [DONE]"]
    return always("\n\n".join(lines), 200, **{"Content-Type": "text/event-stream"})


def test_request_and_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = always(completion_of(content="Good day.") | {"model": "tiny-2026-01-01"})
    settings = {"temperature": 0.5, "max_tokens": 70, "stop": ["END"]}
    reply, received = ask(answer, **settings)
    messages = [message.model_dump() for message in CHAT]
    assert received.bodies == [{"model": "tiny", "messages": messages} | settings]
    assert received.paths == ["/chat/completions"]
    assert received.headers[0][CALL_HEADER] == "m/0/alice/0/0"
    assert received.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert reply == Reply(
        text="Good day.",
        model="tiny-2026-01-01",
        finish="stop",
        usage=Usage(input_tokens=4, output_tokens=2),
        sent=settings,
        seconds=reply.seconds,
    )
    assert reply.seconds > 0
    monkeypatch.delenv("VLLM_API_KEY")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-provider")
    assert "Authorization" not in ask(answer)[1].headers[0]


THINKING: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "Let me see."}]},
    {"type": "text", "text": "Se"},
    {"type": "text", "text": "ven."},
]


@pytest.mark.parametrize(
    ("response", "fields"),
    [
        (completion_of(content=None), {"text": "", "failure": None}),
        (
            completion_of(refusal="I must decline."),
            {"failure": Failure.REFUSED, "detail": "I must decline.", "retry": False},
        ),
        (
            completion_of("content_filter", content="I"),
            {"failure": Failure.FILTERED, "detail": "stopped by the provider's content filter"},
        ),
        (
            {"error": {"code": 429, "message": "slow down"}},
            {"failure": Failure.PROVIDER_ERROR, "retry": True, "detail": "status 429: slow down"},
        ),
        (completion_of(content=THINKING), {"text": "Seven.", "reasoning": "Let me see."}),
        (
            completion_of(content="7") | {"usage": {"prompt_tokens": 10, "total_tokens": 40}},
            {"usage": Usage(input_tokens=10, output_tokens=30, reasoning_tokens=30)},
        ),
    ],
)
def test_completion_is_converted(response: dict[str, Any], fields: dict[str, Any]) -> None:
    reply = read(response)
    assert {name: getattr(reply, name) for name in fields} == fields
    if reply.failure in (Failure.REFUSED, Failure.FILTERED):
        assert (reply.text, reply.usage.input_tokens) == (None, 4)


@pytest.mark.parametrize(
    ("status", "code", "failure", "retry"),
    [
        *((status, None, Failure.PROVIDER_ERROR, False) for status in (400, 401, 403, 404, 422)),
        *((status, None, Failure.PROVIDER_ERROR, True) for status in (408, 409, 429, 500, 503)),
        (400, "content_filter", Failure.FILTERED, False),
        (429, "insufficient_quota", Failure.PROVIDER_ERROR, False),
    ],
)
def test_error_status_is_provider_error(
    status: int, code: str | None, failure: Failure, retry: bool
) -> None:
    error = {"error": {"code": code, "message": f"because of {KEY}"}}
    reply, _ = ask(always(error, status, **{"Retry-After": "7"}))
    assert (reply.text, reply.failure, reply.retry) == (None, failure, retry)
    assert (reply.status, reply.retry_after) == (status, 7)
    assert reply.detail == f"status {status}: because of [key]"


def test_reply_includes_reasoning_and_token_details() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 40},
    }
    message = {"content": "Seven.", "reasoning_content": "Let me see."}
    data = completion_of("length", **message) | {"system_fingerprint": "fp_1", "usage": usage}
    reply = read(data)
    assert reply.usage == Usage(
        input_tokens=100, output_tokens=50, cached_tokens=64, reasoning_tokens=40
    )
    assert (reply.text, reply.reasoning) == ("Seven.", "Let me see.")
    assert (reply.truncated, reply.fingerprint) == (True, "fp_1")


def piece(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"model": "tiny-1", "choices": [{"delta": delta, "finish_reason": finish}]}


def arguments(text: str) -> list[dict[str, Any]]:
    return [{"index": 0, "function": {"arguments": text}}]


@pytest.mark.parametrize(
    ("pieces", "fields"),
    [
        (
            [
                *(piece(content="Good "), piece(content="day."), piece("stop")),
                {"usage": {"prompt_tokens": 3, "completion_tokens": 2}},
            ],
            {
                "text": "Good day.",
                "model": "tiny-1",
                "usage": Usage(input_tokens=3, output_tokens=2),
            },
        ),
        (
            [*(piece(content=[part]) for part in THINKING), piece("stop", content="")],
            {"text": "Seven.", "reasoning": "Let me see."},
        ),
        (
            [
                piece(tool_calls=arguments('{"a":')),
                piece("tool_calls", tool_calls=arguments(" 1}")),
            ],
            {"text": '{"a": 1}'},
        ),
        ([piece(content="Good ")], {"failure": Failure.PROVIDER_ERROR, "retry": True}),
        (
            [piece(content="Go"), {"error": {"code": 503, "message": "gone"}}],
            {"failure": Failure.PROVIDER_ERROR, "retry": True, "detail": "status 503: gone"},
        ),
    ],
)
def test_unrequested_stream_is_assembled(pieces: list[Any], fields: dict[str, Any]) -> None:
    reply, _ = ask(stream(*pieces))
    assert {name: getattr(reply, name) for name in fields} == fields


def test_stream_request_includes_usage() -> None:
    reply, received = ask(stream(piece("stop", content="Good day.")), stream=True)
    assert reply.text == "Good day."
    assert received.bodies[0]["stream"] is True
    assert received.bodies[0]["stream_options"] == {"include_usage": True}


def test_malformed_reply_is_retried() -> None:
    for data in [
        {},
        {"choices": []},
        {"choices": [{}]},
        {"choices": [7]},
        completion_of(content=[{"type": "text", "text": 7}]),
        completion_of(tool_calls=[{"id": "1"}]),
    ]:
        reply, _ = ask(always(data))
        assert (reply.text, reply.failure, reply.retry) == (None, Failure.PROVIDER_ERROR, True)
        assert reply.detail
