"""The command that looks after a running study from another terminal."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.text import Text

import cheaptalk as ct
from cheaptalk.cli.base import (
    DEFAULT_STORE,
    JsonOption,
    StoreOption,
    app,
    out,
    print_json,
    print_table,
)

LIFTED = ("none", "auto")
"""What is written to lift a cap, or to let a lane tune itself."""


class Action(StrEnum):
    """What ``cheaptalk ctl`` can do."""

    STATUS = "status"
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    SET = "set"


DONE = {
    Action.PAUSE: "paused: calls in flight come back, and no more are sent; go on with: resume",
    Action.RESUME: "running again",
    Action.STOP: "stopping: calls in flight come back and are recorded",
    Action.SET: "set, until this run ends",
}


@app.command()
def ctl(
    study: Annotated[str, typer.Argument(help="The name of the running study.")],
    action: Annotated[Action, typer.Argument(help="What to do.")] = Action.STATUS,
    store: StoreOption = DEFAULT_STORE,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="set: matches with models played at once.")
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            help="set: calls to a model under way at once; auto lets it tune itself.",
            metavar="MODEL=N",
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            help="set: what the study may spend; none lifts a cap.",
            metavar="calls=N,tokens=N,dollars=X",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Look after a study while it runs: see how it does, pause it, stop it, or retune it."""
    what = _settings(concurrency, limit or [], budget)
    if bool(what) != (action is Action.SET):
        raise typer.BadParameter(
            "--concurrency, --limit and --budget go with set, and set with one of them"
        )
    if action is Action.STATUS:
        state = ct.studies.watch(store, study)
    else:
        state = ct.studies.give_order(store, study, action.value, **what)
    if json:
        print_json(state.model_dump())
    elif action is Action.STATUS:
        _show(state)
    else:
        out.print(f"{study}: {DONE[action]}", soft_wrap=True)


def _settings(concurrency: int | None, limits: list[str], budget: str | None) -> dict[str, Any]:
    """What is to be set, as :func:`cheaptalk.studies.give_order` takes it."""
    what: dict[str, Any] = {}
    if concurrency is not None:
        what["concurrency"] = concurrency
    if limits:
        what["limits"] = dict(_number(one, "--limit", "MODEL=N", int) for one in limits)
    if budget is not None:
        caps = budget.split(",")
        what["budget"] = dict(_number(one, "--budget", "NAME=NUMBER", float) for one in caps)
    return what


def _number(
    written: str, option: str, form: str, read: type[int] | type[float]
) -> tuple[str, float | None]:
    """A name and its number, None where it is lifted."""
    name, _, value = (part.strip() for part in written.rpartition("="))
    try:
        number = None if value in LIFTED else read(value)
    except ValueError:
        name = ""
    if not name:
        raise typer.BadParameter(f'"{written}" is not {form}', param_hint=option)
    return name, number


def _show(state: ct.studies.RunState) -> None:
    left = f", about {duration(state.eta)} left" if state.eta is not None else ""
    out.print(
        f"{state.study}: {state.state}, {state.done:,} of {state.planned:,} matches done, "
        f"{state.live:,} under way of {state.concurrency:,} at once, {state.failed:,} failed{left}",
        markup=False,
    )
    out.print(f"spent: {spent(state)}", markup=False)
    if state.lanes:
        print_table(
            None,
            ["model", "limit", "in flight", "waiting", "answers/s", "seconds", "failures"],
            [[lane.model, f"{lane.limit}{' (fixed)' if lane.fixed else ''}", lane.in_flight,
              lane.waiting, lane.per_second, lane.seconds, _failures(lane.failures)]
             for lane in state.lanes],
        )  # fmt: skip
    for lane in state.lanes:
        if lane.given_up:
            out.print(Text(f"given up: {lane.given_up}"), soft_wrap=True)
    if state.notice:
        out.print(Text(state.notice), soft_wrap=True)


def _failures(failures: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in failures.items()) or "none"


def spent(state: ct.studies.RunState) -> str:
    """What a study has cost so far, and what it may.

    Dollars are left out where nobody knows them.
    """
    parts = [f"{state.calls:,} calls", f"{state.tokens:,} tokens"]
    if state.dollars is not None:
        parts.append(f"${state.dollars:,.2f}")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """A time span in words.

    >>> duration(42), duration(600), duration(7300)
    ('42 s', '10 min', '2 h 2 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
