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
from cheaptalk.studies.scripted import describe, failed
from cheaptalk.studies.spec import Budget

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


class Halted(Exception):
    """The run stops before its end; what is recorded stays, and a resume goes on."""


class ProviderFailed(Exception):
    """A call failed for good: an error of the harness, not of play."""


class Purse:
    """What a study may still spend: checked before each call, calls in flight counted."""

    def __init__(self, budget: Budget, calls: int, tokens: int) -> None:
        self.budget = budget
        self.calls = calls
        self.tokens = tokens
        self.in_flight = 0
        self._largest = 0

    def open(self) -> None:
        """Reserve a call.

        Raises:
            Halted: it might exceed the budget.
        """
        cap = self.budget
        if cap.calls is not None and self.calls + self.in_flight >= cap.calls:
            raise Halted(f"the budget of {cap.calls:,} calls is used up")
        reserved = self.tokens + self._largest * (self.in_flight + 1)
        if cap.tokens is not None and (reserved > cap.tokens or self.tokens >= cap.tokens):
            raise Halted(
                f"the budget of {cap.tokens:,} tokens would be exceeded ({self.tokens:,} used)"
            )
        self.in_flight += 1

    def close(self, reply: Reply | None) -> None:
        """Book a call that came back; None where it did not."""
        self.in_flight -= 1
        self.calls += 1
        if reply is not None:
            used = reply.usage.input_tokens + reply.usage.output_tokens
            self.tokens += used
            self._largest = max(self._largest, used)


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
        seated = dict(zip(game.roles, match.seating, strict=True))
        self.specs = {seat.name: seated[seat.role].spec for seat in game.seats}
        made = {role: make_player(one.spec, game, recorded) for role, one in seated.items()}
        self.players: dict[str, Player] = {seat.name: made[seat.role] for seat in game.seats}

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
            self.sent[key] = sending = self.sent.get(key, 0) + 1
            reply, entry = await self._send(key, sending, call, data)
            if not (reply.failure and reply.retry):
                break
        return reply, entry

    async def _send(
        self, key: CallKey, sending: int, call: Call, data: dict[str, Any]
    ) -> tuple[Reply, dict[str, Any]]:
        desk = self.desk
        desk.check()
        if isinstance(call, ModelCall):
            desk.purse.open()
        reply = None
        try:
            number = await desk.ledger.intend(key, sending, data)
            reply = await self._deliver(key, sending, call)
            written = reply.model_dump(mode="json", exclude_none=True)
            lost = reply.failure in (Failure.PROVIDER_ERROR, Failure.TIMED_OUT)
            state = "failed" if lost else "answered"
            await desk.ledger.settle(number, state, written)
        finally:
            if isinstance(call, ModelCall):
                desk.purse.close(reply)
        return reply, {"call": data, "reply": written, "sending": sending}

    async def _deliver(self, key: CallKey, sending: int, call: Call) -> Reply:
        if isinstance(call, PersonCall):
            assert self.desk.ask_person is not None
            return await self.desk.ask_person(call)
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
