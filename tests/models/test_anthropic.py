"""Anthropic's messages format, over real HTTP."""

from typing import Any

import pytest

from cheaptalk.models import AnswerForm, ChatMessage, Failure, Reply, Usage
from cheaptalk.models.http.anthropic import read
from cheaptalk.models.http.transport import CALL_HEADER
from tests.models.serving import Received, always, exchange

KEY = "sk-ant-very-secret"
CHAT = (
    ChatMessage(role="system", content="Be brief."),
    ChatMessage(role="user", content="Your price?"),
    ChatMessage(role="assistant", content=" \n"),
    ChatMessage(role="user", content="Again: your price?"),
)
SCHEMA = {"type": "object", "properties": {"price": {"type": "integer"}}, "required": ["price"]}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


def ask(data: Any, **options: Any) -> tuple[Reply, Received]:
    """Return the reply to a response with this data, and the request."""
    model = "anthropic/claude-opus-4-1@{url}/v1"
    (reply,), received = exchange(always(data), model, **{"messages": CHAT} | options)
    return reply, received


def response(*content: dict[str, Any], **changes: Any) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 5}
    usage |= {"cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}
    defaults = {"model": "claude-opus-4-1-2", "stop_reason": "end_turn", "usage": usage}
    return defaults | {"content": list(content)} | changes


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "text": content}


def test_request_body_and_headers() -> None:
    _, received = ask(response(text("7")), settings={"stop": ["END"]}, home=True)
    assert received.paths == ["/v1/messages"]
    assert received.bodies == [
        {
            "model": "claude-opus-4-1",
            "system": "Be brief.",
            "messages": [
                {"role": "user", "content": "Your price?"},
                {"role": "user", "content": "Again: your price?"},
            ],
            "stop_sequences": ["END"],
            "max_tokens": 4096,
        }
    ]
    assert received.headers[0]["x-api-key"] == KEY
    assert received.headers[0]["anthropic-version"] == "2023-06-01"
    assert received.headers[0][CALL_HEADER] == "m/0/alice/0/0"


def test_reply_includes_reasoning_and_usage() -> None:
    thinking = {"type": "thinking", "thinking": "Seven is fair."}
    redacted = {"type": "redacted_thinking", "data": "c2VjcmV0"}
    unknown = {"type": "something_new", "text": "an advertisement", "content": [1]}
    content = (redacted, thinking, text("I ask "), text("7."), unknown)
    reply, _ = ask(response(*content))
    assert (reply.text, reply.reasoning) == ("I ask 7.", "Seven is fair.")
    assert (reply.model, reply.finish) == ("claude-opus-4-1-2", "end_turn")
    assert reply.usage == Usage(input_tokens=130, output_tokens=5, cached_tokens=100)
    assert reply.sent == {"max_tokens": 4096}
    for reason in ("max_tokens", "model_context_window_exceeded"):
        assert read(response(text("I ask"), stop_reason=reason)).truncated


def test_form_is_requested_as_tool() -> None:
    form = AnswerForm(name="Price", json_schema=SCHEMA)
    used = [
        {"type": "tool_use", "name": "Price", "input": {"price": price, "note": "\N{PILE OF POO}"}}
        for price in (7, 8)
    ]
    reply, received = ask(response(text("Well."), *used), form=form)
    answers = [f'{{"price": {price}, "note": "\N{PILE OF POO}"}}' for price in (7, 8)]
    assert reply.text == "\n".join(["Well.", *answers])
    assert (reply.route, reply.tools) == ("tool", ("Price", "Price"))
    assert received.bodies[0]["tool_choice"] == {"type": "tool", "name": "Price"}
    assert received.bodies[0]["tools"][0]["input_schema"]["required"] == ["price"]


def test_form_falls_back_to_text() -> None:
    for settings, route in [({"reasoning": "low"}, "auto"), ({}, "text")]:
        form = AnswerForm(name="Price", json_schema=SCHEMA, route=route)
        reply, received = ask(response(text("7")), form=form, settings=settings)
        assert reply.route == "text"
        assert "tools" not in received.bodies[0]


def test_text_before_refusal_is_not_an_answer() -> None:
    reply = read(response(text("I would ask"), stop_reason="refusal"))
    assert (reply.text, reply.failure, reply.retry) == (None, Failure.REFUSED, False)
    assert (reply.detail, reply.usage.output_tokens) == ("I would ask", 5)
