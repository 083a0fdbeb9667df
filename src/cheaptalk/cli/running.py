"""Commands that play studies: run and resume."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import cheaptalk as ct
from cheaptalk.cli.base import (
    DEFAULT_STORE,
    JsonOption,
    PlayerOption,
    StoreOption,
    StudyArgument,
    app,
    err,
    find_study,
    naming,
    out,
    print_json,
    reading,
    stored_study,
)

Workers = Annotated[
    int, typer.Option(min=1, help="Processes for scripted matches.", show_default="one a core")
]
Concurrency = Annotated[int, typer.Option(min=1, help="Matches with models played at once.")]
AllowFailures = Annotated[
    bool, typer.Option("--allow-failures", help="Exit with 0 though matches failed.")
]
EVERY = 5.0
"""Seconds between two plain lines of progress."""
CORES = os.cpu_count() or 1


@app.command()
def run(
    study: StudyArgument,
    store: StoreOption = DEFAULT_STORE,
    player: PlayerOption = None,
    workers: Workers = CORES,
    concurrency: Concurrency = 64,
    allow_failures: AllowFailures = False,
    json: JsonOption = False,
) -> None:
    """Play a study; what the store already holds is not played again."""
    found = find_study(study, store, player or ())
    with naming(study):
        laid = _laid_out(found, store)
    _play(laid, store, workers, concurrency, allow_failures, json)


@app.command()
def resume(
    study: Annotated[str, typer.Argument(help="The name of a study in the store.")],
    store: StoreOption = DEFAULT_STORE,
    workers: Workers = CORES,
    concurrency: Concurrency = 64,
    allow_failures: AllowFailures = False,
    json: JsonOption = False,
) -> None:
    """Go on with a study that was stopped, from what the store holds."""
    with ct.Store.open(store) as opened:
        found = stored_study(study, opened.study(study).spec)
    with naming(study):
        laid = _laid_out(found, store)
    _play(laid, store, workers, concurrency, allow_failures, json)


def _laid_out(study: ct.Study, path: Path) -> ct.studies.Plan:
    """The plan, checked before a store is made or written."""
    with reading(path) as store:
        laid = ct.studies.lay_out(study, store)
        ct.studies.check_seats(laid, store)
    return laid


def _play(
    laid: ct.studies.Plan,
    path: Path,
    workers: int,
    concurrency: int,
    allow_failures: bool,
    as_json: bool,
) -> None:
    study = laid.study
    started = time.monotonic()
    try:
        with ct.Store.open(path, create=True) as store, _shown(study.name) as show:
            progress = ct.run(laid, store, workers=workers, concurrency=concurrency, progress=show)
    except KeyboardInterrupt:
        again = f"stopped; go on with: {_resume(study, path)}"
        err.print(again, markup=False, soft_wrap=True)
        raise
    _summarise(study, path, progress, time.monotonic() - started, as_json)
    if progress.left and (progress.halted or not allow_failures):
        raise typer.Exit(1)


def _resume(study: ct.Study, path: Path) -> str:
    return f"cheaptalk resume {study.name} --store {shlex.quote(str(path))}"


def _summarise(
    study: ct.Study, path: Path, progress: ct.Progress, seconds: float, as_json: bool
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
                "halted": progress.halted,
                "unresolved": progress.unresolved,
                "problems": progress.problems,
                "seconds": round(seconds, 2),
            }
        )
        return
    played = sum(counts.values())
    rate = f", {played / seconds:,.0f} a second" if played else ""
    out.print(
        f"{study.name}: {progress.done:,} of {progress.planned:,} matches done "
        f"({progress.before:,} before, {played:,} now in {seconds:,.1f} s{rate})"
    )
    for problem, count in progress.problems.most_common(10):
        out.print(f"  {count:,} x {problem}", markup=False)
    if len(progress.problems) > 10:
        out.print(f"  and {len(progress.problems) - 10} further problems: cheaptalk status")
    if progress.unresolved:
        out.print(f"  {progress.unresolved} calls of an earlier run stayed without a reply")
    if progress.halted:
        out.print(f"halted: {progress.halted}", markup=False)
    if progress.left:
        next_step = f"{progress.left:,} left; go on with: {_resume(study, path)}"
    else:
        where = shlex.quote(str(path))
        next_step = f"report it with: cheaptalk report {study.name} --store {where}"
    out.print(next_step, markup=False, soft_wrap=True)


@contextmanager
def _shown(name: str) -> Iterator[Callable[[ct.Progress], None]]:
    """Show progress: a bar on a terminal, a plain line now and then elsewhere."""
    if not sys.stderr.isatty():
        yield _plain_lines(name)
        return
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"), TimeRemainingColumn(), TextColumn("{task.fields[bad]}"),
    )  # fmt: skip
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(name, total=None, rate="", bad="")
        started = time.monotonic()

        def show(progress: ct.Progress) -> None:
            now = progress.done - progress.before
            rate = now / max(time.monotonic() - started, 1e-9)
            bar.update(
                task,
                total=progress.planned,
                completed=progress.done + progress.failed,
                rate=f"{rate:,.0f}/s" if now else "",
                bad=f"[red]{progress.failed:,} failed[/]" if progress.failed else "",
            )

        yield show


def _plain_lines(name: str) -> Callable[[ct.Progress], None]:
    last = time.monotonic()

    def show(progress: ct.Progress) -> None:
        nonlocal last
        if time.monotonic() - last < EVERY:
            return
        last = time.monotonic()
        bad = f", {progress.failed:,} failed" if progress.failed else ""
        err.print(f"{name}: {progress.done:,} of {progress.planned:,} matches{bad}")

    return show
