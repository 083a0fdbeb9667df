"""Calls to servers that speak the OpenAI chat format, over real HTTP."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

from cheaptalk.models import Failure, Message, ModelCall, ModelSettings, Reply, Usage
from cheaptalk.models.openai import CALL_HEADER, OpenAIModels
from tests.fakes import Server
from tests.model_server import Handler, completion

KEY = "sk-very-secret-42"
ASKED = (Message(role="system", content="Be brief."), Message(role="user", content="Hello there."))


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_API_KEY", KEY)


def ask(url: str, deadline: float = 30, **settings: Any) -> Reply:
    """One call to a server."""
    call = ModelCall(
        model=f"vllm/tiny@{url}", messages=ASKED, settings=ModelSettings.model_validate(settings)
    )

    async def once() -> Reply:
        async with OpenAIModels() as models:
            return await models.call(call, "m/0/alice/0/1", deadline)

    return asyncio.run(once())


def reply_to(handler: Handler, deadline: float = 30) -> Reply:
    """What becomes of a call to a server that handles it so."""
    with Server(handler=handler) as server:
        return ask(server.url, deadline)


def answering(**changes: Any) -> Handler:
    """A server whose completions are as usual but for these changes to their first choice."""

    async def handler(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        data = completion(body, "Good day.")
        data["choices"][0] |= changes
        return web.json_response(data)

    return handler


def sending(data: Any, status: int = 200) -> Handler:
    """A server that always sends the same JSON."""

    async def handler(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        return web.json_response(data, status=status)

    return handler


def saying(text: str, kind: str = "application/json", status: int = 200) -> Handler:
    """A server that always sends the same text."""

    async def handler(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        return web.Response(text=text, content_type=kind, status=status)

    return handler


def test_a_normal_answer_with_its_usage() -> None:
    reply = reply_to(answering())
    assert reply == Reply(
        text="Good day.",
        model="tiny-2026-01-01",
        finish="stop",
        usage=Usage(input_tokens=4, output_tokens=2),
        seconds=reply.seconds,
    )
    assert reply.seconds > 0


def test_what_is_sent() -> None:
    with Server(handler=answering()) as server:
        ask(server.url, temperature=0.5, max_tokens=7, stop=["END"])
    assert server.bodies == [
        {
            "model": "tiny",
            "messages": [message.model_dump() for message in ASKED],
            "temperature": 0.5,
            "max_tokens": 7,
            "stop": ["END"],
        }
    ]
    assert server.headers[CALL_HEADER] == "m/0/alice/0/1" == server.calls[0]
    assert server.headers["Authorization"] == f"Bearer {KEY}"


def test_a_key_that_is_not_set_is_not_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLLM_API_KEY")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-provider")
    with Server(handler=answering()) as server:
        assert ask(server.url).text == "Good day."
    assert server.headers["Authorization"] == "Bearer none"


def test_one_connection_pool_serves_many_calls() -> None:
    call = ModelCall(model="vllm/tiny@{}", messages=ASKED)

    async def many(url: str) -> list[Reply]:
        named = call.model_copy(update={"model": f"vllm/tiny@{url}"})
        async with OpenAIModels() as models:
            numbers = [f"m/{place}/a/0/1" for place in range(20)]
            return await asyncio.gather(*(models.call(named, one, 30) for one in numbers))

    with Server(handler=answering()) as server:
        replies = asyncio.run(many(server.url))
    assert {reply.text for reply in replies} == {"Good day."}
    assert sorted(server.calls) == sorted(f"m/{place}/a/0/1" for place in range(20))


@pytest.mark.parametrize(
    ("changes", "failure", "detail"),
    [
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
    ],
)
def test_a_refusal_is_no_answer_and_is_not_asked_again(
    changes: Any, failure: Failure, detail: str
) -> None:
    reply = reply_to(answering(**changes))
    assert (reply.text, reply.failure, reply.detail) == (None, failure, detail)
    assert not reply.retry
    assert reply.usage == Usage(input_tokens=4, output_tokens=2)


def test_an_empty_answer_is_an_answer() -> None:
    reply = reply_to(answering(message={"role": "assistant", "content": None}))
    assert (reply.text, reply.failure) == ("", None)


@pytest.mark.parametrize(
    ("status", "again"),
    [
        (400, False), (401, False), (403, False), (404, False), (422, False),
        (408, True), (409, True), (429, True), (500, True), (502, True), (503, True),
    ],
)  # fmt: skip
def test_an_error_status_is_the_provider_s_failure(status: int, again: bool) -> None:
    reply = reply_to(sending({"error": {"message": f"because of {KEY}"}}, status))
    assert (reply.text, reply.failure) == (None, Failure.PROVIDER_ERROR)
    assert reply.retry is again
    assert reply.detail is not None
    assert f"status {status}" in reply.detail
    assert "because of [key]" in reply.detail


def test_a_long_complaint_is_cut_and_put_on_one_line() -> None:
    reply = reply_to(saying("x\n" * 5000, "text/plain", status=500))
    assert reply.detail is not None
    assert len(reply.detail) <= 500
    assert "\n" not in reply.detail


@pytest.mark.parametrize(
    "handler",
    [
        saying("{broken"),
        saying("<html>Bad gateway</html>", "text/html"),
        sending(None),
        sending("hello"),
        sending([1, 2]),
        sending({}),
        sending({"choices": []}),
        sending({"choices": [{}]}),
        sending({"choices": [7]}),
        sending({"choices": [{"message": {"content": "hi"}}], "usage": {"prompt_tokens": "many"}}),
        answering(message={"role": "assistant", "content": [{"type": "text", "text": "hi"}]}),
    ],
    ids=lambda _: "",
)
def test_a_reply_that_is_none_is_the_provider_s_failure_and_worth_another_try(
    handler: Handler,
) -> None:
    reply = reply_to(handler)
    assert (reply.text, reply.failure) == (None, Failure.PROVIDER_ERROR)
    assert reply.detail
    assert reply.retry


async def breaking_off(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"id": ')
    assert request.transport is not None
    request.transport.close()
    return response


async def hanging_up(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


@pytest.mark.parametrize("handler", [breaking_off, hanging_up])
def test_a_lost_connection_is_no_answer_of_the_model(handler: Handler) -> None:
    reply = reply_to(handler)
    assert (reply.text, reply.failure) == (None, Failure.PROVIDER_ERROR)
    assert reply.detail is not None
    assert reply.detail.startswith("connection failed: ")
    assert reply.retry


def test_a_server_that_is_not_there_is_no_answer_of_the_model() -> None:
    with Server() as server:
        url = server.url
    reply = ask(url)
    assert reply.failure is Failure.PROVIDER_ERROR
    assert reply.retry


async def never(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    await asyncio.sleep(3600)
    raise AssertionError("waited for ever")


async def dripping(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while request.transport is not None and not request.transport.is_closing():
        await response.write(b" ")
        await asyncio.sleep(0.01)
    return response


@pytest.mark.parametrize("handler", [never, dripping])
def test_the_deadline_is_for_the_whole_answer(handler: Handler) -> None:
    reply = reply_to(handler, deadline=0.2)
    assert (reply.text, reply.failure) == (None, Failure.TIMED_OUT)
    assert reply.detail == "no answer within 0.2 seconds"
    assert reply.retry
