"""The autopilot of a preview, which fills in pages and plays matches for a participant.

It reads the same pages as a participant. In games, it plays a strategy on what the seat sees.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from fastapi import Request

from cheaptalk.players import Player, RosterEntry
from cheaptalk.rules import Chance, CheaptalkError, strategies
from cheaptalk.rules.chance import Stream
from cheaptalk.studies.people.conditions import Condition
from cheaptalk.studies.people.path import GoOn, Page, Play, Response
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.studies.runs.live_chat import ChatPhase
from cheaptalk.web.bots.guesses import guess, reply
from cheaptalk.web.bots.pages import Page as ParsedPage
from cheaptalk.web.participants.pages import ParticipantPages
from cheaptalk.web.participants.people import Participant
from cheaptalk.web.previews.settings import RANDOM
from cheaptalk.web.rooms.chat_box import do_in_chat
from cheaptalk.web.rooms.forms import answer_text
from cheaptalk.web.rooms.rooms import Room, Stage
from cheaptalk.web.rooms.seat_sessions import PendingRequest

MOST_ATTEMPTS = 50
"""Rejected guesses of a page's answers after which the autopilot gives up."""
RECHECK_SECONDS = 1.0
"""Maximum time between two checks of a waiting participant's page."""


class GivesUp(CheaptalkError):
    """Raised if the autopilot cannot answer a page."""


class Earlier(NamedTuple):
    """The answers of a researcher in an earlier course of a preview.

    Attributes:
        responses: answers by step, visit, game and number of the page within the step.
        known_as: the first name that they entered.
    """

    responses: Mapping[tuple[str, int, int, int], Response]
    known_as: str | None


def earlier_of(person: Participant) -> Earlier:
    """Return a participant's answers, without wrong ones, to enter them again."""
    return Earlier(
        {
            key: response
            for key, response in _numbered(person.journey.responses)
            if response.correct is not False and "treatment" not in response.answer
        },
        person.visitor.known_as,
    )


def _numbered(responses: list[Response]) -> Iterator[tuple[tuple[str, int, int, int], Response]]:
    counts: dict[tuple[str, int, int], int] = {}
    for response in responses:
        place = response.step, response.visit, response.game
        counts[place] = counts.get(place, -1) + 1
        yield (*place, counts[place]), response


class Autopilot:
    """The autopilot of one participant.

    Args:
        pages: the participants' pages.
        strategy: the strategy to play in games that have it.
        answers: answers to questions by column; others are guessed, correctly where possible.
        earlier: answers to enter again.
        more: whether to play another game if offered.
    """

    def __init__(
        self,
        pages: ParticipantPages,
        person: Participant,
        strategy: str,
        answers: Mapping[str, str] | None = None,
        earlier: Earlier | None = None,
        *,
        more: bool = True,
    ) -> None:
        self.pages = pages
        self.supervisor, self.experiment = pages.supervisor, pages.experiment
        self.person = person
        self.strategy = strategy
        self.answers = answers or {}
        self.earlier = earlier
        self.more = more
        self.chance = Chance("preview", person.code)
        self._clicks = self._failures = 0
        self._ended_chat: ChatPhase | None = None
        self._players: dict[tuple[str, str], Player | None] = {}

    async def drive(self, arrived: Callable[[Participant], bool]) -> None:
        """Take part until the participant arrives, their visit ends or their data are deleted.

        Raises:
            GivesUp: a page's answers were rejected too often.
        """
        person, people = self.person, self.experiment.people
        while people.get(person.code) is person and not arrived(person) and person.ending is None:
            notifier = person.visitor.notifier
            number = notifier.number
            person.visitor.mark_seen()
            if not await self.act():
                await notifier.wait(number, RECHECK_SECONDS)

    async def act(self) -> bool:
        """Do what the participant's page requires; return False if they can only wait."""
        person, stop = self.person, self.person.journey.stop
        if notice := person.notice:
            await self.supervisor.answer_notice(person, notice.id, notice.expected or "")
            return True
        room = person.visitor.room
        if room is not None and room.stage is Stage.BROKEN:
            await self.supervisor.end_failed_match(person)
            return True
        if room is not None and room.over:
            if self.experiment.plays_in(person, room):  # the result is not recorded yet
                return False
            await self.supervisor.done(person)
            return person.visitor.room is not room
        if room is not None and room.stage is Stage.PLAYING:
            return await self._move(room)
        if isinstance(stop, Page):
            return await self._answer_page(stop)
        number = len(person.journey.responses)
        if isinstance(stop, GoOn):
            await self.experiment.answer(person, number, {"more": "yes" if self.more else "no"})
        elif isinstance(stop, Play):
            await self.experiment.resume(person)
        return len(person.journey.responses) > number

    # Pages

    async def _answer_page(self, stop: Page) -> bool:
        if await self._enter_again(stop):
            return True
        person, number = self.person, len(self.person.journey.responses)
        page = await self._read()
        form = page.form("page")
        if form is None:
            return False
        solutions = [item.solution for item in self.experiment.page_of(person).items]
        known = {name: text for solution in solutions for name, text in solution.items()}
        fields = reply(page, form, {**known, **self.answers}, self._draw(), play_more=True)
        if await self.experiment.answer(person, number, fields):
            await self.supervisor.erase_visit(person)
        self._failures = 0 if len(person.journey.responses) > number else self._failures + 1
        if self._failures > MOST_ATTEMPTS:
            reasons = "; ".join(map(str, person.problems.values()))
            raise GivesUp(f"no answer to the step {stop.name} was accepted: {reasons[:200]}")
        return True

    async def _enter_again(self, stop: Page) -> bool:
        """Enter the researcher's earlier answer to a page, if there is one."""
        person = self.person
        page = sum(
            (response.step, response.visit, response.game) == (stop.name, stop.visit, stop.game)
            for response in person.journey.responses
        )
        key = stop.name, stop.visit, stop.game, page
        earlier = self.earlier and self.earlier.responses.get(key)
        columns = {name for item in stop.items for name in item.columns.values()}
        if self.earlier is None or not earlier or not columns <= earlier.answer.keys():
            return False
        changes: dict[str, str] = {}
        if earlier.answer.get("chosen") and self.earlier.known_as:
            person.visitor.known_as = changes["known_as"] = self.earlier.known_as
        async with person.lock:
            if person.journey.stop is stop:
                await self.experiment.record_answer(
                    person, earlier.answer, earlier.correct, changes
                )
        return True

    async def _read(self) -> ParsedPage:
        """Return the participant's current page, as a browser would show it."""
        token = self.pages.links.token(self.person.code)
        scope = {
            "type": "http",
            "method": "GET",
            "scheme": "http",
            "server": ("preview", 80),
            "path": f"/p/{token}",
            "root_path": "",
            "query_string": b"",
            "headers": [],
        }
        response = await self.pages.visitor(Request(scope), token)
        return ParsedPage(bytes(response.body).decode())

    def _draw(self) -> Stream:
        self._clicks += 1
        return self.chance("click", self._clicks)

    # Matches

    async def _move(self, room: Room) -> bool:
        session = room.seat_session(self.person.visitor)
        if session.away:
            session.back()
        phase = None if room.chat is None else room.chat.phase
        if phase is not self._ended_chat:
            self._ended_chat = phase
            await do_in_chat(room, self.person.visitor, "ready", {})
        pending = [request for request in session.open.values() if not request.answer.done()]
        for request in pending:
            session.answer(request, await self._answer_to(room, request), {})
        return bool(pending)

    async def _answer_to(self, room: Room, pending: PendingRequest) -> str:
        assert room.table is not None
        seat, actor = room.seat_of(self.person.visitor), pending.call.seat
        key = room.code, seat
        if key not in self._players:
            self._players[key] = self._player(room, seat)
        player = self._players[key]
        if player is not None and pending.call.attempt == 0:
            thinking = player.answer(room.table.request(actor))
            try:
                next(thinking)
            except StopIteration as stop:
                if stop.value.action is not None:
                    return str(stop.value.action.model_dump_json())
            except CheaptalkError:  # the strategy fails; guess
                pass
        return await self._guess(pending)

    def _player(self, room: Room, seat: str) -> Player | None:
        game = room.table_template.game
        names = [self.strategy, RANDOM, *strategies(game.name)]
        for name in (name for name in names if name in strategies(game.name)):
            spec = RosterEntry.model_validate({"strategy": name}).seat(game, seat)
            if spec is not None:
                return spec.player(game)
        return None

    async def _guess(self, pending: PendingRequest) -> str:
        """Return a guessed answer, which the rules may reject with a reason."""
        page = await self._read()
        form = page.form("answer")
        if form is None:
            return "{}"
        refusals = [pending.call.problem] if pending.call.problem else []
        return answer_text(pending.call.form, guess(page, form, refusals, self._draw()))


def answers_that_lead_to(protocol: Protocol, step: str) -> dict[str, str]:
    """Return answers under which a step with conditions is part of the path, by column."""
    conditions = next((item.when for item in protocol.steps if item.called == step), {})
    texts = {name: _text_meeting(condition) for name, condition in conditions.items()}
    return {name: text for name, text in texts.items() if text and name in protocol.columns}


def _text_meeting(condition: Condition) -> str:
    """Return an answer that meets a condition; empty if the condition only excludes answers."""
    if condition.any_of:
        return condition.any_of[0]
    if condition.min is not None or condition.max is not None:
        number = condition.min if condition.min is not None else condition.max
        return f"{number:.15g}"
    if condition.above is not None:
        upper = condition.above + 2 if condition.below is None else condition.below
        return f"{(condition.above + upper) / 2:.15g}"
    return "" if condition.below is None else f"{condition.below - 1:.15g}"
