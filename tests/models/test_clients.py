"""Clients over HTTP return a reply within the deadline for any server behaviour."""

import asyncio
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from cheaptalk.models import Failure, ModelCall, Reply
from cheaptalk.models.clients import AllModels
from tests.models.serving import CHAT, RequestHandler, always, exchange

ANSWERS: dict[str, dict[str, Any]] = {
    "openai/gpt-4o": {"choices": [{"message": {"content": "7"}, "finish_reason": "stop"}]},
    "anthropic/claude-opus-4-1": {"content": [{"type": "text", "text": "7"}]},
    "agent/mine": {"text": "7"},
}
"""An answer of the server of each client."""


def single_call(handler: RequestHandler, model: str, deadline: float = 30) -> Reply:
    (reply,), _ = exchange(handler, f"{model}@{{url}}/v1", deadline=deadline)
    return reply


def test_slow_response_times_out_at_deadline() -> None:
    async def handler(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(10_000):
            await response.write(b" ")
            await asyncio.sleep(0.005)
        return response

    for model in ANSWERS:
        reply = single_call(handler, model, deadline=0.1)
        assert (reply.failure, reply.retry) == (Failure.TIMED_OUT, True)
        assert reply.detail == "no answer within 0.1 seconds"
        assert reply.seconds >= 0.1


async def test_cancelled_call_closes_connection() -> None:
    received, closed = asyncio.Event(), asyncio.Event()

    async def handle(request: web.Request) -> web.StreamResponse:
        received.set()
        try:
            await asyncio.sleep(60)
        finally:
            closed.set()
        return web.Response()

    app = web.Application()
    app.router.add_post("/{tail:.*}", handle)
    async with TestServer(app, handler_cancellation=True) as server, AllModels() as models:
        call = ModelCall(model=f"vllm/tiny@{server.make_url('/v1')}", messages=CHAT)
        task = asyncio.create_task(models.call(call, "m", 60))
        await received.wait()
        task.cancel()
        async with asyncio.timeout(30):
            await closed.wait()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()


def test_invalid_response_is_retried() -> None:
    for data in [
        b"",
        b"null",
        b'"7"',
        b"{",
        b"\xff\xfe",
        b'{"text": "\\ud800"}',
        b"[" * 100_000,
        b'{"content": ' * 50_000,
        b"<html>busy</html>",
    ]:
        for model in ANSWERS:
            reply = single_call(always(data), model)
            assert (reply.text, reply.failure, reply.retry) == (None, Failure.PROVIDER_ERROR, True)
            assert len(reply.detail or "") <= 500
