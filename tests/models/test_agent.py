"""Agents over HTTP: request bodies, valid answers and errors."""

import json
from typing import Any

from aiohttp import web

from cheaptalk.models import AnswerForm, ChatMessage, Failure, ModelCall, Usage
from cheaptalk.models.http.agent import LARGEST
from tests.models.serving import always, exchange

SCHEMA = {"type": "object", "properties": {"price": {"type": "integer"}}}
CHAT = (ChatMessage(role="user", content="Your price?"),)


def call(url: str) -> ModelCall:
    form = AnswerForm(name="Price", json_schema=SCHEMA)
    return ModelCall(
        model=f"agent/mine@{url}/act", messages=CHAT, form=form, game="negotiation", seat="alice"
    )


def test_agent_request_body() -> None:
    _, received = exchange(always({"answer": {"price": 7}}), call)
    assert received.paths == ["/act"]
    assert received.bodies == [
        {
            "call": "m/0/alice/0/0",
            "agent": "mine",
            "game": "negotiation",
            "seat": "alice",
            "messages": [{"role": "user", "content": "Your price?"}],
            "form": {"name": "Price", "schema": SCHEMA},
        }
    ]


def test_agent_answers_with_fields_or_text() -> None:
    (fields,), _ = exchange(always({"answer": {"price": 7}, "model": "mine-2"}), call)
    assert (fields.text, fields.route, fields.model) == ('{"price":7}', "schema", "mine-2")
    usage = {"input_tokens": 3, "output_tokens": 2}
    (text,), _ = exchange(always({"text": "I ask 7.", "usage": usage}), call)
    assert (text.text, text.route) == ("I ask 7.", "text")
    assert text.usage == Usage(input_tokens=3, output_tokens=2)


def test_malformed_answer_is_agent_failure() -> None:
    for data in [
        {},
        {"answer": {"price": 7}, "text": "I ask 7."},
        {"answer": 7},
        {"anwser": {"price": 7}},
        "7",
    ]:
        (reply,), _ = exchange(always(data), call)
        assert (reply.text, reply.failure) == (None, Failure.PROVIDER_ERROR)
        assert reply.detail is not None
        assert "is malformed" in reply.detail
        assert reply.detail.endswith(f"; it begins with: {json.dumps(data)}")


def test_invalid_response_error_quotes_its_start() -> None:
    responses = {
        "it begins with: I accept, my friend. I accept": b"I accept, my friend. " * 20,
        "it begins with: {": b'{"text": "\xff"}',
        "it is empty": b"",
        f"is longer than {LARGEST:,} bytes": b'{"text": "' + b"x" * LARGEST + b'"}',
    }
    remaining = iter(responses.values())

    async def handler(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        return web.Response(body=next(remaining))

    replies, _ = exchange(handler, call, times=len(responses))
    for error, reply in zip(responses, replies, strict=True):
        assert (reply.text, reply.failure, reply.retry) == (None, Failure.PROVIDER_ERROR, True)
        assert reply.detail is not None
        assert error in reply.detail
        assert len(reply.detail) < 400


def test_error_message_of_agent_is_reported() -> None:
    (reply,), _ = exchange(always({"error": "no such game"}, 404), call)
    assert (reply.detail, reply.retry) == ("status 404: no such game", False)
