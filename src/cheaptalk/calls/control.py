"""Control of a run from other processes: the run publishes its state and accepts commands."""

import asyncio
import os
import secrets
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Literal

from pydantic import ValidationError

from cheaptalk.calls.budget import Budget, amount_text, unpriced
from cheaptalk.calls.commands import MEASURED, Command, MatchCounts, RateLimiterState, RunState
from cheaptalk.calls.dispatcher import Dispatcher
from cheaptalk.models.flow_control import RateLimiter
from cheaptalk.records.store.backend import Mailbox, StoreAway
from cheaptalk.rules import suggest
from cheaptalk.rules.errors import first_problem

BEAT = 1.0
"""Seconds between two published states of a run."""
STOPPED = "stopped"
"""Halt reason of a run that was stopped from another terminal."""


class Control:
    """The control interface of a running study, used as a context manager."""

    def __init__(self, mailbox: Mailbox, study: str, matches: Callable[[], MatchCounts]) -> None:
        self.run = secrets.token_hex(8)
        self.study = study
        self.matches = matches
        self.dispatcher: Dispatcher | None = None
        self.halted: str | None = None
        self.started = time.time()
        self._mailbox = mailbox
        self._replies: dict[str, str] = {}
        self._due = time.monotonic() + BEAT
        self._rates: deque[tuple[float, int, dict[str, int]]] = deque(maxlen=60)
        self._at_start = sys.maxsize
        self._heard = -1
        self._last_heard = time.monotonic()

    def __enter__(self) -> "Control":
        self._mailbox.clear()
        self.publish_state()
        return self

    def __exit__(self, *exc: object) -> None:
        with suppress(StoreAway):
            self._mailbox.clear()

    @asynccontextmanager
    async def minding(
        self, dispatcher: Dispatcher, tell: Callable[[RunState], None]
    ) -> AsyncIterator[None]:
        """Publish the state and carry out commands every second while the context is open."""
        self.dispatcher = dispatcher
        self._rates.clear()  # of matches between scripts
        self._at_start = sys.maxsize

        async def mind() -> None:
            while True:
                tell(self.publish_state())
                await asyncio.sleep(BEAT)

        task = asyncio.create_task(mind())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def beat(self) -> None:
        """Publish the state and carry out commands if an update is due."""
        if time.monotonic() >= self._due:
            self.publish_state()

    def publish_state(self) -> RunState:
        """Carry out new commands, publish the run's state and return it."""
        now = time.monotonic()
        self._due = now + BEAT
        with suppress(OSError, StoreAway):  # the run continues without control
            for id_, text in self._mailbox.take():
                self._take(id_, text)
        state = self._state(now)
        with suppress(OSError, StoreAway):
            self._mailbox.write_state(state.model_dump_json())
        return state

    def _take(self, id_: str, text: str) -> None:
        """Carry out a command once, and record its result."""
        try:
            command = Command.model_validate_json(text)
        except ValidationError as error:
            self._replies[id_] = f"the control command cannot be read: {error}"
        else:
            if command.run == self.run and command.id not in self._replies:
                self._replies[command.id] = self._execute(command) or ""
        while len(self._replies) > 100:
            del self._replies[next(iter(self._replies))]

    def _execute(self, command: Command) -> str | None:
        """Carry out a command; return an error message if that is impossible."""
        if command.action == "stop":
            self.halted = STOPPED
            if self.dispatcher is not None:
                self.dispatcher.halt(STOPPED)
            return None
        if self.dispatcher is None:
            return "no match with a model is in progress; only stop is possible now"
        if command.action == "set":
            return _change(self.dispatcher, command)
        if command.action == "pause":
            self.dispatcher.limiters.pause()
        else:
            self.dispatcher.limiters.resume()
        return None

    def _state(self, now: float) -> RunState:
        matches, dispatcher = self.matches(), self.dispatcher
        limiters = dispatcher.limiters.all() if dispatcher else []
        answered = {limiter.name: limiter.answered for limiter, _ in limiters}
        came_back = sum(limiter.answered + limiter.failures.total() for limiter, _ in limiters)
        heard = matches.done + matches.failed + came_back
        if heard != self._heard:
            self._heard, self._last_heard = heard, now
        self._rates.append((now, matches.done, answered))
        earlier, earlier_done, earlier_answered = self._rates[0]
        span = max(now - earlier, 1e-9)
        rate = (matches.done - earlier_done) / span
        left = matches.planned - matches.done
        self._at_start = min(self._at_start, matches.done)
        measured = rate > 0 and matches.done - self._at_start >= MEASURED
        eta = matches.seconds_left or (left / rate if measured else None)
        state: Literal["running", "paused", "stopping"] = "running"
        if self.halted or (dispatcher and dispatcher.halted):
            state = "stopping"
        elif dispatcher and dispatcher.limiters.paused:
            state = "paused"
        counts = matches._asdict()
        del counts["seconds_left"]
        live, concurrency = (dispatcher.live, dispatcher.concurrency) if dispatcher else (0, 0)
        identity = {"run": self.run, "study": self.study, "pid": os.getpid(), "state": state}
        counts |= {"live": live, "left": left, "concurrency": concurrency} | _spent(dispatcher)
        return RunState(
            **identity | counts,
            started=self.started,
            written=time.time(),
            per_second=round(rate, 3),
            eta=round(eta, 1) if eta is not None and state == "running" else None,
            quiet=round(now - self._last_heard, 1),
            limiters=[
                _limiter(limiter, waiting, earlier_answered.get(limiter.name, 0), span)
                for limiter, waiting in limiters
            ],
            replies=self._replies,
        )


def _change(dispatcher: Dispatcher, command: Command) -> str | None:
    """Apply all settings of a command or none; return an error message if any is invalid."""
    models = [limiter.name for limiter, _ in dispatcher.limiters.all()]
    for model in command.limits:
        if model not in models:
            return f"this run has not called a model {suggest(model, models)}"
    if command.budget:
        tracker = dispatcher.budget_tracker
        try:
            budget = Budget.model_validate(tracker.budget.model_dump() | command.budget)
        except ValidationError as error:
            return f"budget: {first_problem(error)}"
        missing = [model for model in models if tracker.prices.of(model) is None]
        if budget.dollars and missing:
            return unpriced(missing[0])
        for unit, limit in command.budget.items():
            used = getattr(tracker.spent, unit)
            if limit is not None and limit <= used:
                return (
                    f"budget: the study has already used {amount_text(unit, used)}, so a limit of "
                    f"{amount_text(unit, limit)} would end the run: set a higher limit, or end the "
                    "run with: stop"
                )
        tracker.set(budget)
    for model, limit in command.limits.items():
        dispatcher.limiters.fix(model, limit)
    if command.concurrency is not None:
        dispatcher.retune(command.concurrency)
    return None


def _spent(dispatcher: Dispatcher | None) -> dict[str, Any]:
    if dispatcher is None:
        return {"calls": 0, "tokens": 0, "uncounted": 0, "dollars": None, "budget": {}}
    spent, budget = dispatcher.budget_tracker.spent, dispatcher.budget_tracker.budget
    return {
        "calls": spent.calls,
        "tokens": spent.tokens,
        "uncounted": spent.uncounted,
        "dollars": spent.dollars_known,
        "budget": budget.model_dump(exclude_none=True),
    }


def _limiter(limiter: RateLimiter, waiting: int, answered: int, span: float) -> RateLimiterState:
    return RateLimiterState(
        model=limiter.name,
        limit=limiter.width,
        fixed=limiter.fixed is not None,
        in_flight=limiter.in_flight,
        waiting=waiting,
        per_second=round((limiter.answered - answered) / span, 2),
        seconds=round(limiter.round_trip, 3),
        answered=limiter.answered,
        failures={str(trouble): count for trouble, count in limiter.failures.items()},
        paused=round(max(0.0, limiter.paused_until - limiter.clock()), 1),
        given_up=limiter.given_up.reason if limiter.given_up else None,
    )
