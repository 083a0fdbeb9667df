"""The supervisor of an experiment: what a researcher, the clock or a participant's own wish does.

Everybody's place is theirs alone to go on from; here they are prompted, told, moved, let go, and
deleted.
"""

import asyncio
import logging
import time

from cheaptalk.records import StoreError
from cheaptalk.records.people import participants as kept
from cheaptalk.records.people.erasure import erase
from cheaptalk.records.people.participants import Progress
from cheaptalk.records.people.payouts import lines_of
from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.people.items import in_language, same_words
from cheaptalk.studies.people.path import ENDED, Play
from cheaptalk.studies.people.protocol import Ending
from cheaptalk.studies.people.steps import Attention
from cheaptalk.web.participants.erasure import forget, forget_visit
from cheaptalk.web.participants.experiment import Experiment
from cheaptalk.web.participants.people import Notice, Participant
from cheaptalk.web.rooms.pages import until
from cheaptalk.web.rooms.rooms import Stage

LOG = logging.getLogger(__name__)
MINDED = 1.0
"""Seconds between two looks at what is due."""
DAY = 86_400.0
GONE = 3600.0
"""Seconds after which somebody of whom nothing was heard outside a game has dropped out."""
ERASE = "erase"
"""The flag of those who are deleted as soon as their match has ended."""
MISSED = "missed a prompt"


class Supervisor:
    """Looks after the participants of an experiment."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.protocol = experiment.protocol
        self.since = time.time()
        self._unwiped = True

    # By the clock

    async def mind_at_times(self) -> None:
        """Look after what is due, for ever."""
        while True:
            await asyncio.sleep(MINDED)
            await self.mind(time.time())

    async def mind(self, now: float) -> None:
        """Send prompts, end the time of those not answered, and let go who is gone or erased."""
        if self._unwiped:
            await self._wipe()
        await self._let_time_end(now)
        for who in list(self.experiment.people.values()):
            try:
                await self._mind(who, now)
            except Exception:  # the others are looked after all the same
                LOG.exception("what is due to participant %s cannot be done", who.code)

    async def _let_time_end(self, now: float) -> None:
        """Delete people's data once they have been kept for as long as the study says.

        Who is still owed something stays until that is paid out.
        """
        until = self.experiment.keep_until
        if until is None or now < until or self.experiment.state != "closed":
            return
        store, study_id = self.experiment.house.store, self.experiment.study_id
        owed = {line.code for line in lines_of(store, study_id, None)}
        for who in list(self.experiment.people.values()):
            if who.code not in owed and who.ending is not None and ERASE not in who.flags:
                await self.erase(who)

    async def _mind(self, who: Participant, now: float) -> None:
        if ERASE in who.flags:
            await self.erase(who)
        if who.ending is not None:
            return
        if self.protocol.games.together:
            await self.experiment.let_part(who)
        attention = self.protocol.games.attention
        if who.prompt is not None and now >= who.prompt:
            who.prompt = None
            if attention is not None and self._plays(who):
                await self.prompt(who, attention)
        notice = who.notice
        if notice is not None and notice.due is not None and now >= notice.due:
            await self.answer_notice(who, notice.id, "", late=True)
        heard = max(who.guest.seen, who.shown or 0.0, self.since)
        if now - heard >= GONE and not self._plays(who):
            await self.end(who, "timed_out")

    def _plays(self, who: Participant) -> bool:
        """Whether somebody's match is under way."""
        room = who.guest.room
        return room is not None and room.stage is Stage.PLAYING and not room.over

    # Words to participants

    async def tell(self, who: Participant, text: str) -> None:
        """Send somebody a message, which stays on their page until they have read it."""
        await self._notify(who, "message", text, None, None)

    async def prompt(self, who: Participant, prompt: Attention) -> None:
        """Ask somebody whether they attend; who does not answer in time has failed."""
        text = in_language(prompt.text, who.guest.language).replace("{word}", prompt.word)
        await self._notify(who, "attention", text, prompt.word, time.time() + prompt.seconds)

    async def _notify(
        self, who: Participant, kind: str, text: str, wanted: str | None, due: float | None
    ) -> None:
        row = {
            "participant_id": who.id, "kind": kind, "text": text, "wanted": wanted,
            "sent": time.time(), "due": due,
        }  # fmt: skip
        (number,) = await self.experiment.write(kept.notify([row]))
        who.notices.append(Notice(number, kind, text, wanted, due))
        who.guest.bell.ring()

    async def answer_notice(
        self, who: Participant, number: int, text: str, *, late: bool = False
    ) -> None:
        """Take somebody's answer to a notice.

        A wrong word may be corrected until the notice's time is over.

        Args:
            late: whether that is so, and nothing was answered.
        """
        notice = next((one for one in who.notices if one.id == number), None)
        if notice is None or notice.answered is not None:
            return
        late = late or (notice.due is not None and time.time() >= notice.due)
        right = None if notice.wanted is None else same_words(text, notice.wanted) and not late
        if right is False and not late:
            notice.refused = text
            return
        notice.answered, notice.right = time.time(), right
        try:
            await self.experiment.write(kept.answer_notice(number, right=right))
        except StoreError:
            notice.answered = notice.right = None
            raise
        who.guest.bell.ring()
        if right is False:
            await self.experiment.flag(who, MISSED)
            if self.expels:
                await self.end(who, "failed_attention")

    @property
    def expels(self) -> bool:
        """Whether who does not answer a prompt in time cannot go on."""
        attention = self.protocol.games.attention
        return attention is None or attention.otherwise == "failed_attention"

    # Leaving

    async def leave_table(self, who: Participant) -> None:
        """Let somebody leave the room in which they wait or play, which ends their visit.

        Who has waited for others for as long as the study asks is paid for that.
        """
        await self.see_out(who)
        async with who.lock:
            room = who.guest.room
            if room is None or not self.experiment.is_at(who, room):
                return
            waited = room.stage is Stage.WAITING and self.waited(who)
            await self.experiment.house.leave(who.guest)
            await self.experiment.settle(who, "timed_out" if waited else "left", waited=waited)
            who.guest.room = None

    async def see_out(self, who: Participant) -> None:
        """Let a match that has ended be settled, before its participant goes."""
        room = who.guest.room
        if room is not None and room.over and room.stage is not Stage.BROKEN:
            await until(lambda: not self.experiment.is_at(who, room), who.guest.bell)

    def waited(self, who: Participant) -> bool:
        """Whether somebody has waited for others for as long as the study asks."""
        return time.time() >= self.may_go(who)

    def may_go(self, who: Participant) -> float:
        """From when on somebody who waits for others may go with pay, in seconds since 1970."""
        return who.waits_since + 60 * self.protocol.games.lobby.minutes

    async def give_up(self, who: Participant) -> None:
        """Let somebody go on without a match that broke."""
        if who.guest.room is not None:
            await self.experiment.give_up(who, who.guest.room)

    async def done(self, who: Participant) -> None:
        """Let somebody leave the page on which they read how their match ended."""
        await self.see_out(who)
        async with who.lock:
            room = who.guest.room
            if room is not None and room.over and not self.experiment.is_at(who, room):
                who.guest.room = None
                await self.experiment.onward(who)
                who.guest.bell.ring()

    async def end(self, who: Participant, ending: Ending) -> None:
        """End somebody's visit where it is, as when they withdraw or are removed."""
        await self.see_out(who)
        async with who.lock:
            if who.ending is not None or self.experiment.people.get(who.code) is not who:
                return
            play, stop = None, who.journey.stop
            if isinstance(stop, Play):
                seat = self.experiment.seat_of(who)
                await self.experiment.house.leave(who.guest)
                play = {"number": stop.game, "state": "left", "ended": time.time(), **seat}
            who.guest.room = None
            await self.experiment.take(who, {"ending": ending}, step=ENDED, play=play)

    # By a researcher

    async def recruit(self, state: str) -> None:
        """Open, pause or close the study to new people; those who are there go on."""
        if state not in ("open", "paused", "closed"):
            raise CheaptalkError(f'a study is open, paused or closed, not "{state}"')
        keep = self.protocol.keep_days
        until = None if keep is None or state != "closed" else time.time() + keep * DAY
        await self.experiment.write(kept.recruit(self.experiment.study_id, state, until))
        self.experiment.state, self.experiment.keep_until = state, until

    async def move(self, who: Participant, cohort: str) -> None:
        """Move somebody to another cohort; who waits for others then waits for those of it.

        Raises:
            CheaptalkError: there is no such cohort, or their match is under way.
        """
        if cohort not in self.protocol.cohorts:
            raise CheaptalkError(f'there is no cohort "{cohort}"')
        async with who.lock:
            room, stop = who.guest.room, who.journey.stop
            if isinstance(stop, Play) and room is not None and room.stage is not Stage.WAITING:
                raise CheaptalkError("their match is under way; move them when it has ended")
            if isinstance(stop, Play):
                await self.experiment.house.leave(who.guest)
                who.guest.room = None
            await self.experiment.write(kept.go_on(Progress(who.id, {"cohort": cohort})))
            who.cohort = cohort
            await self.experiment.onward(who)
            who.guest.bell.ring()

    async def erase(self, who: Participant) -> bool:
        """Delete all that somebody did: now, or as soon as their match has ended.

        Returns:
            Whether it is done.
        """
        await self.experiment.flag(who, ERASE)  # so that it is done whatever happens meanwhile
        await self.end(who, "withdrawn")
        rooms = [one for one in self.experiment.house.rooms.values() if one.seats(who.guest)]
        if any(one.stage is Stage.PLAYING for one in rooms):
            return False
        for room in rooms:
            await self.experiment.close(room)
        async with who.lock:
            if self.experiment.people.get(who.code) is who:
                await asyncio.to_thread(self.experiment.identities.forget, who.code)
                await self.experiment.write(erase(who.code))
                forget(self.experiment, who)
        await self._wipe()
        return True

    async def erase_visit(self, who: Participant) -> None:
        """Delete what somebody did in the visit that has just ended, as a quiz may ask for.

        What they did and are owed from visits before stays, and that they came.
        """
        for room in list(self.experiment.house.rooms.values()):
            if room.seats(who.guest) and room.stage is not Stage.PLAYING:
                await self.experiment.close(room)
        async with who.lock:
            if self.experiment.people.get(who.code) is who:
                await forget_visit(self.experiment, who)
        await self._wipe()

    async def _wipe(self) -> None:
        """See to it that nothing of what was deleted stays in the store's files; if not now, soon.

        What was deleted before the server was last killed is seen to, too.
        """
        self._unwiped = True
        try:
            await asyncio.to_thread(self.experiment.house.store.backend.wipe)
        except StoreError:
            LOG.exception("deleted data is still in the files")
        else:
            self._unwiped = False
