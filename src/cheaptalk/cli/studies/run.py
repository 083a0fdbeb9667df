"""The commands that play studies: run, and resume, which goes on with one from the store."""

from __future__ import annotations

import math
import os
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import cheaptalk as ct
from cheaptalk.cli.shared.lookup import find_study, naming, opened, stored_study
from cheaptalk.cli.shared.options import (
    DEFAULT_STORE,
    CacheFileOption,
    CacheOption,
    JsonOption,
    PlayerOption,
    PricesOption,
    RosterOption,
    StoredArgument,
    StoreOption,
    StudyArgument,
    cache_at,
)
from cheaptalk.cli.shared.outlook import costs, outlook
from cheaptalk.cli.shared.printing import err, out, print_json, say
from cheaptalk.cli.shared.progress import StatusLine, on_terminal
from cheaptalk.cli.shared.sentences import cost_text, excluded_text, set_aside_text, state_notes
from cheaptalk.rules import counted

WAITING = 3
"""The exit status of a run that leaves calls in batches that have not ended."""
CORES = os.cpu_count() or 1

WorkersOption = Annotated[
    int, typer.Option(min=1, help="Processes for scripted matches.", show_default="one a core")
]
ConcurrencyOption = Annotated[
    int | None,
    typer.Option(
        min=1, help="Matches with models played at once.", show_default="64; 10,000 in batches"
    ),
]
PatienceOption = Annotated[
    float,
    typer.Option(min=0, help="Minutes for which a model's server may be overloaded or away."),
]
AllowFailuresOption = Annotated[
    bool, typer.Option("--allow-failures", help="Exit with 0 though matches failed.")
]
BatchOption = Annotated[
    bool,
    typer.Option("--batch", help="Play in providers' batches: cheaper, one ply a batch, slow."),
]
NoWaitOption = Annotated[
    bool, typer.Option("--no-wait", help="With --batch: submit, and come back another time.")
]
PollOption = Annotated[
    float, typer.Option("--poll", min=0.01, help="Seconds between two looks at a batch.")
]
CallsOption = Annotated[int | None, typer.Option(min=1, help="Calls that this run may make.")]
TokensOption = Annotated[int | None, typer.Option(min=1, help="Tokens that this run may use.")]
DollarsOption = Annotated[float | None, typer.Option(help="Dollars that this run may spend.")]


def run(
    study: StudyArgument,
    store: StoreOption = DEFAULT_STORE,
    player: PlayerOption = None,
    roster: RosterOption = None,
    workers: WorkersOption = CORES,
    concurrency: ConcurrencyOption = None,
    patience: PatienceOption = 10,
    cache: CacheOption = None,
    cache_file: CacheFileOption = None,
    batch: BatchOption = False,
    no_wait: NoWaitOption = False,
    poll: PollOption = 30,
    max_calls: CallsOption = None,
    max_tokens: TokensOption = None,
    max_dollars: DollarsOption = None,
    prices: PricesOption = None,
    allow_failures: AllowFailuresOption = False,
    json: JsonOption = False,
) -> None:
    """Play a study; what the store already holds is not played again."""
    manner = Manner(
        workers, concurrency, 60 * patience, cache_at(cache, cache_file),
        _batching(batch, no_wait, poll), ct.models.load_prices(prices),
        _cap(max_calls, max_tokens, max_dollars), allow_failures, json,
    )  # fmt: skip
    _play(study, find_study(study, store, player or (), roster or ()), store, manner)


def resume(
    study: StoredArgument,
    store: StoreOption = DEFAULT_STORE,
    workers: WorkersOption = CORES,
    concurrency: ConcurrencyOption = None,
    patience: PatienceOption = 10,
    cache: CacheOption = None,
    cache_file: CacheFileOption = None,
    batch: BatchOption = False,
    no_wait: NoWaitOption = False,
    poll: PollOption = 30,
    max_calls: CallsOption = None,
    max_tokens: TokensOption = None,
    max_dollars: DollarsOption = None,
    prices: PricesOption = None,
    allow_failures: AllowFailuresOption = False,
    json: JsonOption = False,
) -> None:
    """Go on with a study that was stopped, from what the store holds."""
    manner = Manner(
        workers, concurrency, 60 * patience, cache_at(cache, cache_file),
        _batching(batch, no_wait, poll), ct.models.load_prices(prices),
        _cap(max_calls, max_tokens, max_dollars), allow_failures, json,
    )  # fmt: skip
    with ct.Store.open(store) as there:
        found = stored_study(study, there.study(study).spec)
    _play(study, found, store, manner)


class Manner(NamedTuple):
    """How a study is to be played, as the options say.

    Attributes:
        workers: processes for scripted matches.
        concurrency: matches with models played at once; None for the usual number.
        patience: seconds for which a model's server may be overloaded or away.
        cache: where the cache of replies is; None for no cache.
        batching: how to play in providers' batches; None to make each call at once.
        prices: what models cost.
        cap: what this run may spend.
        allow_failures: whether matches may fail.
        json: whether to print JSON.
    """

    workers: int
    concurrency: int | None
    patience: float
    cache: Path | None
    batching: ct.studies.Batching | None
    prices: ct.models.Prices
    cap: ct.studies.Cap
    allow_failures: bool
    json: bool


def _batching(batch: bool, no_wait: bool, poll: float) -> ct.studies.Batching | None:
    if no_wait and not batch:
        raise typer.BadParameter("it goes with --batch", param_hint="--no-wait")
    return ct.studies.Batching(not no_wait, poll) if batch else None


def _cap(calls: int | None, tokens: int | None, dollars: float | None) -> ct.studies.Cap:
    if dollars is not None and not 0 < dollars < math.inf:
        raise typer.BadParameter(f"{dollars:g} is no amount to spend", param_hint="--max-dollars")
    return ct.studies.Cap(calls=calls, tokens=tokens, dollars=dollars)


def _play(name: str, study: ct.Study, path: Path, manner: Manner) -> None:
    with naming(name), opened(path) as earlier:
        checked = ct.studies.check(
            ct.studies.lay_out(study, earlier), earlier,
            prices=manner.prices, cap=manner.cap, batching=manner.batching,
        )  # fmt: skip
        ct.studies.try_strategies(checked.plan)
    _announce(checked, path, manner.cache)
    started = time.monotonic()
    seen: list[ct.Progress] = []
    try:
        with ct.Store.open(path, create=True) as store, _progress(study.name) as show:

            def note(progress: ct.Progress) -> None:
                seen[:] = [progress]
                show(progress)

            progress = ct.run(
                checked, store, workers=manner.workers, concurrency=manner.concurrency,
                patience=manner.patience, progress=note, cache=manner.cache,
            )  # fmt: skip
    except KeyboardInterrupt:
        for progress in seen:
            _summarise(study, path, progress, time.monotonic() - started, manner)
        again = f"stopped; go on with: {_resume(study, path, manner)}"
        say(again, to=err, whole=True)
        raise
    _summarise(study, path, progress, time.monotonic() - started, manner)
    if progress.waiting:
        raise typer.Exit(WAITING)
    if progress.left and (progress.halted or not manner.allow_failures):
        raise typer.Exit(1)


def _announce(checked: ct.studies.Checked, store: Path, cache: Path | None) -> None:
    """Say what a run is going to cost, where it costs something and the price is known."""
    laid, prices = checked.plan, checked.prices
    seats = [one.spec for one in laid.players().values()]
    if any(isinstance(one, ct.players.ModelSeat) and costs(one.model, prices) for one in seats):
        seen = outlook(laid, store, prices)
        hits = "; what is in the cache costs nothing" if cache else ""
        for line in (f"estimated {seen.takes.line}{hits}", *seen.doubts):
            say(f"{laid.study.name}: {line}", to=err, whole=True)


@contextmanager
def _progress(name: str) -> Iterator[Callable[[ct.Progress], None]]:
    """Something to give a run's progress to: a bar on a terminal, else a line now and then."""
    if not on_terminal():
        lines = StatusLine()

        def line(progress: ct.Progress) -> None:
            how_far = f"{name}: {progress.done:,} of {counted(progress.planned, 'match')}"
            lines.print(", ".join([how_far, *_beside(progress)]))

        yield line
        return
    columns = (
        TextColumn("{task.description}"), BarColumn(),
        MofNCompleteColumn(), TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[beside]}", style="yellow", markup=False),
    )  # fmt: skip
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(name, total=None, rate="", beside="")
        started = time.monotonic()

        def show(progress: ct.Progress) -> None:
            now = progress.done - progress.before
            rate = now / max(time.monotonic() - started, 1e-9)
            bar.update(
                task, total=progress.planned, completed=progress.done + progress.failed,
                rate=f"{rate:,.0f}/s" if now else "", beside=", ".join(_beside(progress)),
            )  # fmt: skip

        yield show


def _beside(progress: ct.Progress) -> list[str]:
    """What there is to say of a run besides how far it is."""
    parts = [f"{progress.failed:,} failed"] if progress.failed else []
    parts += state_notes(progress.state)
    return [*parts, progress.batches] if progress.batches else parts


def _resume(study: ct.Study, path: Path, manner: Manner) -> str:
    again = f"cheaptalk resume {study.name} --store {shlex.quote(str(path))}"
    return f"{again} --batch" if manner.batching else again


def _summarise(
    study: ct.Study,
    path: Path,
    progress: ct.Progress,
    seconds: float,
    manner: Manner,
) -> None:
    counts = {status.value: count for status, count in progress.counts.items()}
    if manner.json:
        print_json(
            {
                "study": study.name,
                "store": str(path),
                "planned": progress.planned,
                "before": progress.before,
                "played": counts,
                "left": progress.left,
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
    played = progress.done - progress.before
    rate = f", {played / seconds:,.0f} a second" if played else ""
    failed = f", {progress.failed:,} failed" if progress.failed else ""
    out.print(
        f"{study.name}: {progress.done:,} of {counted(progress.planned, 'match')} done "
        f"({progress.before:,} before, {played:,} now in {seconds:,.1f} s{rate}){failed}"
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
    say(_next_step(study, path, progress, manner), whole=True)


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


def _next_step(study: ct.Study, path: Path, progress: ct.Progress, manner: Manner) -> str:
    """What there is to do after a run: to report it, or what helps it on."""
    where = f"--store {shlex.quote(str(path))}"
    if not progress.left:
        return f"report it with: cheaptalk report {study.name} {where}"
    left = f"{progress.left:,} left"
    used_up = progress.used_up >= progress.left
    if progress.short or used_up:
        cap = "the budget" if progress.short else "budget.per_match"
        again = f"cheaptalk run FILE {where}{' --batch' if manner.batching else ''}"
        return f"{left}; raise {cap} in the study's file, then: {again}"
    if progress.used_up:
        left += f", {progress.used_up:,} of them until budget.per_match is raised"
    return f"{left}; go on with: {_resume(study, path, manner)}"


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
    if progress.waiting:
        waiting = counted(progress.waiting, "call")
        yield f"{waiting} {'is' if progress.waiting == 1 else 'are'} in batches that have not ended"
