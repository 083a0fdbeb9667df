"""A lane before simulated servers of limited capacity, on a clock that only events move."""

import heapq
import random
from collections.abc import Callable
from itertools import count

from cheaptalk.models import Failure, Reply
from cheaptalk.models.flow_control import START, RateLimiter, Trouble, trouble_of

ANSWER = Reply(text="Yes.")
SOON = 0.005
"""Seconds after which a call is turned away."""

Server = Callable[["RushHour"], tuple[Reply, float]]
"""What becomes of a call that arrives now, and after how many seconds."""


def luck(seed: int = 1) -> random.Random:
    """The same jitter in every run of the tests."""
    return random.Random(seed)  # noqa: S311 - nothing here is secret


def turned_away(retry_after: float | None = None) -> Reply:
    return Reply(
        failure=Failure.PROVIDER_ERROR, detail="status 429: slow down", status=429, retry=True,
        retry_after=retry_after,
    )  # fmt: skip


def unreachable() -> Reply:
    return Reply(failure=Failure.PROVIDER_ERROR, detail="connection refused", retry=True)


def late() -> Reply:
    return Reply(failure=Failure.TIMED_OUT, detail="no answer within 10 seconds", retry=True)


class RushHour:
    """Callers without end at one lane; a call that is turned away comes back within half a second.

    Attributes:
        answered: when each answer came.
        sent: when each call went out.
        failed: when and why each failure came.
        longest_wait: seconds that a call waited in the lane at most.
    """

    def __init__(
        self, server: Server, callers: int = 500, seed: int = 0, start: float = START
    ) -> None:
        self.now = 0.0
        self.luck = luck(seed)
        self.server = server
        self.limiter = RateLimiter("tiny", start=start, clock=lambda: self.now, rng=self.luck)
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
        """Answers a second between two moments."""
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
            self.at(self.now + seconds, lambda sent=sent, reply=reply: self._back(sent, reply))  # type: ignore[misc]

    def _back(self, sent: object, reply: Reply) -> None:
        self.limiter.back(sent, reply)  # type: ignore[arg-type]
        trouble = trouble_of(reply)
        if trouble is None:
            self.answered.append(self.now)
            self._come()
        else:
            self.failed.append((self.now, trouble))
            self.at(self.now + self.luck.uniform(0, 0.5), self._come)
        self._admit()

    def _come(self) -> None:
        self.waiting.append(self.now)
        self._admit()


def seats(many: Callable[[float], int] | int, seconds: float) -> Server:
    """A server that works on so many calls at once, and turns the others away."""
    busy: list[float] = []

    def serve(hour: RushHour) -> tuple[Reply, float]:
        room = many if isinstance(many, int) else many(hour.now)
        while busy and busy[0] <= hour.now:
            heapq.heappop(busy)
        if len(busy) >= room:
            return turned_away(), SOON
        took = seconds * hour.luck.uniform(0.7, 1.3)
        heapq.heappush(busy, hour.now + took)
        return ANSWER, took

    return serve


def rationed(rate: float, seconds: float, burst: int = 10) -> Server:
    """A server that takes so many calls a second, and turns the others away."""
    tokens, then = float(burst), 0.0

    def serve(hour: RushHour) -> tuple[Reply, float]:
        nonlocal tokens, then
        tokens, then = min(burst, tokens + (hour.now - then) * rate), hour.now
        if tokens < 1:
            return turned_away(), SOON
        tokens -= 1
        return ANSWER, seconds * hour.luck.uniform(0.7, 1.3)

    return serve
