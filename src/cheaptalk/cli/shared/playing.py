"""Running a study from the command line: options, cost estimate, progress and summary."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import typer

import cheaptalk as ct
from cheaptalk.cli import shared
from cheaptalk.cli.shared import sentences
from cheaptalk.cli.shared.lookup import FoundStudy, check_free, naming, opened
from cheaptalk.cli.shared.options import PlayOptions
from cheaptalk.cli.shared.printing import (
    StatusLine,
    err,
    hint,
    is_terminal,
    on_terminal,
    print_json,
    say,
)
from cheaptalk.cli.shared.sentences import Field, at_store, counted
from cheaptalk.extras import needing

AGENT_SERVER = "127.0.0.1:8140"
"""Default address at which remote agents connect."""
EXIT_BATCHES = 3
"""Exit status of a run that leaves calls in unfinished batches."""
REPLACEMENTS = "For models that can replace retired models, see: cheaptalk model rosters current"
LOG_OPEN = (
    "another program is reading the store, so the latest matches are still in the store's -wal "
    "file; to copy the store, use cheaptalk store copy"
)
SUMMARY = (
    Field("planned"),
    Field("before"),
    Field("forfeited"),
    Field("played", lambda progress: {status.value: n for status, n in progress.counts.items()}),
    Field("elsewhere"),
    Field("left"),
    Field("rest"),
    Field("people_left"),
    Field("problems", text=sentences.problem_lines),
    Field("answers", "kinds", sentences.validity_lines),
    Field("set_aside", text=sentences.superseded_text),
    Field("dropped", "excluded.dropped"),
    Field("replaced", "excluded.replaced"),
    Field("", "excluded", sentences.excluded_text),
    Field("unresolved", text=sentences.unresolved_text),
    Field("cost", text=sentences.cost_of("cost of the study so far: ")),
    Field("", "cached", str),
    Field("cache", lambda progress: progress.cached and progress.cached._asdict()),
    Field("log_open", text=lambda _: LOG_OPEN),
    Field("waiting", text=lambda calls: f"{counted(calls, 'call')} waiting in unfinished batches"),
    Field("halted"),
)
"""The fields of a run's summary."""


def play_study(
    name: str,
    found: FoundStudy,
    path: str,
    options: PlayOptions,
    *,
    again: str | None = None,
    part: Callable[[ct.studies.Plan], ct.studies.Plan] | None = None,
) -> ct.Progress:
    """Play the remaining matches of a study; print the cost estimate, progress and summary.

    Pairings must include the players and rosters from the command line. If ``again`` is the command
    that continues, instead of ``cheaptalk resume``, the caller reports the result: a complete run
    prints no summary, and :class:`typer.Exit` is not raised. ``part`` selects the matches to
    play, by default those without people.
    """
    check_free(path)
    study = found.study
    prices = ct.models.load_prices(options.prices)
    cap = ct.studies.Cap(
        calls=options.max_calls, tokens=options.max_tokens, dollars=options.max_dollars
    )
    batching = None
    if options.batch:
        batching = ct.studies.Batching(not options.no_wait, options.poll_interval)
    with naming(name), opened(path) as earlier:
        complete = ct.studies.plan_in_store(study, earlier)
        found.check_seated(complete)
        planned = (part or ct.studies.playable)(complete)
        if options.in_part:
            planned = ct.studies.restrict_plan(
                planned, earlier, games=options.game or (), limit=options.max_matches
            )
        warn_about_models(found, planned)
        server = _agent_server(planned, options)
        checked = ct.studies.check(
            planned, earlier, remote_agents=server, prices=prices, cap=cap, batching=batching
        )
        ct.studies.try_strategies(planned)
        changes = None if earlier is None else ct.studies.changes(complete, earlier)
    for line in sentences.change_lines(changes):
        say(line, to=err, wrap=False)
    matches = counted(len(planned.matches), "match")
    for label in found.absent_players(planned):
        note = f"note: {label} does not play in this run of {matches}"
        say(f"{note}; to include more matches, change --max-matches or --game", to=err, wrap=False)
    expected = {} if options.no_estimate else _print_estimate(checked, path, options)
    if changes is not None and changes.set_aside and not options.yes:
        _confirm(changes, path, again)
    run, started = _Run(study, path, options, again), time.monotonic()
    latest: list[ct.Progress] = []
    try:
        with _accept_agents(server):
            progress = _run(checked, path, options, expected, latest, server)
    except KeyboardInterrupt:
        for progress in latest:
            run.summarize(progress, time.monotonic() - started)
        left = latest[0].left if latest else None
        advice = f"continue with: {run.command(left)}" if latest else "no match was played"
        say(f"stopped; {advice}", to=err, wrap=False)
        raise
    played = not progress.left or (options.allow_failures and not progress.halted)
    if again is None or not played or progress.waiting:
        run.summarize(progress, time.monotonic() - started)
    if again is None and (progress.waiting or not played):
        raise typer.Exit(EXIT_BATCHES if progress.waiting else 1)
    return progress


def _run(
    checked: ct.studies.Checked,
    path: str,
    options: PlayOptions,
    expected: Mapping[str, float],
    latest: list[ct.Progress],
    server: ct.models.remote_agents.AgentServer | None,
) -> ct.Progress:
    """Run a study and show its progress; put the most recent progress in ``latest``."""
    name = checked.plan.study.name
    with (
        ct.Store.open(path, create=True) as store,
        watched(options.track or (), options.telemetry, name) as (followers, observer),
        _progress(name) as show,
    ):

        def report_progress(progress: ct.Progress) -> None:
            latest[:] = [progress]
            show(progress)
            for follower in followers:
                follower(progress)

        progress = ct.run(
            checked,
            store,
            remote_agents=server,
            workers=options.workers,
            concurrency=options.concurrency,
            patience=options.retry_timeout,
            progress=report_progress,
            cache=options.cache_at,
            expected=expected,
            observer=observer,
            on=options.cluster,
        )
        for follower in followers:
            follower.conclude(store, name, progress)
    return progress


def warn_about_models(found: FoundStudy, planned: ct.studies.Plan) -> None:
    """Print which models are replaced, and warn about retired models, to which calls may fail."""
    retired = ct.studies.retired_models(planned)
    warnings = [f"warning: {model}" for model in retired]
    for line in (*found.replacements, *warnings, *[REPLACEMENTS] * bool(retired)):
        say(line, to=err, wrap=False)


def _agent_server(
    planned: ct.studies.Plan, options: PlayOptions
) -> ct.models.remote_agents.AgentServer | None:
    """Return the server for the study's remote agents; None if the study has none."""
    models = {
        ct.models.ModelName.parse(player.spec.model)
        for player in planned.players().values()
        if isinstance(player.spec, ct.players.ModelSeat)
    }
    names = sorted(name.model for name in models if name.protocol == "remote")
    if not names and options.agent_server is not None:
        raise typer.BadParameter(
            "the study has no remote agent (a player remote/NAME)", param_hint="--agent-server"
        )
    if not names:
        return None
    address = options.agent_server or AGENT_SERVER
    return ct.models.remote_agents.agent_server_at(address, names, patience=options.retry_timeout)


@contextmanager
def _accept_agents(server: ct.models.remote_agents.AgentServer | None) -> Iterator[None]:
    """Accept remote agents, and print the address and token for each."""
    if server is None:
        yield
        return
    with server:
        for name in server.names:
            target = f"{server.url_of(name)} with token {server.token_of(name)}"
            say(f"remote agent {name}: connect to {target}", to=err, wrap=False)
        if ct.models.providers.in_the_open(server.url):
            say("warning: agents connect without encryption; use an HTTPS proxy", to=err)
        yield


def _confirm(changes: ct.studies.StudyChanges, store: str, again: str | None) -> None:
    """Ask for confirmation before matches are superseded."""
    if not is_terminal(sys.stdin):
        alternative = "or set another --label"
        if again is None:
            resume = f"cheaptalk resume {changes.study} {at_store(store)}"
            alternative = f"rename the study, or continue the stored version with: {resume}"
        raise ct.CheaptalkError(
            f"{changes.study}: stored matches would be superseded; confirm with --yes, "
            f"{alternative}"
        )
    if not typer.confirm("Continue?", err=True):
        say("nothing was changed", to=err)
        raise typer.Exit(1)


def _print_estimate(
    checked: ct.studies.Checked, store: str, options: PlayOptions
) -> dict[str, float]:
    """Print an estimate if a model has a price or runs in-process; return calls per match."""
    planned, prices = checked.plan, checked.prices
    specs = [player.spec for player in planned.players().values()]
    models = {spec.model for spec in specs if isinstance(spec, ct.players.ModelSeat)}
    local = any(ct.models.ModelName.parse(model).protocol == "in process" for model in models)
    if not local and not any(costs(model, prices) for model in models):
        return {}
    with opened(store) as existing, err.status(f"{planned.study.name}: estimating"):
        forecast = ct.studies.forecast(
            planned,
            existing,
            prices,
            batch=options.batch,
            concurrency=options.concurrency,
            measured=options.cluster is None,
        )
    estimate = forecast.takes
    assert estimate is not None
    basis = " at batch prices" if options.batch else ""
    cached = "; cached responses are free" if options.cache_at else ""
    line = f"estimated {estimate.line}{basis}, {estimate.duration}{cached}"
    for text in (line, *forecast.doubts):
        say(f"{planned.study.name}: {text}", to=err, wrap=False)
    return {game: (calls.low + calls.high) / 2 for game, calls in estimate.lengths.items()}


@contextmanager
def _progress(name: str) -> Iterator[Callable[[ct.Progress], None]]:
    """Yield a function that shows a run's progress: as a bar on a terminal, otherwise in lines."""
    if not on_terminal():
        status = StatusLine()

        def print_line(progress: ct.Progress) -> None:
            share = progress.done / progress.planned if progress.planned else 0.0
            ended = f"{name}: {progress.done:,} of {counted(progress.planned, 'match')}"
            parts = [ended, *_without_result(progress), *_forecast(progress)]
            status.print(", ".join(parts), share)

        yield print_line
        return
    columns = (
        shared.consoles.TextColumn("{task.description}"),
        shared.consoles.BarColumn(),
        shared.consoles.MofNCompleteColumn(),
        shared.consoles.TextColumn("{task.fields[rate]}"),
        shared.consoles.TextColumn("{task.fields[notes]}", style="yellow", markup=False),
    )
    with shared.consoles.Progress(*columns, console=err.console, transient=True) as bar:
        task = bar.add_task(name, total=None, rate="", notes="")
        started = time.monotonic()

        def update_bar(progress: ct.Progress) -> None:
            played = progress.here - progress.before
            rate = played / max(time.monotonic() - started, 1e-9)
            bar.update(
                task,
                total=progress.planned,
                completed=progress.done + progress.failed,
                rate=f"{rate:,.0f}/s" if played else "",
                notes=", ".join([*_without_result(progress), *_forecast(progress)]),
            )

        yield update_bar


def _rate(matches: int, seconds: float) -> str:
    """Return the speed of a run as text.

    >>> _rate(400, 611.2), _rate(4_000, 2.0)
    ('1.5 s per match', '2,000 per second')
    """
    if matches < seconds:
        return f"{seconds / matches:,.1f} s per match"
    return f"{matches / seconds:,.0f} per second"


def _without_result(progress: ct.Progress) -> list[str]:
    counts = ((progress.forfeited, "forfeited"), (progress.failed, "failed"))
    return [f"{count:,} {status}" for count, status in counts if count]


def _forecast(progress: ct.Progress) -> list[str]:
    """Return short texts on a run's remaining time and cost, its spending and its notices."""
    parts = [*progress.forecast, *sentences.state_notes(progress.state)]
    return [*parts, progress.batches] if progress.batches else parts


@dataclass(frozen=True)
class _Run:
    """A run of a study: its summary, and the commands that continue it.

    ``again`` is the command that continues, if it is not ``cheaptalk resume``.
    """

    study: ct.Study
    path: str
    options: PlayOptions
    again: str | None

    def command(self, remaining: int | None, *, limited: bool = True) -> str:
        """Return the command that resumes the remaining matches, or the whole study if None.

        Unless ``limited``, the command has no limits on what a run spends.
        """
        options = self.retyped_options(remaining, limited=limited)
        return self.again or f"cheaptalk resume {self.study.name} {at_store(self.path)}{options}"

    def retyped_options(self, remaining: int | None, *, limited: bool = True) -> str:
        """Return the command-line options with which to resume the same part of a study."""
        options = self.options
        parts = ["--batch"] if options.batch else []
        if limited:
            caps = (options.max_dollars, options.max_calls, options.max_tokens)
            names = ("--max-dollars", "--max-calls", "--max-tokens")
            pairs = zip(names, caps, strict=True)
            parts += [f"{name} {cap}".removesuffix(".0") for name, cap in pairs if cap is not None]
        if remaining and options.in_part:
            parts += [f"--game {shlex.quote(game)}" for game in options.game or ()]
            parts += [f"--max-matches {remaining}"] if options.max_matches is not None else []
        return "".join(f" {part}" for part in parts)

    def summarize(self, progress: ct.Progress, seconds: float) -> None:
        name = self.study.name
        if self.options.json and self.again is not None:  # the caller prints JSON of its own
            if progress.halted:
                say(f"halted: {sentences.halt_text(progress.halted)}", to=err, wrap=False)
            return
        if self.options.json:
            data = {"study": name, "store": ct.records.store_name(self.path)}
            data |= sentences.as_json(SUMMARY, progress)
            print_json(data | {"seconds": round(seconds, 2)})
            return
        played = progress.here - progress.before
        others = f", {progress.elsewhere:,} by other runs" if progress.elsewhere else ""
        rate = f", {_rate(played, seconds)}" if played else ""
        say(
            f"{name}: {progress.how_far} ({progress.before:,} before, {played:,} now in "
            f"{seconds:,.1f} s{rate}{others})"
        )
        for line in sentences.lines(SUMMARY, progress):
            say(f"  {line}")
        if progress.halted == ct.studies.INTERRUPTED:
            return
        if progress.halted:
            say(f"halted: {sentences.halt_text(progress.halted)}")
        hint(self._next_step(progress))

    def _next_step(self, progress: ct.Progress) -> str:
        """Return advice on the next command, for example the one that resumes the run."""
        store = at_store(self.path)
        if progress.rest and not progress.left:
            rest = counted(progress.rest, "match")
            return f"{rest} left in the study; to play them, run: {self.command(None)}"
        if progress.people_left and not progress.left:
            people = counted(progress.people_left, "match")
            command = f"cheaptalk serve {shlex.quote(self.study.name)} {store}"
            return f"{people} with people left; to play them, run: {command}"
        if not progress.left:
            return f"write a report with: cheaptalk report {self.study.name} {store}"
        remaining = f"{progress.left:,} remaining"
        used_up = progress.used_up >= progress.left
        from_file = f"cheaptalk run FILE {store}{self.retyped_options(progress.left)}"
        remaining += "" if self.again is None else " (completed matches are kept)"
        if progress.short and progress.uncountable:
            advice = "in the study file, limit calls instead of tokens and dollars"
            return f"{remaining}; {advice}, then run: {from_file}"
        if progress.short or used_up:
            cap = "the budget" if progress.short else "budget.per_match"
            return f"{remaining}; increase {cap} in the study file, then run: {from_file}"
        if progress.uncountable:
            command = self.command(progress.left, limited=False)
            return f"{remaining}; limit calls instead: {command} --max-calls N"
        if progress.used_up:
            remaining += f", of which {progress.used_up:,} need a larger budget.per_match"
        return f"{remaining}; continue with: {self.command(progress.left)}"


@contextmanager
def trackers(targets: Sequence[str], run: str) -> Iterator[list[ct.adapters.Tracker]]:
    """Open the experiment trackers of ``--track`` for a run."""
    with ExitStack() as stack:
        with needing("analysis"):
            opened = [stack.enter_context(ct.adapters.tracker(target, run)) for target in targets]
        yield opened


@contextmanager
def watched(
    track: Sequence[str], telemetry: bool, study: str
) -> Iterator[tuple[list[ct.adapters.TrackerCallback], ct.studies.RunObserver]]:
    """Yield a progress callback for each tracker, and an observer of the run's matches."""
    with ExitStack() as stack:
        observer = ct.studies.RunObserver()
        if telemetry:
            observer = stack.enter_context(ct.adapters.open_telemetry())
        opened = stack.enter_context(trackers(track, study))
        yield [ct.adapters.TrackerCallback(tracker) for tracker in opened], observer


def costs(model: str, prices: ct.models.Prices) -> bool:
    """Return whether a model has a known price above zero."""
    price = prices.of(model)
    return price is not None and not price.free
