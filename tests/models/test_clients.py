"""Clients over HTTP return a reply within the deadline for any server behaviour."""

import asyncio
import gzip
import itertools
import json
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from cheaptalk.models import ChatMessage, Failure, ModelCall, Reply, Usage
from cheaptalk.models.clients import open_models
from cheaptalk.models.http.transport import LONGEST
from tests.models.serving import RequestHandler, always, exchange

CHAT = (ChatMessage(role="user", content="Your price?"),)
ANSWERS: dict[str, dict[str, Any]] = {
    "openai/gpt-4o": {"choices": [{"message": {"content": "7"}, "finish_reason": "stop"}]},
    "anthropic/claude-opus-4-1": {"content": [{"type": "text", "text": "7"}]},
    "agent/mine": {"text": "7"},
}
"""An answer of the server of each client."""


def call(model: str) -> Any:
    return lambda url: ModelCall(model=f"{model}@{url}/v1", messages=CHAT)


def single_call(handler: RequestHandler, model: str, deadline: float = 30) -> Reply:
    (reply,), _ = exchange(handler, call(model), deadline=deadline)
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


def test_cancelled_call_closes_connection() -> None:
    async def cancel_call() -> bool:
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
        async with TestServer(app, handler_cancellation=True) as server, open_models() as models:
            model_call = call("vllm/tiny")(str(server.make_url("")).rstrip("/"))
            task = asyncio.create_task(models.call(model_call, "m", 60))
            await received.wait()
            task.cancel()
            async with asyncio.timeout(30):
                await closed.wait()
            await asyncio.gather(task, return_exceptions=True)
            return task.cancelled()

    assert asyncio.run(cancel_call())


def test_redirect_is_not_followed() -> None:
    for model, status in itertools.product(ANSWERS, (301, 307)):
        handler = always(b"", status, Location="/elsewhere")
        (reply,), received = exchange(handler, call(model))
        assert len(received.paths) == 1
        assert (reply.failure, reply.retry, reply.status) == (Failure.PROVIDER_ERROR, False, status)


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


def test_decompression_bomb_is_not_read_completely() -> None:
    bomb = gzip.compress(b" " * (LONGEST * 4))
    assert len(bomb) < LONGEST / 100
    handler = always(bomb, 200, **{"Content-Encoding": "gzip"})
    reply = single_call(handler, "openai/gpt-4o")
    assert (reply.failure, reply.text) == (Failure.PROVIDER_ERROR, None)


def test_two_megabyte_answer_is_complete() -> None:
    answer = json.dumps(ANSWERS["openai/gpt-4o"]).replace('"7"', f'"{"7" * 2_000_000}"')
    assert single_call(always(answer.encode()), "openai/gpt-4o").text == "7" * 2_000_000


def test_impossible_token_counts_are_replaced_by_estimate() -> None:
    fields = dict.fromkeys(ANSWERS, "input_tokens") | {"openai/gpt-4o": "prompt_tokens"}
    for count in ["-1", "1e26", "1e400", "NaN", '"many"', "true", "1" * 5_000]:
        for model, field in fields.items():
            data = json.dumps(ANSWERS[model] | {"usage": {field: "?"}}).replace('"?"', count)
            reply = single_call(always(data.encode()), model)
            assert (reply.text, reply.failure) == ("7", None)
            assert reply.usage == Usage(input_tokens=4, output_tokens=1)
            assert (reply.reported or "").startswith(f'{{"{field}": ')
