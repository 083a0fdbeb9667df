"""How far a run is: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import cheaptalk as ct
from cheaptalk.cli.base import err
from cheaptalk.cli.controlling import spent
from cheaptalk.rules import counted

EVERY = 5.0
"""Seconds between two plain lines of progress."""


@contextmanager
def shown(name: str) -> Iterator[Callable[[ct.Progress], None]]:
    """Something to tell a run's progress to."""
    if not sys.stderr.isatty():
        yield _plain_lines(name)
        return
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"), TimeRemainingColumn(),
        TextColumn("{task.fields[said]}", style="yellow", markup=False),
    )  # fmt: skip
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(name, total=None, rate="", said="")
        started = time.monotonic()

        def show(progress: ct.Progress) -> None:
            now = progress.done - progress.before
            rate = now / max(time.monotonic() - started, 1e-9)
            bar.update(
                task,
                total=progress.planned,
                completed=progress.done + progress.failed,
                rate=f"{rate:,.0f}/s" if now else "",
                said=", ".join(_said(progress)),
            )

        yield show


def _said(progress: ct.Progress) -> list[str]:
    """What there is to say of a run besides how far it is."""
    parts = [f"{progress.failed:,} failed"] if progress.failed else []
    if progress.state is not None:
        parts += [one for one in (spent(progress.state), progress.state.notice) if one]
    return [*parts, progress.batches] if progress.batches else parts


def _plain_lines(name: str) -> Callable[[ct.Progress], None]:
    last = time.monotonic()

    def show(progress: ct.Progress) -> None:
        nonlocal last
        if time.monotonic() - last < EVERY:
            return
        last = time.monotonic()
        how_far = f"{name}: {progress.done:,} of {counted(progress.planned, 'match')}"
        err.print(", ".join([how_far, *_said(progress)]), markup=False, soft_wrap=True)

    return show
