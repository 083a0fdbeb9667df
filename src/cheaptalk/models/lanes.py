"""The lanes of a run: whoever calls a model waits here for its turn."""

import asyncio
import math
import random
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from cheaptalk.models.calls import Reply
from cheaptalk.models.flow import CEILING, PATIENCE, START, Lane, Sent


class Slot(NamedTuple):
    """A place in a lane that one call takes while it is under way."""

    lane: Lane
    sent: Sent


class _Door:
    """Where calls wait for a place in their lane, first come, first served."""

    def __init__(self, lane: Lane, *, closed: bool) -> None:
        self.lane = lane
        self.closed = closed
        self.waiting: deque[asyncio.Future[Sent]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self) -> Sent:
        if not self.closed and not self.waiting and self.lane.wait() <= 0:
            return self.lane.go()
        place: asyncio.Future[Sent] = asyncio.get_running_loop().create_future()
        self.waiting.append(place)
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
        while self.waiting and not self.closed:
            if self.waiting[0].done():
                self.waiting.popleft()
                continue
            wait = self.lane.wait()
            if wait > 0:
                if wait < math.inf:
                    self._timer = asyncio.get_running_loop().call_later(wait, self.admit)
                return
            self.waiting.popleft().set_result(self.lane.go())


class Lanes:
    """One lane for each model string: its provider, URL, model and key.

    Args:
        concurrency: matches that are played at once: half as many calls to one model may be under
            way before anything is known of its server.
        ceiling: calls to one model that may be under way at most.
        patience: seconds for which a server may be overloaded or away.
        clock, luck: for tests.
    """

    def __init__(
        self,
        *,
        concurrency: int = 1,
        ceiling: float = CEILING,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
        luck: random.Random | None = None,
    ) -> None:
        self.start = max(START, concurrency / 2)
        self.ceiling = max(ceiling, concurrency)
        self.patience = patience
        self.clock = clock
        self.luck = luck or random.SystemRandom()
        self.paused = False
        self._stopped = False
        self._doors: dict[str, _Door] = {}

    def __getitem__(self, model: str) -> Lane:
        return self._door(model).lane

    def all(self) -> list[tuple[Lane, int]]:
        """The lanes so far, and how many calls wait in each."""
        return [(door.lane, len(door.waiting)) for door in self._doors.values()]

    def any_works(self) -> bool:
        """Whether some lane is not given up."""
        return any(door.lane.given_up is None for door in self._doors.values())

    async def enter(self, model: str) -> Slot:
        """Wait for a place in a model's lane; once the run stops, everyone gets one."""
        door = self._door(model)
        if self._stopped:
            return Slot(door.lane, door.lane.go())
        return Slot(door.lane, await door.enter())

    def leave(self, slot: Slot, reply: Reply | None) -> None:
        """Give a place back, with what the call brought; None where nobody knows."""
        slot.lane.back(slot.sent, reply)
        self._doors[slot.lane.name].admit()

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
            while door.waiting:
                place = door.waiting.popleft()
                if not place.done():
                    place.set_result(door.lane.go())

    def _door(self, model: str) -> _Door:
        door = self._doors.get(model)
        if door is None:
            lane = Lane(
                model, start=self.start, ceiling=self.ceiling, patience=self.patience,
                clock=self.clock, luck=self.luck,
            )  # fmt: skip
            door = self._doors[model] = _Door(lane, closed=self.paused)
        return door
