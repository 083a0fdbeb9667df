"""An experiment: the participants of a study on their paths, over the rooms in which they play."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import sqlalchemy as sa

from cheaptalk.players import Kind
from cheaptalk.records import MatchRecord, Status, StoreError
from cheaptalk.records.forfeits import invalid
from cheaptalk.records.people import participants as kept
from cheaptalk.records.people.identities import Identities
from cheaptalk.records.people.participants import Progress
from cheaptalk.rules import Chance
from cheaptalk.studies.people.path import (
    Assign,
    End,
    GoOn,
    Journey,
    Page,
    Play,
    Response,
    Unanswered,
    chosen_name,
    read_page,
)
from cheaptalk.studies.people.pay import dues, game_cents
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.studies.people.steps import QUIZZES, FirstName, Quiz
from cheaptalk.studies.study import Study, StudyError
from cheaptalk.styles.writing import PLAIN, Writing
from cheaptalk.web.participants.groups import group_of, is_broken
from cheaptalk.web.participants.people import Participant, Refused
from cheaptalk.web.participants.places import Places
from cheaptalk.web.rooms.house import House
from cheaptalk.web.rooms.links import new_name
from cheaptalk.web.rooms.rooms import Room, Stage
from cheaptalk.web.typed_numbers import plain_numbers

LOG = logging.getLogger(__name__)
STOOD_IN = "a program answered for them"
"""The flag of those who were away in a game."""
NO_CHANGE: Mapping[str, Any] = {}
T = TypeVar("T")


class Experiment:
    """A study's participants.

    Args:
        house: where they play.
        study: with what its people go through.
        identities: by which ids they came.

    Attributes:
        state: whether new people may come: ``open``, ``paused`` or ``closed``.
        keep_until: when people's data are to be deleted, in seconds since 1970; None for never.
        people: by code.
        lost: the codes of those who were on a path that the study has no longer.
        places: the tables that they can be assigned to.

    Raises:
        StudyError: the study has no protocol, or one that it cannot carry out.
    """

    def __init__(self, house: House, study: Study, identities: Identities) -> None:
        check_protocol(study)
        assert study.people is not None
        self.house = house
        self.study = study
        self.protocol: Protocol = study.people
        self.identities = identities
        self.state = "open"
        self.keep_until: float | None = None
        self.people: dict[str, Participant] = {}
        self.chance = Chance(f"{study.seed}/people")
        self.places = Places(self.protocol, house.offers.values(), self.chance)
        self.reserved = {
            offer.game.called(place) for offer in house.offers.values() for place in offer.seated
        }
        self._entering = asyncio.Lock()
        self.lost: set[str] = set()
        house.on_begin, house.on_end = self.begin_match, self.settle_match

    async def write(self, work: Callable[[sa.Connection], T]) -> T:
        """Commit something, in order with all else."""
        return await self.house.host.desk.ledger.write(work)

    @property
    def study_id(self) -> int:
        """The study's number in its store."""
        return self.house.host.rows.id

    # Coming

    async def admit(
        self,
        known_by: str | None,
        more: str = "",
        cohort: str | None = None,
        language: str = "",
        code: str = "",
    ) -> Participant:
        """Let somebody in who comes by a link, or find them again.

        Args:
            known_by: their id where they came from; None where they have none.
            more: what else stood in their link.
            cohort: that their link names.
            language: that they read.
            code: by which the store is to know them, where they are new; by default another one.
                Who comes by it twice is the same.

        Raises:
            Refused: they cannot take part.
        """
        recruitment, cohorts = self.protocol.recruitment, self.protocol.cohorts
        if recruitment.parameters and not known_by:
            raise nameless()
        if cohort and cohort not in cohorts:
            raise Refused("This link is not whole. Use the whole link that you were sent.", 400)
        if known_by and recruitment.invited is not None and known_by not in recruitment.invited:
            raise Refused("Only people who were invited can take part.", 403)
        async with self._entering:
            name, source, code = self.study.name, recruitment.source, code or new_name()
            if code in self.people:
                return self.people[code]
            if known_by:
                known = await asyncio.to_thread(self.identities.code_of, name, source, known_by)
                if known in self.people:
                    return self.people[known]
                if known in self.lost:
                    raise changed()
                self.expect_open()
                note = self.identities.note
                code = await asyncio.to_thread(note, name, source, known_by, code, more)
            self.expect_open()
            return await self._new(code, cohort or cohorts[0], language)

    def expect_open(self) -> None:
        """Raise :class:`Refused` where nobody new can come."""
        if self.state == "closed":
            raise Refused("Nobody new can take part any more. Thank you for your interest.", 410)
        if self.state == "paused":
            raise Refused("Please come again later.", 503)
        if self.places.full:
            raise Refused("This study has all the people that it needs. Thank you.", 409)

    async def _new(self, code: str, cohort: str, language: str) -> Participant:
        journey = Journey(self.protocol)
        guest = self.house.guest(code)
        guest.language = language
        guest.here()
        row = {
            "study_id": self.study_id, "code": code, "cohort": cohort, "flags": [],
            "step": journey.stop.name, "visit": 1, "language": language or None,
        }  # fmt: skip
        number: int = await self.write(kept.admit(row))
        who = self.people[code] = Participant(number, guest, cohort, journey, begun=time.time())
        async with who.lock:
            self.places.count(who)
            await self.onward(who)
        return who

    # Going on

    def page_of(self, who: Participant) -> Page:
        """The page that somebody is at, a quiz with its question."""
        stop = who.journey.stop
        assert isinstance(stop, Page)
        if not isinstance(stop.step, Quiz):
            return stop
        if who.quiz is None or who.quiz.game != stop.game:
            play = who.plays[stop.game]
            table = self.house.store.find(play["match_id"]).replay()
            seat = next(one.name for one in table.game.seats if one.place == play["place"])
            events = [moment.event for moment in table.heard[seat]]
            luck = self.chance("quiz", who.code, stop.game)
            item = QUIZZES[table.game.name](table.game, play["place"], events, luck)
            who.quiz = Page(stop.name, stop.visit, stop.game, stop.step, (item,))
        return who.quiz

    async def answer(
        self, who: Participant, number: int, fields: Mapping[str, str], writing: Writing = PLAIN
    ) -> bool:
        """Answer the page that somebody is at.

        An answer to another page counts as seen, and changes nothing. One that is not whole is
        asked for again.

        Args:
            number: how much they had answered when the page was made.
            writing: how the page's language writes numbers.

        Returns:
            Whether what they did is to be deleted now.
        """
        async with who.lock:
            stop = who.journey.stop
            here = self.people.get(who.code) is who and not isinstance(stop, Play)
            if not here or number != len(who.journey.responses):
                return False
            who.guest.room = None  # where they could still read how their match ended
            if isinstance(stop, GoOn) and fields.get("more") in ("yes", "no"):
                await self.take(who, {"more": fields["more"] == "yes"})
            elif isinstance(stop, End) and self.may_come_again(who) is True:
                await self.take(who, {"again": True})
            elif isinstance(stop, Page):
                return await self._answer_page(who, self.page_of(who), fields, writing)
            return False

    async def _answer_page(
        self, who: Participant, page: Page, fields: Mapping[str, str], writing: Writing
    ) -> bool:
        numbers = [item.name for item in page.items if item.number is not None]
        try:
            answer, right = read_page(page, plain_numbers(fields, numbers, writing), self.reserved)
        except Unanswered as lacking:
            who.given, who.problems = dict(fields), lacking.problems
            return False
        changed = NO_CHANGE
        if isinstance(page.step, FirstName):
            who.guest.known_as = chosen_name(fields, self.reserved)
            changed = {"known_as": who.guest.known_as}
        await self.take(who, answer, right, changed)
        return isinstance(page.step, Quiz) and right is False and page.step.erase

    def may_come_again(self, who: Participant) -> bool | float:
        """Whether somebody may begin another visit: at once, never, or from a moment on.

        Moments are in seconds since 1970.
        """
        stop = who.journey.stop
        limits = self.protocol.limits
        ended = isinstance(stop, End) and stop.ending == "complete" and self.state == "open"
        if not ended or stop.game >= limits.games or stop.visit >= limits.visits:
            return False
        begins = self.places.free_from(who)
        if begins is None:
            return False
        return True if begins <= time.time() else begins

    async def take(
        self,
        who: Participant,
        answer: dict[str, Any],
        right: bool | None = None,
        changed: Mapping[str, Any] = NO_CHANGE,
        *,
        step: str | None = None,
        play: Mapping[str, Any] | None = None,
    ) -> None:
        """Go on by an answer, which is committed before anybody acts on it; their lock is held.

        Args:
            changed: further columns of their row.
            step: that is answered; by default where they are.
            play: what is new of a game, with its number.
        """
        stop, answered = who.journey.stop, who.journey.responses
        response = Response(
            step or stop.name, stop.visit, stop.game, answer, right, who.shown, time.time()
        )
        journey = Journey(self.protocol, [*answered, response])
        new = {
            "step": stop.name if journey.ending not in (None, "complete") else journey.stop.name,
            "visit": journey.stop.visit, "ending": journey.ending,
            "language": who.guest.language or None, **changed,
        }  # fmt: skip
        whole = None if play is None else who.plays.get(play["number"], {}) | dict(play)
        owed = dues(journey, f"{self.study.seed}/{who.code}") if journey.ending else ()
        progress = Progress(
            who.id, new, [{"number": len(answered), **response._asdict()}], whole,
            kept.owed_rows(self.study_id, owed),
        )  # fmt: skip
        await self.write(kept.go_on(progress))
        who.journey = journey
        if whole is not None:
            who.plays[whole["number"]] = whole
        who.shown, who.given, who.problems, who.prompt = None, {}, {}, None
        self.places.count(who)
        await self.onward(who)
        who.guest.bell.ring()

    async def onward(self, who: Participant) -> None:
        """Answer what the server answers, and bring somebody to their table; their lock is held."""
        stop = who.journey.stop
        if isinstance(stop, Assign):
            treatment = self.places.assign(who, stop.game)
            if treatment is None:
                await self.take(who, {"treatment": None})
                return
            play = {
                "number": stop.game, "treatment": treatment.name, "game": treatment.game,
                "state": "assigned", "assigned": time.time(),
            }  # fmt: skip
            await self.take(who, {"treatment": treatment.name}, play=play)
        elif isinstance(stop, Play) and who.guest.room is None:
            await self._seat(who, stop)
        elif isinstance(stop, Page) and isinstance(stop.step, Quiz) and self._unasked(who, stop):
            await self.take(who, {})

    def _unasked(self, who: Participant, page: Page) -> bool:
        """Whether the match that a quiz is about was deleted, as somebody else's at the table."""
        return who.plays[page.game].get("match_id") is None

    async def come_back(self, who: Participant) -> None:
        """Do what is due to somebody who is here: a place, where theirs was given up while they
        were away, and whatever could not be done before.
        """
        async with who.lock:
            room, plays = who.guest.room, isinstance(who.journey.stop, Play)
            if plays and room is not None and not room.seats(who.guest):
                who.guest.room = room = None
            if plays and room is not None:
                await self._settle_ended(who, room)
            else:
                await self.onward(who)

    async def _seat(self, who: Participant, stop: Play) -> None:
        """Bring somebody to a table of their treatment: one that waits for people, or a new one."""
        offer = self.house.offers.get(who.plays[stop.game]["treatment"])
        if offer is None:
            LOG.warning("participant %s waits for a table that the study has no longer", who.code)
            return
        group = group_of(who, self.people)
        if is_broken(group, self.people, len(offer.people)):
            await self.settle(who, "partner_left")
            return
        luck = self.chance("place", who.code, stop.game)
        who.waits_since = time.time()
        for room in list(self.house.rooms.values()):
            if room.offer is offer and room.stage is Stage.WAITING:
                self.house.sweep(room)
                if room.free and self._suits(room, who.cohort, group):
                    await self.house.join(room, who.guest, luck.pick(room.free))
                    return
        await self.house.open(offer, who.guest, luck.pick(offer.people))

    def _suits(self, room: Room, cohort: str, group: frozenset[str] | None) -> bool:
        """Whether those who wait in a room are of a cohort, and of a group if that is kept."""
        there = [self.people.get(one.name) for one in room.guests.values() if one is not None]
        return all(
            one is None or (one.cohort == cohort and group_of(one, self.people) == group)
            for one in there
        )

    async def let_part(self, who: Participant) -> None:
        """Let somebody go who waits for a group of which somebody has left."""
        async with who.lock:
            room = who.guest.room
            if room is None or room.stage is not Stage.WAITING or not self.is_at(who, room):
                return
            group = group_of(who, self.people)
            if is_broken(group, self.people, len(room.offer.people)):
                await self.house.leave(who.guest)
                await self.settle(who, "partner_left")
                who.guest.room = None

    # Games

    async def begin_match(self, room: Room) -> None:
        """Note where everybody plays, and draw when they are prompted."""
        for guest in room.guests.values():
            who = None if guest is None else self.people.get(guest.name)
            if who is None or not self.is_at(who, room):
                continue
            number = who.journey.stop.game
            play = who.plays[number] | self.seat_of(who) | {"state": "playing"}
            who.plays[number] = play
            try:
                await self.write(kept.go_on(Progress(who.id, {}, play=play)))
            except StoreError:  # it is noted as the match ends
                LOG.exception("participant %s", who.code)
            await self.draw_prompt(who)

    async def draw_prompt(self, who: Participant) -> None:
        """Draw when somebody is prompted in their game, unless they have been."""
        attention, number = self.protocol.games.attention, who.journey.stop.game
        if attention is None or number not in attention.games:
            return
        begun = who.plays[number]["assigned"] + attention.seconds
        if not any(one.due is not None and one.due >= begun for one in who.notices):
            wait = self.chance("prompt", who.code, number).uniform(*attention.after)
            who.prompt = time.time() + wait

    async def settle_match(self, room: Room) -> None:
        """Let everybody whose match has ended go on, with what it was worth to them."""
        for guest in room.guests.values():
            who = None if guest is None else self.people.get(guest.name)
            if who is not None:
                async with who.lock:
                    await self._settle_ended(who, room)

    async def _settle_ended(self, who: Participant, room: Room) -> None:
        """Settle somebody's game if it has ended; their lock is held."""
        if self.is_at(who, room) and room.stage is Stage.OVER:
            record, place = self.house.store.find(room.match.id), room.place_of(who.guest)
            stood_in = bool(record.kinds.get(place, {}).get(Kind.STOOD_IN))
            if stood_in:
                await self.flag(who, STOOD_IN)
            state, payoff, amount = self._came_to(room, place, record)
            await self.settle(who, state, payoff, amount, stood_in=stood_in)

    async def flag(self, who: Participant, flag: str) -> None:
        """Note something of somebody, once."""
        if flag not in who.flags:
            flags = [*who.flags, flag]
            await self.write(kept.go_on(Progress(who.id, {"flags": flags})))
            who.flags = flags

    def is_at(self, who: Participant, room: Room | None) -> bool:
        """Whether a room is where somebody plays the game that they are at."""
        stop = who.journey.stop
        if room is None or who.guest.room is not room or not isinstance(stop, Play):
            return False
        return all(
            play.get("room") != room.code
            for number, play in who.plays.items() if number != stop.game
        )  # fmt: skip

    def seat_of(self, who: Participant) -> dict[str, Any]:
        """Where somebody plays, as columns of their game; nothing before the match has begun."""
        room = who.guest.room
        if room is None or not self.is_at(who, room) or room.stage is Stage.WAITING:
            return {}
        return {"room": room.code, "match_id": room.match.id, "place": room.place_of(who.guest)}

    async def close(self, room: Room) -> None:
        """Let everybody go on who is in a room where nothing more happens."""
        await self.settle_match(room)
        for guest in filter(None, room.guests.values()):
            if guest.name in self.people and room.stage is Stage.BROKEN:
                await self.give_up(self.people[guest.name], room)

    async def give_up(self, who: Participant, room: Room) -> None:
        """Let somebody go on without a match that broke."""
        async with who.lock:
            if self.is_at(who, room) and room.stage is Stage.BROKEN:
                await self.settle(who, "technical")
                who.guest.room = None

    def _came_to(
        self, room: Room, place: str, record: MatchRecord
    ) -> tuple[str, float | None, int | None]:
        """What a match that ended was to who sat in a place: its state, the payoff, and cents."""
        silent = {one for one, _ in invalid(record.kinds)}
        if record.status is Status.FINISHED:
            assert record.payoffs is not None
            amount = game_cents(self.protocol.pay, record.rules, place, record.result(), silent)
            return "finished", record.payoffs[place], amount
        if place in silent:
            return "timed_out", None, None
        return "partner_left" if silent & {*room.guests} else "technical", None, None

    async def settle(
        self, who: Participant, state: str, payoff: float | None = None, amount: int | None = None,
        *, waited: bool = False, stood_in: bool = False,
    ) -> None:  # fmt: skip
        """Note what became of the game that somebody is at; their lock is held.

        Args:
            waited: whether it never began, though they waited for others.
            stood_in: whether a program answered for them in it.
        """
        number = who.journey.stop.game
        answer: dict[str, Any] = {"state": state, "payoff": payoff, "cents": amount}
        answer |= {name: True for name, so in (("waited", waited), ("stood_in", stood_in)) if so}
        play = {
            "number": number, "state": state, "payoff": payoff, "cents": amount,
            "ended": time.time(), **self.seat_of(who),
        }  # fmt: skip
        await self.take(who, answer, play=play)


def changed() -> Refused:
    """What somebody is told who was on a path that the study has no longer."""
    return Refused("The study was changed, and you cannot go on where you were.", 409)


def nameless() -> Refused:
    """What somebody is told whose link does not say who they are."""
    return Refused("This link lacks your id. Use the whole link that you were sent.", 400)


def check_protocol(study: Study) -> None:
    """See that what a study's people go through can be carried out at its games.

    Raises:
        StudyError: it has no people, or wants a quiz about a game that has none.
    """
    if study.people is None:
        raise StudyError(f"{study.name} says nothing of its participants, under people")
    games = [grid.game for grid in study.games]
    for step in study.people.steps:
        lacking = [name for name in games if isinstance(step, Quiz) and name not in QUIZZES]
        if lacking:
            raise StudyError(
                f"people.path: there is no quiz about {lacking[0]}; leave quiz out, or give it one "
                "under the entry point cheaptalk.quizzes"
            )
