"""A person at a table: the questions that are open, their answers, and whether they are there."""

import asyncio
import hashlib
import re
import time
from contextlib import suppress
from dataclasses import dataclass

from cheaptalk.calls.budget import Halted
from cheaptalk.models import Failure, Reply
from cheaptalk.players import PersonCall
from cheaptalk.rules import Table

PRESENT = 40.0
"""Seconds after which somebody of whom nothing was heard is not there."""
KEY = re.compile(r"([0-9]{1,9})_([0-9]{1,9})_[0-9a-f]{16}")
"""What names a question: where in the match it stands, after how many refusals, and a digest."""
CLOSING = "the server is being stopped"


class Bell:
    """Rings when something has happened that somebody's page shows.

    Attributes:
        number: how often it rang.
    """

    def __init__(self) -> None:
        self.number = 0
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Wake all who wait."""
        self.number += 1
        self._rung.set()
        self._rung = asyncio.Event()

    async def after(self, number: int, seconds: float) -> int:
        """Wait until it has rung more often than ``number``, or for so long; how often it rang."""
        if self.number == number:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._rung.wait(), seconds)
        return self.number


@dataclass
class Question:
    """A question that waits for a person's answer.

    Attributes:
        key: names it, the same after a restart; an answer to another question does not count.
        due: when the answer must have come, in seconds since 1970; None without a deadline.
    """

    key: str
    call: PersonCall
    due: float | None
    answer: "asyncio.Future[str]"


class Sitting:
    """A person's place in a match.

    Attributes:
        place: where they sit.
        code: of the room.
        open: the questions that wait, by seat: a place may have several.
        away: whether they gave no answer in time, so that whoever stands in plays until they are
            back.
        left: whether they have left the table for good.
        refused: the answer, as fields of its form, that was refused last.
        unclear: what stood in it for a number that could not be told; such an answer is not given.
    """

    def __init__(self, place: str, bell: Bell, code: str) -> None:
        self.place = place
        self.code = code
        self.bell = bell
        self.open: dict[str, Question] = {}
        self.away = False
        self.left = False
        self.refused: dict[str, str] = {}
        self.unclear = ""
        self.halted: str | None = None
        self._due: dict[str, tuple[int, float]] = {}

    async def ask(self, call: PersonCall, table: Table) -> Reply:
        """Put a question to the person and wait for the answer.

        Raises:
            Halted: the server stops.
        """
        if self.halted:
            raise Halted(self.halted)
        if self.left or self.away:
            return _LEFT if self.left else _none("away since an earlier question")
        self.unclear = ""
        asked = time.time()
        due = self._due_of(call, table.requests, asked)
        waiting: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.open[call.seat] = Question(
            self._key(table.requests, call.seat, call.attempt), call, due, waiting
        )
        self.bell.ring()
        try:
            text = await asyncio.wait_for(waiting, due and max(0.0, due - asked))
        except TimeoutError:
            self.away = not self.left
            return _LEFT if self.left else _none(f"no answer in {call.deadline} seconds")
        finally:
            del self.open[call.seat]
            self.bell.ring()
        return Reply(text=text, seconds=round(time.time() - asked, 4))

    @property
    def question(self) -> Question | None:
        """The question to be answered first."""
        return next(iter(self.open.values()), None)

    def waiting(self, key: str) -> Question | None:
        """The question of this name, if it still waits for its answer."""
        waiting = (one for one in self.open.values() if not one.answer.done())
        return next((one for one in waiting if one.key == key), None)

    def answer(self, question: Question, text: str, fields: dict[str, str]) -> None:
        """Answer a question that waits.

        Args:
            text: the answer as the player reads it.
            fields: as they were filled in, to be shown again where it is refused.
        """
        self.refused, self.unclear = fields, ""
        question.answer.set_result(text)

    def leave(self) -> None:
        """Leave the table: no question is put any more."""
        self.left = True
        for question in self.open.values():
            if not question.answer.done():
                question.answer.set_exception(TimeoutError())

    def back(self) -> None:
        """Be there again: the next question is put."""
        self.away = False
        self.bell.ring()

    def halt(self, why: str) -> None:
        """Stop waiting; the question is put again when the match goes on."""
        self.halted = why
        for question in self.open.values():
            if not question.answer.done():
                question.answer.set_exception(Halted(why))

    def behind(self, key: str, table: Table | None) -> bool:
        """Whether a table that is taken up again has yet to come to the question of this name."""
        known = KEY.fullmatch(key)
        if self.waiting(key) or self.left or self.away or not known:
            return False
        if table is None:
            return True
        at, attempt = int(known[1]), int(known[2])
        seats = [one.name for one in table.game.seats if one.place == self.place]
        if key not in (self._key(at, seat, attempt) for seat in seats):
            return False
        waits = any(seat in table.pending and seat not in self.open for seat in seats)
        return table.requests < at or (table.requests == at and waits)

    def _due_of(self, call: PersonCall, request: int, asked: float) -> float | None:
        """When an answer must have come; one that is refused wins no time."""
        if call.deadline is None:
            return None
        known, due = self._due.get(call.seat, (None, 0.0))
        if known != request:
            due = asked + call.deadline
            self._due[call.seat] = request, due
        return due

    def _key(self, request: int, seat: str, attempt: int) -> str:
        """What names a question: the room, where in the match it stands, and which attempt it is.

        It is the same after a restart, so that what is on a page still counts.
        """
        what = f"{self.code}/{request}/{seat}/{attempt}"
        return f"{request}_{attempt}_{hashlib.sha256(what.encode()).hexdigest()[:16]}"


_LEFT = Reply(failure=Failure.LEFT, detail="left the table")


def _none(why: str) -> Reply:
    """That no answer came in time."""
    return Reply(failure=Failure.TIMED_OUT, detail=why)
