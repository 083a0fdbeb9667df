"""Calls to servers that speak the OpenAI chat format, over real HTTP."""

import asyncio
import json
from contextlib import nullcontext
from typing import Any

import pytest
from aiohttp import web

from cheaptalk.mock_server.formats import completion
from cheaptalk.models import ChatMessage, Failure, ModelCall, ModelSettings, Reply, Usage
from cheaptalk.models.clients import open_models
from cheaptalk.models.http.transport import CALL_HEADER, LONGEST
from tests.fakes import Server, at_home
from tests.model_server import Handler

KEY = "sk-very-secret-42"
ASKED = (
    ChatMessage(role="system", content="Be brief."),
    ChatMessage(role="user", content="Hello there."),
)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_API_KEY", KEY)


def ask(url: str, deadline: float = 30, *, home: bool = True, **settings: Any) -> Reply:
    """One call to a server, at its provider's own address or elsewhere."""
    call = ModelCall(
        model=f"vllm/tiny@{url}", messages=ASKED, settings=ModelSettings.model_validate(settings)
    )

    async def once() -> Reply:
        async with open_models() as models:
            return await models.call(call, "m/0/alice/0/1", deadline)

    with at_home("vllm", url) if home else nullcontext():
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
        sent={},
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
    assert "Authorization" not in server.headers


def test_one_connection_pool_serves_many_calls() -> None:
    call = ModelCall(model="vllm/tiny@{}", messages=ASKED)

    async def many(url: str) -> list[Reply]:
        named = call.model_copy(update={"model": f"vllm/tiny@{url}"})
        async with open_models() as models:
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


def test_a_reply_in_no_encoding_is_the_provider_s_failure() -> None:
    async def garbled(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        data = json.dumps(completion(body, "caf")).encode().replace(b"caf", b"caf\xe9")
        return web.Response(body=data, content_type="application/json")

    reply = reply_to(garbled)
    assert (reply.text, reply.failure, reply.retry) == (None, Failure.PROVIDER_ERROR, True)


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


@pytest.mark.parametrize("ending", ["/chat/completions", "/elsewhere"])
def test_a_page_that_is_not_there_is_told_with_the_url_that_was_asked(ending: str) -> None:
    with Server() as server:
        reply = ask(server.url + ending, home=False)
    assert reply.detail == (
        "status 404: Not Found (the URL usually ends in /v1, and calls are sent to "
        f"{server.url}{ending}/chat/completions)"
    )


def test_a_model_that_is_not_there_is_no_matter_of_the_url() -> None:
    reply = reply_to(sending({"error": {"message": "no such model"}}, 404))
    assert reply.detail == "status 404: no such model"


@pytest.mark.parametrize("status", [200, 400])
def test_a_key_that_a_server_repeats_is_kept_nowhere(status: int) -> None:
    async def highlight(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        said = f"you sent {request.headers['Authorization']}"
        data = completion(body, said) | {"model": said, "error": {"message": said} if status != 200
                                         else None}  # fmt: skip
        return web.json_response(data, status=status)

    reply = reply_to(highlight)
    assert "you sent Bearer [key]" in (reply.text or reply.detail or "")
    assert KEY not in reply.model_dump_json()


def test_a_filter_s_verdict_on_the_question_is_no_error() -> None:
    complaint = {"error": {"code": "content_filter", "message": "The prompt was filtered."}}
    reply = reply_to(sending(complaint, 400))
    assert (reply.failure, reply.retry) == (Failure.FILTERED, False)
    assert reply.detail == "status 400: The prompt was filtered."


def test_a_used_up_quota_is_not_waited_for() -> None:
    quota = {"error": {"code": "insufficient_quota", "message": "You exceeded your quota."}}
    reply = reply_to(sending(quota, 429))
    assert (reply.failure, reply.retry, reply.status) == (Failure.PROVIDER_ERROR, False, 429)


def test_an_error_in_a_completion_is_one() -> None:
    reply = reply_to(sending({"error": {"code": 429, "message": "slow down"}}))
    assert (reply.failure, reply.retry) == (Failure.PROVIDER_ERROR, True)
    assert reply.detail == "status 429: slow down"


def test_a_redirect_is_not_followed() -> None:
    async def elsewhere(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        return web.Response(status=307, headers={"Location": "http://127.0.0.1:9/steal"})

    reply = reply_to(elsewhere)
    assert (reply.failure, reply.retry, reply.status) == (Failure.PROVIDER_ERROR, False, 307)


def test_when_to_try_again_is_told() -> None:
    async def busy(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        return web.Response(status=429, headers={"Retry-After": "7"})

    reply = reply_to(busy)
    assert (reply.retry, reply.retry_after, reply.status) == (True, 7, 429)


def test_what_came_back_beside_the_answer() -> None:
    counted = {
        "prompt_tokens": 100,
        "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 40},
    }
    message = {"content": "Seven.", "reasoning_content": "Let me see."}
    data = {
        "model": "tiny-1",
        "system_fingerprint": "fp_1",
        "choices": [{"message": message, "finish_reason": "length"}],
        "usage": counted,
    }
    reply = reply_to(sending(data))
    assert reply.usage == Usage(
        input_tokens=100, output_tokens=50, cached_tokens=64, reasoning_tokens=40
    )
    assert (reply.text, reply.reasoning) == ("Seven.", "Let me see.")
    assert (reply.truncated, reply.fingerprint) == (True, "fp_1")


def test_reasoning_that_only_the_total_counts_is_counted() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 40}
    data = {"choices": [{"message": {"content": "Yes."}}], "usage": usage}
    assert reply_to(sending(data)).usage == Usage(
        input_tokens=10, output_tokens=30, reasoning_tokens=25
    )


def test_a_reply_without_end_is_not_read_to_its_end() -> None:
    async def endless(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while request.transport is not None and not request.transport.is_closing():
            await response.write(b" " * 2**20)
        return response

    reply = reply_to(endless)
    assert (reply.failure, reply.retry) == (Failure.PROVIDER_ERROR, True)
    assert reply.detail == f"the response is longer than {LONGEST:,} bytes"


def test_a_text_of_two_megabytes_is_read_whole() -> None:
    text = "\N{BROKEN HEART}x" * 400_000
    assert reply_to(answering(message={"content": text})).text == text


def streaming(*pieces: Any) -> Handler:
    """A server that streams though it was not asked to."""
    lines = [": a comment", *(f"data: {json.dumps(piece)}" for piece in pieces), "data: [DONE]"]
    return saying("\n\n".join(lines), "text/event-stream")


@pytest.mark.parametrize("streamed", [True, False])
def test_thoughts_among_the_parts_of_an_answer_are_its_reasoning(streamed: bool) -> None:
    parts: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Let me see."}]},
        {"type": "text", "text": "Se"}, {"type": "text", "text": "ven."},
    ]  # fmt: skip
    pieces = [{"choices": [{"delta": {"content": [part]}}]} for part in parts]
    end = {"choices": [{"delta": {"content": ""}, "finish_reason": "stop"}]}
    whole = answering(message={"role": "assistant", "content": parts})
    reply = reply_to(streaming(*pieces, end) if streamed else whole)
    assert (reply.text, reply.reasoning) == ("Seven.", "Let me see.")


def piece(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"model": "tiny-1", "choices": [{"delta": delta, "finish_reason": finish}]}


def test_a_stream_that_nobody_asked_for_is_put_together() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    parts = [piece(content="Good "), piece(content="day."), piece("stop"), {"usage": usage}]
    reply = reply_to(streaming(*parts))
    assert (reply.text, reply.finish, reply.model) == ("Good day.", "stop", "tiny-1")
    assert reply.usage == Usage(input_tokens=3, output_tokens=2)


def test_a_stream_is_asked_for_with_its_usage() -> None:
    heard: list[dict[str, Any]] = []
    streamed = streaming(piece("stop", content="Good day."))

    async def handler(request: web.Request, body: dict[str, Any]) -> web.StreamResponse | None:
        heard.append(body)
        return await streamed(request, body)

    with Server(handler=handler) as server:
        assert ask(server.url, stream=True).text == "Good day."
    assert heard[0]["stream"] is True
    assert heard[0]["stream_options"] == {"include_usage": True}


def test_a_tool_s_arguments_in_a_stream_are_put_together() -> None:
    def arguments(text: str) -> list[dict[str, Any]]:
        return [{"index": 0, "function": {"arguments": text}}]

    parts = [piece(tool_calls=arguments('{"a":')), piece("tool_calls", tool_calls=arguments(" 1}"))]
    assert reply_to(streaming(*parts)).text == '{"a": 1}'


def test_a_stream_that_breaks_off_is_no_answer() -> None:
    reply = reply_to(streaming(piece(content="Good ")))
    assert (reply.text, reply.failure, reply.retry) == (None, Failure.PROVIDER_ERROR, True)
    assert reply.detail is not None
    assert "the stream is incomplete" in reply.detail


def test_an_error_in_a_stream_is_one() -> None:
    reply = reply_to(streaming(piece(content="Go"), {"error": {"code": 503, "message": "gone"}}))
    assert (reply.text, reply.failure, reply.retry) == (None, Failure.PROVIDER_ERROR, True)


def test_a_call_can_be_cancelled() -> None:
    async def cancelled(url: str) -> bool:
        call = ModelCall(model=f"vllm/tiny@{url}", messages=ASKED)
        async with open_models() as models:
            task = asyncio.create_task(models.call(call, "m/0/alice/0/1", 3600))
            while not server.calls:
                await asyncio.sleep(0.001)
            task.cancel()
            await asyncio.wait([task])
            return task.cancelled()

    with Server(handler=never) as server:
        assert asyncio.run(cancelled(server.url))


def test_a_long_complaint_is_cut_and_put_on_one_line() -> None:
    reply = reply_to(saying("x\n" * 5000, "text/plain", status=500))
    assert reply.detail is not None
    assert len(reply.detail) <= 500
    assert "\n" not in reply.detail


@pytest.mark.parametrize(
    "handler",
    [
        saying("{broken"),
        saying(""),
        saying("[" * 100_000),
        saying("<html>Bad gateway</html>", "text/html"),
        sending(None),
        sending("hello"),
        sending([1, 2]),
        sending({}),
        sending({"choices": []}),
        sending({"choices": [{}]}),
        sending({"choices": [7]}),
        answering(message={"role": "assistant", "content": [{"type": "text", "text": 7}]}),
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
