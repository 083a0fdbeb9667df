"""The commands ``run``, ``resume``, ``status`` and ``control``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, Literal

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared import sentences
from cheaptalk.cli.shared.correcting import apply_corrections
from cheaptalk.cli.shared.lookup import FoundStudy, find_study
from cheaptalk.cli.shared.playing import play_study
from cheaptalk.cli.shared.printing import out, print_batches, print_json, print_records, say
from cheaptalk.cli.shared.sentences import Field, cost_text, counted, each, lines
from cheaptalk.text import duration, steady

Action = Literal["status", "pause", "resume", "stop", "set"]
DONE = {
    "pause": "paused; calls in flight will still finish; to continue, use resume",
    "resume": "resumed",
    "stop": "stopping; calls in flight will still finish and be recorded",
    "set": "settings changed until the run ends",
}
AUTOMATIC = "auto"
"""Value of ``--model-concurrency`` for an automatic rate limiter."""


def _progress(state: ct.studies.RunState) -> str:
    left = f", about {duration(steady(state.eta))} left" if state.eta is not None else ""
    return (
        f"{state.study}: {state.state}; {state.how_far}; {state.live:,} matches in progress "
        f"(at most {state.concurrency:,}){left}"
    )


def _cost(item: ct.studies.StudyStatus) -> ct.records.Cost | None:
    """Return a study's cost; None if it was imported."""
    return None if item.imported and not item.cost.calls else item.cost


def _count(status: str, item: ct.studies.StudyStatus) -> int:
    return item.counts[ct.records.Status(status)]


STATES = ("live", "finished", "forfeited", "failed")
COLUMNS = (
    Field("study", "name"),
    Field("planned", lambda item: "?" if item.planned is None else item.planned),
    *(Field(status, partial(_count, status)) for status in STATES),
)
"""The columns of the table of ``status``."""
STATUS = (
    Field("name"),
    Field("planned"),
    Field("matches", "counts"),
    Field("set_aside", "superseded", sentences.superseded_text),
    Field("dropped", "excluded.dropped"),
    Field("replaced", "excluded.replaced"),
    Field("", "excluded", sentences.excluded_text),
    Field(
        "forfeits",
        lambda item: [
            {"game": game, **forfeit._asdict(), "matches": count}
            for (game, forfeit), count in item.forfeits.items()
        ],
    ),
    Field("", "cost", sentences.cost_of("")),
    Field("cost", _cost),
    Field("paid_by_others", text=each("{matches} shared with {name}, which paid for the calls")),
    Field("problems", text=each("{count:,} x {name}")),
    Field("halted", "halted", lambda reason: f"the last run halted: {sentences.halt_text(reason)}"),
    Field("judging", text=sentences.cost_of("cost of judging: ")),
)
"""The fields of a study in ``status``."""
CONTROL = (
    Field("", lambda state: state, _progress),
    Field("", sentences.spent, "spent: {}".format),
)
LIMITERS: dict[str, Callable[[Any], object]] = {
    "limit": lambda limiter: f"{limiter.limit}{' (fixed)' if limiter.fixed else ''}",
    "in flight": attrgetter("in_flight"),
    "waiting": attrgetter("waiting"),
    "responses/s": attrgetter("per_second"),
    "latency (s)": attrgetter("seconds"),
    "failures": lambda limiter: (
        ", ".join(f"{count:,} {name}" for name, count in limiter.failures.items()) or "none"
    ),
}
NOTICES = (
    Field(
        "",
        lambda state: {x.given_up: 1 for x in state.limiters if x.given_up},
        each("abandoned: {name}"),
    ),
    Field("", "notice", str),
)
"""Lines of ``control`` before and after the table of rate limiters; JSON contains all fields."""


def run(
    study: opt.Study,
    /,
    store: opt.Store = opt.DEFAULT_STORE,
    player: opt.Player = None,
    roster: opt.Roster = None,
    replace: opt.Replace = None,
    reason: opt.Reason = None,
    *,
    options: opt.PlayOptions,
) -> None:
    """Run a study; matches already in the store are reused."""
    found = find_study(study, store, player, roster, replace)
    apply_corrections(found.study, store, reason)
    play_study(study, found, store, options)


def resume(
    study: opt.StoredStudy, /, store: opt.Store = opt.DEFAULT_STORE, *, options: opt.PlayOptions
) -> None:
    """Resume an interrupted study from the store."""
    play_study(study, FoundStudy(ct.studies.stored_study(store, study)), store, options)


def status(
    study: opt.StoredStudy | None = None,
    /,
    store: opt.Store = opt.DEFAULT_STORE,
    json: opt.Json = False,
) -> None:
    """Show the progress and cost of stored studies.

    The command also lists participants' payments with a forecast, and unresolved calls, which were
    sent but have no recorded response.

    Args:
        study: Only show this study.
    """
    with ct.Store.open(store) as opened:
        status_of, statuses = ct.studies.study_status, ct.studies.statuses
        summaries = [status_of(opened, study)] if study else statuses(opened)
        calls = opened.unresolved()
        unresolved = [call for call in calls if study is None or call["bought_by"] == study]
        payments = {item.name: _payments(opened, item.name) for item in summaries}
        shared_cost = ct.records.unassigned_cost(opened)
    if json:
        studies = [
            sentences.as_json(STATUS, summary) | {"payments": _as_json(payments[summary.name])}
            for summary in summaries
        ]
        print_json(
            {"studies": studies, "no_study": shared_cost.as_json(), "unresolved": unresolved}
        )
        return
    print_records({field.key: field.of for field in COLUMNS}, summaries)
    for summary in summaries:
        for line in lines(STATUS, summary):
            say(f"{summary.name}: {line}", wrap=False)
        if forecast := payments[summary.name]:
            for line in filter(None, (forecast.line, forecast.warning)):
                say(f"{summary.name}: {line}", wrap=False)
    if shared_cost.sendings:
        say(f"cost of judging participants' answers: {cost_text(shared_cost)}", wrap=False)
    if unresolved:
        out.print(f"unresolved (possibly billed): {counted(len(unresolved), 'call')}")
        for call in unresolved:
            match = ct.records.ledger_place(call["match_id"])
            request = f"request {call['request']} {call['actor']}"
            out.print(f"  {match} {request}, attempt {call['try']}", soft_wrap=True)


def _payments(store: ct.Store, study: str) -> ct.studies.PaymentForecast | None:
    """Return the payments to a study's participants; None if the study cannot be planned."""
    with suppress(ct.studies.StudyError):
        return ct.studies.payment_forecast(store, study)
    return None


def _as_json(forecast: ct.studies.PaymentForecast | None) -> dict[str, Any] | None:
    if forecast is None:
        return None
    expected = forecast.expected or (None, None, None)
    names = ("expected", "expected_low", "expected_high")
    return (
        forecast._asdict() | dict(zip(names, expected, strict=True)) | {"warning": forecast.warning}
    )


def control(
    study: opt.StoredStudy,
    action: Action = "status",
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
    if bool(settings) != (action == "set"):
        raise typer.BadParameter(
            "the action 'set' needs --concurrency, --model-concurrency or --budget, and no other "
            "action accepts them"
        )
    if action == "status":
        state = ct.studies.run_state(store, study)
    else:
        state = ct.studies.control_run(store, study, action, **settings)
    if not json and action != "status":
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
    for line in lines(CONTROL, state):
        say(line)
    short = ct.models.model_strings.short_names(limiter.model for limiter in state.limiters)
    if state.limiters:
        print_records({"model": lambda limiter: short[limiter.model]} | LIMITERS, state.limiters)
    for line in lines(NOTICES, state):
        say(line, wrap=False)
