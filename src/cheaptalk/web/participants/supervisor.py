"""Supervision of an experiment: researchers' actions, timers and departures."""

import asyncio
import logging
import time

from cheaptalk.records import StoreError
from cheaptalk.records.people import participants as rows
from cheaptalk.records.people.invitations import forget_invitations
from cheaptalk.records.people.participants import Progress, erase
from cheaptalk.records.people.payouts import lines_of
from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.people.answers import same_words
from cheaptalk.studies.people.page_texts.texts import in_language
from cheaptalk.studies.people.path import ENDED, Play
from cheaptalk.studies.people.protocol import Ending, Protocol
from cheaptalk.studies.people.steps import Attention
from cheaptalk.styles.languages import SOURCE
from cheaptalk.web.participants.experiment import Experiment
from cheaptalk.web.participants.notices import note
from cheaptalk.web.participants.people import PAUSE, Participant
from cheaptalk.web.participants.restoration import forget, forget_visit
from cheaptalk.web.rooms.pages import until
from cheaptalk.web.rooms.rooms import Stage

LOG = logging.getLogger(__name__)
CHECK_SECONDS = 1.0
"""Interval of the checks of all participants."""
DAY = 86_400.0
GONE = 3600.0
"""Seconds without a request after which a participant outside a match has dropped out."""
ERASE = "erase"
"""Flag of participants whose data are deleted when their match has ended."""
MISSED = "missed a prompt"


class Supervisor:
    """Supervisor of an experiment's participants."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.since = time.time()
        self._wipe_due = True
        self._invitations_deleted = False

    @property
    def protocol(self) -> Protocol:
        return self.experiment.protocol

    # Timers

    async def run(self) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            await self.check(time.time())

    async def check(self, now: float) -> None:
        """Send attention checks, end timed-out visits, and delete expired data."""
        if self._wipe_due:
            await self._wipe()
        await self._delete_expired(now)
        for person in list(self.experiment.people.values()):
            try:
                await self._check(person, now)
            except Exception:  # the other participants must still be checked
                LOG.exception("participant %s cannot be updated", person.code)

    async def _delete_expired(self, now: float) -> None:
        """After the retention period, delete the data of all participants who have been paid."""
        until = self.experiment.keep_until
        if until is None or now < until or self.experiment.state != "closed":
            return
        store, study_id = self.experiment.room_manager.store, self.experiment.study_id
        name, identities = self.experiment.study.name, self.experiment.identities
        if not self._invitations_deleted:
            await asyncio.to_thread(forget_invitations, identities, name)
            self._invitations_deleted = True
        unpaid = {line.code for line in lines_of(store, study_id, None)}
        for person in list(self.experiment.people.values()):
            complete = person.ending is not None and person.code not in unpaid
            if complete and ERASE not in person.flags:
                await self.erase(person)

    async def _check(self, person: Participant, now: float) -> None:
        if ERASE in person.flags:
            await self.erase(person)
        if person.ending is not None:
            await self.end_pause(person)
        if person.ending is not None or person.pause is not None:
            return
        if self.protocol.games.fixed_groups:
            await self.experiment.leave_broken_group(person)
        await self.experiment.retry(person)
        attention = self.protocol.games.attention
        if person.prompt_due is not None and now >= person.prompt_due:
            person.prompt_due = None
            if attention is not None and self._plays(person):
                await self.prompt(person, attention)
        notice = person.notice
        if notice is not None and notice.due is not None and now >= notice.due:
            await self.answer_notice(person, notice.id, "", late=True)
        resumed = max((one.answered or 0 for one in person.notices if one.kind == PAUSE), default=0)
        last = max(person.visitor.seen, person.shown_at or 0.0, self.since, resumed)
        if now - last >= GONE and not self._plays(person):
            await self.end(person, "timed_out")

    def _plays(self, person: Participant) -> bool:
        room = person.visitor.room
        return room is not None and room.stage is Stage.PLAYING and not room.over

    # Messages to participants

    async def send_message(self, person: Participant, text: str) -> None:
        """Send a message, which stays on the participant's page until they confirm it."""
        await self._notify(person, "message", text, None, None)

    async def prompt(self, person: Participant, prompt: Attention) -> None:
        code = person.visitor.language or SOURCE
        text = self.experiment.room_manager.languages[code].text(in_language(prompt.text, code))
        text = text.replace("{word}", prompt.word)
        await self._notify(person, "attention", text, prompt.word, time.time() + prompt.seconds)

    async def _notify(
        self, person: Participant, kind: str, text: str, expected: str | None, due: float | None
    ) -> None:
        await note(self.experiment, [person], kind, text=text, wanted=expected, due=lambda _: due)

    async def answer_notice(
        self, person: Participant, number: int, text: str, *, late: bool = False
    ) -> None:
        """Record a participant's answer to a message or an attention check.

        A wrong answer can be corrected until the deadline; ``late`` says that it has passed.
        """
        notice = next((item for item in person.notices if item.id == number), None)
        if notice is None or notice.answered is not None:
            return
        late = late or (notice.due is not None and time.time() >= notice.due)
        correct = None
        if notice.expected is not None:
            correct = same_words(text, notice.expected) and not late
        if correct is False and not late:
            notice.rejected = text
            return
        notice.answered, notice.correct = time.time(), correct
        try:
            await self.experiment.write(rows.answer_notice(number, correct=correct))
        except StoreError:
            notice.answered = notice.correct = None
            raise
        person.visitor.notifier.notify()
        if correct is False:
            await self.experiment.flag(person, MISSED)
            if self.ends_on_failure:
                await self.end(person, "failed_attention")

    @property
    def ends_on_failure(self) -> bool:
        attention = self.protocol.games.attention
        return attention is None or attention.on_fail == "failed_attention"

    # Leaving

    async def leave_table(self, person: Participant) -> None:
        """Remove a participant from a waiting room or match, and end their visit.

        Participants are paid for waiting if they have waited for as long as the study requires.
        """
        await self.await_settlement(person)
        async with person.lock:
            room = person.visitor.room
            in_group = room is None and self.waiting_group(person) is not None
            if not (in_group or self.experiment.plays_in(person, room)):
                return
            if room is None or room.stage is Stage.WAITING:
                await self.stop_waiting(person, waited=self.has_waited(person))
            else:
                await self.experiment.room_manager.leave(person.visitor)
                await self.experiment.settle(person, "left")
                person.visitor.room = None

    async def stop_waiting(self, person: Participant, *, waited: bool) -> None:
        """End a participant's waiting for a match; the caller must hold their lock.

        If they have ``waited`` for long enough, they are paid for it or go on to the next game.
        """
        state = "timed_out" if waited else "left"
        if waited and self.may_skip(person):
            state, waited = "partner_left", False
        await self.experiment.room_manager.leave(person.visitor)
        await self.experiment.settle(person, state, waited=waited)

    async def await_settlement(self, person: Participant) -> None:
        """If the participant's match has ended, wait until its result is recorded."""
        room = person.visitor.room
        if room is not None and room.over and room.stage is not Stage.BROKEN:
            await until(lambda: not self.experiment.plays_in(person, room), person.visitor.notifier)

    def waiting_group(self, person: Participant) -> tuple[int, int] | None:
        """Return the number of ready members and the size of a matching group that waits."""
        places = self.experiment.places
        if places is None or not isinstance(person.journey.stop, Play):
            return None
        return places.waiting_group(person)

    def may_skip(self, person: Participant) -> bool:
        """Return whether a participant who has waited in vain goes on to the next game."""
        return self.protocol.games.rematches and self.waiting_group(person) is None

    def has_waited(self, person: Participant) -> bool:
        return time.time() >= self.may_leave_at(person)

    def may_leave_at(self, person: Participant) -> float:
        """Return when a waiting participant may leave with pay, in seconds since 1970."""
        pause, now = person.pause, time.time()
        paused = 0.0 if pause is None else now - max(pause.sent, person.waits_since)
        minutes = self.protocol.games.lobby.minutes
        return person.waits_since + 60 * minutes + person.seconds_added + paused

    async def end_failed_match(self, person: Participant) -> None:
        if person.visitor.room is not None:
            await self.experiment.end_failed_match(person, person.visitor.room)

    async def done(self, person: Participant) -> None:
        await self.await_settlement(person)
        async with person.lock:
            room = person.visitor.room
            if room is not None and room.over and not self.experiment.plays_in(person, room):
                person.visitor.room = None
                await self.experiment.advance(person)
                person.visitor.notifier.notify()

    async def end(self, person: Participant, ending: Ending) -> None:
        """End a participant's visit, for example because they withdraw or are removed."""
        await self.await_settlement(person)
        async with person.lock:
            if person.ending is not None or self.experiment.people.get(person.code) is not person:
                return
            await self.end_pause(person)
            play, stop = None, person.journey.stop
            if isinstance(stop, Play):
                seat = self.experiment.seat_columns(person)
                await self.experiment.room_manager.leave(person.visitor)
                play = {"number": stop.game, "state": "left", "ended": time.time(), **seat}
            person.visitor.room = None
            await self.experiment.record_answer(person, {"ending": ending}, step=ENDED, play=play)

    async def end_pause(self, person: Participant) -> None:
        """Record the end of a pause, if the participant's visit ends during it."""
        if (pause := person.pause) is not None:
            now = time.time()
            await self.experiment.write(rows.resume([pause.id], now, {}))
            pause.answered = now

    # Actions of researchers

    async def recruit(self, state: str) -> None:
        """Open, pause or close recruitment; this does not affect admitted participants."""
        if state not in ("open", "paused", "closed"):
            raise CheaptalkError(
                f'"{state}" is not a recruitment state; expected open, paused or closed'
            )
        keep = self.protocol.keep_days
        until = None if keep is None or state != "closed" else time.time() + keep * DAY
        await self.experiment.write(rows.recruit(self.experiment.study_id, state, until))
        self.experiment.state, self.experiment.keep_until = state, until

    async def move(self, person: Participant, cohort: str) -> None:
        """Move a participant to another cohort, where they wait for new players."""
        if cohort not in self.protocol.cohorts:
            raise CheaptalkError(
                f'"{cohort}" is not a cohort of this study; expected one of '
                f"{', '.join(self.protocol.cohorts)}"
            )
        places = self.experiment.places
        if places is not None and places.place_of(person) is not None:
            raise CheaptalkError(
                "the participant has a place in the design of their cohort; move participants "
                "before their first game"
            )
        async with person.lock:
            room, stop = person.visitor.room, person.journey.stop
            if isinstance(stop, Play) and room is not None and room.stage is not Stage.WAITING:
                raise CheaptalkError(
                    "the participant's match is in progress; move them after it has ended"
                )
            if isinstance(stop, Play):
                await self.experiment.room_manager.leave(person.visitor)
                person.visitor.room = None
            await self.experiment.write(rows.go_on(Progress(person.id, {"cohort": cohort})))
            person.cohort = cohort
            await self.experiment.advance(person)
            person.visitor.notifier.notify()

    async def erase(self, person: Participant) -> bool:
        """Delete a participant's data; return False if their match must end first."""
        await self.experiment.flag(person, ERASE)  # ensures deletion even after a crash
        await self.end(person, "withdrawn")
        all_rooms = self.experiment.room_manager.rooms.values()
        rooms = [room for room in all_rooms if room.has_seat(person.visitor)]
        if any(room.stage is Stage.PLAYING for room in rooms):
            return False
        for room in rooms:
            await self.experiment.close(room)
        async with person.lock:
            if self.experiment.people.get(person.code) is person:
                await asyncio.to_thread(self.experiment.identities.forget, person.code)
                await self.experiment.write(erase(person.code))
                forget(self.experiment, person)
        await self._wipe()
        return True

    async def erase_visit(self, person: Participant) -> None:
        """Delete the data of a participant's last visit, for example after a failed quiz.

        Earlier visits, unpaid amounts from them, and the participant's admission are kept.
        """
        for room in list(self.experiment.room_manager.rooms.values()):
            if room.has_seat(person.visitor) and room.stage is not Stage.PLAYING:
                await self.experiment.close(room)
        async with person.lock:
            if self.experiment.people.get(person.code) is person:
                await forget_visit(self.experiment, person)
        await self._wipe()

    async def _wipe(self) -> None:
        """Remove deleted data from the store's files; if that fails, retry at the next check."""
        self._wipe_due = True
        try:
            await asyncio.to_thread(self.experiment.room_manager.store.backend.wipe)
        except StoreError:
            LOG.exception("deleted data are still in the store's files; retrying")
        else:
            self._wipe_due = False
