"""Orders to a running study, and its accounts of how it is doing: both lie in its store's mailbox.

The run gives account about once a second. Account and orders are gone when the run has ended.
"""

import secrets
import shlex
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, ValidationError

from cheaptalk.models.calls import Frozen
from cheaptalk.models.model_strings import short_names
from cheaptalk.records import Store, StoreError, StoreHeld, waiting_batches
from cheaptalk.records.endings import ended_text
from cheaptalk.rules import CheaptalkError, counted, suggest
from cheaptalk.rules.errors import first_problem

QUIET = 120.0
"""Seconds without an answer or an ended match that are worth a word."""
REPLY_WAIT = 15.0
"""Seconds that an order waits for the run to take it."""
LOOK = 0.1
"""Seconds between two looks at whether it has."""


class ControlError(CheaptalkError):
    """A study that is not running, or does not take an order; the message says why."""


class MatchCounts(NamedTuple):
    """How many matches a run has, and how far they are.

    Attributes:
        planned: all of them.
        done: those that have ended, forfeited ones included.
        failed: those that stopped by an error.
        seconds_left: what the run itself forecasts; None if it does not.
        forfeited: the forfeited ones among ``done``.
        verb: what happened to those that are done, such as ``judged``.
    """

    planned: int
    done: int
    failed: int
    seconds_left: float | None = None
    forfeited: int = 0
    verb: str = "ended"


class LaneState(Frozen):
    """How one model's calls flow.

    Attributes:
        limit: calls that may be under way; ``fixed`` if set by hand.
        in_flight, waiting: calls under way, and those that wait for their turn.
        per_second: answers a second, over the last minute.
        seconds: that an answer takes.
        answered, failures: what came back in this run, failures by what they were.
        paused: seconds until the next call may go out.
        given_up: why it is given up, if it is.
    """

    model: str
    limit: int
    fixed: bool
    in_flight: int
    waiting: int
    per_second: float
    seconds: float
    answered: int
    failures: dict[str, int]
    paused: float
    given_up: str | None


class RunState(Frozen):
    """How a run is doing.

    Attributes:
        run: identifies the run.
        study, pid: what is played, and the process that does.
        started, written: when, in seconds since 1970.
        state: ``stopping`` while the last calls come back.
        planned, done, live, failed, left: matches; ``done`` have ended, in this run or before.
        forfeited: the forfeited ones among ``done``.
        verb: what happened to matches that are done: ``ended``, or ``judged`` by a judge's run.
        per_second: matches ended a second, over the last minute.
        eta: seconds until the end, as estimated by the work left of each game; None where nobody
            can tell yet.
        concurrency: matches that may be under way at once.
        calls, tokens, dollars: spent on the study so far; dollars None where nobody knows.
        uncounted: those of the calls whose tokens nobody knows.
        budget: what it may spend.
        quiet: seconds since anything came back.
        lanes: the models' lanes.
        replies: what became of the latest orders: a reason where one was refused, else nothing.
    """

    run: str
    study: str
    pid: int
    started: float
    written: float
    state: Literal["running", "paused", "stopping"]
    planned: int
    done: int
    live: int
    failed: int
    left: int
    per_second: float
    eta: float | None
    concurrency: int
    calls: int
    tokens: int
    dollars: float | None
    budget: dict[str, Any]
    quiet: float
    lanes: list[LaneState]
    replies: dict[str, str]
    uncounted: int = 0
    forfeited: int = 0
    verb: str = "ended"

    @property
    def how_far(self) -> str:
        """How many matches have ended, and how."""
        return ended_text(
            self.done, self.planned, forfeited=self.forfeited, failed=self.failed, verb=self.verb
        )

    @property
    def notice(self) -> str:
        """What somebody who waits for the run should know; empty while all goes well."""
        parts: list[str] = [self.state] if self.state != "running" else []
        for lane in self.lanes:
            if lane.given_up:
                parts.append(f"{lane.model} is given up")
            elif lane.paused >= 1:
                parts.append(f"{lane.model} pauses for {lane.paused:.0f} s")
            elif lane.waiting and lane.failures.get("overloaded"):
                parts.append(f"{lane.model} held to {counted(lane.limit, 'call')} at once")
        if self.quiet >= QUIET:
            parts.append(f"nothing came back for {self.quiet / 60:.0f} min")
        return "; ".join(parts)


class Order(Frozen):
    """Something that a running study is told to do.

    Attributes:
        id: identifies the order; later ones are greater.
        run: the run that it is for.
        action: what to do; ``set`` goes with what is to be set.
        concurrency: matches under way at once.
        limits: calls under way by model; None lets the lane tune itself again.
        budget: caps to replace; None lifts one.
    """

    id: str
    run: str
    action: Literal["pause", "resume", "stop", "set"]
    concurrency: Annotated[int, Field(ge=1)] | None = None
    limits: dict[str, Annotated[int, Field(ge=1)] | None] = Field(default_factory=dict)
    budget: dict[str, float | None] = Field(default_factory=dict)


def watch(store: Store | Path | str, study: str) -> RunState:
    """How a study's run is doing.

    Args:
        store: the store, its file or its URL.

    Raises:
        ControlError: the study is not running; the message says how far it is.
    """
    with _opened(store) as opened:
        return _watch(opened, study)


@contextmanager
def _opened(where: Store | Path | str) -> Iterator[Store]:
    with ExitStack() as stack:
        try:
            opened = stack.enter_context(Store.opened(where))
        except StoreError as error:
            raise ControlError(str(error)) from None
        yield opened


def _watch(store: Store, study: str) -> RunState:
    state = account_of(store)
    if state is None:
        raise ControlError(_why_idle(store, study))
    if state.study != study:
        raise ControlError(f'"{study}" is not running on {store.name}; "{state.study}" is')
    return state


def _why_idle(store: Store, study: str) -> str:
    """Why nobody plays a study, and what to do."""
    where = f"--store {shlex.quote(store.name)}"
    try:
        found = store.study(study)
        if "players" not in found.spec:
            return f'"{study}" was imported; there is nothing to play'
        with_providers = sum(one.calls for one in waiting_batches(store, study))
    except StoreError as error:
        return str(error)
    done, planned, how_far = found.done, found.planned, found.how_far(found.planned)
    if store.held():
        return (
            f'"{study}" is not being played ({how_far}), though another cheaptalk is writing to '
            f"{store.name}: wait for it, or try again if a run is just beginning"
        )
    if with_providers:
        return (
            f'"{study}" is not running ({how_far}), with {counted(with_providers, "call")} in '
            f"providers' batches; collect them with: cheaptalk resume {study} {where} --batch"
        )
    if done == planned:
        return f'"{study}" has ended ({how_far}); report it with: cheaptalk report {study} {where}'
    halted = f"; the last run halted: {found.halted}" if found.halted else ""
    return (
        f'"{study}" is not running ({how_far}{halted}); '
        f"go on with: cheaptalk resume {study} {where}"
    )


def account_of(store: Store) -> RunState | None:
    """A run's latest account; None where no run is alive.

    Raises:
        ControlError: it cannot be read.
    """
    state = last_account(store)
    return state if state is not None and store.held() else None


def last_account(store: Store) -> RunState | None:
    """The last account that a run gave, which may have been killed since; None without one.

    Raises:
        ControlError: it cannot be read.
    """
    mailbox = store.backend.mailbox
    try:
        text = mailbox.read_account()
        return None if text is None else RunState.model_validate_json(text)
    except (OSError, ValidationError) as error:
        raise ControlError(f"{mailbox.place} cannot be read: {error}") from None


def check_free(store: Store) -> None:
    """Refuse a store to which another process writes that does not share its work.

    Raises:
        StoreHeld: one does; the message says which, on what, and what to do.
        StoreError: it cannot be written.
    """
    try:
        store.backend.check_free()
    except StoreHeld:
        with suppress(ControlError):
            if (state := account_of(store)) is not None:
                raise StoreHeld(_busy(store, state)) from None
        raise


def _busy(store: Store, state: RunState) -> str:
    ctl = f"cheaptalk ctl {state.study} --store {shlex.quote(store.name)}"
    return (
        f"{store.name}: another cheaptalk is writing to it: process {state.pid} is at "
        f'"{state.study}" ({state.how_far}); wait for it to end, or look after it with: {ctl}'
    )


def give_order(
    store: Store | Path | str,
    study: str,
    action: str,
    *,
    concurrency: int | None = None,
    limits: Mapping[str, int | None] | None = None,
    budget: Mapping[str, float | None] | None = None,
) -> RunState:
    """Tell a running study to do something, and wait until it has heard.

    Args:
        store: the store, its file or its URL.
        action: ``pause``, ``resume``, ``stop`` or ``set``.
        concurrency: to set: matches with models played at once.
        limits: to set: calls to a model under way at once, by model or by the label of a player
            that is one; None lets it tune itself.
        budget: to set: what the study may spend, by unit; None lifts a cap.

    Returns:
        How the run is doing then.

    Raises:
        ControlError: the study is not running, or refuses.
    """
    with _opened(store) as opened:
        state = _watch(opened, study)
        wanted = {"concurrency": concurrency, "limits": limits, "budget": budget}
        what = {name: one for name, one in wanted.items() if one is not None}
        if limits is not None:
            what["limits"] = _by_model(limits, opened, state)
        id_ = f"{time.time_ns():020d}-{secrets.token_hex(4)}"
        try:
            order = Order.model_validate({"id": id_, "run": state.run, "action": action} | what)
        except ValidationError as error:
            raise ControlError(first_problem(error)) from None
        try:
            opened.backend.mailbox.post(id_, order.model_dump_json())
        except OSError as error:
            raise ControlError(f"{error.filename} cannot be written: {error.strerror}") from None
        return _reply_to(order, opened, state)


def _by_model(limits: Mapping[str, Any], store: Store, state: RunState) -> dict[str, Any]:
    """Limits by model string, where some may go by a player's label or a model's short name.

    Raises:
        ControlError: a label is of no player that is a model.
    """
    players = store.study(state.study, counted=False).spec["players"]
    models = {label: one["model"] for label, one in players.items() if "model" in one}
    for name in limits:
        if name not in models and "/" not in name:
            raise ControlError(f"no player that is a model is called {suggest(name, list(models))}")
    short = short_names(lane.model for lane in state.lanes)
    models |= {name: model for model, name in short.items()}
    return {models.get(name, name): limit for name, limit in limits.items()}


def _reply_to(order: Order, store: Store, before: RunState) -> RunState:
    """Wait until the run says what became of an order; take it back if nobody does."""
    until = time.monotonic() + REPLY_WAIT
    while time.monotonic() < until:
        time.sleep(LOOK)
        state = account_of(store)
        if state is None or state.run != order.run:
            if order.action == "stop":
                return before.model_copy(update={"state": "stopping"})
            raise ControlError(f'"{before.study}" has ended meanwhile')
        refusal = state.replies.get(order.id)
        if refusal:
            raise ControlError(refusal)
        if refusal is not None:
            return state
    store.backend.mailbox.withdraw(order.id)
    raise ControlError(
        f'"{before.study}" did not take the order within {REPLY_WAIT:g} seconds; try again'
    )
