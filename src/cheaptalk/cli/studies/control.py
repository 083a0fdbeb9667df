"""The ``control`` command, which controls a running study from another terminal."""

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

AUTOMATIC = "auto"
"""Value of ``--model-concurrency`` for an automatic rate limiter."""


class Action(StrEnum):
    """An action of ``cheaptalk control``."""

    STATUS = "status"
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    SET = "set"


DONE = {
    Action.PAUSE: "paused; calls in flight will still finish; to continue, use resume",
    Action.RESUME: "resumed",
    Action.STOP: "stopping; calls in flight will still finish and be recorded",
    Action.SET: "settings changed until the run ends",
}


def control(
    study: Annotated[
        str,
        typer.Argument(help="Name of the running study.", autocompletion=completion.stored_studies),
    ],
    action: Annotated[
        Action, typer.Argument(help="Action: status, pause, resume, stop or set.")
    ] = Action.STATUS,
    store: StoreOption = DEFAULT_STORE,
    concurrency: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Play up to N matches concurrently; only with action 'set'."
        ),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            "--model-concurrency",
            help="Allow N concurrent calls to a model, given by player label or model string; auto "
            "adapts N to rate limits; only with action 'set'.",
            metavar="LABEL=N",
        ),
    ] = None,
    budget: Annotated[
        list[str] | None,
        typer.Option(
            help="Change the study's budget; none removes a limit; only with action 'set'.",
            metavar=CAPS,
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Inspect, pause, resume, stop or adjust a running study."""
    settings = _settings(concurrency, limit or [], budget or [])
    if bool(settings) != (action is Action.SET):
        raise typer.BadParameter(
            "the action 'set' needs --concurrency, --model-concurrency or --budget, and no other "
            "action accepts them"
        )
    if action is Action.STATUS:
        state = ct.studies.watch(store, study)
    else:
        state = ct.studies.control_run(store, study, action.value, **settings)
    if not json and action is not Action.STATUS:
        out.print(f"{study}: {DONE[action]}", soft_wrap=True)
        return
    with ct.Store.open(store) as opened:
        waiting = ct.records.waiting_batches(opened, study)
    if json:
        print_json(state.model_dump() | {"batches": [batch._asdict() for batch in waiting]})
        return
    _show(state)
    if waiting:
        print_batches(waiting)


def _settings(concurrency: int | None, limits: list[str], budget: list[str]) -> dict[str, Any]:
    """Return the settings to change in a running study, by name."""
    settings: dict[str, Any] = {}
    if concurrency is not None:
        settings["concurrency"] = concurrency
    if limits:
        settings["limits"] = dict(map(_limit, limits))
    if budget:
        settings["budget"] = cap_of(budget).model_dump(exclude_unset=True)
    return settings


def _limit(text: str) -> tuple[str, int | None]:
    """Parse a label or model and its limit on concurrent calls, which is None for ``auto``."""
    form = "LABEL=N or MODEL=N (or auto)"
    model, value = pair(text, form, "--model-concurrency", last=True)
    if not (value == AUTOMATIC or value.isdecimal()):
        raise typer.BadParameter(f'expected {form}, got "{text}"', param_hint="--model-concurrency")
    return model, None if value == AUTOMATIC else int(value)


def _show(state: ct.studies.RunState) -> None:
    left = f", about {duration(steady(state.eta))} left" if state.eta is not None else ""
    say(
        f"{state.study}: {state.state}; {state.how_far}; {state.live:,} matches in progress "
        f"(at most {state.concurrency:,}){left}"
    )
    say(f"spent: {spent(state)}")
    if state.limiters:
        short = ct.models.model_strings.short_names(limiter.model for limiter in state.limiters)
        print_table(
            None,
            ["model", "limit", "in flight", "waiting", "responses/s", "latency (s)", "failures"],
            [[short[limiter.model], f"{limiter.limit}{' (fixed)' if limiter.fixed else ''}",
              limiter.in_flight, limiter.waiting, limiter.per_second, limiter.seconds,
              _failures(limiter.failures)] for limiter in state.limiters],
        )  # fmt: skip
    for limiter in state.limiters:
        if limiter.given_up:
            out.print(shared.consoles.Text(f"abandoned: {limiter.given_up}"), soft_wrap=True)
    if state.notice:
        out.print(shared.consoles.Text(state.notice), soft_wrap=True)


def _failures(failures: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in failures.items()) or "none"
