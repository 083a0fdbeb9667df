"""Researchers' actions on participants of a running study: advance, replace, extend and pause.

Actions that are not possible raise a :class:`.CheaptalkError` with the reason. Each action is
stored as a notice, which exports contain.
"""

import time
from collections.abc import Iterable

from cheaptalk.players import PersonSeat
from cheaptalk.records.people import participants as rows
from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.people.path import Assign, End, GoOn, Play
from cheaptalk.studies.people.steps import Consent, FirstName
from cheaptalk.web.participants.experiment import Experiment
from cheaptalk.web.participants.notices import note
from cheaptalk.web.participants.people import EXTENSION, PAUSE, Participant
from cheaptalk.web.participants.restoration import session_of
from cheaptalk.web.participants.supervisor import Supervisor
from cheaptalk.web.rooms.rooms import Stage

ADVANCED = "moved on by a researcher"
REPLACED = "replaced by a researcher"
"""Flags of participants."""
MAX_MINUTES = 24 * 60


class Control:
    """Researchers' actions on the participants of an experiment."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.supervisor = supervisor
        self.experiment: Experiment = supervisor.experiment

    async def advance(self, person: Participant) -> None:
        """Skip a participant's page or waiting.

        A page is recorded as a response without answers. Waiting for other players ends as if the
        participant had waited for the full time, so that they are paid for it or go on to the next
        game; waiting for a place ends as ``quota_full``. A failed match ends without fault.

        Raises:
            CheaptalkError: the participant plays, must consent, is paused, or has ended the visit.
        """
        await self.supervisor.await_settlement(person)
        async with person.lock:
            _expect_active(person)
            step, room = person.journey.stop.name, person.visitor.room
            if person.pause is not None:
                raise CheaptalkError("the participant is paused; resume them first")
            if isinstance(person.journey.stop, Play):
                await self._end_wait(person)
            elif room is not None and room.stage is not Stage.WAITING:
                person.visitor.room, step = None, "games"  # the result of a game
                await self.experiment.advance(person)
            else:
                await self._skip_page(person)
        await self._note([person], "advance", step)
        await self.experiment.flag(person, ADVANCED)

    async def _end_wait(self, person: Participant) -> None:
        room = person.visitor.room
        if room is None or room.stage is Stage.WAITING:
            await self.supervisor.stop_waiting(person, waited=True)
        elif room.stage is Stage.BROKEN:
            await self.experiment.settle(person, "technical")
            person.visitor.room = None
        else:
            raise CheaptalkError(
                "the participant is playing; replace them with a program, or extend their deadline"
            )

    async def _skip_page(self, person: Participant) -> None:
        stop = person.journey.stop
        step = getattr(stop, "step", None)
        if isinstance(step, Consent):
            raise CheaptalkError("only the participant can give consent; send them a message")
        answer: dict[str, object] = {}
        if isinstance(stop, Assign):
            answer = {"treatment": None}
        elif isinstance(stop, GoOn):
            answer = {"more": False}
        elif isinstance(step, FirstName):
            answer = {"chosen": False}
        await self.experiment.record_answer(person, answer)

    async def replace(self, person: Participant) -> None:
        """Let the substitute of a participant's seat play until the participant returns.

        Raises:
            CheaptalkError: the participant is not playing, or the seat has no substitute.
        """
        _expect_active(person)
        session, room = session_of(self.experiment, person), person.visitor.room
        if session is None or room is None or session.away or session.has_left:
            raise CheaptalkError("the participant is not playing; to free their place, remove them")
        spec = room.seated(session.seat).spec
        if not isinstance(spec, PersonSeat) or spec.away is None:
            raise CheaptalkError(
                "the study has no program for this seat; add away to the player in the next "
                "study, or remove the participant"
            )
        session.replace()
        await self._note([person], "replacement", room.match.id)
        await self.experiment.flag(person, REPLACED)

    async def extend(self, person: Participant, minutes: float) -> None:
        """Move a participant's current deadline, or the end of their waiting, by some minutes.

        Raises:
            CheaptalkError: the participant has no deadline, or the minutes are out of range.
        """
        if not 0 < minutes <= MAX_MINUTES:
            raise CheaptalkError(f"expected more than 0 and up to {MAX_MINUTES:,} minutes")
        _expect_active(person)
        session, notice = session_of(self.experiment, person), person.notice
        waits = isinstance(person.journey.stop, Play | Assign) and session is None
        prompt = notice if notice is not None and notice.due is not None else None
        if not waits and prompt is None and (session is None or session.due is None):
            raise CheaptalkError("the participant has no deadline at the moment")
        if session is not None:
            session.extend(60 * minutes)
        for notice in (prompt, person.pause):
            if notice is not None and notice.due is not None:
                notice.due += 60 * minutes
                await self.experiment.write(rows.set_due(notice.id, notice.due))
        await self._note([person], EXTENSION, f"{minutes:g}")

    # Pauses

    async def pause(self, person: Participant) -> None:
        """Stop a participant's clocks until :meth:`resume`, also across restarts.

        Raises:
            CheaptalkError: the participant is paused, or has ended the visit.
        """
        _expect_active(person)
        if person.pause is not None:
            raise CheaptalkError("the participant is already paused")
        await self._pause([person])

    async def resume(self, person: Participant) -> None:
        """Start a participant's clocks again, with the time that was left at the pause.

        Raises:
            CheaptalkError: the participant is not paused.
        """
        if person.pause is None:
            raise CheaptalkError("the participant is not paused")
        await self._resume([person])

    async def pause_study(self) -> None:
        """Pause all participants, and admit no new ones."""
        now = time.time()
        await self.experiment.write(rows.suspend(self.experiment.study_id, now))
        self.experiment.suspended = now
        people = self.experiment.people.values()
        await self._pause(p for p in people if p.ending is None and p.pause is None)

    async def resume_study(self) -> None:
        """Resume all participants."""
        await self.experiment.write(rows.suspend(self.experiment.study_id, None))
        self.experiment.suspended = None
        await self._resume(p for p in self.experiment.people.values() if p.pause is not None)

    async def _pause(self, people: Iterable[Participant]) -> None:
        people = [*people]
        for person in people:
            person.note_visible()
        await self._note(people, PAUSE, done=False)
        for person in people:
            session, pause = session_of(self.experiment, person), person.pause
            if session is not None and pause is not None:
                session.stop_clock(pause.sent)

    async def _resume(self, people: Iterable[Participant]) -> None:
        people, now = [*people], time.time()
        if not people:
            return
        pauses = [pause for person in people if (pause := person.pause) is not None]
        dues = {
            notice.id: notice.due + now - max(notice.sent, pause.sent)
            for person in people
            for notice in person.notices
            if (pause := person.pause) is not None
            and notice.kind == "attention"
            and notice.answered is None
            and notice.due is not None
        }
        await self.experiment.write(rows.resume([pause.id for pause in pauses], now, dues))
        for person in people:
            await self._start_clocks(person, now)
            for notice in person.notices:
                notice.due = dues.get(notice.id, notice.due)

    async def _start_clocks(self, person: Participant, now: float) -> None:
        pause = person.pause
        if pause is None:
            return
        pause.answered = now
        person.waits_since += now - max(pause.sent, person.waits_since)
        if person.prompt_due is not None:
            person.prompt_due += now - pause.sent
        if person.hidden_since is not None:
            person.hidden_since = now
        if (session := session_of(self.experiment, person)) is not None:
            session.start_clock()
        async with person.lock:
            room, stop = person.visitor.room, person.journey.stop
            if isinstance(stop, Play) and room is not None and room.stage is Stage.WAITING:
                await self.experiment.room_manager.leave(person.visitor)
                await self.experiment.advance(person)  # joins others who arrived meanwhile
        person.visitor.notifier.notify()

    async def _note(
        self, people: Iterable[Participant], kind: str, text: str = "", *, done: bool = True
    ) -> None:
        people = [*people]
        if people:
            await note(self.experiment, people, kind, text=text, due=self.next_due, done=done)

    def next_due(self, person: Participant) -> float | None:
        """Return a participant's next deadline, in seconds since 1970; None without one."""
        session, stop = session_of(self.experiment, person), person.journey.stop
        if session is not None:
            return session.due
        return self.supervisor.may_leave_at(person) if isinstance(stop, Play) else None


def _expect_active(person: Participant) -> None:
    if isinstance(person.journey.stop, End):
        raise CheaptalkError("the participant's visit has ended")
