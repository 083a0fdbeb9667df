"""Replies to single calls to a hostile server, fault by fault."""

import asyncio
from dataclasses import asdict

import pytest
from aiohttp.test_utils import TestClient, TestServer

from cheaptalk.models import ChatMessage, Failure, ModelCall, Reply
from cheaptalk.models.clients import open_models
from cheaptalk.models.http.transport import CALL_HEADER
from tests.attack.faults import ALTERED, FAULTS, HOSTILE_TEXT, HUGE, Sending, digest
from tests.attack.server import Account, Hostile, make_hostile_app
from tests.fakes import Server

pytestmark = pytest.mark.hostile
ANSWER = "Here is my answer.\n{}"
CHAT = (ChatMessage(role="user", content="Say something."),)
PROVIDER, REFUSED, FILTERED, LATE = (
    Failure.PROVIDER_ERROR,
    Failure.REFUSED,
    Failure.FILTERED,
    Failure.TIMED_OUT,
)
FAILURES = {
    "too_many": PROVIDER,
    "too_many_wait_a_second": PROVIDER,
    "too_many_wait_until": PROVIDER,
    "too_many_wait_an_hour": PROVIDER,
    "too_many_wait_not": PROVIDER,
    "internal_error": PROVIDER,
    "overloaded": PROVIDER,
    "bad_gateway": PROVIDER,
    "web_page": PROVIDER,
    "hung_up": PROVIDER,
    "broken_off": PROVIDER,
    "cut_body": PROVIDER,
    "not_utf8": PROVIDER,
    "wrong_shape": PROVIDER,
    "no_choice": PROVIDER,
    "refusal": REFUSED,
    "filtered": FILTERED,
    "too_late": LATE,
    "too_many_wait_for_ever": PROVIDER,
    "error_as_success": PROVIDER,
    "no_http": PROVIDER,
    "zip_bomb": PROVIDER,
    "deep_json": PROVIDER,
    "elsewhere": PROVIDER,
    "lone_surrogate": PROVIDER,
    "rude": PROVIDER,
    "echo": PROVIDER,
    "echo_in_page": PROVIDER,
}
"""The failure of a call by fault; other faults return an answer."""


def call_with_fault(fault: str) -> tuple[Reply, Sending]:
    """Call a server with one fault. Return the reply and the server's account of the attempt."""

    async def call_model(url: str) -> Reply:
        models = open_models()
        try:
            call = ModelCall(model=f"vllm/tiny@{url}", messages=CHAT)
            return await models.call(call, "match/0/alice/0/1", 1.0)
        finally:
            await models.close()

    hostile = Hostile(share=1, kinds=(fault,), answerer=lambda _: ANSWER)
    with Server(handler=hostile) as server:
        reply = asyncio.run(call_model(server.url))
    ((sending,),) = hostile.sendings.values()
    return reply, sending


def test_faults_are_classified() -> None:
    for fault in FAULTS:
        reply, sending = call_with_fault(fault)
        assert reply.failure is FAILURES.get(fault)
        assert (reply.text is None) == (fault in FAILURES)
        assert (reply.detail is None) == (fault not in {*FAILURES, "other_tool"})
        assert reply.retry == (reply.failure in {PROVIDER, LATE} and fault != "elsewhere")
        used, billed = reply.usage, (sending.input_tokens, sending.output_tokens)
        if reply.reported:
            assert sending.lied
            assert (used.input_tokens, used.output_tokens) > billed, "less than was billed"
        else:
            assert not sending.lied
            assert (used.input_tokens, used.output_tokens) in (
                {billed} if reply.text else {billed, (0, 0)}
            )
        if reply.text is not None:
            models = {"other_model": "something-smaller", "terminal_codes": f"tiny{HOSTILE_TEXT}"}
            assert reply.model == models.get(fault, "tiny-2026-01-01") or fault == "echo_in_answer"
            assert reply.truncated == (fault == "cut_text")


def test_answer_text_is_verbatim() -> None:
    for fault in sorted(FAULTS.keys() - FAILURES.keys() - ALTERED):
        expected = {
            "cut_text": ANSWER[: ANSWER.find("{") + 2],
            "silence": "",
            "huge_text": f"{'.' * HUGE}\n{ANSWER}",
            "terminal_codes": f"{HOSTILE_TEXT}\n{ANSWER}",
        }
        assert call_with_fault(fault)[0].text == expected.get(fault, ANSWER)


def test_retry_after_is_reported() -> None:
    for fault, low, high in [
        ("too_many_wait_not", 0, 0),
        ("too_many_wait_a_second", 1, 1),
        ("too_many_wait_until", 0, 1),
        ("too_many_wait_an_hour", 3600, 3600),
    ]:
        wait = call_with_fault(fault)[0].retry_after
        assert wait is not None
        assert low <= wait <= high


def test_retry_after_is_none_without_header() -> None:
    for fault in ["too_many", "overloaded", "internal_error"]:
        assert call_with_fault(fault)[0].retry_after is None


def test_hostile_server_reports_its_account() -> None:
    async def fetch_account() -> Account:
        app = make_hostile_app(Hostile(share=0, answerer=lambda _: ANSWER))
        body = {"model": "tiny", "messages": [message.model_dump() for message in CHAT]}
        async with TestClient(TestServer(app)) as client:
            await client.post("/v1/chat/completions", json=body, headers={CALL_HEADER: "m/0/a/0/1"})
            shown: Account = await (await client.get("/account")).json()
        return shown

    sending = asdict(Sending("answer", 2, 5, digest(ANSWER)))
    assert asyncio.run(fetch_account()) == {"m/0/a/0/1": [sending]}
