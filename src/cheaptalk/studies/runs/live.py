"""Playing matches whose players take time or money: models and people.

To resume is to play again with the ledger's replies: the players then make exactly the calls that
are missing.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cheaptalk.calls.desk import Caller, Desk
from cheaptalk.calls.purse import Halted, MatchSpent
from cheaptalk.models import Reply
from cheaptalk.players import Answer, Kind, Player, make_player
from cheaptalk.records import AnswerRecord, Ended, NewMatch, Status, StoreError, ended
from cheaptalk.records.ledger.ledger import CallKey
from cheaptalk.records.record import failed
from cheaptalk.rules import Action, Asked, Given, ReplayMismatch, Table, play_async
from cheaptalk.rules.play import describe
from cheaptalk.studies.plans.plan import PlannedMatch


class ProviderFailed(Exception):
    """A call failed for good: an error of the harness, not of play."""


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
        self.table = Table(game, match.deal, match.seed)
        self.caller = Caller(match.id, desk, match.seed)
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
            await play_async(self.table, self.caller.desk.pace.answering(self.answer))
        except (ProviderFailed, MatchSpent) as error:
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
            reply, entry = await self.caller.make(key, call, self.specs[asked.seat])
            calls.append(entry)
        if answer.kind is Kind.PROVIDER_ERROR:
            detail = reply.detail if reply else "unknown"
            raise ProviderFailed(f'call for "{asked.seat}" in request {asked.request}: {detail}')
        action = None if answer.action is None else answer.action.model_dump(mode="json")
        self.answers.append(AnswerRecord(asked.request, asked.seat, answer.kind, action, calls))
        return answer.action


async def play_live(
    matches: Iterable[PlannedMatch],
    desk: Desk,
    store_as: Callable[[PlannedMatch, Ended], NewMatch],
    study_id: int,
    recorded: Mapping[str, list[Given]],
    report: Callable[[PlannedMatch, Ended | ReplayMismatch], None],
) -> None:
    """Play matches with models or people, as many at once as the desk says, each stored when it
    ends."""

    async def play(match: PlannedMatch) -> None:
        try:
            begun = _begun(store_as(match, failed("", match.seed)))
            await desk.ledger.begin(study_id, begun)
            end = await _to_its_end(match, desk, recorded)
            if isinstance(end, Ended):
                await desk.ledger.finish(study_id, store_as(match, end))
            if end is not None:
                report(match, end)
        finally:
            desk.get_up()
            desk.pace.rest()

    async with asyncio.TaskGroup() as group:
        for match in matches:
            await desk.sit_down()
            if desk.halted:
                break
            desk.pace.go()
            group.create_task(play(match))


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
