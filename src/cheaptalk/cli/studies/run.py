"""The commands ``run``, ``resume``, ``status`` and ``control``."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

import typer

import cheaptalk as ct
from cheaptalk.cli import shared
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.lookup import find_study
from cheaptalk.cli.shared.playing import play_study
from cheaptalk.cli.shared.printing import out, print_batches, print_json, print_table, say
from cheaptalk.cli.shared.sentences import cost_text, counted, excluded_text, spent, superseded_text
from cheaptalk.text import duration, steady


def run(
    study: opt.Study,
    /,
    store: opt.Store = opt.DEFAULT_STORE,
    player: opt.Player = None,
    roster: opt.Roster = None,
    *,
    options: opt.PlayOptions,
) -> None:
    """Run a study; matches already in the store are reused."""
    players, rosters = player or (), roster or ()
    play_study(study, find_study(study, store, players, rosters), store, options, players, rosters)


def resume(
    study: opt.StoredStudy, /, store: opt.Store = opt.DEFAULT_STORE, *, options: opt.PlayOptions
) -> None:
    """Resume an interrupted study from the store."""
    play_study(study, ct.studies.stored_study(store, study), store, options)


def status(
    study: opt.StoredStudy | None = None,
    /,
    store: opt.Store = opt.DEFAULT_STORE,
    json: opt.Json = False,
) -> None:
    """Show the progress and cost of stored studies.

    The command also lists unresolved calls, which were sent but have no recorded response.

    Args:
        study: Only show this study.
    """
    with ct.Store.open(store) as opened:
        status_of, statuses = ct.studies.study_status, ct.studies.statuses
        summaries = [status_of(opened, study)] if study else statuses(opened)
        calls = opened.unresolved()
        unresolved = [call for call in calls if study is None or call["bought_by"] == study]
        shared_cost = ct.records.unassigned_cost(opened)
    if json:
        print_json(
            {
                "studies": [summary.as_json() for summary in summaries],
                "no_study": shared_cost.as_json(),
                "unresolved": unresolved,
            }
        )
        return
    rows: list[list[object]] = []
    for item in summaries:
        counts = [item.summary.counts.get(status.value, 0) for status in ct.records.Status]
        rows.append([item.name, "?" if item.planned is None else item.planned, *counts])
    kinds = [status.value for status in ct.records.Status]
    print_table(None, ["study", "planned", *kinds], rows)
    for item in summaries:
        for note in _notes(item):
            say(f"{item.name}: {note}", whole=True)
    if shared_cost.sendings:
        say(f"cost of judging participants' answers: {cost_text(shared_cost)}", whole=True)
    if unresolved:
        out.print(f"unresolved (possibly billed): {counted(len(unresolved), 'call')}")
        for call in unresolved:
            match = ct.records.ledger_place(call["match_id"])
            request = f"request {call['request']} {call['actor']}"
            out.print(f"  {match} {request}, attempt {call['try']}", soft_wrap=True)


def _notes(item: ct.studies.StudyStatus) -> Iterator[str]:
    """Yield notes on a study: excluded matches, cost and problems."""
    if item.summary.set_aside:
        yield superseded_text(item.summary.set_aside)
    if any(item.excluded):
        yield excluded_text(item.excluded)
    if item.cost.sendings:
        yield cost_text(item.cost)
    for name, count in item.paid_by_others.items():
        yield f"{counted(count, 'match')} shared with {name}, which paid for the calls"
    for reason, count in item.problems.items():
        yield f"{count:,} x {reason}"
    if item.summary.halted:
        yield f"the last run halted: {item.summary.halted}"
    if item.judging.sendings:
        yield f"cost of judging: {cost_text(item.judging)}"


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
    study: opt.StoredStudy,
    action: Action = Action.STATUS,
    /,
    store: opt.Store = opt.DEFAULT_STORE,
    concurrency: opt.Count | None = None,
    model_concurrency: Annotated[list[str] | None, opt.Settings(metavar="LABEL=N")] = None,
    budget: Annotated[list[str] | None, opt.Settings(metavar=opt.CAPS)] = None,
    json: opt.Json = False,
) -> None:
    """Inspect, pause, resume, stop or adjust a running study.

    Args:
        study: Name of the running study.
        action: Action: status, pause, resume, stop or set.
        concurrency: Play up to N matches concurrently; only with action 'set'.
        model_concurrency: Allow N concurrent calls to a model, given by player label or model
            string; auto adapts N to rate limits; only with action 'set'.
        budget: Change the study's budget; none removes a limit; only with action 'set'.
    """
    settings = _settings(concurrency, model_concurrency or [], budget or [])
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
        settings["budget"] = opt.cap_of(budget).model_dump(exclude_unset=True)
    return settings


def _limit(text: str) -> tuple[str, int | None]:
    """Parse a label or model and its limit on concurrent calls, which is None for ``auto``."""
    form = "LABEL=N or MODEL=N (or auto)"
    model, value = opt.pair(text, form, "--model-concurrency", last=True)
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
            [
                [
                    short[limiter.model],
                    f"{limiter.limit}{' (fixed)' if limiter.fixed else ''}",
                    limiter.in_flight,
                    limiter.waiting,
                    limiter.per_second,
                    limiter.seconds,
                    _failures(limiter.failures),
                ]
                for limiter in state.limiters
            ],
        )
    for limiter in state.limiters:
        if limiter.given_up:
            out.print(shared.consoles.Text(f"abandoned: {limiter.given_up}"), soft_wrap=True)
    if state.notice:
        out.print(shared.consoles.Text(state.notice), soft_wrap=True)


def _failures(failures: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in failures.items()) or "none"
