"""An experiment: participants, the steps they complete and the games they play."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa

from cheaptalk.players import Kind
from cheaptalk.records import StoreError
from cheaptalk.records.people import participants as rows
from cheaptalk.records.people.corrections import text_version
from cheaptalk.records.people.identities import Identities
from cheaptalk.records.people.participants import Progress
from cheaptalk.rules import Chance
from cheaptalk.studies.estimates.payments import PaymentForecast, forecast_payments
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
from cheaptalk.studies.people.pay import GamePay, dues, participant_cents, statements
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.studies.people.steps import QUIZZES, FirstName, Quiz
from cheaptalk.studies.plans.designs import design_of
from cheaptalk.studies.plans.plan import plan
from cheaptalk.studies.study import Study
from cheaptalk.styles.writing import PLAIN, Writing
from cheaptalk.web.participants.admission.places import Places
from cheaptalk.web.participants.admission.quotas import Quotas
from cheaptalk.web.participants.payments import outcome_of, seed_of
from cheaptalk.web.participants.people import (
    Participant,
    Refused,
    check_protocol,
    closed,
    full,
    group_of,
    is_broken,
    may_take_part,
    missing_id,
    study_changed,
)
from cheaptalk.web.rooms.links import new_name
from cheaptalk.web.rooms.room_manager import RoomManager
from cheaptalk.web.rooms.rooms import Room, Stage
from cheaptalk.web.rooms.table_templates import TableTemplate
from cheaptalk.web.typed_numbers import plain_numbers

LOG = logging.getLogger(__name__)
STOOD_IN = "a program answered for them"
"""Flag of participants for whom a substitute answered in a game."""
NO_CHANGE: Mapping[str, Any] = {}
T = TypeVar("T")


class Experiment:
    """A running experiment with its participants; the study must have a protocol.

    Attributes:
        state: recruitment state: ``open``, ``paused`` or ``closed``.
        max_cents: maximum payment for one participant in cents, or None.
        max_completions: maximum number of completions, or None.
        keep_until: time at which participants' data are deleted, in seconds since 1970, or None.
        text_version: version of the study's texts, which counts from 1.
        admitting: lock that is held while a participant is admitted.
        suspended: since when all participants are paused, in seconds since 1970, or None.
        orphaned: codes of participants whose steps the study no longer has.

    Raises:
        StudyError: the study has no protocol, or needs a quiz that does not exist.
    """

    def __init__(self, room_manager: RoomManager, study: Study, identities: Identities) -> None:
        check_protocol(study)
        assert study.people is not None
        self.room_manager = room_manager
        self.study = study
        self.protocol: Protocol = study.people
        self.identities = identities
        self.state = "open"
        self.keep_until: float | None = None
        self.suspended: float | None = None
        self.people: dict[str, Participant] = {}
        self.chance = Chance(f"{study.seed}/people")
        templates = room_manager.table_templates.values()
        self.max_cents = participant_cents(self.protocol, [item.game for item in templates])
        self.places: Places | None = None
        self.max_completions = self.protocol.recruitment.places
        if self.protocol.games.design != "arrival":
            design = design_of(study, plan(study).matches)
            assert design is not None
            self.places = Places(self.protocol, templates, self.chance, design)
            self.max_completions = design.places
        self.quotas = self.places or Quotas(self.protocol, templates, self.chance)
        self.reserved_names = {
            language.called(table_template.shown.called(seat))
            for table_template in room_manager.table_templates.values()
            for seat in table_template.seated
            for language in room_manager.languages.values()
        }
        self.text_version = text_version(room_manager.store, self.study_id)
        self.admitting = asyncio.Lock()
        self.orphaned: set[str] = set()
        room_manager.on_begin, room_manager.on_end = self.begin_match, self.settle_match

    async def write(self, work: Callable[[sa.Connection], T]) -> T:
        """Write to the store in a transaction, after all earlier writes."""
        return await self.room_manager.host.dispatcher.ledger.write(work)

    @property
    def study_id(self) -> int:
        return self.room_manager.host.rows.id

    # Admission

    async def admit(
        self,
        known_by: str | None,
        other_ids: str = "",
        cohort: str | None = None,
        language: str = "",
        code: str = "",
    ) -> Participant:
        """Admit a new participant, or return one who has already been admitted.

        ``known_by`` is the platform ID, and ``other_ids`` are the link's other parameters. A second
        request with the same ``code`` returns the same participant. :class:`Refused` is raised if
        the person cannot take part.
        """
        recruitment, cohorts = self.protocol.recruitment, self.protocol.cohorts
        if recruitment.parameters and not known_by:
            raise missing_id()
        if cohort and cohort not in cohorts:
            raise Refused("This link is incomplete. Use the complete link that you received.", 400)
        ids, study = self.identities, self.study.name
        if known_by and not await asyncio.to_thread(
            may_take_part, recruitment, ids, study, known_by
        ):
            raise Refused("This study is by invitation only.", 403)
        async with self.admitting:
            name, source, code = self.study.name, recruitment.source, code or new_name()
            if code in self.people:
                return self.people[code]
            if known_by:
                earlier = await asyncio.to_thread(self.identities.code_of, name, source, known_by)
                if earlier in self.people:
                    return self.people[earlier]
                if earlier in self.orphaned:
                    raise study_changed()
                self.expect_open()
                note = self.identities.note
                code = await asyncio.to_thread(note, name, source, known_by, code, other_ids)
            self.expect_open()
            return await self._new(code, cohort or cohorts[0], language)

    def expect_open(self) -> None:
        if self.state == "closed":
            raise closed()
        if self.state == "paused" or self.suspended is not None:
            raise Refused("Please come back later.", 503)
        if self.quotas.full:
            raise full()
        if self.protocol.pay.budget is not None and self.forecast_payments().exceeds_budget:
            raise Refused("Please come back later.", 503)

    def forecast_payments(self) -> PaymentForecast:
        """Return the payments so far, and a forecast."""
        store, places = self.room_manager.store, self.max_completions
        return forecast_payments(store, self.study_id, self.protocol, places, self.max_cents)

    async def _new(self, code: str, cohort: str, language: str) -> Participant:
        journey = Journey(self.protocol)
        visitor = self.room_manager.visitor(code)
        visitor.language = language
        visitor.mark_seen()
        row = {
            "study_id": self.study_id,
            "code": code,
            "cohort": cohort,
            "flags": [],
            "step": journey.stop.name,
            "visit": 1,
            "language": language or None,
        }
        number: int = await self.write(rows.admit(row))
        person = self.people[code] = Participant(
            number, visitor, cohort, journey, begun=time.time()
        )
        async with person.lock:
            self.quotas.update(person)
            await self.advance(person)
        return person

    # Steps

    def page_of(self, person: Participant) -> Page:
        """Return the participant's current page, including the generated question of a quiz."""
        stop = person.journey.stop
        assert isinstance(stop, Page)
        if not isinstance(stop.step, Quiz):
            return stop
        if person.quiz is None or person.quiz.game != stop.game:
            play = person.plays[stop.game]
            table = self.room_manager.store.find(play["match_id"]).replay()
            actor = next(member.name for member in table.game.actors if member.seat == play["seat"])
            events = [moment.event for moment in table.heard[actor]]
            rng = self.chance("quiz", person.code, stop.game)
            formats = {
                code: language.writing for code, language in self.room_manager.languages.items()
            }
            item = QUIZZES[table.game.name](table.game, play["seat"], events, rng, formats)
            person.quiz = Page(stop.name, stop.visit, stop.game, stop.step, (item,))
        return person.quiz

    async def answer(
        self,
        person: Participant,
        number: int,
        fields: Mapping[str, str],
        writing: Writing = PLAIN,
        version: int | None = None,
    ) -> bool:
        """Process the answer to a participant's current page.

        Answers to other pages are ignored, by the ``number`` of responses when the page was
        rendered, and incomplete answers are requested again. ``version`` is that of the page's
        texts. Return whether to delete the data of the visit now.
        """
        async with person.lock:
            stop = person.journey.stop
            current = self.people.get(person.code) is person and not isinstance(stop, Play)
            if not current or number != len(person.journey.responses):
                return False
            if person.pause is not None:
                person.entered = dict(fields)  # kept on the page, to be sent after the pause
                return False
            person.visitor.room = None  # closes the page with the result of the last match
            if isinstance(stop, GoOn) and fields.get("more") in ("yes", "no"):
                await self.record_answer(person, {"more": fields["more"] == "yes"})
            elif isinstance(stop, End) and self.may_start_visit(person) is True:
                await self.record_answer(person, {"again": True})
            elif isinstance(stop, Page):
                page = self.page_of(person)
                return await self._answer_page(person, page, fields, writing, version)
            return False

    async def _answer_page(
        self,
        person: Participant,
        page: Page,
        fields: Mapping[str, str],
        writing: Writing,
        version: int | None,
    ) -> bool:
        typed = (item for item in page.items if item.answer.typed)
        numbers = [column for item in typed for column in item.columns.values()]
        try:
            values = plain_numbers(fields, numbers, writing)
            answer, correct = read_page(page, values, self.reserved_names)
        except Unanswered as error:
            person.entered, person.problems = dict(fields), error.problems
            return False
        changes = NO_CHANGE
        if isinstance(page.step, FirstName):
            person.visitor.known_as = chosen_name(fields, self.reserved_names)
            changes = {"known_as": person.visitor.known_as}
        await self.record_answer(person, answer, correct, changes, version=version)
        return isinstance(page.step, Quiz) and correct is False and page.step.erase

    def may_start_visit(self, person: Participant) -> bool | float:
        """Return whether a participant may start another visit, or the time from which they may."""
        stop = person.journey.stop
        limits = self.protocol.limits
        ended = isinstance(stop, End) and stop.ending == "complete" and self.state == "open"
        ended = ended and self.suspended is None
        if not ended or stop.game >= limits.games or stop.visit >= limits.visits:
            return False
        start = self.quotas.free_from(person)
        if start is None:
            return False
        return True if start <= time.time() else start

    async def record_answer(
        self,
        person: Participant,
        answer: dict[str, Any],
        correct: bool | None = None,
        changes: Mapping[str, Any] = NO_CHANGE,
        *,
        step: str | None = None,
        play: Mapping[str, Any] | None = None,
        version: int | None = None,
    ) -> None:
        """Save an answer and go to the next step; the caller must hold the participant's lock.

        ``changes`` are further columns of the participant's row, and ``play`` contains the changed
        columns of a game, with its number. By default, ``step`` is the current one. ``version``
        is that of the texts on the answered page, if any.
        """
        stop, responses = person.journey.stop, person.journey.responses
        place, times = (step or stop.name, stop.visit, stop.game), (person.shown_at, time.time())
        response = Response(*place, answer, correct, *times, version)
        journey = Journey(self.protocol, [*responses, response])
        columns = {
            "step": stop.name if journey.ending not in (None, "complete") else journey.stop.name,
            "visit": journey.stop.visit,
            "ending": journey.ending,
            "language": person.visitor.language or None,
            **changes,
        }
        merged = None if play is None else person.plays.get(play["number"], {}) | dict(play)
        seed = seed_of(self.study, person.code)
        payments = dues(journey, seed) if journey.ending else ()
        selected = statements(journey, journey.endings, seed)[-1].games if journey.ending else {}
        progress = Progress(
            person.id,
            columns,
            [{"number": len(responses), **response._asdict()}],
            merged,
            rows.owed_rows(self.study_id, (due[:3] for due in payments)),
            selected,
        )
        await self.write(rows.go_on(progress))
        person.journey = journey
        for game, paid in selected.items():
            person.plays[game]["paid"] = paid
        if merged is not None:
            person.plays[merged["number"]] = merged
        person.shown_at, person.entered, person.problems, person.prompt_due = None, {}, {}, None
        self.quotas.update(person)
        await self.advance(person)
        person.visitor.notifier.notify()

    async def advance(self, person: Participant) -> None:
        """Complete automatic steps and seat the participant; the caller must hold their lock."""
        stop = person.journey.stop
        if isinstance(stop, Assign):
            assignment = self.quotas.assign(person, stop.game)
            if assignment is None:
                if not self.quotas.may_wait(person):
                    await self.record_answer(person, {"treatment": None})
                return
            play = {
                "number": stop.game,
                "treatment": assignment.answer["treatment"],
                "game": assignment.game,
                "state": "assigned",
                "assigned": time.time(),
                **assignment.play,
            }
            await self.record_answer(person, assignment.answer, play=play)
        elif isinstance(stop, Play) and person.visitor.room is None:
            await self._seat(person, stop)
        elif isinstance(stop, Page) and isinstance(stop.step, Quiz):
            match_id = person.plays[stop.game].get("match_id")
            if match_id is None:  # deleted with another participant
                await self.record_answer(person, {})

    async def resume(self, person: Participant) -> None:
        """Seat a returning participant again, or record the result of a game that has ended."""
        async with person.lock:
            room, plays = person.visitor.room, isinstance(person.journey.stop, Play)
            if plays and room is not None and not room.has_seat(person.visitor):
                person.visitor.room = room = None
            if plays and room is not None:
                await self._settle_ended(person, room)
            else:
                await self.advance(person)

    def template_of(self, person: Participant) -> TableTemplate | None:
        """Return the table template of a participant's latest game; None before the first."""
        assigned = person.journey.assigned
        if assigned is None:
            return None
        name = assigned.answer.get("template", assigned.answer["treatment"])
        return self.room_manager.table_templates.get(name)

    async def _seat(self, person: Participant, stop: Play) -> None:
        table_template = self.template_of(person)
        if table_template is None:
            LOG.warning("the study no longer has the treatment of participant %s", person.code)
            return
        group = group_of(person, self.people)
        if is_broken(group, self.people, len(table_template.human_seats)):
            await self.settle(person, "partner_left")
            return
        rng = self.chance("place", person.code, stop.game)
        if person.waits_since < person.journey.responses[-1].answered:
            person.waits_since = time.time()
        wanted, partners = self.quotas.seat_of(person, table_template), None
        if self.places is not None:
            if self.places.waiting_group(person) is not None:
                return
            partners = self.places.partners(person)
        if partners is not None and not self._can_play(table_template, wanted, partners):
            await self.settle(person, "partner_left")
            return
        for room in list(self.room_manager.rooms.values()):
            if room.table_template is table_template and room.stage is Stage.WAITING:
                self.room_manager.sweep(room)
                suits = all(
                    other.cohort == person.cohort
                    and other.pause is None
                    and group_of(other, self.people) == group
                    and (partners is None or other in partners)
                    for other in self._people_in(room)
                )
                free = [seat for seat in room.free if wanted in (None, seat)]
                if free and suits and (partners is None or any(self._people_in(room))):
                    await self.room_manager.join(room, person.visitor, rng.pick(free))
                    await self._fill_if_alone(person, room)
                    return
        seat = wanted or rng.pick(table_template.human_seats)
        room = await self.room_manager.open(table_template, person.visitor, seat)
        await self._fill_if_alone(person, room)

    def _can_play(
        self,
        template: TableTemplate,
        seat: str | None,
        partners: Sequence[Participant | None],
    ) -> bool:
        """Return whether a match can start: no partner has left, or programs can replace them."""
        others = {*template.human_seats} - {seat}
        replaceable = self.protocol.games.lobby.substitutes and others <= {*template.substitutes}
        return replaceable or None not in partners

    async def _fill_if_alone(self, person: Participant, room: Room) -> None:
        """Start a match with programs in the seats of partners who have left."""
        partners = None if self.places is None else self.places.partners(person)
        if partners is None or room.stage is not Stage.WAITING:
            return
        present = list(self._people_in(room))
        if None in partners and all(other in present for other in partners if other):
            await self.room_manager.fill(room)

    async def retry(self, person: Participant) -> None:
        """Assign or seat a waiting participant, or end their game, after others have left."""
        if self.places is None or not isinstance(person.journey.stop, Assign | Play):
            return
        async with person.lock:
            stop, room = person.journey.stop, person.visitor.room
            if not person.visitor.present:
                if isinstance(stop, Assign) and not self.places.may_wait(person):
                    await self.record_answer(person, {"treatment": None})
            elif isinstance(stop, Assign):
                await self.advance(person)
            elif room is None:  # groups that wait start as soon as their last member is ready
                if self.places.has_started(person):
                    await self.advance(person)
            elif room.stage is Stage.WAITING and self.plays_in(person, room):
                partners = self.places.partners(person)
                seat = room.seat_of(person.visitor) if room.has_seat(person.visitor) else None
                if partners is None or seat is None:
                    return
                if self._can_play(room.table_template, seat, partners):
                    await self._fill_if_alone(person, room)
                    return
                await self.room_manager.leave(person.visitor)
                await self.settle(person, "partner_left")

    def _people_in(self, room: Room) -> Iterator[Participant]:
        visitors = filter(None, room.visitors.values())
        return (self.people[visitor.name] for visitor in visitors if visitor.name in self.people)

    async def leave_broken_group(self, person: Participant) -> None:
        """End a waiting participant's game if a member of their group has left the study."""
        async with person.lock:
            room = person.visitor.room
            if room is None or room.stage is not Stage.WAITING or not self.plays_in(person, room):
                return
            group = group_of(person, self.people)
            if is_broken(group, self.people, len(room.table_template.human_seats)):
                await self.room_manager.leave(person.visitor)
                await self.settle(person, "partner_left")
                person.visitor.room = None

    # Games

    async def begin_match(self, room: Room) -> None:
        """Record the participants' seats when a match starts, and schedule attention checks."""
        for person in self._people_in(room):
            if not self.plays_in(person, room):
                continue
            if person.pause is not None:
                room.seat_session(person.visitor).stop_clock(time.time())
            number = person.journey.stop.game
            play = person.plays[number] | self.seat_columns(person) | {"state": "playing"}
            person.plays[number] = play
            try:
                await self.write(rows.go_on(Progress(person.id, {}, play=play)))
            except StoreError:  # the seat is recorded again when the match ends
                LOG.exception("the seat of participant %s cannot be saved", person.code)
            await self.schedule_prompt(person)

    async def schedule_prompt(self, person: Participant) -> None:
        """Draw the time of a participant's attention check, unless this game has had one."""
        attention, number = self.protocol.games.attention, person.journey.stop.game
        if attention is None or number not in attention.games:
            return
        start = person.plays[number]["assigned"] + attention.seconds
        if not any(notice.due is not None and notice.due >= start for notice in person.notices):
            wait = self.chance("prompt", person.code, number).uniform(*attention.after)
            person.prompt_due = time.time() + wait

    async def settle_match(self, room: Room) -> None:
        for person in self._people_in(room):
            async with person.lock:
                await self._settle_ended(person, room)

    async def _settle_ended(self, person: Participant, room: Room) -> None:
        """If a participant's game is over, record its result; the caller must hold their lock."""
        if self.plays_in(person, room) and room.stage is Stage.OVER:
            record = self.room_manager.store.find(room.match.id)
            seat = room.seat_of(person.visitor)
            stood_in = bool(record.kinds.get(seat, {}).get(Kind.STOOD_IN))
            if stood_in:
                await self.flag(person, STOOD_IN)
            state, payoff, pay = outcome_of(self.study, person, room, record)
            await self.settle(person, state, payoff, pay, stood_in=stood_in)

    async def flag(self, person: Participant, flag: str) -> None:
        if flag not in person.flags:
            flags = [*person.flags, flag]
            await self.write(rows.go_on(Progress(person.id, {"flags": flags})))
            person.flags = flags

    def plays_in(self, person: Participant, room: Room | None) -> bool:
        stop = person.journey.stop
        if room is None or person.visitor.room is not room or not isinstance(stop, Play):
            return False
        return all(
            play.get("room") != room.code
            for number, play in person.plays.items()
            if number != stop.game
        )

    def seat_columns(self, person: Participant) -> dict[str, Any]:
        """Return the room, match and seat of a participant's game; empty before the match."""
        room = person.visitor.room
        if room is None or not self.plays_in(person, room) or room.stage is Stage.WAITING:
            return {}
        return {"room": room.code, "match_id": room.match.id, "seat": room.seat_of(person.visitor)}

    async def close(self, room: Room) -> None:
        """Record the result of a room's match or, if it failed, end the participants' games."""
        await self.settle_match(room)
        for person in self._people_in(room):
            await self.end_failed_match(person, room)

    async def end_failed_match(self, person: Participant, room: Room) -> None:
        async with person.lock:
            if self.plays_in(person, room) and room.stage is Stage.BROKEN:
                await self.settle(person, "technical")
                person.visitor.room = None

    async def settle(
        self,
        person: Participant,
        state: str,
        payoff: float | None = None,
        pay: GamePay | None = None,
        *,
        waited: bool = False,
        stood_in: bool = False,
    ) -> None:
        """Record the result of a participant's current game; the caller must hold their lock.

        The participant may have ``waited`` for a match that never started, or a substitute may have
        ``stood_in`` for them.
        """
        number, amount = person.journey.stop.game, None if pay is None else pay.cents
        answer: dict[str, Any] = {"state": state, "payoff": payoff, "cents": amount}
        answer |= {} if pay is None else pay.recorded
        answer |= {key: True for key, on in (("waited", waited), ("stood_in", stood_in)) if on}
        play = {
            "number": number,
            "state": state,
            "payoff": payoff,
            "cents": amount,
            "ended": time.time(),
            **self.seat_columns(person),
        }
        if pay is not None and pay.rounds is not None:
            play["paid_rounds"] = pay.rounds
        await self.record_answer(person, answer, play=play)
