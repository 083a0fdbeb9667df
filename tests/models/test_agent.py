"""Agents over HTTP: request bodies, valid answers and errors."""

from typing import Any

from aiohttp import web

from cheaptalk.models import Failure, Reply, Usage
from cheaptalk.models.http.agent import LARGEST
from tests.models.serving import Received, RequestHandler, always, exchange

SCHEMA = {"type": "object", "properties": {"price": {"type": "integer"}}}
FIELDS: dict[str, Any] = {
    "form": {"name": "Price", "json_schema": SCHEMA},
    "game": "negotiation",
    "seat": "alice",
}


def ask(handler: RequestHandler, times: int = 1) -> tuple[list[Reply], Received]:
    return exchange(handler, "agent/mine@{url}/act", times, **FIELDS)


def test_agent_answers_with_fields_or_text() -> None:
    (fields,), received = ask(always({"answer": {"price": 7}, "model": "mine-2"}))
    assert received.paths == ["/act"]
    assert (fields.text, fields.route, fields.model) == ('{"price":7}', "schema", "mine-2")
    usage = {"input_tokens": 3, "output_tokens": 2}
    (text,), _ = ask(always({"text": "I ask 7.", "usage": usage}))
    assert (text.text, text.route, text.usage) == ("I ask 7.", "text", Usage(**usage))


def test_invalid_answer_is_agent_failure_and_quoted() -> None:
    responses = {
        b"I accept, my friend. " * 20: "it begins with: I accept, my friend. I accept",
        b'{"text": "\xff"}': "it begins with: {",
        b"": "it is empty",
        b'{"text": "' + b"x" * LARGEST + b'"}': f"is longer than {LARGEST:,} bytes",
    }
    malformed = (b"{}", b'{"answer": {}, "text": "7"}', b'{"answer": 7}', b'{"anwser": {}}', b'"7"')
    responses |= {body: f"; it begins with: {body.decode()}" for body in malformed}
    remaining = iter(responses)

    async def handler(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        return web.Response(body=next(remaining))

    replies, _ = ask(handler, times=len(responses))
    for error, reply in zip(responses.values(), replies, strict=True):
        assert (reply.text, reply.failure, reply.retry) == (None, Failure.PROVIDER_ERROR, True)
        assert error in (reply.detail or "")
        assert len(reply.detail or "") < 400


def test_error_message_of_agent_is_reported() -> None:
    (reply,), _ = ask(always({"error": "no such game"}, 404))
    assert (reply.detail, reply.retry) == ("status 404: no such game", False)
