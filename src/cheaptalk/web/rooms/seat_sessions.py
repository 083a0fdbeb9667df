"""Sessions of people in the seats of matches, with their decision requests."""

import asyncio
import hashlib
import re
import time
from contextlib import suppress
from dataclasses import dataclass, field

from cheaptalk.calls.budget import Halted
from cheaptalk.models import Failure, Reply
from cheaptalk.players import PersonCall
from cheaptalk.rules import Table

PRESENT = 40.0
"""Seconds since the last request after which a visitor counts as absent."""
KEY = re.compile(r"([0-9]{1,9})_([0-9]{1,9})_[0-9a-f]{16}")
"""The key of a decision request: its number in the match, the attempt, and a digest."""
CLOSING = "the server is stopping"


class ChangeNotifier:
    """A change counter whose updates wake a visitor's event streams."""

    def __init__(self) -> None:
        self.number = 0
        self._changed = asyncio.Event()

    def notify(self) -> None:
        self.number += 1
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait(self, number: int, seconds: float) -> int:
        """Wait up to ``seconds`` until the change count isn't ``number``; return the count."""
        if self.number == number:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), seconds)
        return self.number


@dataclass
class PendingRequest:
    """A decision request that is waiting for a person's answer, possibly until it is due.

    ``due`` and ``since`` are in seconds since 1970, and ``paused`` counts seconds with a stopped
    clock. The key is the same after a restart; answers with other keys are ignored.
    """

    key: str
    call: PersonCall
    due: float | None
    answer: "asyncio.Future[str]"
    since: float = field(default_factory=time.time)
    paused: float = 0.0
    _timer: asyncio.TimerHandle | None = None

    def start_timer(self) -> None:
        """Let the request time out when it is due."""
        self.stop_timer()
        if self.due is not None:
            delay = max(0.0, self.due - time.time())
            self._timer = asyncio.get_running_loop().call_later(delay, self._time_out)

    def stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_out(self) -> None:
        self.fail(TimeoutError(f"no answer in {self.call.deadline} seconds"))

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class SeatSession:
    """A person's seat in a match.

    Attributes:
        open: pending requests by actor; a seat can have several actors.
        away: whether an answer timed out, so that a substitute plays until the person returns.
        replaced: whether a researcher replaced the person, who is then ``away``.
        stopped_at: since when the person's clock is stopped, in seconds since 1970, or None.
        since: when the last request was made or answered, in seconds since 1970.
        rejected: form fields of the answer that was rejected last.
        unclear_number: ambiguous number in these fields; such an answer is not submitted.
        refused_line: the last line of chat, if it was not sent.
    """

    def __init__(self, seat: str, notifier: ChangeNotifier, code: str) -> None:
        self.seat = seat
        self.code = code
        self.notifier = notifier
        self.open: dict[str, PendingRequest] = {}
        self.away = self.replaced = False
        self.stopped_at: float | None = None
        self.since = time.time()
        self.has_left = False
        self.rejected: dict[str, str] = {}
        self.unclear_number = ""
        self.refused_line = ""
        self.halted: str | None = None
        self._due: dict[str, tuple[int, float]] = {}
        self._restored_due: float | None = None

    async def ask(self, call: PersonCall, table: Table) -> Reply:
        if self.halted:
            raise Halted(self.halted)
        if self.has_left or self.away:
            return _LEFT if self.has_left else _timed_out("away since an earlier request")
        self.unclear_number = ""
        self.since = start = time.time()
        due = self._due_of(call, table.requests, self.stopped_at or start)
        request = self.open[call.seat] = PendingRequest(
            self._key(table.requests, call.seat, call.attempt),
            call,
            due,
            asyncio.get_running_loop().create_future(),
        )
        if self.stopped_at is None:
            request.start_timer()
        self.notifier.notify()
        try:
            text = await request.answer
        except TimeoutError as error:
            self.away = not self.has_left
            return _LEFT if self.has_left else _timed_out(str(error))
        finally:
            request.stop_timer()
            del self.open[call.seat]
            self.since = time.time()
            self.notifier.notify()
        return Reply(text=text, seconds=round(time.time() - start - request.paused, 4))

    @property
    def current(self) -> PendingRequest | None:
        return next(iter(self.open.values()), None)

    def find(self, key: str) -> PendingRequest | None:
        pending = (request for request in self.open.values() if not request.answer.done())
        return next((request for request in pending if request.key == key), None)

    def answer(self, request: PendingRequest, text: str, fields: dict[str, str]) -> None:
        self.rejected, self.unclear_number = fields, ""
        request.answer.set_result(text)

    def leave(self) -> None:
        self.has_left = True
        self._fail(TimeoutError())

    def back(self) -> None:
        self.away = self.replaced = False
        self.notifier.notify()

    def replace(self) -> None:
        """Let the substitute play until the person returns."""
        self.away = self.replaced = True
        self._fail(TimeoutError("replaced by a researcher"))
        self.notifier.notify()

    @property
    def due(self) -> float | None:
        """The next deadline of a pending request, in seconds since 1970; None without one."""
        return min((request.due for request in self.open.values() if request.due), default=None)

    def stop_clock(self, moment: float, due: float | None = None) -> None:
        """Stop the person's clock at a moment; ``due`` is the next deadline before a restart."""
        self.stopped_at, self._restored_due = moment, due
        for request in self.open.values():
            request.stop_timer()
            if (
                due is not None and request.due is not None
            ):  # asked before the clock could be stopped again
                self._set_due(request, due)
                self._restored_due = None

    def start_clock(self) -> None:
        """Start the clock again, with the time that was left when it was stopped."""
        if self.stopped_at is not None:
            now = time.time()
            for request in self.open.values():
                request.paused += now - max(self.stopped_at, request.since)
            seconds, self.stopped_at, self._restored_due = now - self.stopped_at, None, None
            self.extend(seconds)

    def extend(self, seconds: float) -> None:
        """Move the deadlines of the pending requests."""
        for request in self.open.values():
            if request.due is not None:
                self._set_due(request, request.due + seconds)
                if self.stopped_at is None:
                    request.start_timer()
        self.notifier.notify()

    def _set_due(self, request: PendingRequest, due: float) -> None:
        number, _ = self._due[request.call.seat]
        request.due = due
        self._due[request.call.seat] = number, due

    def halt(self, reason: str) -> None:
        """Cancel all pending requests, which are sent again when the match resumes."""
        self.halted = reason
        self._fail(Halted(reason))

    def _fail(self, error: Exception) -> None:
        for request in self.open.values():
            request.fail(error)

    def behind(self, key: str, table: Table | None) -> bool:
        """Return whether a match that is being restored has yet to reach a given request."""
        match = KEY.fullmatch(key)
        if self.find(key) or self.has_left or self.away or not match:
            return False
        if table is None:
            return True
        number, attempt = int(match[1]), int(match[2])
        actors = [actor.name for actor in table.game.actors if actor.seat == self.seat]
        if key not in (self._key(number, actor, attempt) for actor in actors):
            return False
        waits = any(actor in table.pending and actor not in self.open for actor in actors)
        return table.requests < number or (table.requests == number and waits)

    def _due_of(self, call: PersonCall, number: int, start: float) -> float | None:
        """Return a request's deadline, which a rejected answer does not extend."""
        if call.deadline is None:
            return None
        previous, due = self._due.get(call.seat, (None, 0.0))
        if previous != number:
            due, self._restored_due = self._restored_due or start + call.deadline, None
            self._due[call.seat] = number, due
        return due

    def _key(self, number: int, actor: str, attempt: int) -> str:
        identity = f"{self.code}/{number}/{actor}/{attempt}"
        return f"{number}_{attempt}_{hashlib.sha256(identity.encode()).hexdigest()[:16]}"


_LEFT = Reply(failure=Failure.LEFT, detail="left the table")


def _timed_out(detail: str) -> Reply:
    return Reply(failure=Failure.TIMED_OUT, detail=detail)
