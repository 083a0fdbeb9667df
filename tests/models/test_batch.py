"""Batch endpoints: submission, finding earlier batches, and errors without keys."""

import asyncio
import itertools
import json
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest
from aiohttp import web

from cheaptalk.models import AnswerForm, ChatMessage, ModelCall, ModelName, ModelSettings
from cheaptalk.models.batches import LARGEST, MOST, BatchLine, BatchServer, chunks
from cheaptalk.models.clients import open_batches
from cheaptalk.models.http.failures import EndpointTrouble
from tests import batch_server
from tests.fakes import at_home

T = TypeVar("T")
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


def run_client(model: str, url: str, work: Callable[[BatchServer], Awaitable[T]]) -> T:
    async def run() -> T:
        with at_home(model.partition("/")[0], url):
            return await connected()

    async def connected() -> T:
        server = open_batches(ModelName.parse(f"{model}@{url}"))
        try:
            return await work(server)
        finally:
            await server.close()

    return asyncio.run(run())


def always_respond(status: int, body: bytes, **headers: str) -> batch_server.Before:
    async def special(step: str, request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, body=body, headers=headers)

    return special


@pytest.mark.parametrize("model", MODELS)
def test_batch_is_submitted_and_replies_are_downloaded(model: str) -> None:
    async def work(server: BatchServer) -> Any:
        name = await server.submit("tag", lines(model))
        while not (look := await server.look(name)).ended:
            assert look.done == 0
        assert look.done == 2
        assert await server.find("tag", lines(model), time.time()) == name
        return await server.results(name)

    with batch_server.BatchServer() as endpoint:
        results = run_client(model, endpoint.url, work)
        (batch,) = endpoint.batches.values()
    assert set(results.replies) == {"tag-0", "tag-1"}
    assert all(reply.text and reply.usage.input_tokens for reply in results.replies.values())
    assert [name for name, _ in batch["lines"]] == ["tag-0", "tag-1"]
    body = batch["lines"][0][1]
    assert "response_format" in body or "tools" in body, "the form is asked for as in single calls"
    assert body.get("max_tokens", body.get("max_completion_tokens")) == 50


@pytest.mark.parametrize("model", MODELS)
def test_other_and_older_batches_are_not_found(model: str) -> None:
    async def work(server: BatchServer) -> str | None:
        for tag in ("other", "third", "fourth"):
            other = [BatchLine(f"{tag}-{n}", line.call) for n, line in enumerate(lines(model))]
            await server.submit(tag, other)
        assert await server.find("tag", lines(model), time.time()) is None
        await server.submit("tag", lines(model))
        for batch in endpoint.batches.values():
            batch["made"] = datetime(2026, 1, 1, tzinfo=UTC).isoformat()
        return await server.find("tag", lines(model), time.time())

    with batch_server.BatchServer(looks=0) as endpoint:
        assert run_client(model, endpoint.url, work) is None


async def look(server: BatchServer) -> Any:
    return await server.look("batch_0")


async def find(server: BatchServer) -> Any:
    return await server.find("tag", lines(MODELS[1]), time.time())


def test_error_is_one_line_without_key() -> None:
    for status, body, error, retry in [
        (401, b'{"error": {"message": "no such key: sk-secret"}}', "no such key: [key]", False),
        (502, b"<html>sk-secret is away</html>", 'status 502: a web page, "[key] is away"', True),
        (200, b"[]", "Expected `object`", True),
        (200, b"[" * 50_000, "is malformed", True),
    ]:
        for model in MODELS:
            with (
                batch_server.BatchServer(before=always_respond(status, body)) as endpoint,
                pytest.raises(EndpointTrouble) as trouble,
            ):
                run_client(model, endpoint.url, look)
            assert error in str(trouble.value)
            assert trouble.value.again is retry
            assert "secret" not in str(trouble.value)
            assert "\n" not in str(trouble.value)
    with pytest.raises(EndpointTrouble, match=r"no server answers at 127\.0\.0\.1:9 ") as trouble:
        run_client(MODELS[0], "http://127.0.0.1:9/v1", look)
    assert trouble.value.again


@pytest.mark.parametrize("model", MODELS)
def test_malformed_results_fail_their_calls(model: str) -> None:
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

    async def work(server: BatchServer) -> Any:
        name = await server.submit("tag", lines(model, 3))
        await server.look(name)
        return await server.results(name)

    with batch_server.BatchServer(looks=0, before=special) as endpoint:
        results = run_client(model, endpoint.url, work)
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


STOPPED: dict[str, Any] = {
    "id": "b",
    "status": "cancelled",
    "output_file_id": "o",
    "error_file_id": "e",
    "processing_status": "ended",
    "created_at": "2026-01-01T00:00:00Z",
}


@pytest.mark.parametrize("model", MODELS)
def test_cancelled_batch_keeps_answered_calls(model: str) -> None:
    """The other calls may be retried, whether or not the provider reports them."""
    message = {
        "choices": [{"message": {"content": "7"}, "finish_reason": "stop"}],
        "content": [{"type": "text", "text": "7"}],
    }
    answered: dict[str, Any] = {
        "custom_id": "tag-0",
        "response": {"status_code": 200, "body": message},
        "result": {"type": "succeeded", "message": message},
    }
    rest: dict[str, Any] = {
        "custom_id": "tag-1",
        "error": {"code": "batch_cancelled"},
        "result": {"type": "canceled"},
    }

    async def special(step: str, request: web.Request) -> web.StreamResponse | None:
        if step == "look":
            chat = model == MODELS[0]
            counts = {"completed": 1, "failed": 0} if chat else {"succeeded": 1, "canceled": 1}
            created = 1_767_225_600 if chat else STOPPED["created_at"]
            return web.json_response(STOPPED | {"request_counts": counts, "created_at": created})
        if step == "results":
            lines = {"o": [answered], "e": [rest]}.get(request.match_info["name"], [answered, rest])
            return web.Response(body="\n".join(json.dumps(line) for line in lines).encode())
        return None

    async def work(server: BatchServer) -> Any:
        assert (await server.look("b")).ended
        return await server.results("b")

    with batch_server.BatchServer(before=special) as endpoint:
        results = run_client(model, endpoint.url, work)
    assert results.replies["tag-0"].text == "7"
    assert results.replies["tag-1"].retry
    assert (results.missing, results.rest.retry) == (0, True)


def test_malformed_batch_is_transient_error() -> None:
    shapes: list[dict[str, Any]] = [{"request_counts": [1]}, {"id": 7}, {"created_at": [1]}]
    for shape in shapes:
        batch = STOPPED | {"request_counts": {}} | shape

        async def special(
            step: str, request: web.Request, batch: dict[str, Any] = batch
        ) -> web.StreamResponse | None:
            return web.json_response(batch if step == "look" else {"data": [batch]})

        with batch_server.BatchServer(before=special) as endpoint:
            for model, work in itertools.product(MODELS, (look, find)):
                with pytest.raises(EndpointTrouble, match="is malformed") as trouble:
                    run_client(model, endpoint.url, work)
                assert trouble.value.again


def test_unfinished_or_truncated_batch_is_not_another_batch() -> None:
    cut = True

    async def special(step: str, request: web.Request) -> web.StreamResponse | None:
        return web.Response(body=b'{"custom_id": "ta') if step == "results" and cut else None

    async def submit(server: BatchServer) -> str:
        return await server.submit("tag", lines(MODELS[1]))

    with batch_server.BatchServer(looks=1, before=special) as endpoint:
        name = run_client(MODELS[1], endpoint.url, submit)
        for problem in ("may contain these calls", "incomplete"):
            with pytest.raises(EndpointTrouble, match=problem) as trouble:
                run_client(MODELS[1], endpoint.url, find)
            assert trouble.value.again
        cut = False
        assert run_client(MODELS[1], endpoint.url, find) == name
