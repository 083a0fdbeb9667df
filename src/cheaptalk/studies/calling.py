"""The path of a call: from the ledger if it was answered before, else over the wire.

A bought answer is in the ledger before anything acts on it, and an intent before each call.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from cheaptalk.models import Failure, ModelCall, Reply
from cheaptalk.players import Call, ModelSeat, PersonCall, SeatSpec
from cheaptalk.records import Store
from cheaptalk.records.ledger import CallKey, Ledger, past_calls, sendings
from cheaptalk.rules import ReplayMismatch
from cheaptalk.studies.purse import Halted, Purse

SENDINGS = 5
"""How often a call is sent in all before its failure is final."""
FIRST_WAIT = 0.25
"""Seconds of the wait before a failed call is sent again; doubled each time, with jitter."""
JITTER = random.SystemRandom()

AskPerson = Callable[[PersonCall], Awaitable[Reply]]


class Models(Protocol):
    """Whoever makes calls to models."""

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Make one call."""


@dataclass
class Desk:
    """What live matches share: where calls go, what may be spent, and whether to stop."""

    store: Store
    ledger: Ledger
    models: Models
    purse: Purse
    ask_person: AskPerson | None = None
    halted: str | None = None

    def halt(self, reason: str) -> None:
        """Let calls in flight come back, and make no more."""
        self.halted = self.halted or reason

    def check(self) -> None:
        """Go on, unless the run is to stop.

        Raises:
            Halted: it is.
        """
        if self.halted:
            raise Halted(self.halted)


class Caller:
    """Makes the calls of one match."""

    def __init__(self, match_id: str, desk: Desk) -> None:
        self.desk = desk
        self.past = past_calls(desk.store, match_id)
        self.sent = sendings(desk.store, match_id)

    async def make(self, key: CallKey, call: Call, spec: SeatSpec) -> tuple[Reply, dict[str, Any]]:
        """Make a call, or take its reply from the ledger; with what the record keeps of it."""
        data = call.model_dump(mode="json", exclude_none=True)
        past = self.past.get(key)
        if past is not None:
            if past.call != data:
                raise ReplayMismatch(
                    f"match {key.match_id}: what {key.seat} was asked in request {key.request} "
                    "differs from what would be asked now (other words or settings)"
                )
            entry = {"call": past.call, "reply": past.reply, "sending": past.sending}
            return Reply.model_validate(past.reply), entry
        for tried in range(SENDINGS):
            if tried:
                await asyncio.sleep(FIRST_WAIT * 2**tried * JITTER.uniform(0.5, 1))
            last = tried == SENDINGS - 1
            self.sent[key] = sending = self.sent.get(key, 0) + 1
            self.desk.check()
            if isinstance(call, PersonCall):
                reply = await self._ask_person(key, sending, call, data)
            else:
                reply = await self._call_model(key, sending, call, data, spec, last)
            if not (reply.failure and reply.retry):
                break
        written = reply.model_dump(mode="json", exclude_none=True)
        return reply, {"call": data, "reply": written, "sending": sending}

    async def _call_model(
        self,
        key: CallKey,
        sending: int,
        call: ModelCall,
        data: dict[str, Any],
        spec: SeatSpec,
        last: bool,
    ) -> Reply:
        """Send a call, with an intent in the ledger before and the reply in it afterwards.

        What play acts on is settled as answered, a last timeout too; what is to be sent again, or
        ends the run of the match, as failed.
        """
        desk = self.desk
        await desk.purse.open()
        reply = None
        try:
            desk.check()
            number = await desk.ledger.intend(key, sending, data)
            number_there = "/".join(map(str, (*key, sending)))
            assert isinstance(spec, ModelSeat)
            reply = await desk.models.call(call, number_there, spec.deadline)
            again = reply.failure and reply.retry and not last
            lost = again or reply.failure is Failure.PROVIDER_ERROR
            await desk.ledger.settle(number, "failed" if lost else "answered", reply)
        finally:
            desk.purse.close(reply)
        return reply

    async def _ask_person(
        self, key: CallKey, sending: int, call: PersonCall, data: dict[str, Any]
    ) -> Reply:
        assert self.desk.ask_person is not None
        ledger = self.desk.ledger
        number = await ledger.intend(key, sending, data)
        try:
            reply = await self.desk.ask_person(call)
        except Halted as left:
            gone = Reply(failure=Failure.TIMED_OUT, detail=f"left without an answer: {left}")
            await ledger.settle(number, "failed", gone)
            raise
        await ledger.settle(number, "answered", reply)
        return reply
