"""Playing a study from the command line: its options, and what is said of its course and end."""

from __future__ import annotations

import math
import os
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli import shared
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.cost_preview import costs
from cheaptalk.cli.shared.lookup import (
    check_free,
    check_seated,
    naming,
    opened,
)
from cheaptalk.cli.shared.options import (
    CacheFileOption,
    CacheOption,
    ConcurrencyOption,
    JsonOption,
    NoEstimateOption,
    PricesOption,
    TrackOption,
    cache_at,
)
from cheaptalk.cli.shared.printing import err, hint, is_terminal, out, print_json, say
from cheaptalk.cli.shared.progress import StatusLine, on_terminal
from cheaptalk.cli.shared.sentences import (
    at_store,
    change_lines,
    cost_text,
    counted,
    excluded_text,
    set_aside_text,
    state_notes,
)
from cheaptalk.cli.shared.watching import watched
from cheaptalk.text import duration, steady

GUESTS = "127.0.0.1:8140"
"""Where guests come in unless another place is named."""
WAITING = 3
"""The exit status of a run that leaves calls in batches that have not ended."""


@dataclass(frozen=True)
class PlayOptions:
    """How a study is to be played: the options that both commands have.

    Raises:
        BadParameter: two of them do not go together, or one is out of its range.
    """

    workers: Annotated[
        int, typer.Option(min=1, help="Processes for scripted matches.", show_default="one a core")
    ] = os.cpu_count() or 1
    concurrency: ConcurrencyOption = None
    patience: Annotated[
        float,
        typer.Option(min=0, help="Minutes for which a model's server may be overloaded or away."),
    ] = 10
    cache: CacheOption = None
    cache_file: CacheFileOption = None
    batch: Annotated[
        bool,
        typer.Option("--batch", help="Play in providers' batches: cheaper, one ply a batch, slow."),
    ] = False
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="With --batch: submit, and come back another time.")
    ] = False
    poll: Annotated[
        float, typer.Option("--poll", min=0.01, help="Seconds between two looks at a batch.")
    ] = 30
    max_calls: Annotated[int | None, typer.Option(min=1, help="Calls that this run may make.")] = (
        None
    )
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Tokens that this run may use.")] = (
        None
    )
    max_dollars: Annotated[float | None, typer.Option(help="Dollars that this run may spend.")] = (
        None
    )
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Matches to play now, spread over games and pairings, to try."),
    ] = None
    game: Annotated[
        list[str] | None,
        typer.Option(
            help="Play this game of the study alone now. Repeat it for several.",
            autocompletion=completion.games,
        ),
    ] = None
    prices: PricesOption = None
    no_estimate: NoEstimateOption = False
    on: Annotated[
        str | None,
        typer.Option(
            metavar="CLUSTER",
            help="Let a Ray cluster play and call: ray, or ray://HOST:10001.",
        ),
    ] = None
    guests: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Where agents that come by themselves find their seats; port 0 takes any free "
            "one.",
            show_default="127.0.0.1:8140 where the study has guests",
        ),
    ] = None
    track: TrackOption = None
    telemetry: Annotated[
        bool,
        typer.Option(
            "--telemetry",
            envvar="CHEAPTALK_TELEMETRY",
            show_envvar=True,
            help="Send traces and metrics by OpenTelemetry, to where its own environment "
            "variables say.",
        ),
    ] = False
    allow_failures: Annotated[
        bool, typer.Option("--allow-failures", help="Exit with 0 though matches failed.")
    ] = False
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask before matches are set aside.")
    ] = False
    json: JsonOption = False

    def __post_init__(self) -> None:
        dollars = self.max_dollars
        if self.no_wait and not self.batch:
            raise typer.BadParameter("it goes with --batch", param_hint="--no-wait")
        if dollars is not None and not 0 < dollars < math.inf:
            hint = "--max-dollars"
            raise typer.BadParameter(f"{dollars:g} is no amount to spend", param_hint=hint)
        if self.on is not None:
            ct.studies.check_address(self.on)

    @property
    def in_part(self) -> bool:
        """Whether only a part of the study is to be played."""
        return self.limit is not None or bool(self.game)

    @property
    def cache_at(self) -> Path | None:
        """Where the cache of replies is; None for no cache."""
        return cache_at(self.cache, self.cache_file)


def play_study(
    name: str,
    study: ct.Study,
    path: str,
    options: PlayOptions,
    players: Sequence[str] = (),
    rosters: Sequence[str] = (),
    *,
    again: str | None = None,
) -> ct.Progress:
    """Play what is left of a study, and say what it takes and what came of it.

    Args:
        name: where it was written, with which what is said against it begins.
        path: the store.
        players, rosters: those of the command line, whom a pairing must seat.
        again: the command that goes on, if that is not ``cheaptalk resume``. A run that leaves
            nothing then says nothing at its end, nor does one that leaves failed matches only if
            ``options`` allow failures. One that leaves others returns, too: the caller reports
            what was played and what was not.

    Raises:
        CheaptalkError: it cannot be played.
        Exit: some of it is left.
    """
    check_free(path)
    prices = ct.models.load_prices(options.prices)
    cap = ct.studies.Cap(
        calls=options.max_calls, tokens=options.max_tokens, dollars=options.max_dollars
    )
    batching = ct.studies.Batching(not options.no_wait, options.poll) if options.batch else None
    with naming(name), opened(path) as earlier:
        planned = ct.studies.lay_out(study, earlier)
        check_seated(planned, players, rosters)
        whole = planned
        if options.in_part:
            planned = ct.studies.part(whole, earlier, games=options.game or (), limit=options.limit)
        door = _door(planned, options)
        checked = ct.studies.check(
            planned, earlier, guests=door, prices=prices, cap=cap, batching=batching
        )
        ct.studies.try_strategies(planned)
        changes = None if earlier is None else ct.studies.changes(whole, earlier)
    for line in change_lines(changes):
        say(line, to=err, whole=True)
    expected = {} if options.no_estimate else _announce(checked, path, options)
    if changes is not None and changes.set_aside and not options.yes:
        _confirm(changes, path, again)
    started = time.monotonic()
    seen: list[ct.Progress] = []
    try:
        with _open(door):
            progress = _run(checked, path, options, expected, seen, door)
    except KeyboardInterrupt:
        for progress in seen:
            _summarise(study, path, progress, time.monotonic() - started, options, again)
        if seen:
            on = f"go on with: {again or _resume(study, path, options, seen[0].left)}"
        else:
            on = "nothing was played; run it again"
        say(f"stopped; {on}", to=err, whole=True)
        raise
    played = not progress.left or (options.allow_failures and not progress.halted)
    if again is None or not played or progress.waiting:
        _summarise(study, path, progress, time.monotonic() - started, options, again)
    if again is None:
        _exit_unless_played(progress, options)
    return progress


def _exit_unless_played(progress: ct.Progress, options: PlayOptions) -> None:
    """End with the exit status of a run that leaves matches.

    Raises:
        Exit: it does.
    """
    if progress.waiting:
        raise typer.Exit(WAITING)
    if progress.left and (progress.halted or not options.allow_failures):
        raise typer.Exit(1)


def _run(
    checked: ct.studies.Checked,
    path: str,
    options: PlayOptions,
    expected: Mapping[str, float],
    seen: list[ct.Progress],
    door: ct.models.guests.Door | None,
) -> ct.Progress:
    """Play, and let whoever watches know; what was told last is all that ``seen`` then holds."""
    name = checked.plan.study.name
    with (
        ct.Store.open(path, create=True) as store,
        watched(options.track or (), options.telemetry, name) as (followers, onlooker),
        _progress(name) as show,
    ):

        def note(progress: ct.Progress) -> None:
            seen[:] = [progress]
            show(progress)
            for follower in followers:
                follower(progress)

        progress = ct.run(
            checked, store, guests=door, workers=options.workers, concurrency=options.concurrency,
            patience=60 * options.patience, progress=note, cache=options.cache_at,
            expected=expected, onlooker=onlooker, on=options.on,
        )  # fmt: skip
        for follower in followers:
            follower.conclude(store, name, progress)
    return progress


def _door(planned: ct.Plan, options: PlayOptions) -> ct.models.guests.Door | None:
    """Where the study's guests come in; None where it has none.

    Raises:
        CheaptalkError: the address is none, or cannot be used.
    """
    models = {
        ct.models.ModelName.parse(one.spec.model)
        for one in planned.players().values() if isinstance(one.spec, ct.players.ModelSeat)
    }  # fmt: skip
    names = sorted(one.model for one in models if one.protocol == "guest")
    if not names and options.guests is not None:
        raise typer.BadParameter("no player of the study is a guest/NAME", param_hint="--guests")
    if not names:
        return None
    address = options.guests or GUESTS
    return ct.models.guests.door_at(address, names, patience=60 * options.patience)


@contextmanager
def _open(door: ct.models.guests.Door | None) -> Iterator[None]:
    """Let guests in, and say how they come."""
    if door is None:
        yield
        return
    with door:
        for name in door.names:
            where = f"{door.url_of(name)} with the token {door.token_of(name)}"
            say(f"guest {name} comes to {where}", to=err, whole=True)
        if ct.models.providers.in_the_open(door.url):
            say("what guests say there can be read on the way: put https before it", to=err)
        yield


def _confirm(changes: ct.studies.StudyChanges, store: str, again: str | None) -> None:
    """Ask before matches are set aside, where somebody is there to answer.

    Args:
        again: as for :func:`play_study`.

    Raises:
        CheaptalkError: nobody is.
        Exit: the answer is no.
    """
    if not is_terminal(sys.stdin):
        resume = f"cheaptalk resume {changes.study} {at_store(store)}"
        apart = (
            f"give the study another name, or go on with it as it is stored: {resume}"
            if again is None
            else "or give the player another --name"
        )
        raise ct.CheaptalkError(
            f"{changes.study}: matches would be set aside; allow it with --yes, {apart}"
        )
    if not typer.confirm("Go on?", err=True):
        say("nothing was changed", to=err)
        raise typer.Exit(1)


def _announce(checked: ct.studies.Checked, store: str, options: PlayOptions) -> dict[str, float]:
    """Say what a run is going to cost, where it costs something and the price is known.

    Returns:
        Calls of a match by game, as far as they were estimated.
    """
    planned, prices = checked.plan, checked.prices
    seats = [one.spec for one in planned.players().values()]
    if any(isinstance(one, ct.players.ModelSeat) and costs(one.model, prices) for one in seats):
        with opened(store) as there, err.status(f"{planned.study.name}: estimating"):
            seen = ct.studies.outlook(
                planned, there, prices, batch=options.batch, concurrency=options.concurrency
            )
        assert seen.takes is not None
        how = " at the prices of batches" if options.batch else ""
        hits = "; what is in the cache costs nothing" if options.cache_at else ""
        whole = f"estimated {seen.takes.line}{how}, {seen.takes.duration}{hits}"
        for line in (whole, *seen.doubts):
            say(f"{planned.study.name}: {line}", to=err, whole=True)
        return {game: (calls.low + calls.high) / 2 for game, calls in seen.takes.lengths.items()}
    return {}


@contextmanager
def _progress(name: str) -> Iterator[Callable[[ct.Progress], None]]:
    """Something to give a run's progress to: a bar on a terminal, else a line now and then."""
    if not on_terminal():
        lines = StatusLine()

        def line(progress: ct.Progress) -> None:
            share = progress.done / progress.planned if progress.planned else 0.0
            how_far = f"{name}: {progress.done:,} of {counted(progress.planned, 'match')}"
            parts = [how_far, *_without_result(progress), *_beside(progress)]
            lines.print(", ".join(parts), share)

        yield line
        return
    columns = (
        shared.consoles.TextColumn("{task.description}"), shared.consoles.BarColumn(),
        shared.consoles.MofNCompleteColumn(), shared.consoles.TextColumn("{task.fields[rate]}"),
        shared.consoles.TextColumn("{task.fields[beside]}", style="yellow", markup=False),
    )  # fmt: skip
    with shared.consoles.Progress(*columns, console=err.console, transient=True) as bar:
        task = bar.add_task(name, total=None, rate="", beside="")
        started = time.monotonic()

        def show(progress: ct.Progress) -> None:
            now = progress.here - progress.before
            rate = now / max(time.monotonic() - started, 1e-9)
            bar.update(
                task, total=progress.planned, completed=progress.done + progress.failed,
                rate=f"{rate:,.0f}/s" if now else "",
                beside=", ".join([*_without_result(progress), *_beside(progress)]),
            )  # fmt: skip

        yield show


def _without_result(progress: ct.Progress) -> list[str]:
    """How many matches have no result, beside how many have ended."""
    counts = ((progress.forfeited, "forfeited"), (progress.failed, "failed"))
    return [f"{count:,} {how}" for count, how in counts if count]


def _beside(progress: ct.Progress) -> list[str]:
    """What there is to say of a run besides how far it is."""
    parts = []
    if progress.seconds_left is not None and progress.left:
        parts.append(f"about {duration(steady(progress.seconds_left))} left")
    if progress.dollars_left and progress.left:
        parts.append(f"about {ct.studies.money(progress.dollars_left)} more")
    parts += state_notes(progress.state)
    return [*parts, progress.batches] if progress.batches else parts


def _resume(study: ct.Study, path: str, options: PlayOptions, left: int | None) -> str:
    """The command that goes on with a study.

    Args:
        left: matches that were to be played and are left; None to go on with all of the study.
    """
    again = f"cheaptalk resume {study.name} {at_store(path)}"
    return again + _options(options, left)


def _options(options: PlayOptions, left: int | None) -> str:
    """The options with which to go on: in batches as before, and with the same part."""
    parts = ["--batch"] if options.batch else []
    if left and options.in_part:
        parts += [f"--game {shlex.quote(game)}" for game in options.game or ()]
        parts += [f"--limit {left}"] if options.limit is not None else []
    return "".join(f" {part}" for part in parts)


def _summarise(
    study: ct.Study,
    path: str,
    progress: ct.Progress,
    seconds: float,
    options: PlayOptions,
    again: str | None,
) -> None:
    counts = {status.value: count for status, count in progress.counts.items()}
    if options.json and again is not None:  # the caller prints JSON of its own
        if progress.halted:
            say(f"halted: {progress.halted}", to=err, whole=True)
        return
    if options.json:
        print_json(
            {
                "study": study.name,
                "store": ct.records.store_name(path),
                "planned": progress.planned,
                "before": progress.before,
                "forfeited": progress.forfeited,
                "played": counts,
                "elsewhere": progress.elsewhere,
                "left": progress.left,
                "log_open": progress.log_open,
                "rest": progress.rest,
                "set_aside": progress.set_aside,
                **progress.excluded._asdict(),
                "halted": progress.halted,
                "unresolved": progress.unresolved,
                "waiting": progress.waiting,
                "cache": progress.cached and progress.cached._asdict(),
                "problems": progress.problems,
                "answers": progress.kinds,
                "cost": progress.cost and progress.cost.as_json(),
                "seconds": round(seconds, 2),
            }
        )
        return
    played = progress.here - progress.before
    others = f", {progress.elsewhere:,} by other runs" if progress.elsewhere else ""
    rate = f", {played / seconds:,.0f} a second" if played else ""
    say(
        f"{study.name}: {progress.how_far} ({progress.before:,} before, {played:,} now in "
        f"{seconds:,.1f} s{rate}{others})"
    )
    for problem, count in progress.problems.most_common(10):
        say(f"  {count:,} x {problem}")
    if len(progress.problems) > 10:
        further = counted(len(progress.problems) - 10, "further problem")
        out.print(f"  and {further}: cheaptalk status")
    for line in _rates(progress.kinds):
        say(f"  {line}")
    for note in _notes(progress):
        say(f"  {note}")
    if progress.halted == ct.studies.INTERRUPTED:
        return
    if progress.halted:
        say(f"halted: {progress.halted}")
    hint(_next_step(study, path, progress, options, again))


def _rates(answers: dict[str, Counter[str]]) -> Iterator[str]:
    """How many of each player's answers were of each kind, a line each, unless all went well.

    >>> list(_rates({"model": Counter(ok=15, timed_out=5)}))
    ['20 answers of model: 75.0 % ok, 25.0 % timed out']
    """
    if not any(kinds.keys() - {"ok"} for kinds in answers.values()):
        return
    for player, kinds in sorted(answers.items()):
        total = kinds.total()
        shares = [f"{100 * n / total:.1f} % {kind}" for kind, n in kinds.most_common()]
        said = ", ".join(shares).replace("_", " ")
        yield f"{counted(total, 'answer')} of {player}: {said}"


def _next_step(
    study: ct.Study, path: str, progress: ct.Progress, options: PlayOptions, typed: str | None
) -> str:
    """What there is to do after a run: to report it, or what helps it on.

    Args:
        typed: the command that goes on, where that is not ``cheaptalk resume``.
    """
    where = at_store(path)
    if progress.rest and not progress.left:
        rest = counted(progress.rest, "match")
        again = _resume(study, path, options, None)
        return f"{rest} of the study left; play the rest with: {again}"
    if not progress.left:
        return f"report it with: cheaptalk report {study.name} {where}"
    left = f"{progress.left:,} left"
    used_up = progress.used_up >= progress.left
    again = f"cheaptalk run FILE {where}{_options(options, progress.left)}"
    on = typed or _resume(study, path, options, progress.left)
    left += "" if typed is None else ", what was played is kept"
    if progress.short and progress.uncountable:
        return f"{left}; cap calls instead of tokens and dollars in the study's file, then: {again}"
    if progress.short or used_up:
        cap = "the budget" if progress.short else "budget.per_match"
        return f"{left}; raise {cap} in the study's file, then: {again}"
    if progress.uncountable:
        return f"{left}; cap calls instead: {on} --max-calls N"
    if progress.used_up:
        left += f", {progress.used_up:,} of them until budget.per_match is raised"
    return f"{left}; go on with: {on}"


def _notes(progress: ct.Progress) -> Iterator[str]:
    """What there is to say of a run's matches that do not count, and of its calls."""
    if progress.set_aside:
        yield set_aside_text(progress.set_aside)
    if any(progress.excluded):
        yield excluded_text(progress.excluded)
    if progress.unresolved:
        lost = counted(progress.unresolved, "call")
        yield f"{lost} of an earlier run stayed without a reply"
    if progress.cost is not None and progress.cost.sendings:
        yield f"the study has taken {cost_text(progress.cost)}"
    if progress.cached is not None:
        yield str(progress.cached)
    if progress.log_open:
        yield (
            "another program was reading the store when the run ended, so that its file lacks the "
            "last matches without the -wal file beside it: copy it with cheaptalk copy"
        )
    if progress.waiting:
        waiting = counted(progress.waiting, "call")
        yield f"{waiting} {'is' if progress.waiting == 1 else 'are'} in batches that have not ended"
