"""Whatever a server does to any of the clients over HTTP comes back as a reply, in time."""

import asyncio
import gzip
import json
from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from cheaptalk.models import AnswerForm, ChatMessage, Failure, ModelCall, Reply, Usage
from cheaptalk.models.clients import open_models
from cheaptalk.models.http.transport import LONGEST
from tests.models.serving import Answering, exchange

ASKED = (ChatMessage(role="user", content="Your price?"),)
FORM = AnswerForm(name="Price", json_schema={"type": "object", "properties": {}})
SAID: dict[str, dict[str, Any]] = {
    "openai/gpt-4o": {"choices": [{"message": {"content": "7"}, "finish_reason": "stop"}]},
    "anthropic/claude-opus-4-1": {"content": [{"type": "text", "text": "7"}]},
    "agent/mine": {"text": "7"},
}
"""An answer of each client's server."""
JSON = {"Content-Type": "application/json"}
COUNTS = {
    "openai/gpt-4o": "prompt_tokens",
    "anthropic/claude-opus-4-1": "input_tokens",
    "agent/mine": "input_tokens",
}


def call(model: str) -> Any:
    return lambda url: ModelCall(model=f"{model}@{url}/v1", messages=ASKED)


def once(answering: Answering, model: str, deadline: float = 30) -> Reply:
    (reply,), _ = exchange(answering, call(model), deadline=deadline)
    return reply


def raw(data: bytes, status: int = 200, headers: Mapping[str, str] = JSON) -> Answering:
    async def answering(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        return web.Response(body=data, status=status, headers=headers)

    return answering


@pytest.mark.parametrize("model", list(SAID))
def test_a_server_that_never_answers_is_timed_out(model: str) -> None:
    async def answering(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        await asyncio.sleep(60)
        raise AssertionError("nobody waits for it")

    reply = once(answering, model, deadline=0.05)
    assert (reply.text, reply.failure, reply.retry) == (None, Failure.TIMED_OUT, True)


@pytest.mark.parametrize("model", list(SAID))
def test_a_server_that_drips_is_timed_out_at_the_deadline_of_the_whole_answer(model: str) -> None:
    async def answering(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(10_000):
            await response.write(b" ")
            await asyncio.sleep(0.005)
        return response

    reply = once(answering, model, deadline=0.1)
    assert (reply.failure, reply.retry) == (Failure.TIMED_OUT, True)
    assert reply.seconds >= 0.1


@pytest.mark.parametrize("model", list(SAID))
def test_a_call_that_is_cancelled_lets_go_of_the_connection(model: str) -> None:
    async def scene() -> bool:
        asked, gone = asyncio.Event(), asyncio.Event()

        async def handle(request: web.Request) -> web.StreamResponse:
            asked.set()
            try:
                await asyncio.sleep(60)
            finally:
                gone.set()
            return web.Response()

        app = web.Application()
        app.router.add_post("/{tail:.*}", handle)
        async with TestServer(app, handler_cancellation=True) as server, open_models() as models:
            made = call(model)(str(server.make_url("")).rstrip("/"))
            task = asyncio.create_task(models.call(made, "m", 60))
            await asked.wait()
            task.cancel()
            async with asyncio.timeout(30):
                await gone.wait()
            await asyncio.gather(task, return_exceptions=True)
            return task.cancelled()

    assert asyncio.run(scene())


@pytest.mark.parametrize("model", list(SAID))
def test_a_redirect_is_not_followed_with_the_key(model: str) -> None:
    for status in (301, 302, 307, 308):
        _, heard = exchange(raw(b"", status, {"Location": "/elsewhere"}), call(model))
        assert len(heard.paths) == 1
    reply = once(raw(b"", 307, {"Location": "/elsewhere"}), model)
    assert (reply.failure, reply.retry, reply.status) == (Failure.PROVIDER_ERROR, False, 307)


@pytest.mark.parametrize("model", list(SAID))
@pytest.mark.parametrize(
    "data",
    [b"", b"null", b"[]", b'"7"', b"{", b"\xff\xfe", b'{"text": "\xff"}', b'{"text": "\\ud800"}',
     b"[" * 100_000, b'{"content": ' * 50_000, b"<html>busy</html>"],
    ids=repr,
)  # fmt: skip
def test_what_is_no_answer_is_worth_another_try(model: str, data: bytes) -> None:
    reply = once(raw(data), model)
    assert (reply.text, reply.failure, reply.retry) == (None, Failure.PROVIDER_ERROR, True)
    assert len(reply.detail or "") <= 500


@pytest.mark.parametrize("model", list(SAID))
def test_a_small_reply_that_unfolds_into_a_huge_one_is_not_read_to_its_end(model: str) -> None:
    bomb = gzip.compress(b" " * (LONGEST * 4))
    assert len(bomb) < LONGEST / 100
    reply = once(raw(bomb, headers={**JSON, "Content-Encoding": "gzip"}), model)
    assert (reply.failure, reply.text) == (Failure.PROVIDER_ERROR, None)


@pytest.mark.parametrize("model", [model for model in SAID if not model.startswith("agent/")])
def test_two_megabytes_of_answer_come_through(model: str) -> None:
    long = "7" * 2_000_000
    reply = once(raw(json.dumps(SAID[model]).replace('"7"', f'"{long}"').encode()), model)
    assert reply.text == long


@pytest.mark.parametrize("model", list(SAID))
@pytest.mark.parametrize("count", ["-1", "1e26", "1e400", "NaN", '"many"', "true", "1" * 5_000])
def test_tokens_that_nobody_can_have_used_are_counted_by_us_and_no_reply_is_lost(
    model: str, count: str
) -> None:
    data = json.dumps(SAID[model] | {"usage": {COUNTS[model]: "?"}}).replace('"?"', count)
    reply = once(raw(data.encode()), model)
    assert (reply.text, reply.failure) == ("7", None)
    assert reply.usage == Usage(input_tokens=4, output_tokens=1)
    assert reply.reported is not None
    assert reply.reported.startswith(f'{{"{COUNTS[model]}": ')
