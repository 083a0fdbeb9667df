"""Replies to single calls to a hostile server, fault by fault."""

import asyncio

import pytest

from cheaptalk.models import ChatMessage, Failure, ModelCall, Reply
from cheaptalk.models.clients import AllModels
from tests.attack.faults import CHANGED, FAULTS, HOSTILE_TEXT, HUGE, OTHER_ANSWER, Sending
from tests.attack.server import Hostile
from tests.attack.wires import WIRES, Wire
from tests.fakes import Server

pytestmark = pytest.mark.hostile
ANSWER = "Here is my answer.\n{}"
DEADLINE = 1.0
ANSWERED = {*CHANGED, "dripping", "streamed", "two_answers", "other_tool", "echo_in_answer"}
FAILURES = dict.fromkeys(FAULTS.keys() - ANSWERED, Failure.PROVIDER_ERROR) | {
    "refusal": Failure.REFUSED,
    "filtered": Failure.FILTERED,
    "too_late": Failure.TIMED_OUT,
}
"""The failure of a call by fault; other faults return an answer."""
TEXTS = {
    "cut_text": ANSWER[: ANSWER.find("{") + 2],
    "silence": "",
    "huge_text": f"{'.' * HUGE}\n{ANSWER}",
    "terminal_codes": f"{HOSTILE_TEXT}\n{ANSWER}",
}
"""The texts of changed answers."""
MODELS = {"other_model": "something-smaller", "terminal_codes": f"tiny{HOSTILE_TEXT}"}
TOO_LONG = {("agent", "huge_text")}
"""Answers that the client doesn't read."""


def call_with_fault(wire: Wire, fault: str) -> tuple[Reply, Sending]:
    """Call a server with one fault. Return the reply and the server's account of the attempt."""

    async def call_model(root: str) -> Reply:
        async with AllModels() as models:
            chat = (ChatMessage(role="user", content="Say something."),)
            call = ModelCall(model=wire.model(root), messages=chat)
            return await models.call(call, "match/0/alice/0/1", DEADLINE)

    hostile = Hostile(share=1, kinds=(fault,), late=60, answerer=lambda _: ANSWER)
    with Server(handler=hostile, paths=[wire.path]) as server:
        reply = asyncio.run(call_model(server.root))
    ((sending,),) = hostile.sendings.values()
    return reply, sending


@pytest.mark.parametrize("name", WIRES)
def test_each_fault_is_classified_and_metered(name: str) -> None:
    wire = WIRES[name]
    for fault in sorted(FAULTS.keys() - wire.lacks):
        reply, sending = call_with_fault(wire, fault)
        failure = FAILURES.get(fault)
        if (name, fault) in TOO_LONG:
            failure = Failure.PROVIDER_ERROR
        transient = failure in (Failure.PROVIDER_ERROR, Failure.TIMED_OUT)
        assert reply.failure is failure, fault
        assert reply.retry == (transient and fault != "elsewhere"), fault
        if failure is not None:
            assert reply.text is None
            assert reply.detail
            assert len(reply.detail) <= 500
        elif fault == "two_answers":
            assert OTHER_ANSWER in (reply.text or "")
        elif fault == "other_tool" and name == "chat":
            assert reply.text == ""
        elif fault != "echo_in_answer":
            assert reply.text == TEXTS.get(fault, ANSWER), fault
            assert reply.model == MODELS.get(fault, f"{wire.name}-2026-01-01")
            assert reply.truncated == (fault == "cut_text")
        check_usage(reply, sending)


def check_usage(reply: Reply, sending: Sending) -> None:
    """Check that implausible token counts are replaced with an upper estimate."""
    used, billed = reply.usage, (sending.input_tokens, sending.output_tokens)
    counts = used.input_tokens, used.output_tokens
    assert bool(reply.reported) == sending.lied
    if sending.lied:
        assert counts > billed, "less than was billed"
    else:
        assert counts == billed or (counts == (0, 0) and not reply.text)


def test_timeouts_and_lost_connections_are_explained() -> None:
    late, _ = call_with_fault(WIRES["chat"], "too_late")
    assert late.detail == "no answer within 1 seconds"
    assert late.seconds >= DEADLINE
    for fault in ("hung_up", "broken_off", "no_http"):
        lost, _ = call_with_fault(WIRES["chat"], fault)
        assert (lost.detail or "").startswith("connection failed: "), fault
