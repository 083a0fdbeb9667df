"""Control of a run, in the run: it gives account and takes orders from other terminals."""

import asyncio
import os
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Literal

from pydantic import ValidationError

from cheaptalk.calls.budget import Budget, amount_text, unpriced
from cheaptalk.calls.desk import Desk
from cheaptalk.calls.orders import LaneState, MatchCounts, Order, RunState
from cheaptalk.models.flow_control import Lane
from cheaptalk.records.costs import Cost
from cheaptalk.records.store.backend import Mailbox, StoreAway
from cheaptalk.rules import suggest
from cheaptalk.rules.errors import first_problem

BEAT = 1.0
"""Seconds between two accounts of a run."""
STOPPED = "stopped by cheaptalk ctl"
"""Why a run halts that is stopped from another terminal."""


class Control:
    """The run's side: gives account and takes orders. Use as a context manager.

    Args:
        mailbox: of the store.
        study: the study's name.
        matches: counts the matches.
    """

    def __init__(self, mailbox: Mailbox, study: str, matches: Callable[[], MatchCounts]) -> None:
        self.run = secrets.token_hex(8)
        self.study = study
        self.matches = matches
        self.desk: Desk | None = None
        self.halted: str | None = None
        self.started = time.time()
        self._mailbox = mailbox
        self._replies: dict[str, str] = {}
        self._due = time.monotonic() + BEAT
        self._rates: deque[tuple[float, int, dict[str, int]]] = deque(maxlen=60)
        self._heard = -1
        self._last_heard = time.monotonic()

    def __enter__(self) -> "Control":
        self._mailbox.clear()
        self.give_account()
        return self

    def __exit__(self, *exc: object) -> None:
        with suppress(StoreAway):
            self._mailbox.clear()

    @asynccontextmanager
    async def minding(self, desk: Desk, tell: Callable[[RunState], None]) -> AsyncIterator[None]:
        """Mind a desk meanwhile: give account, take orders, and tell how the run is doing."""
        self.desk = desk

        async def mind() -> None:
            while True:
                tell(self.give_account())
                await asyncio.sleep(BEAT)

        task = asyncio.create_task(mind())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def beat(self) -> None:
        """Give account and take orders, if it is time to."""
        if time.monotonic() >= self._due:
            self.give_account()

    def give_account(self) -> RunState:
        """Take the orders that came, and say how the run is doing."""
        now = time.monotonic()
        self._due = now + BEAT
        with suppress(OSError, StoreAway):  # a full disk, a server: the run goes on without
            for id_, text in self._mailbox.take():
                self._take(id_, text)
        state = self._state(now)
        with suppress(OSError, StoreAway):
            self._mailbox.write_account(state.model_dump_json())
        return state

    def _take(self, id_: str, text: str) -> None:
        """Carry an order out, once, and note what became of it."""
        try:
            order = Order.model_validate_json(text)
        except ValidationError as error:
            self._replies[id_] = f"the order cannot be read: {error}"
        else:
            if order.run == self.run and order.id not in self._replies:
                self._replies[order.id] = self._obey(order) or ""
        while len(self._replies) > 100:
            del self._replies[next(iter(self._replies))]

    def _obey(self, order: Order) -> str | None:
        """Carry an order out; why not, where that cannot be."""
        if order.action == "stop":
            self.halted = STOPPED
            if self.desk is not None:
                self.desk.halt(STOPPED)
            return None
        if self.desk is None:
            return "no match with a model is under way"
        if order.action == "set":
            return _change(self.desk, order)
        if order.action == "pause":
            self.desk.lanes.pause()
        else:
            self.desk.lanes.resume()
        return None

    def _state(self, now: float) -> RunState:
        matches, desk = self.matches(), self.desk
        lanes = desk.lanes.all() if desk else []
        answered = {lane.name: lane.answered for lane, _ in lanes}
        came_back = sum(lane.answered + lane.failures.total() for lane, _ in lanes)
        heard = matches.done + matches.failed + came_back
        if heard != self._heard:
            self._heard, self._last_heard = heard, now
        self._rates.append((now, matches.done, answered))
        then, done, before = self._rates[0]
        span = max(now - then, 1e-9)
        rate = (matches.done - done) / span
        left = matches.planned - matches.done
        eta = matches.seconds_left or (left / rate if rate else None)
        return RunState(
            run=self.run, study=self.study, pid=os.getpid(), started=self.started,
            written=time.time(), state=self._doing(), planned=matches.planned,
            done=matches.done, failed=matches.failed, forfeited=matches.forfeited,
            verb=matches.verb,
            live=desk.live if desk else 0, left=left, per_second=round(rate, 3),
            eta=round(eta, 1) if eta is not None and self._doing() == "running" else None,
            concurrency=desk.concurrency if desk else 0, **_spent(desk),
            quiet=round(now - self._last_heard, 1),
            lanes=[
                _lane(lane, waiting, (lane.answered - before.get(lane.name, 0)) / span)
                for lane, waiting in lanes
            ],
            replies=self._replies,
        )  # fmt: skip

    def _doing(self) -> Literal["running", "paused", "stopping"]:
        if self.halted or (self.desk and self.desk.halted):
            return "stopping"
        return "paused" if self.desk and self.desk.lanes.paused else "running"


def _change(desk: Desk, order: Order) -> str | None:
    """Set all that an order sets, or nothing; why not, where that cannot be."""
    known = [lane.name for lane, _ in desk.lanes.all()]
    for model in order.limits:
        if model not in known:
            return f"no calls went to {suggest(model, known)}"
    if order.budget:
        try:
            budget = Budget.model_validate(desk.purse.budget.model_dump() | order.budget)
        except ValidationError as error:
            return f"budget: {first_problem(error)}"
        missing = [model for model in known if desk.purse.prices.of(model) is None]
        if budget.dollars and missing:
            return unpriced(missing[0])
        if refusal := _spent_already(order, desk.purse.spent):
            return refusal
        desk.purse.set(budget)
    for model, limit in order.limits.items():
        desk.lanes.fix(model, limit)
    if order.concurrency is not None:
        desk.retune(order.concurrency)
    return None


def _spent_already(order: Order, spent: Cost) -> str | None:
    """Why a cap would end the run at once, where it would."""
    for unit, most in order.budget.items():
        used = getattr(spent, unit)
        if most is not None and most <= used:
            return (
                f"budget: the study has taken {amount_text(unit, used)} already, so that a cap of "
                f"{amount_text(unit, most)} would end the run: set more, or end it with: stop"
            )
    return None


def _spent(desk: Desk | None) -> dict[str, Any]:
    if desk is None:
        return {"calls": 0, "tokens": 0, "uncounted": 0, "dollars": None, "budget": {}}
    purse = desk.purse
    return {
        "calls": purse.spent.calls,
        "tokens": purse.spent.tokens,
        "uncounted": purse.spent.uncounted,
        "dollars": purse.spent.dollars_known,
        "budget": purse.budget.model_dump(exclude_none=True),
    }


def _lane(lane: Lane, waiting: int, rate: float) -> LaneState:
    return LaneState(
        model=lane.name, limit=lane.width, fixed=lane.fixed is not None,
        in_flight=lane.in_flight, waiting=waiting, per_second=round(rate, 2),
        seconds=round(lane.round_trip, 3), answered=lane.answered,
        failures={str(trouble): count for trouble, count in lane.failures.items()},
        paused=round(max(0.0, lane.paused_until - lane.clock()), 1),
        given_up=lane.given_up.reason if lane.given_up else None,
    )  # fmt: skip
