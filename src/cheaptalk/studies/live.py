"""Playing matches whose players take time or money: models and people.

A bought answer is in the ledger before anything acts on it, and an intent before each call.
To resume is to play again with the ledger's replies: the players then make exactly the calls that
are missing.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cheaptalk.models import Failure, ModelCall, Reply
from cheaptalk.players import Answer, Call, Kind, ModelSeat, PersonCall, Player, make_player
from cheaptalk.records import (
    AnswerRecord,
    Ended,
    NewMatch,
    Status,
    Store,
    StoreError,
    ended,
)
from cheaptalk.records.ledger import CallKey, Ledger, past_calls, sendings
from cheaptalk.rules import Action, Asked, Given, ReplayMismatch, Table, play_async
from cheaptalk.studies.planning import PlannedMatch
from cheaptalk.studies.purse import Halted, Purse
from cheaptalk.studies.scripted import describe, failed

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


class ProviderFailed(Exception):
    """A call failed for good: an error of the harness, not of play."""


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
        if self.halted:
            raise Halted(self.halted)


class LiveMatch:
    """One match with at least one player who takes time."""

    def __init__(
        self,
        match: PlannedMatch,
        desk: Desk,
        recorded: Mapping[str, list[Given]],
    ) -> None:
        game = match.configuration.game
        self.match = match
        self.desk = desk
        self.table = Table(game, match.deal, match.seed)
        self.past = past_calls(desk.store, match.id)
        self.sent = sendings(desk.store, match.id)
        self.answers: list[AnswerRecord] = []
        seated = dict(zip(game.places, match.seating, strict=True))
        self.specs = {seat.name: seated[seat.place].spec for seat in game.seats}
        made = {role: make_player(one.spec, game, recorded) for role, one in seated.items()}
        self.players: dict[str, Player] = {seat.name: made[seat.place] for seat in game.seats}

    async def play(self) -> Ended:
        """Play to the end.

        Raises:
            Halted: the run stops; the match stays live.
            ReplayMismatch: what is recorded does not fit; the match is left untouched.
        """
        try:
            await play_async(self.table, self.answer)
        except ProviderFailed as error:
            return failed(str(error), self.match.seed)
        order = list(self.specs)
        self.answers.sort(key=lambda one: (one.request, order.index(one.seat)))
        return ended(self.table, self.match.seed, self.answers)

    async def answer(self, asked: Asked) -> Action | None:
        """Let a seat's player think, making the calls it wants; record what it answers."""
        thinking = self.players[asked.seat].answer(asked)
        calls: list[dict[str, Any]] = []
        reply: Reply | None = None
        while True:
            try:
                call = next(thinking) if reply is None else thinking.send(reply)
            except StopIteration as end:
                answer: Answer = end.value
                break
            key = CallKey(self.match.id, asked.request, asked.seat, len(calls))
            reply, entry = await self.make(key, call)
            calls.append(entry)
        if answer.kind is Kind.PROVIDER_ERROR:
            detail = reply.detail if reply else "unknown"
            raise ProviderFailed(f'call for "{asked.seat}" in request {asked.request}: {detail}')
        action = None if answer.action is None else answer.action.model_dump(mode="json")
        self.answers.append(AnswerRecord(asked.request, asked.seat, answer.kind, action, calls))
        return answer.action

    async def make(self, key: CallKey, call: Call) -> tuple[Reply, dict[str, Any]]:
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
                reply = await self._call_model(key, sending, call, data, last)
            if not (reply.failure and reply.retry):
                break
        written = reply.model_dump(mode="json", exclude_none=True)
        return reply, {"call": data, "reply": written, "sending": sending}

    async def _call_model(
        self, key: CallKey, sending: int, call: ModelCall, data: dict[str, Any], last: bool
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
            reply = await self._over_the_wire(key, sending, call)
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

    async def _over_the_wire(self, key: CallKey, sending: int, call: ModelCall) -> Reply:
        spec = self.specs[key.seat]
        assert isinstance(spec, ModelSeat)
        number = "/".join(map(str, (*key, sending)))
        return await self.desk.models.call(call, number, spec.deadline)


async def play_live(
    matches: Sequence[PlannedMatch],
    desk: Desk,
    concurrency: int,
    store_as: Callable[[PlannedMatch, Ended], NewMatch],
    study_id: int,
    recorded: Mapping[str, list[Given]],
    report: Callable[[PlannedMatch, Ended | ReplayMismatch], None],
) -> None:
    """Play matches with models or people, so many at once, each stored when it ends."""
    waiting = iter(matches)

    async def work() -> None:
        for match in waiting:
            if desk.halted:
                return
            begun = _begun(store_as(match, failed("", match.seed)))
            await desk.ledger.begin(study_id, begun)
            end = await _to_its_end(match, desk, recorded)
            if isinstance(end, Ended):
                await desk.ledger.finish(study_id, store_as(match, end))
            if end is not None:
                report(match, end)

    async with asyncio.TaskGroup() as group:
        for _ in range(min(concurrency, len(matches))):
            group.create_task(work())


async def _to_its_end(
    match: PlannedMatch, desk: Desk, recorded: Mapping[str, list[Given]]
) -> Ended | ReplayMismatch | None:
    """How a match ended; None where the run was halted before it did."""
    try:
        return await LiveMatch(match, desk, recorded).play()
    except Halted as halt:
        desk.halt(str(halt))
        return None
    except ReplayMismatch as mismatch:
        return mismatch
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - one broken player must not end the others' matches
        return failed(describe(error), match.seed)


def _begun(match: NewMatch) -> dict[str, Any]:
    return {
        "id": match.id,
        "configuration_id": match.configuration_id,
        "deal": match.deal,
        "repeat": match.repeat,
        "seats": match.seats,
        "status": Status.LIVE.value,
        "calls": 0,
        "input_tokens": 0,
        "output_tokens": 0,
    }
