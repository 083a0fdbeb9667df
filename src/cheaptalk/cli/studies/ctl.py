"""The command that looks after a running study from another terminal: ctl."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

import cheaptalk as ct
from cheaptalk.cli import shared
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.options import CAPS, DEFAULT_STORE, JsonOption, StoreOption, cap_of, pair
from cheaptalk.cli.shared.printing import out, print_batches, print_json, print_table, say
from cheaptalk.cli.shared.sentences import spent
from cheaptalk.text import duration, steady

TUNED = "auto"
"""What is written behind ``--limit`` to let a lane tune itself."""


class CtlAction(StrEnum):
    """What ``cheaptalk ctl`` can do."""

    STATUS = "status"
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    SET = "set"


DONE = {
    CtlAction.PAUSE: "paused: calls in flight come back, and no more are sent; go on with: resume",
    CtlAction.RESUME: "running again",
    CtlAction.STOP: "stopping: calls in flight come back and are recorded",
    CtlAction.SET: "set, until this run ends",
}


def ctl(
    study: Annotated[
        str,
        typer.Argument(
            help="The name of the running study.", autocompletion=completion.stored_studies
        ),
    ],
    action: Annotated[CtlAction, typer.Argument(help="What to do.")] = CtlAction.STATUS,
    store: StoreOption = DEFAULT_STORE,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="set: matches with models played at once.")
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            help="set: calls to a model under way at once, by its player's label or its model "
            "string; auto lets it tune itself.",
            metavar="LABEL=N",
        ),
    ] = None,
    budget: Annotated[
        list[str] | None,
        typer.Option(help="set: what the study may spend; none lifts a cap.", metavar=CAPS),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Look after a study while it runs: see how it does, pause it, stop it, or retune it."""
    what = _settings(concurrency, limit or [], budget or [])
    if bool(what) != (action is CtlAction.SET):
        raise typer.BadParameter(
            "--concurrency, --limit and --budget go with set, and set with one of them"
        )
    if action is CtlAction.STATUS:
        state = ct.studies.watch(store, study)
    else:
        state = ct.studies.give_order(store, study, action.value, **what)
    if not json and action is not CtlAction.STATUS:
        out.print(f"{study}: {DONE[action]}", soft_wrap=True)
        return
    with ct.Store.open(store) as opened:
        waiting = ct.records.waiting_batches(opened, study)
    if json:
        print_json(state.model_dump() | {"batches": [one._asdict() for one in waiting]})
        return
    _show(state)
    if waiting:
        print_batches(waiting)


def _settings(concurrency: int | None, limits: list[str], budget: list[str]) -> dict[str, Any]:
    """What is to be set, as :func:`cheaptalk.studies.give_order` takes it."""
    what: dict[str, Any] = {}
    if concurrency is not None:
        what["concurrency"] = concurrency
    if limits:
        what["limits"] = dict(map(_limit, limits))
    if budget:
        what["budget"] = cap_of(budget).model_dump(exclude_unset=True)
    return what


def _limit(written: str) -> tuple[str, int | None]:
    """A label or model, and the calls to it under way at once; None to let it tune itself."""
    form = "LABEL=N or MODEL=N"
    model, value = pair(written, form, "--limit", last=True)
    if not (value == TUNED or value.isdecimal()):
        raise typer.BadParameter(f'"{written}" is not {form}', param_hint="--limit")
    return model, None if value == TUNED else int(value)


def _show(state: ct.studies.RunState) -> None:
    left = f", about {duration(steady(state.eta))} left" if state.eta is not None else ""
    say(
        f"{state.study}: {state.state}; {state.how_far}; {state.live:,} under way of "
        f"{state.concurrency:,} at once{left}"
    )
    say(f"spent: {spent(state)}")
    if state.lanes:
        short = ct.models.model_strings.short_names(lane.model for lane in state.lanes)
        print_table(
            None,
            ["model", "limit", "in flight", "waiting", "answers/s", "seconds", "failures"],
            [[short[lane.model], f"{lane.limit}{' (fixed)' if lane.fixed else ''}", lane.in_flight,
              lane.waiting, lane.per_second, lane.seconds, _failures(lane.failures)]
             for lane in state.lanes],
        )  # fmt: skip
    for lane in state.lanes:
        if lane.given_up:
            out.print(shared.consoles.Text(f"given up: {lane.given_up}"), soft_wrap=True)
    if state.notice:
        out.print(shared.consoles.Text(state.notice), soft_wrap=True)


def _failures(failures: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in failures.items()) or "none"
