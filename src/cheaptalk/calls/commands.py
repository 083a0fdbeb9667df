"""Commands for a running study and the state that it publishes, exchanged in a mailbox.

A run publishes its state about once per second. State and commands are deleted when the run ends.
"""

import secrets
import shlex
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, ValidationError

from cheaptalk.models.model_strings import short_names
from cheaptalk.records import Store, StoreError, StoreLocked, waiting_batches
from cheaptalk.records.descriptions import ended_text
from cheaptalk.records.store.lookup import StoreLike, StudyLike, name_of, reads
from cheaptalk.rules import CheaptalkError, counted, suggest
from cheaptalk.rules.actions import Data
from cheaptalk.rules.errors import first_problem

QUIET = 120.0
"""Seconds without a reply or an ended match after which a notice is shown."""
REPLY_WAIT = 15.0
"""Timeout in seconds for a run to process a command."""
LOOK = 0.1
"""Polling interval in seconds for the result of a command."""


MEASURED = 3
"""Number of matches that end before the remaining time is estimated."""


class ControlError(CheaptalkError):
    """Raised when a study is not running or rejects a command."""


class MatchCounts(NamedTuple):
    """Numbers of matches in a run, by status; ended matches (``done``) include forfeited ones.

    ``seconds_left`` is the run's own forecast, if any. ``verb`` describes done matches, as in
    ``judged``.
    """

    planned: int
    done: int
    failed: int
    seconds_left: float | None = None
    forfeited: int = 0
    verb: str = "ended"


class RateLimiterState(Data):
    """The state of one model's rate limiter.

    ``limit`` is the maximum of concurrent calls; ``fixed`` if it was set manually. The rate
    ``per_second`` is that of the last minute, ``seconds`` the mean duration of a call, and
    ``paused`` the seconds until the next call may be sent.
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


class RunState(Data):
    """The state that a run publishes.

    Attributes:
        started, written: Unix times in seconds.
        state: ``stopping`` while waiting for the last calls.
        planned, done, live, failed, left: match counts; ``done`` includes earlier runs.
        forfeited: the forfeited ones among ``done``.
        verb: the verb for done matches: ``ended``, or ``judged`` in a judge's run.
        per_second: matches ended per second over the last minute.
        eta: estimated seconds until the end; None if unknown.
        calls, tokens, dollars: the study's cost so far; dollars is None if unknown.
        uncounted: calls with an unknown number of tokens.
        quiet: seconds since the last answer or ended match.
        replies: results of the latest commands: the reason of a rejection, or an empty string.
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
    limiters: list[RateLimiterState]
    replies: dict[str, str]
    uncounted: int = 0
    forfeited: int = 0
    verb: str = "ended"

    @property
    def how_far(self) -> str:
        """Number of ended matches and their outcomes, as text."""
        return ended_text(
            self.done, self.planned, forfeited=self.forfeited, failed=self.failed, verb=self.verb
        )

    @property
    def notice(self) -> str:
        """Problems to report to a user who waits for the run; empty if there are none."""
        parts: list[str] = [self.state] if self.state != "running" else []
        for limiter in self.limiters:
            if limiter.given_up:
                parts.append(f"calls to {limiter.model} fail immediately")
            elif limiter.paused >= 1:
                parts.append(f"{limiter.model} is paused for {limiter.paused:.0f} s")
            elif limiter.waiting and limiter.failures.get("overloaded"):
                limit = counted(limiter.limit, "concurrent call")
                parts.append(f"{limiter.model} limited to {limit}")
        if self.quiet >= QUIET:
            parts.append(f"no replies for {self.quiet / 60:.0f} min")
        return "; ".join(parts)


class Command(Data):
    """A command for a running study; the ids of commands ascend.

    Only ``set`` uses the last three fields. A limit of None restores the automatic limit of a
    model, or removes a limit of the budget.
    """

    id: str
    run: str
    action: Literal["pause", "resume", "stop", "set"]
    concurrency: Annotated[int, Field(ge=1)] | None = None
    limits: dict[str, Annotated[int, Field(ge=1)] | None] = Field(default_factory=dict)
    budget: dict[str, float | None] = Field(default_factory=dict)


def run_state(store: StoreLike, study: StudyLike) -> RunState:
    """Return the current state of a study's run.

    Args:
        store: the store, its file or its URL.

    Raises:
        ControlError: the study is not running; the message states its progress.
    """
    with _running(store, name_of(study)) as (_, state):
        return state


@contextmanager
def _running(location: StoreLike, study: str) -> Iterator[tuple[Store, RunState]]:
    """Open a store with the state of a study's run."""
    with ExitStack() as stack:
        try:
            store = stack.enter_context(Store.opened(location))
        except StoreError as error:
            raise ControlError(str(error)) from None
        state = live_state(store)
        if state is None:
            raise ControlError(_idle_reason(store, study))
        if state.study != study:
            raise ControlError(f'"{study}" is not running on {store.name}; "{state.study}" is')
        yield store, state


def _idle_reason(store: Store, study: str) -> str:
    """Return why a study is not running, and how to continue."""
    option = f"--store {shlex.quote(store.name)}"
    try:
        summary = store.study(study)
        if "players" not in summary.spec:
            return f'"{study}" was imported and cannot be run'
        with_providers = sum(batch.calls for batch in waiting_batches(store, study))
    except StoreError as error:
        return str(error)
    done, planned, how_far = summary.done, summary.planned, summary.how_far
    if store.held():
        return (
            f'"{study}" is not running ({how_far}), but another cheaptalk process is writing to '
            f"{store.name}: wait for it, or try again if a run is just starting"
        )
    if with_providers:
        return (
            f'"{study}" is not running ({how_far}), with {counted(with_providers, "call")} in '
            f"providers' batches; collect them with: cheaptalk resume {study} {option} --batch"
        )
    if done == planned:
        return f'"{study}" has ended ({how_far}); report it with: cheaptalk report {study} {option}'
    halted = f"; the last run halted: {summary.halted}" if summary.halted else ""
    return (
        f'"{study}" is not running ({how_far}{halted}); '
        f"resume it with: cheaptalk resume {study} {option}"
    )


def live_state(store: Store) -> RunState | None:
    """Return the latest published state of a running study; None if no study is running."""
    state = last_state(store)
    return state if state is not None and store.held() else None


def last_state(store: Store) -> RunState | None:
    """Return the last published state, if any; raise ControlError if it cannot be read.

    The run may have been killed.
    """
    mailbox = store.backend.mailbox
    try:
        text = mailbox.read_state()
        return None if text is None else RunState.model_validate_json(text)
    except (OSError, ValidationError) as error:
        raise ControlError(f"{mailbox.location} cannot be read: {error}") from None


@reads
def check_free(store: StoreLike) -> None:
    """Check that no other process holds an exclusive lock on a store, and that it is writable.

    The StoreLocked that is raised otherwise names the process and its study.
    """
    assert isinstance(store, Store)
    try:
        store.backend.check_free()
    except StoreLocked:
        with suppress(ControlError):
            if (state := live_state(store)) is not None:
                raise StoreLocked(
                    f"{store.name}: another cheaptalk process is writing to the store: process "
                    f'{state.pid} is running "{state.study}" ({state.how_far}); wait for it to '
                    f"end, or control it with: cheaptalk control {state.study} --store "
                    f"{shlex.quote(store.name)}"
                ) from None
        raise


def control_run(
    store: StoreLike,
    study: StudyLike,
    action: str,
    *,
    concurrency: int | None = None,
    limits: Mapping[str, int | None] | None = None,
    budget: Mapping[str, float | None] | None = None,
) -> RunState:
    """Send a command to a running study, and return the run's state afterwards.

    Args:
        store: the store, its file or its URL.
        action: ``pause``, ``resume``, ``stop`` or ``set``; the other arguments are for ``set``.
        concurrency: maximum number of concurrent matches with models.
        limits: maximum concurrent calls by model or player label; None restores automatic limits.
        budget: the study's budget by unit; None removes a limit.

    Raises:
        ControlError: the study is not running, or the run rejects the command.
    """
    with _running(store, name_of(study)) as (opened, state):
        limits = limits and _limits_by_model(limits, opened, state)
        id_ = f"{time.time_ns():020d}-{secrets.token_hex(4)}"
        fields: dict[str, Any] = {"id": id_, "run": state.run, "action": action}
        settings = {"concurrency": concurrency, "limits": limits, "budget": budget}
        fields |= {name: value for name, value in settings.items() if value is not None}
        try:
            command = Command.model_validate(fields)
        except ValidationError as error:
            raise ControlError(first_problem(error)) from None
        try:
            opened.backend.mailbox.post(id_, command.model_dump_json())
        except OSError as error:
            raise ControlError(f"{error.filename} cannot be written: {error.strerror}") from None
        return _reply_to(command, opened, state)


def _limits_by_model(limits: Mapping[str, Any], store: Store, state: RunState) -> dict[str, Any]:
    """Replace player labels and short model names in limits with model strings."""
    players = store.study(state.study, counted=False).spec["players"]
    models = {label: entry["model"] for label, entry in players.items() if "model" in entry}
    for name in limits:
        if name not in models and "/" not in name:
            raise ControlError(f"no player with a model has the label {suggest(name, [*models])}")
    short = short_names(limiter.model for limiter in state.limiters)
    models |= {name: model for model, name in short.items()}
    return {models.get(name, name): limit for name, limit in limits.items()}


def _reply_to(command: Command, store: Store, state_before: RunState) -> RunState:
    """Wait for the result of a command, and withdraw the command after a timeout."""
    until = time.monotonic() + REPLY_WAIT
    while time.monotonic() < until:
        time.sleep(LOOK)
        state = live_state(store)
        if state is None or state.run != command.run:
            if command.action == "stop":
                return state_before.model_copy(update={"state": "stopping"})
            raise ControlError(f'"{state_before.study}" has ended in the meantime')
        refusal = state.replies.get(command.id)
        if refusal:
            raise ControlError(refusal)
        if refusal is not None:
            return state
    store.backend.mailbox.withdraw(command.id)
    raise ControlError(
        f'"{state_before.study}" did not process the command in {REPLY_WAIT:g} seconds; try again'
    )
