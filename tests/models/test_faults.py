"""What becomes of one call when the server does its worst."""

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
SAID = "Here is my answer.\n{}"
ASKED = (ChatMessage(role="user", content="Say something."),)
PROVIDER, REFUSED, FILTERED, LATE = (
    Failure.PROVIDER_ERROR, Failure.REFUSED, Failure.FILTERED, Failure.TIMED_OUT,
)  # fmt: skip
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
"""How a call fails, fault by fault; with any other it brings an answer."""


def suffer(fault: str) -> tuple[Reply, Sending]:
    """One call to a server with one fault: the reply, and what the server knows of it."""

    async def once(url: str) -> Reply:
        models = open_models()
        try:
            call = ModelCall(model=f"vllm/tiny@{url}", messages=ASKED)
            return await models.call(call, "match/0/alice/0/1", 1.0)
        finally:
            await models.close()

    hostile = Hostile(share=1, kinds=(fault,), answerer=lambda _: SAID)
    with Server(handler=hostile) as server:
        reply = asyncio.run(once(server.url))
    ((sending,),) = hostile.sendings.values()
    return reply, sending


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_told_for_what_it_is(fault: str) -> None:
    reply, sending = suffer(fault)
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
        others = {"other_model": "something-smaller", "terminal_codes": f"tiny{HOSTILE_TEXT}"}
        assert reply.model == others.get(fault, "tiny-2026-01-01") or fault == "echo_in_answer"
        assert reply.truncated == (fault == "cut_text")


@pytest.mark.parametrize("fault", sorted(FAULTS.keys() - FAILURES.keys() - ALTERED))
def test_an_answer_comes_through_character_for_character(fault: str) -> None:
    said = {
        "cut_text": SAID[: SAID.find("{") + 2],
        "silence": "",
        "huge_text": f"{'.' * HUGE}\n{SAID}",
        "terminal_codes": f"{HOSTILE_TEXT}\n{SAID}",
    }
    assert suffer(fault)[0].text == said.get(fault, SAID)


@pytest.mark.parametrize(
    ("fault", "least", "most"),
    [
        ("too_many_wait_not", 0, 0),
        ("too_many_wait_a_second", 1, 1),
        ("too_many_wait_until", 0, 1),
        ("too_many_wait_an_hour", 3600, 3600),
    ],
)
def test_when_the_provider_wants_to_be_asked_again(fault: str, least: int, most: int) -> None:
    wait = suffer(fault)[0].retry_after
    assert wait is not None
    assert least <= wait <= most


@pytest.mark.parametrize("fault", ["too_many", "overloaded", "internal_error"])
def test_a_provider_that_says_nothing_of_when_is_not_put_words_into_the_mouth(fault: str) -> None:
    assert suffer(fault)[0].retry_after is None


def test_the_server_shows_its_account() -> None:
    async def account() -> Account:
        app = make_hostile_app(Hostile(share=0, answerer=lambda _: SAID))
        body = {"model": "tiny", "messages": [message.model_dump() for message in ASKED]}
        async with TestClient(TestServer(app)) as client:
            await client.post("/v1/chat/completions", json=body, headers={CALL_HEADER: "m/0/a/0/1"})
            shown: Account = await (await client.get("/account")).json()
        return shown

    sending = asdict(Sending("answer", 2, 5, digest(SAID)))
    assert asyncio.run(account()) == {"m/0/a/0/1": [sending]}
