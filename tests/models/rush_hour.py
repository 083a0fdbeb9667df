"""A rate limiter with simulated servers of limited capacity, on a clock driven by events."""

import heapq
import random
from collections.abc import Callable
from itertools import count

from cheaptalk.models import Failure, Reply
from cheaptalk.models.flow_control import START, RateLimiter, Trouble, trouble_of

ANSWER = Reply(text="Yes.")
REJECTION_TIME = 0.005
"""Seconds after which a call is rejected."""

Server = Callable[["LoadSimulation"], tuple[Reply, float]]
"""The reply to a call that arrives now, and its delay in seconds."""


def seeded_rng(seed: int = 1) -> random.Random:
    """Return a generator with the same jitter in every test run."""
    return random.Random(seed)  # noqa: S311 - nothing here is secret


def overloaded(retry_after: float | None = None) -> Reply:
    return Reply(
        failure=Failure.PROVIDER_ERROR,
        detail="status 429: slow down",
        status=429,
        retry=True,
        retry_after=retry_after,
    )


def unreachable() -> Reply:
    return Reply(failure=Failure.PROVIDER_ERROR, detail="connection refused", retry=True)


def timed_out() -> Reply:
    return Reply(failure=Failure.TIMED_OUT, detail="no answer within 10 seconds", retry=True)


class LoadSimulation:
    """Concurrent callers at one rate limiter; a rejected call is retried within half a second.

    Attributes:
        answered: The time of each answer.
        sent: The time at which each call was sent.
        failed: The time and the trouble of each failure.
        longest_wait: The maximum time a call waited in the limiter, in seconds.
    """

    def __init__(
        self, server: Server, callers: int = 500, seed: int = 0, start: float = START
    ) -> None:
        self.now = 0.0
        self.rng = seeded_rng(seed)
        self.server = server
        self.limiter = RateLimiter("tiny", start=start, clock=lambda: self.now, rng=self.rng)
        self.waiting = [0.0] * callers
        self.answered: list[float] = []
        self.sent: list[float] = []
        self.failed: list[tuple[float, Trouble]] = []
        self.longest_wait = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = count()

    def at(self, moment: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (moment, next(self._number), event))

    def run(self, until: float) -> None:
        self._admit()
        while self._events and self._events[0][0] <= until:
            self.now, _, event = heapq.heappop(self._events)
            event()
        self.now = until

    def rate(self, begin: float, end: float) -> float:
        """Return the answers per second between two moments."""
        return sum(begin <= moment < end for moment in self.answered) / (end - begin)

    def _admit(self) -> None:
        while self.waiting:
            wait = self.limiter.wait()
            if wait > 0:
                if wait < float("inf"):
                    self.at(self.now + wait, self._admit)
                return
            self.longest_wait = max(self.longest_wait, self.now - self.waiting.pop(0))
            sent = self.limiter.go()
            self.sent.append(self.now)
            reply, seconds = self.server(self)
            self.at(self.now + seconds, lambda sent=sent, reply=reply: self._complete(sent, reply))  # type: ignore[misc]

    def _complete(self, sent: object, reply: Reply) -> None:
        self.limiter.back(sent, reply)  # type: ignore[arg-type]
        trouble = trouble_of(reply)
        if trouble is None:
            self.answered.append(self.now)
            self._arrive()
        else:
            self.failed.append((self.now, trouble))
            self.at(self.now + self.rng.uniform(0, 0.5), self._arrive)
        self._admit()

    def _arrive(self) -> None:
        self.waiting.append(self.now)
        self._admit()


def limited_concurrency(capacity: Callable[[float], int] | int, seconds: float) -> Server:
    """Return a server with a maximum number of concurrent calls, which rejects the others."""
    busy: list[float] = []

    def serve(simulation: LoadSimulation) -> tuple[Reply, float]:
        limit = capacity if isinstance(capacity, int) else capacity(simulation.now)
        while busy and busy[0] <= simulation.now:
            heapq.heappop(busy)
        if len(busy) >= limit:
            return overloaded(), REJECTION_TIME
        duration = seconds * simulation.rng.uniform(0.7, 1.3)
        heapq.heappush(busy, simulation.now + duration)
        return ANSWER, duration

    return serve


def limited_rate(rate: float, seconds: float, burst: int = 10) -> Server:
    """Return a server with a maximum rate of calls per second, which rejects the others."""
    tokens, last = float(burst), 0.0

    def serve(simulation: LoadSimulation) -> tuple[Reply, float]:
        nonlocal tokens, last
        tokens, last = min(burst, tokens + (simulation.now - last) * rate), simulation.now
        if tokens < 1:
            return overloaded(), REJECTION_TIME
        tokens -= 1
        return ANSWER, seconds * simulation.rng.uniform(0.7, 1.3)

    return serve
