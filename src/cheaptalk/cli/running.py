"""Commands that play studies: run and resume."""

from __future__ import annotations

import os
import shlex
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.base import (
    DEFAULT_STORE,
    JsonOption,
    PlayerOption,
    RosterOption,
    StoreOption,
    StudyArgument,
    app,
    err,
    excluded_text,
    find_study,
    naming,
    out,
    print_json,
    reading,
    set_aside_text,
    stored_study,
)
from cheaptalk.cli.batching import WAITING, BatchOption, NoWaitOption, PollOption, in_batches
from cheaptalk.cli.caching import CacheFileOption, CacheOption, cache_at
from cheaptalk.cli.outlook import announce
from cheaptalk.cli.pricing import (
    Allowance,
    MaxCalls,
    MaxDollars,
    MaxTokens,
    PricesOption,
    allowance,
    cost_text,
)
from cheaptalk.cli.progress import shown
from cheaptalk.rules import counted

Workers = Annotated[
    int, typer.Option(min=1, help="Processes for scripted matches.", show_default="one a core")
]
Concurrency = Annotated[
    int | None,
    typer.Option(
        min=1, help="Matches with models played at once.", show_default="64; 10,000 in batches"
    ),
]
Patience = Annotated[
    float,
    typer.Option(min=0, help="Minutes for which a model's server may be overloaded or away."),
]
AllowFailures = Annotated[
    bool, typer.Option("--allow-failures", help="Exit with 0 though matches failed.")
]
CORES = os.cpu_count() or 1


@app.command()
def run(
    study: StudyArgument,
    store: StoreOption = DEFAULT_STORE,
    player: PlayerOption = None,
    roster: RosterOption = None,
    workers: Workers = CORES,
    concurrency: Concurrency = None,
    patience: Patience = 10,
    cache: CacheOption = None,
    cache_file: CacheFileOption = None,
    batch: BatchOption = False,
    no_wait: NoWaitOption = False,
    poll: PollOption = 30,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_dollars: MaxDollars = None,
    prices: PricesOption = None,
    allow_failures: AllowFailures = False,
    json: JsonOption = False,
) -> None:
    """Play a study; what the store already holds is not played again."""
    batching = in_batches(batch, no_wait, poll)
    found = find_study(study, store, player or (), roster or ())
    money = allowance(max_calls, max_tokens, max_dollars, prices)
    place = cache_at(cache, cache_file)
    _play(
        study, found, store, workers, concurrency, patience, allow_failures, json, place, batching,
        money,
    )  # fmt: skip


@app.command()
def resume(
    study: Annotated[str, typer.Argument(help="The name of a study in the store.")],
    store: StoreOption = DEFAULT_STORE,
    workers: Workers = CORES,
    concurrency: Concurrency = None,
    patience: Patience = 10,
    cache: CacheOption = None,
    cache_file: CacheFileOption = None,
    batch: BatchOption = False,
    no_wait: NoWaitOption = False,
    poll: PollOption = 30,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_dollars: MaxDollars = None,
    prices: PricesOption = None,
    allow_failures: AllowFailures = False,
    json: JsonOption = False,
) -> None:
    """Go on with a study that was stopped, from what the store holds."""
    batching = in_batches(batch, no_wait, poll)
    with ct.Store.open(store) as opened:
        found = stored_study(study, opened.study(study).spec)
    money = allowance(max_calls, max_tokens, max_dollars, prices)
    place = cache_at(cache, cache_file)
    _play(
        study, found, store, workers, concurrency, patience, allow_failures, json, place, batching,
        money,
    )  # fmt: skip


def _laid_out(
    study: ct.Study, path: Path, batching: ct.studies.Batching | None, money: Allowance
) -> ct.studies.Plan:
    """The plan, checked before a store is made or written."""
    with reading(path) as store:
        laid = ct.studies.lay_out(study, store)
        ct.studies.check_seats(laid, store)
        ct.studies.check_batching(laid, store, batching)
    ct.studies.check_prices(laid, money.prices, money.cap)
    ct.studies.try_strategies(laid)
    return laid


def _play(
    name: str,
    study: ct.Study,
    path: Path,
    workers: int,
    concurrency: int | None,
    patience: float,
    allow_failures: bool,
    as_json: bool,
    cache: Path | None,
    batching: ct.studies.Batching | None,
    money: Allowance,
) -> None:
    with naming(name):
        laid = _laid_out(study, path, batching, money)
    announce(laid, path, money.prices, cache)
    started = time.monotonic()
    seen: list[ct.Progress] = []
    try:
        with ct.Store.open(path, create=True) as store, shown(study.name) as show:

            def note(progress: ct.Progress) -> None:
                seen[:] = [progress]
                show(progress)

            progress = ct.run(
                laid, store, workers=workers, concurrency=concurrency, patience=60 * patience,
                progress=note, cache=cache, batching=batching, prices=money.prices, cap=money.cap,
            )  # fmt: skip
    except KeyboardInterrupt:
        for progress in seen:
            _summarise(study, path, progress, time.monotonic() - started, as_json, batching)
        again = f"stopped; go on with: {_resume(study, path, batching)}"
        err.print(again, markup=False, soft_wrap=True)
        raise
    _summarise(study, path, progress, time.monotonic() - started, as_json, batching)
    if progress.waiting:
        raise typer.Exit(WAITING)
    if progress.left and (progress.halted or not allow_failures):
        raise typer.Exit(1)


def _resume(study: ct.Study, path: Path, batching: ct.studies.Batching | None) -> str:
    again = f"cheaptalk resume {study.name} --store {shlex.quote(str(path))}"
    return f"{again} --batch" if batching else again


def _summarise(
    study: ct.Study,
    path: Path,
    progress: ct.Progress,
    seconds: float,
    as_json: bool,
    batching: ct.studies.Batching | None,
) -> None:
    counts = {status.value: count for status, count in progress.counts.items()}
    if as_json:
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
        out.print(f"  {count:,} x {problem}", markup=False)
    if len(progress.problems) > 10:
        further = counted(len(progress.problems) - 10, "further problem")
        out.print(f"  and {further}: cheaptalk status")
    for line in _rates(progress.kinds):
        out.print(f"  {line}", markup=False)
    for note in _notes(progress):
        out.print(f"  {note}", markup=False)
    if progress.halted == ct.studies.INTERRUPTED:
        return
    if progress.halted:
        out.print(f"halted: {progress.halted}", markup=False)
    out.print(_next_step(study, path, progress, batching), markup=False, soft_wrap=True)


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
    study: ct.Study, path: Path, progress: ct.Progress, batching: ct.studies.Batching | None
) -> str:
    """What there is to do after a run: to report it, or what helps it on."""
    where = f"--store {shlex.quote(str(path))}"
    if not progress.left:
        return f"report it with: cheaptalk report {study.name} {where}"
    left = f"{progress.left:,} left"
    used_up = progress.used_up >= progress.left
    if progress.short or used_up:
        cap = "the budget" if progress.short else "budget.per_match"
        again = f"cheaptalk run FILE {where}{' --batch' if batching else ''}"
        return f"{left}; raise {cap} in the study's file, then: {again}"
    if progress.used_up:
        left += f", {progress.used_up:,} of them until budget.per_match is raised"
    return f"{left}; go on with: {_resume(study, path, batching)}"


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
