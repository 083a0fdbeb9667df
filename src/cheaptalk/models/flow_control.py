"""Flow control of model calls: concurrency limits and retries.

A :class:`RateLimiter` decides when the next call to a model may be sent, and :class:`Retries`
computes the delay before a retry. Neither waits or sends. :class:`RateLimiters` contains the rate
limiters of a run and queues its calls.
"""

import asyncio
import math
import random
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple

from cheaptalk.models.calls import Failure, Reply

START = 32.0
"""Initial limit of concurrent calls."""
CEILING = 1_000.0
"""Maximum automatic limit of concurrent calls."""
DECREASE = 0.75
"""Factor by which the limit is multiplied after a sign of overload."""
TOLERATED = 0.05
"""Share of the calls in a round trip that may be rejected without lowering the limit."""
BREATH = 0.1
"""Minimum pause after a sign of overload, in seconds."""
SPREAD = 1.5
"""Ratio of the sending rate to the completion rate after a sign of overload."""
LONGEST = 60.0
"""Maximum pause in seconds, even if a server requests a longer one."""
PATIENCE = 600.0
"""Seconds for which a server may be overloaded or unreachable before calls to it fail."""
GRACE = 5.0
"""Seconds from the first failure until calls fail, for a server that has never answered."""
IN_A_ROW = 10
"""Consecutive failures that indicate an outage."""
DENIALS = 3
"""Consecutive denials that indicate a wrong key, model name or URL."""
REJECTIONS = 20
"""Consecutive rejections that indicate a problem with more than the individual call."""


class Trouble(StrEnum):
    """Kinds of failures, each with its own retry policy."""

    OVERLOADED = "overloaded"
    """The server is overloaded: status 429, 503 or 529."""
    TIMED_OUT = "timed out"
    """The call timed out."""
    BROKEN = "broken"
    """The connection or the server failed, or the response was malformed."""
    DENIED = "denied"
    """The key, the model's name, the URL or a proxy is wrong, or the account is exhausted."""
    REJECTED = "rejected"
    """The server will never answer this call."""


OVERLOAD = frozenset({429, 503, 529})
DENIAL = frozenset({301, 302, 303, 307, 308, 401, 402, 403, 404, 407, 429})
SENDINGS = {Trouble.TIMED_OUT: 3, Trouble.BROKEN: 5, Trouble.DENIED: 1, Trouble.REJECTED: 1}
"""Maximum attempts by kind of failure; overload is limited by time instead."""
AGENTS = ("agent/", "remote/")
"""Prefixes of the model strings of agents."""
SENDINGS_TO_AGENTS = SENDINGS | {Trouble.TIMED_OUT: 2}
"""Maximum attempts for agents, which usually time out again on the same request."""
ALONE_DEADLINES = 2.0
"""Timeout of a call's last attempt, as a multiple of the call's timeout.

After earlier timeouts, this attempt is sent with no other call to the model in flight, and allows
time for the server's backlog.
"""
ALONE_IN_A_ROW = 5
"""Consecutive timeouts of exclusive calls that indicate a hanging server."""
FIRST_WAIT = 0.5
"""Maximum delay before the first retry, in seconds; doubled for each further retry."""


def unknown_capacity(_: str) -> int | None:
    """Return None, because the capacity of the model is unknown."""
    return None


def trouble_of(reply: Reply) -> Trouble | None:
    """Return the kind of failure of a reply; None for an answer or a content filter.

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
    """A retry policy, which decides whether and when to send a call again.

    Each kind of failure has a maximum number of attempts; overload and outages are limited by time.
    The last attempt of a call that timed out is exclusive, so that a queue cannot cause a final
    timeout, which counts against the player. This is unnecessary if the server answered other calls
    meanwhile (:meth:`RateLimiter.hung`). Delays grow exponentially with full jitter and are added
    to the delay that the server requested.
    """

    def __init__(self, limiter: "RateLimiter") -> None:
        self.limiter = limiter
        self.met: Counter[Trouble] = Counter()
        self.waiting_since = math.inf
        self._hung = False

    @property
    def alone(self) -> bool:
        """Whether the next attempt is the last after timeouts, which excludes concurrent calls."""
        final = self.met[Trouble.TIMED_OUT] == self.limiter.sendings[Trouble.TIMED_OUT] - 1
        return final and not self._hung

    def wait(self, reply: Reply, sent: "Sent | None" = None) -> float | None:
        """Return the seconds until the next attempt; None if this reply is final.

        Call it before the rate limiter records the attempt.
        """
        if reply.rerouted:
            return 0.0
        trouble = trouble_of(reply)
        if trouble is None or not reply.retry:
            return None
        if trouble is Trouble.BROKEN and self.limiter.away(reply):
            trouble = Trouble.OVERLOADED
        self.met[trouble] += 1
        if trouble is Trouble.TIMED_OUT:
            self._hung = sent is not None and self.limiter.hung(sent)
        if trouble is Trouble.OVERLOADED:
            self.waiting_since = min(self.waiting_since, now := self.limiter.clock())
            if now - self.waiting_since >= self.limiter.patience:
                return None
        elif self.met[trouble] >= self.limiter.sendings[trouble]:
            return None
        longest = min(LONGEST, FIRST_WAIT * 2.0 ** min(self.met.total() - 1, 30))
        return min(reply.retry_after or 0.0, LONGEST) + self.limiter.rng.uniform(0, longest)


class Sent(NamedTuple):
    """A call that was sent, at a time and in a turn of its rate limiter, and has no reply yet.

    While an ``alone`` call is in flight, no other call to the model may be sent.
    """

    at: float
    turn: int
    limiter: "RateLimiter"
    alone: bool = False
    number: int = 0


class CircuitOpen(NamedTuple):
    """The reason for rejecting further calls to a model, such as a wrong configuration."""

    reason: str
    wrong: bool


class RateLimiter:
    """A rate limiter that adapts the number of concurrent calls to one model.

    The limit follows additive increase, multiplicative decrease (Chiu and Jain 1989): two full
    round trips raise it by one, and a sign of overload reduces it to three quarters. Until the
    first sign of overload, every answer raises it by one, so that it doubles each round trip ("slow
    start", Jacobson 1988). Up to :data:`TOLERATED` of the calls may be rejected without a decrease,
    and the limit decreases at most once per round trip. After a decrease, sending pauses and one
    call probes the server. If the probe is rejected too, the pause is the server's Retry-After, at
    most :data:`LONGEST`, or doubles; then another call probes the server.

    The known ``capacity`` of a model, such as the batch size of an in-process model, replaces the
    limit. A model that is ``given_up`` is still probed by one call per minute. ``round_trip`` is
    the smoothed duration of a call in seconds.
    """

    def __init__(
        self,
        name: str,
        *,
        start: float = START,
        ceiling: float = CEILING,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
        rng: random.Random | None = None,
        capacity: Callable[[str], int | None] = unknown_capacity,
    ) -> None:
        self.name = name
        self.limit = min(start, ceiling)
        self.ceiling = ceiling
        self.patience = patience
        self.clock = clock
        self.rng = rng or random.SystemRandom()
        self.fixed: int | None = None
        self.in_flight = self.answered = 0
        self.failures: Counter[Trouble] = Counter()
        self.round_trip = 0.0
        self.given_up: CircuitOpen | None = None
        self.paused_until = self._next = self._full_at = -math.inf
        self._rising = True
        self._going_ahead = self._alone = False
        self._capacity = capacity
        self._sent = self._turn = self._this_turn = self._turned_away = 0
        self._heard = self._signs = 0.0
        self._row: Counter[Trouble] = Counter()
        self._row_began = 0.0
        self._row_alone = 0
        self._newest_answered = -1

    @property
    def width(self) -> int:
        """Current limit on concurrent calls."""
        return self.fixed or self._capacity(self.name) or max(1, int(self.limit))

    @property
    def sendings(self) -> Mapping[Trouble, int]:
        """Maximum number of attempts by kind of failure."""
        return SENDINGS_TO_AGENTS if self._is_agent else SENDINGS

    @property
    def _is_agent(self) -> bool:
        return self.name.startswith(AGENTS)

    def away(self, broken: Reply) -> bool:
        """Return whether a failure indicates an outage rather than a fault of the call itself.

        An agent that answers with status 500 or closes the connection has failed on the request
        itself.
        """
        several = self._row.total() >= IN_A_ROW and not self._is_agent
        return self.answered > 0 and (broken.unreached or several)

    def hung(self, sent: Sent) -> bool:
        """Return whether a call timed out although the server kept answering other calls quickly.

        The server has answered at least :data:`IN_A_ROW` later calls, with a mean duration under a
        tenth of the timeout.
        """
        overtaken = self._newest_answered - sent.number >= IN_A_ROW
        return overtaken and self.round_trip * IN_A_ROW < self.clock() - sent.at

    def wait(self, *, alone: bool = False) -> float:
        """Return the seconds until the next call; infinite if a reply must arrive first."""
        pause = max(self.paused_until, self._next) - self.clock()
        if pause > 0:
            return pause
        ahead = self._alone or (self._going_ahead and self._this_turn)
        width = 1 if alone else self.width
        return math.inf if ahead or self.in_flight >= width else 0.0

    def go(self, *, alone: bool = False) -> Sent:
        """Record that a call was sent; with ``alone``, block other calls until it returns."""
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
        """Record the reply to a call; pass None if the call was cancelled."""
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
        if self._full_at >= sent.at:  # answers may arrive in bursts
            increase = 1.0 if self._rising else 0.5 / self.limit
            self.limit = min(self.ceiling, self.limit + increase)

    def _listen(self) -> None:
        """Count a reply, and halve all counts about every two round trips."""
        self._heard += 1
        if self._heard > 2 * self.width + 20:
            self._heard /= 2
            self._signs /= 2

    def _crashed(self, reply: Reply) -> bool:
        """Return whether an agent that has answered before failed on this request."""
        failed = trouble_of(reply) in (Trouble.BROKEN, Trouble.DENIED, Trouble.REJECTED)
        return self._is_agent and self.answered > 0 and failed and not reply.unreached

    def _brake(self, trouble: Trouble, reply: Reply) -> None:
        """Slow down if a failure indicates overload or an outage."""
        outage = trouble is Trouble.BROKEN and self._row.total() >= IN_A_ROW
        outage = outage and not self._crashed(reply)
        overload = trouble in (Trouble.OVERLOADED, Trouble.TIMED_OUT)
        if not (overload or outage):
            return
        self._signs += overload
        tolerated = TOLERATED * max(self._heard, self.in_flight)  # answers are slower
        if not outage and not self._turned_away and self._signs <= tolerated:
            return
        self._heard = self._signs = 0.0
        self._turn += 1
        self._this_turn = 0
        if overload and not self._going_ahead:
            self.limit = max(1.0, self.limit * DECREASE)
            self._rising = False
        if trouble is Trouble.TIMED_OUT:
            return
        shortest = max(BREATH, self.round_trip / 2, 1.0 if outage else 0.0)
        pause = shortest * 2.0 ** min(self._turned_away, 30) * self.rng.uniform(0.5, 1)
        if self._turned_away:  # after a failed probe
            pause = max(pause, reply.retry_after or 0.0)
        self.paused_until = self.clock() + min(pause, LONGEST)
        self._going_ahead = self._turned_away > 0
        self._turned_away += 1

    def _verdict(self, reply: Reply, *, alone: bool) -> CircuitOpen | None:
        """Return why further calls must fail immediately; None if they may continue."""
        if self._crashed(reply):
            return None
        row, detail = self._row, reply.detail or trouble_of(reply)
        if row[Trouble.DENIED] >= DENIALS or row[Trouble.REJECTED] >= REJECTIONS:
            count = max(row[Trouble.DENIED], row[Trouble.REJECTED])
            settings = "the key, the model's name, its settings and the URL"
            if self.name.startswith("agent/"):
                settings = "its URL, and its key if any"
            reason = f"{self.name} rejected {count} consecutive calls: {detail}; check {settings}"
            return CircuitOpen(reason, wrong=True)
        silent = row[Trouble.BROKEN] + row[Trouble.TIMED_OUT] == row.total()
        unanswered = self.answered == 0 and silent
        enough = min(GRACE, self.patience) if unanswered else self.patience
        hangs = self._row_alone >= ALONE_IN_A_ROW or self.clock() - self._row_began >= enough
        if row.total() >= IN_A_ROW and hangs:
            if alone:
                times = f"{ALONE_DEADLINES:g} times its timeout"
                detail = f"{detail} ({times}, with no other call in flight)"
            self.paused_until = self.clock() + LONGEST
            reason = f"{self.name} gave no usable answer to the last {row.total()} calls: {detail}"
            return CircuitOpen(reason + self._cure(reply), wrong=False)
        return None

    def _cure(self, reply: Reply) -> str:
        if reply.unreached:
            return ""
        if reply.failure is Failure.TIMED_OUT:
            return "; check that it is running, or increase its timeout"
        if self.name.startswith("remote/"):
            return "; check its answers"
        return "; check its URL and its server"


class _AdmissionQueue:
    """First-in, first-out queue of calls to a model; exclusive calls have priority."""

    def __init__(self, limiter: RateLimiter, *, closed: bool) -> None:
        self.limiter = limiter
        self.closed = closed
        self._alone: deque[asyncio.Future[Sent]] = deque()
        self._shared: deque[asyncio.Future[Sent]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        return len(self._alone) + len(self._shared)

    async def enter(self, *, alone: bool) -> Sent:
        if not self.closed and not self.waiting and self.limiter.wait(alone=alone) <= 0:
            return self.limiter.go(alone=alone)
        turn: asyncio.Future[Sent] = asyncio.get_running_loop().create_future()
        (self._alone if alone else self._shared).append(turn)
        self.admit()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.limiter.back(turn.result(), None)
                self.admit()
            raise

    def admit(self) -> None:
        """Admit queued calls up to the rate limit, and schedule the next check."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while (queue := self._alone or self._shared) and not self.closed:
            if queue[0].done():
                queue.popleft()
                continue
            alone = queue is self._alone
            wait = self.limiter.wait(alone=alone)
            if wait > 0:
                if wait < math.inf:
                    self._timer = asyncio.get_running_loop().call_later(wait, self.admit)
                return
            queue.popleft().set_result(self.limiter.go(alone=alone))

    def admit_all(self) -> None:
        for queue in (self._alone, self._shared):
            while queue:
                turn = queue.popleft()
                if not turn.done():
                    turn.set_result(self.limiter.go())


class RateLimiters:
    """The rate limiters of a run, one per model string.

    Half of the concurrent matches is the minimum initial limit of concurrent calls.
    """

    def __init__(self, *, concurrency: int = 1, **options: Any) -> None:
        options["start"] = max(START, concurrency / 2)
        options["ceiling"] = max(CEILING, concurrency)
        self._new_limiter: Callable[[str], RateLimiter] = partial(RateLimiter, **options)
        self.paused = False
        self._stopped = False
        self._queues: dict[str, _AdmissionQueue] = {}

    def __getitem__(self, model: str) -> RateLimiter:
        return self._queue_of(model).limiter

    def all(self) -> list[tuple[RateLimiter, int]]:
        """Return all rate limiters, each with its number of waiting calls."""
        return [(queue.limiter, queue.waiting) for queue in self._queues.values()]

    def any_works(self) -> bool:
        """Return whether calls to at least one model can still succeed."""
        return any(queue.limiter.given_up is None for queue in self._queues.values())

    async def enter(self, model: str, *, alone: bool = False) -> Sent:
        """Wait until a call may be sent or the run stops."""
        queue = self._queue_of(model)
        return queue.limiter.go() if self._stopped else await queue.enter(alone=alone)

    def leave(self, sent: Sent, reply: Reply | None) -> None:
        """Record a call's reply; pass None if the reply is unknown."""
        sent.limiter.back(sent, reply)
        self._queues[sent.limiter.name].admit()

    def pause(self) -> None:
        """Stop sending new calls; calls in flight continue."""
        self.paused = True
        for queue in self._queues.values():
            queue.closed = True

    def resume(self) -> None:
        self.paused = False
        for queue in self._queues.values():
            queue.closed = False
            queue.admit()

    def fix(self, model: str, limit: int | None) -> None:
        """Set a fixed limit on concurrent calls; pass None to restore the automatic limit."""
        self[model].fixed = limit
        self._queues[model].admit()

    def stop(self) -> None:
        """Release all waiting calls at the end of the run."""
        self._stopped = True
        for queue in self._queues.values():
            queue.admit_all()

    def _queue_of(self, model: str) -> _AdmissionQueue:
        queue = self._queues.get(model)
        if queue is None:
            queue = _AdmissionQueue(self._new_limiter(model), closed=self.paused)
            self._queues[model] = queue
        return queue
