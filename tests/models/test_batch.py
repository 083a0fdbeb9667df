"""Batch endpoints: submission, finding earlier batches, and errors without keys."""

import itertools
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from aiohttp import web

from cheaptalk.models import AnswerForm, ChatMessage, ModelCall, ModelName, ModelSettings
from cheaptalk.models.batches import LARGEST, MOST, BatchLine, BatchServer, chunks
from cheaptalk.models.clients import open_batches
from cheaptalk.models.http.failures import EndpointTrouble
from tests import batch_server
from tests.fakes import at_home

MODELS = ["openai/gpt-4o", "anthropic/claude-sonnet-4-5"]
FORM = AnswerForm(name="Reply", json_schema={"type": "object", "properties": {}})


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")


def lines(model: str, count: int = 2) -> list[BatchLine]:
    prompt = ChatMessage(role="user", content='Answer as {"price": <amount>}.')
    call = ModelCall(
        model=model, messages=(prompt,), settings=ModelSettings(max_tokens=50), form=FORM
    )
    return [BatchLine(f"tag-{number}", call) for number in range(count)]


@asynccontextmanager
async def client(model: str, url: str) -> AsyncIterator[BatchServer]:
    """Open a client of a batch endpoint, which is the provider's own."""
    with at_home(model.partition("/")[0], url):
        server = open_batches(ModelName.parse(f"{model}@{url}"))
        try:
            yield server
        finally:
            await server.close()


def always_respond(status: int, body: bytes, **headers: str) -> batch_server.Before:
    async def special(step: str, request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, body=body, headers=headers)

    return special


@pytest.mark.parametrize("model", MODELS)
async def test_other_and_older_batches_are_not_found(model: str) -> None:
    with batch_server.BatchServer(looks=0) as endpoint:
        async with client(model, endpoint.url) as server:
            for tag in ("other", "third", "fourth"):
                other = [BatchLine(f"{tag}-{n}", line.call) for n, line in enumerate(lines(model))]
                await server.submit(tag, other)
            assert await server.find("tag", lines(model), time.time()) is None
            name = await server.submit("tag", lines(model))
            await server.look(name)
            assert await server.find("tag", lines(model), time.time()) == name
            for batch in endpoint.batches.values():
                batch["made"] = datetime(2026, 1, 1, tzinfo=UTC).isoformat()
            assert await server.find("tag", lines(model), time.time()) is None


async def trouble_of(
    model: str, url: str, request: Callable[[BatchServer], Awaitable[Any]]
) -> EndpointTrouble:
    async with client(model, url) as server:
        with pytest.raises(EndpointTrouble) as trouble:
            await request(server)
    return trouble.value


async def look(server: BatchServer) -> Any:
    return await server.look("batch_0")


async def find(server: BatchServer) -> Any:
    return await server.find("tag", lines(MODELS[1]), time.time())


async def test_error_is_one_line_without_key() -> None:
    for status, body, error, retry in [
        (401, b'{"error": {"message": "no such key: sk-secret"}}', "no such key: [key]", False),
        (502, b"<html>sk-secret is away</html>", 'status 502: a web page, "[key] is away"', True),
        (200, b"[]", "Expected `object`", True),
        (200, b"[" * 50_000, "is malformed", True),
    ]:
        for model in MODELS:
            with batch_server.BatchServer(before=always_respond(status, body)) as endpoint:
                trouble = await trouble_of(model, endpoint.url, look)
            assert error in str(trouble)
            assert trouble.again is retry
            assert "secret" not in str(trouble)
            assert "\n" not in str(trouble)
    trouble = await trouble_of(MODELS[0], "http://127.0.0.1:9/v1", look)
    assert "no server answers at 127.0.0.1:9 " in str(trouble)
    assert trouble.again


@pytest.mark.parametrize("model", MODELS)
async def test_malformed_results_fail_their_calls(model: str) -> None:
    broken = [
        {
            "custom_id": "tag-0",
            "response": {"status_code": 200, "body": {"choices": "no"}},
            "result": {"type": "succeeded", "message": {"content": "no"}},
        },
        {"custom_id": 7},
        {
            "custom_id": "tag-1",
            "response": {"status_code": "x", "body": None},
            "result": {"type": "errored", "error": "no"},
        },
    ]
    data = "\n".join(json.dumps(line) for line in [*broken, [], "no"]).encode()

    async def special(step: str, request: web.Request) -> web.StreamResponse | None:
        return web.Response(body=data) if step == "results" else None

    with batch_server.BatchServer(looks=0, before=special) as endpoint:
        async with client(model, endpoint.url) as server:
            name = await server.submit("tag", lines(model, 3))
            await server.look(name)
            results = await server.results(name)
    assert set(results.replies) == {"tag-0", "tag-1"}
    assert all(reply.failure and reply.retry for reply in results.replies.values())
    assert results.rest.failure
    assert results.rest.retry


def test_calls_are_split_into_batches_within_limits() -> None:
    assert list(chunks([])) == []
    runs = list(chunks((number, 1) for number in range(MOST + 1)))
    assert [len(run) for run in runs] == [MOST, 1]
    half = LARGEST // 2
    split = list(chunks([("a", half), ("b", half), ("c", 1), ("d", half)]))
    assert split == [["a", "b"], ["c", "d"]]


async def test_malformed_batch_is_transient_error() -> None:
    ended: dict[str, Any] = {
        "id": "b",
        "status": "cancelled",
        "processing_status": "ended",
        "created_at": "2026-01-01T00:00:00Z",
        "request_counts": {},
    }
    for shape in ({"request_counts": [1]}, {"id": 7}, {"created_at": [1]}):
        batch = ended | shape

        async def special(
            step: str, request: web.Request, batch: dict[str, Any] = batch
        ) -> web.StreamResponse | None:
            return web.json_response(batch if step == "look" else {"data": [batch]})

        with batch_server.BatchServer(before=special) as endpoint:
            for model, request in itertools.product(MODELS, (look, find)):
                trouble = await trouble_of(model, endpoint.url, request)
                assert "is malformed" in str(trouble)
                assert trouble.again


async def test_unfinished_or_truncated_batch_is_not_another_batch() -> None:
    cut = True

    async def special(step: str, request: web.Request) -> web.StreamResponse | None:
        return web.Response(body=b'{"custom_id": "ta') if step == "results" and cut else None

    with batch_server.BatchServer(looks=1, before=special) as endpoint:
        async with client(MODELS[1], endpoint.url) as server:
            name = await server.submit("tag", lines(MODELS[1]))
        for problem in ("may contain these calls", "incomplete"):
            trouble = await trouble_of(MODELS[1], endpoint.url, find)
            assert problem in str(trouble)
            assert trouble.again
        cut = False
        async with client(MODELS[1], endpoint.url) as server:
            assert await find(server) == name
