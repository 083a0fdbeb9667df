"""Flow control: how many calls to a model may be under way, and when one is sent again.

A :class:`Lane` is told when a call goes out and what it brought, and says when the next one may go;
:class:`Retries` says how long a call that failed waits before it is sent again. Neither waits or
sends. :class:`Lanes` holds those of a run: whoever calls a model waits there for its turn.
"""

import asyncio
import math
import random
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from typing import NamedTuple

from cheaptalk.models.calls import Failure, Reply

START = 32.0
"""Calls that may be under way before anything is known of a server."""
CEILING = 1_000.0
"""Calls that may be under way at most, unless the limit is set by hand."""
DECREASE = 0.75
"""What remains of a limit after a sign of overload."""
TOLERATED = 0.05
"""Share of signs of overload, among the calls of a round trip, that is taken for noise."""
BREATH = 0.1
"""Seconds of the shortest pause after a sign of overload."""
SPREAD = 1.5
"""How much faster calls may go out than they come back, once there was a sign of overload."""
LONGEST = 60.0
"""Seconds of the longest pause, whatever a server asks for: then one call finds out."""
PATIENCE = 600.0
"""Seconds for which a server may be overloaded or away before it is given up."""
GRACE = 5.0
"""Seconds after a first failure when a server is given up that never answered."""
IN_A_ROW = 10
"""Failures in a row, with no answer between them, that look like an outage."""
DENIALS = 3
"""Denials in a row after which a key, a model's name or a URL is taken to be wrong."""
REJECTIONS = 20
"""Rejected calls in a row after which it is not the calls that are at fault."""


class Trouble(StrEnum):
    """Why a call brought no answer, as far as sending it again is concerned."""

    OVERLOADED = "overloaded"
    """The server wants fewer calls: status 429, 503 or 529."""
    TIMED_OUT = "timed out"
    """No answer came before the deadline."""
    BROKEN = "broken"
    """The connection or the server failed, or the reply was not in the format."""
    DENIED = "denied"
    """The key, the model's name, the URL or a proxy is wrong, or the account is empty."""
    REJECTED = "rejected"
    """The server will never answer this call."""


OVERLOAD = frozenset({429, 503, 529})
DENIAL = frozenset({301, 302, 303, 307, 308, 401, 402, 403, 404, 407, 429})
SENDINGS = {Trouble.TIMED_OUT: 3, Trouble.BROKEN: 5, Trouble.DENIED: 1, Trouble.REJECTED: 1}
"""How often a call is sent in all before this trouble is final; overload has patience instead."""
AGENTS = ("agent/", "guest/")
"""How the names of programs begin that answer for themselves, with no provider behind them."""
SENDINGS_TO_AGENTS = SENDINGS | {Trouble.TIMED_OUT: 2}
"""The same for an agent: a program that hangs on a request mostly hangs on it again."""
ALONE_DEADLINES = 2.0
"""Deadlines that the last sending of a call that timed out may take. It goes out alone: no other
call is under way in its lane. The first deadline is for what the server may still be working off.
"""
ALONE_IN_A_ROW = 5
"""Timeouts of calls that went out alone, with no answer between them, after which a server hangs:
each forfeits a match, so that a run doesn't wait for the patience to end."""
FIRST_WAIT = 0.5
"""Seconds within which a failed call is sent again; doubled each time."""


def unknown_capacity(_: str) -> int | None:
    """Return None: nothing is known of a server but what its lane learns."""
    return None


def trouble_of(reply: Reply) -> Trouble | None:
    """The trouble that a reply tells of; None where the model, or a filter, has spoken, or the
    server refused only the way in which it was asked.

    >>> trouble_of(Reply(text="Yes."))
    >>> trouble_of(Reply(failure=Failure.PROVIDER_ERROR, status=429, retry=True))
    <Trouble.OVERLOADED: 'overloaded'>
    """
    if reply.failure is Failure.TIMED_OUT:
        return Trouble.TIMED_OUT
    if reply.failure is not Failure.PROVIDER_ERROR or reply.rerouted:
        return None
    if reply.retry:
        return Trouble.OVERLOADED if reply.status in OVERLOAD else Trouble.BROKEN
    denied = reply.status in DENIAL or reply.unreached
    return Trouble.DENIED if denied else Trouble.REJECTED


class Retries:
    """Whether and when one call is sent again.

    Each trouble has its own number of sendings. Overload, or a server that is away, has none: it
    ends with the lane's patience. The last sending of a call that timed out goes out alone, so that
    no queue can have caused a final timeout: only then does it count against the player. A call on
    which the server hung while it answered others (:meth:`Lane.hung`) need not go out alone. Pauses
    grow with full jitter (drawn from nothing to the longest, so that calls that failed together do
    not come back together), from when the server asked for.
    """

    def __init__(self, lane: "Lane") -> None:
        self.lane = lane
        self.met: Counter[Trouble] = Counter()
        self.waiting_since = math.inf
        self._hung = False

    @property
    def alone(self) -> bool:
        """Whether the next sending goes out alone: one more timeout would be final."""
        final = self.met[Trouble.TIMED_OUT] == self.lane.sendings[Trouble.TIMED_OUT] - 1
        return final and not self._hung

    def wait(self, reply: Reply, sent: "Sent | None" = None) -> float | None:
        """Return seconds until the call is sent again; None if this reply is final.

        Args:
            sent: the sending to which the reply belongs, before the lane learns of the reply.
        """
        if reply.rerouted:
            return 0.0
        trouble = trouble_of(reply)
        if trouble is None or not reply.retry:
            return None
        if trouble is Trouble.BROKEN and self.lane.away(reply):
            trouble = Trouble.OVERLOADED
        self.met[trouble] += 1
        if trouble is Trouble.TIMED_OUT:
            self._hung = sent is not None and self.lane.hung(sent)
        if trouble is Trouble.OVERLOADED:
            self.waiting_since = min(self.waiting_since, now := self.lane.clock())
            if now - self.waiting_since >= self.lane.patience:
                return None
        elif self.met[trouble] >= self.lane.sendings[trouble]:
            return None
        longest = min(LONGEST, FIRST_WAIT * 2.0 ** min(self.met.total() - 1, 30))
        return min(reply.retry_after or 0.0, LONGEST) + self.lane.luck.uniform(0, longest)


class Sent(NamedTuple):
    """A call under way.

    Attributes:
        at: when it went out, by the lane's clock.
        turn: the turn of the lane in which it went out.
        lane: the lane.
        alone: whether it goes out alone.
        number: how many calls of the lane went out before it.
    """

    at: float
    turn: int
    lane: "Lane"
    alone: bool = False
    number: int = 0


class GivenUp(NamedTuple):
    """Why a lane brings nothing any more; ``wrong`` where it never will as things are set up."""

    reason: str
    wrong: bool


class Lane:
    """How many calls to one model may be under way.

    Additive increase, multiplicative decrease (Chiu and Jain 1989): two round trips of answers at a
    full lane raise the limit by one, a sign of overload leaves three quarters of it. Until the
    first such sign every answer raises it by one, so that it doubles each round trip ("slow start",
    Jacobson 1988). A server that now and then turns a call away is not overloaded: up to
    :data:`TOLERATED` of the calls may be. Overload is heard once a round trip: what was sent
    before a cut says nothing about the time after it. After a cut the lane pauses for a moment and
    one call goes ahead. If that is turned away too, the lane keeps to the server's Retry-After, at
    most for :data:`LONGEST`, or doubles its pause; then one goes ahead again. It never freezes.

    The lane of a model with a known capacity, such as the batch size of a model in this process,
    is as wide as that.

    Args:
        capacity: returns how many calls the model takes at once; None if that is not known.

    Attributes:
        limit: calls that may be under way, as learned; at least 1.
        fixed: the limit set by hand, if one is.
        in_flight: calls under way.
        answered, failures: what came back so far.
        round_trip: seconds that an answer takes, smoothed.
        paused_until: when the next call may go out, by the clock.
        given_up: why it is given up, if it is. One call a minute still finds out.
    """

    def __init__(
        self,
        name: str,
        *,
        start: float = START,
        ceiling: float = CEILING,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
        luck: random.Random | None = None,
        capacity: Callable[[str], int | None] = unknown_capacity,
    ) -> None:
        self.name = name
        self.limit = min(start, ceiling)
        self.ceiling = ceiling
        self.patience = patience
        self.clock = clock
        self.luck = luck or random.SystemRandom()
        self.fixed: int | None = None
        self.in_flight = 0
        self.answered = 0
        self.failures: Counter[Trouble] = Counter()
        self.round_trip = 0.0
        self.paused_until = -math.inf
        self.given_up: GivenUp | None = None
        self._rising = True
        self._turn = 0
        self._next = self._full_at = -math.inf
        self._this_turn = 0
        self._going_ahead = False
        self._alone = False
        self._capacity = capacity
        self._turned_away = 0
        self._heard = self._signs = 0.0
        self._row: Counter[Trouble] = Counter()
        self._row_began = 0.0
        self._row_alone = 0
        self._sent = 0
        self._newest_answered = -1

    @property
    def width(self) -> int:
        """Calls that may be under way now."""
        return self.fixed or self._capacity(self.name) or max(1, int(self.limit))

    @property
    def sendings(self) -> Mapping[Trouble, int]:
        """How often a call is sent in all before its trouble is final."""
        return SENDINGS_TO_AGENTS if self._is_agent else SENDINGS

    @property
    def _is_agent(self) -> bool:
        return self.name.startswith(AGENTS)

    def away(self, broken: Reply) -> bool:
        """Whether a broken call shows that a server which did answer is away, rather than a fault
        of the call.

        An agent that was reached and broke, by a status 500 or a closed connection, has failed on
        this request, however many such requests follow each other.
        """
        several = self._row.total() >= IN_A_ROW and not self._is_agent
        return self.answered > 0 and (broken.unreached or several)

    def hung(self, sent: Sent) -> bool:
        """Whether a server hung on a call that timed out just now, rather than being overloaded.

        It answered at least :data:`IN_A_ROW` calls that went out later, and takes less than a tenth
        of the timeout for an answer under the present load.
        """
        overtaken = self._newest_answered - sent.number >= IN_A_ROW
        return overtaken and self.round_trip * IN_A_ROW < self.clock() - sent.at

    def wait(self, *, alone: bool = False) -> float:
        """Seconds until another call may go out; infinite until one comes back.

        Args:
            alone: whether it goes out alone.
        """
        pause = max(self.paused_until, self._next) - self.clock()
        if pause > 0:
            return pause
        ahead = self._alone or (self._going_ahead and self._this_turn)
        width = 1 if alone else self.width
        return math.inf if ahead or self.in_flight >= width else 0.0

    def go(self, *, alone: bool = False) -> Sent:
        """Note that a call goes out; until one that goes out alone is back, no other may."""
        self.in_flight += 1
        self._alone = alone
        self._this_turn += 1
        self._sent += 1
        now = self.clock()
        if self.in_flight >= self.width:
            self._full_at = now
        if not self._rising:
            self._next = max(now, self._next) + self.round_trip / (SPREAD * self.width)
        return Sent(now, self._turn, self, alone, self._sent - 1)

    def back(self, sent: Sent, reply: Reply | None) -> None:
        """Note what a call brought; None where it was given up and nobody knows."""
        self.in_flight -= 1
        self._alone = self._alone and not sent.alone
        current = sent.turn == self._turn
        self._this_turn -= current
        if reply is None:
            return
        trouble = trouble_of(reply)
        if trouble is None:
            self._hear_answer(sent, current)
            return
        if trouble is Trouble.TIMED_OUT and self.hung(sent):
            self.failures[trouble] += 1
            return
        if not self._row:
            self._row_began = self.clock()
        self.failures[trouble] += 1
        self._row[trouble] += 1
        alone = sent.alone and trouble is Trouble.TIMED_OUT
        self._row_alone += alone
        if current:
            self._listen()
            self._brake(trouble, reply)
        self.given_up = self._verdict(reply, alone=alone) or self.given_up

    def _hear_answer(self, sent: Sent, current: bool) -> None:
        weight = 0.1 if self.answered else 1.0
        self.round_trip += weight * (self.clock() - sent.at - self.round_trip)
        self.answered += 1
        self._newest_answered = max(self._newest_answered, sent.number)
        self.given_up = None
        self._row.clear()
        self._row_alone = 0
        if current:
            self._listen()
            self._going_ahead = False
            self._turned_away = 0
        if self._full_at >= sent.at:  # answers may come in bursts: it counts that it was full
            more = 1.0 if self._rising else 0.5 / self.limit
            self.limit = min(self.ceiling, self.limit + more)

    def _listen(self) -> None:
        """Count a reply, and forget those of earlier round trips by and by."""
        self._heard += 1
        if self._heard > 2 * self.width + 20:
            self._heard /= 2
            self._signs /= 2

    def _crashed(self, reply: Reply) -> bool:
        """Whether an agent that answers other requests was reached and failed on this one."""
        return self._is_agent and self.answered > 0 and _was_reached(reply)

    def _brake(self, trouble: Trouble, reply: Reply) -> None:
        """Slow down where a failure is a sign of overload, or of an outage."""
        outage = trouble is Trouble.BROKEN and self._row.total() >= IN_A_ROW
        outage = outage and not self._crashed(reply)
        overload = trouble in (Trouble.OVERLOADED, Trouble.TIMED_OUT)
        if not (overload or outage):
            return
        self._signs += overload
        tolerated = TOLERATED * max(self._heard, self.in_flight)  # answers take longer than signs
        if not outage and not self._turned_away and self._signs <= tolerated:
            return
        self._heard = self._signs = 0.0
        self._turn += 1
        self._this_turn = 0
        if overload and not self._going_ahead:
            self.limit = max(1.0, self.limit * DECREASE)
            self._rising = False
        if trouble is not Trouble.TIMED_OUT:
            self._pause(reply.retry_after or 0.0, outage)

    def _pause(self, asked: float, outage: bool) -> None:
        """Pause for a moment, or for what the server asked if a second call confirms it."""
        shortest = max(BREATH, self.round_trip / 2, 1.0 if outage else 0.0)
        pause = shortest * 2.0 ** min(self._turned_away, 30) * self.luck.uniform(0.5, 1)
        if self._turned_away:
            pause = max(pause, asked)
        self.paused_until = self.clock() + min(pause, LONGEST)
        self._going_ahead = self._turned_away > 0
        self._turned_away += 1

    def _verdict(self, reply: Reply, *, alone: bool) -> GivenUp | None:
        """Whether to give up, after a failure; never for requests on which an agent crashes.

        Args:
            alone: whether the reply is the timeout of a call that went out alone.
        """
        if self._crashed(reply):
            return None
        row, detail = self._row, reply.detail or trouble_of(reply)
        if row[Trouble.DENIED] >= DENIALS or row[Trouble.REJECTED] >= REJECTIONS:
            count = max(row[Trouble.DENIED], row[Trouble.REJECTED])
            agent = self.name.startswith("agent/")
            what = (
                "its URL, and its key if any"
                if agent
                else "the key, the model's name, its settings and the URL"
            )
            return GivenUp(
                f"{self.name} turned {count} calls in a row away: {detail}; check {what}",
                wrong=True,
            )
        silent = row[Trouble.BROKEN] + row[Trouble.TIMED_OUT] == row.total()
        never = self.answered == 0 and silent
        enough = min(GRACE, self.patience) if never else self.patience
        hangs = self._row_alone >= ALONE_IN_A_ROW or self.clock() - self._row_began >= enough
        if row.total() >= IN_A_ROW and hangs:
            if alone:
                times = f"{ALONE_DEADLINES:g} times its deadline"
                detail = f"{detail} ({times}, with no other call under way)"
            self.paused_until = self.clock() + LONGEST
            return GivenUp(
                f"{self.name} brought no usable answer to the last {row.total()} calls: {detail}"
                f"{self._cure(reply)}",
                wrong=False,
            )
        return None

    def _cure(self, reply: Reply) -> str:
        """What helps where a model brings no usable answer, unless the reply says it already."""
        if reply.unreached:
            return ""
        if reply.failure is Failure.TIMED_OUT:
            return "; see that it is up and answers, or give it a longer deadline"
        if self.name.startswith("guest/"):
            return "; see that it answers as it should"
        return "; see that its URL is right and its server up and in order"


def _was_reached(reply: Reply) -> bool:
    """Whether a server took a call and brought no answer to it, neither overloaded nor late."""
    broken = (Trouble.BROKEN, Trouble.DENIED, Trouble.REJECTED)
    return not reply.unreached and trouble_of(reply) in broken


class _Door:
    """Where calls wait for a place in their lane, first come, first served.

    Calls that are to go out alone come first, and the others wait until the lane has been empty
    for them.
    """

    def __init__(self, lane: Lane, *, closed: bool) -> None:
        self.lane = lane
        self.closed = closed
        self._alone: deque[asyncio.Future[Sent]] = deque()
        self._shared: deque[asyncio.Future[Sent]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """How many calls wait."""
        return len(self._alone) + len(self._shared)

    async def enter(self, *, alone: bool) -> Sent:
        if not self.closed and not self.waiting and self.lane.wait(alone=alone) <= 0:
            return self.lane.go(alone=alone)
        place: asyncio.Future[Sent] = asyncio.get_running_loop().create_future()
        (self._alone if alone else self._shared).append(place)
        self.admit()
        try:
            return await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.lane.back(place.result(), None)
                self.admit()
            raise

    def admit(self) -> None:
        """Let go out what may, and look again when more may."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while (queue := self._alone or self._shared) and not self.closed:
            if queue[0].done():
                queue.popleft()
                continue
            alone = queue is self._alone
            wait = self.lane.wait(alone=alone)
            if wait > 0:
                if wait < math.inf:
                    self._timer = asyncio.get_running_loop().call_later(wait, self.admit)
                return
            queue.popleft().set_result(self.lane.go(alone=alone))

    def let_all_in(self) -> None:
        """Let everyone through who waits."""
        for queue in (self._alone, self._shared):
            while queue:
                place = queue.popleft()
                if not place.done():
                    place.set_result(self.lane.go())


class Lanes:
    """One lane for each model string: its provider, URL, model and key.

    Args:
        concurrency: matches that are played at once: half as many calls to one model may be under
            way before anything is known of its server.
        ceiling: calls to one model that may be under way at most.
        patience: seconds for which a server may be overloaded or away.
        clock, luck: for tests.
        capacity: returns how many calls a model takes at once; None if that is not known.
    """

    def __init__(
        self,
        *,
        concurrency: int = 1,
        ceiling: float = CEILING,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
        luck: random.Random | None = None,
        capacity: Callable[[str], int | None] = unknown_capacity,
    ) -> None:
        self._new_lane = partial(
            Lane, start=max(START, concurrency / 2), ceiling=max(ceiling, concurrency),
            patience=patience, clock=clock, luck=luck, capacity=capacity,
        )  # fmt: skip
        self.paused = False
        self._stopped = False
        self._doors: dict[str, _Door] = {}

    def __getitem__(self, model: str) -> Lane:
        return self._door(model).lane

    def all(self) -> list[tuple[Lane, int]]:
        """The lanes so far, and how many calls wait in each."""
        return [(door.lane, door.waiting) for door in self._doors.values()]

    def any_works(self) -> bool:
        """Whether some lane is not given up."""
        return any(door.lane.given_up is None for door in self._doors.values())

    async def enter(self, model: str, *, alone: bool = False) -> Sent:
        """Wait for a place in a model's lane; once the run stops, everyone gets one.

        Args:
            alone: whether to wait until the lane is empty, and to keep it so.
        """
        door = self._door(model)
        return door.lane.go() if self._stopped else await door.enter(alone=alone)

    def leave(self, sent: Sent, reply: Reply | None) -> None:
        """Give a place back, with what the call brought; None where nobody knows."""
        sent.lane.back(sent, reply)
        self._doors[sent.lane.name].admit()

    def pause(self) -> None:
        """Send nothing more for now; what is under way comes back."""
        self.paused = True
        for door in self._doors.values():
            door.closed = True

    def resume(self) -> None:
        """Send again."""
        self.paused = False
        for door in self._doors.values():
            door.closed = False
            door.admit()

    def fix(self, model: str, limit: int | None) -> None:
        """Set a lane's limit by hand, or let it tune itself again."""
        self[model].fixed = limit
        self._doors[model].admit()

    def stop(self) -> None:
        """Let everyone through who waits: the run stops, and they are to learn of it."""
        self._stopped = True
        for door in self._doors.values():
            door.let_all_in()

    def _door(self, model: str) -> _Door:
        door = self._doors.get(model)
        if door is None:
            door = self._doors[model] = _Door(self._new_lane(model), closed=self.paused)
        return door
