"""Printing of text, tables, JSON and progress."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Literal, TextIO, TypeVar

import cheaptalk as ct
from cheaptalk.cli import shared
from cheaptalk.text import visible


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a standard stream is a terminal; False if it is closed."""
    return stream is not None and stream.isatty()


class Output:
    """Standard output or standard error, with a console that is created at the first use."""

    def __init__(self, stream: Literal["stdout", "stderr"]) -> None:
        self.stream = stream
        self.quiet = False

    @cached_property
    def _console(self) -> shared.consoles.SafeConsole:
        return shared.consoles.SafeConsole(
            stderr=self.stream == "stderr",
            highlight=False,
            emoji=False,
            soft_wrap=not is_terminal(getattr(sys, self.stream)),
        )

    @property
    def console(self) -> shared.consoles.SafeConsole:
        """The rich console, which prints nothing if the output is quiet."""
        self._console.quiet = self.quiet
        return self._console

    def print(self, *objects: Any, **options: Any) -> None:
        self.console.print(*objects, **options)

    def status(self, status: str | shared.consoles.Text) -> shared.consoles.Status:
        return self.console.status(status)


out = Output("stdout")
"""Output for results."""
hints = Output("stdout")
"""Output for advice on the next step, after the results."""
err = Output("stderr")
"""Output for progress, estimates and warnings."""
errors = Output("stderr")
"""Output for errors, which --quiet does not suppress."""


class _LogPrinter(logging.Handler):
    """A logging handler that prints records on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage(), to=err, wrap=False, style="dim")


T = TypeVar("T")
LOG = logging.getLogger("cheaptalk")
LOG_PRINTER = _LogPrinter()


@contextmanager
def usual_volume() -> Iterator[None]:
    """Reset --quiet and --verbose after a command."""
    try:
        yield
    finally:
        err.quiet = hints.quiet = False
        LOG.setLevel(logging.NOTSET)
        LOG.removeHandler(LOG_PRINTER)


def quiet(_: object) -> None:
    """Print only results and errors."""
    err.quiet = hints.quiet = True


def verbose(_: object) -> None:
    """Print log records."""
    LOG.setLevel(logging.DEBUG)
    LOG.addHandler(LOG_PRINTER)


def is_verbose() -> bool:
    """Return whether log records are printed."""
    return LOG_PRINTER in LOG.handlers


def say(text: object, *, to: Output = out, wrap: bool = True, style: str | None = None) -> None:
    """Print a text without interpreting markup, wrapped between words on a terminal if ``wrap``."""
    to.print(text, markup=False, soft_wrap=None if wrap else True, style=style)


def hint(text: str) -> None:
    """Print advice on the next step without wrapping lines, except with --quiet."""
    say(text, to=hints, wrap=False)


def escaped(text: str) -> str:
    """Return a text with markup escaped."""
    return shared.consoles.escape(text)


def say_boxed(text: str, title: str | None = None) -> None:
    """Print a text with an optional title: in a box on a terminal, otherwise as ``title: text``."""
    console = out.console
    if console.soft_wrap:
        say(f"{title}: {text}" if title else text)
    else:
        out.print(shared.consoles.boxed(text, title, console.width))


def warn_about_names(store: ct.Store, study: str) -> None:
    """Warn if messages of an imported study may contain names that people wrote."""
    if ct.records.imports.contains_names(store, study):
        say(f"{study}: {ct.records.imports.NAMES_WARNING}", to=err)


def print_json(data: Any) -> None:
    """Print data as JSON on standard output; NaN and infinite numbers become null."""
    sys.stdout.write(ct.records.encoding.standard_json(data, indent=2, default=str) + "\n")


def print_table(
    title: str | None,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    right: Collection[str] = (),
) -> None:
    """Print a table; numeric columns and the columns named in ``right`` are right-aligned."""
    if title is not None:
        say(title, style="italic")
    right_aligned = [
        index
        for index, column in enumerate(columns)
        if column in right or (rows and all(isinstance(row[index], int | float) for row in rows))
    ]
    cells = [[f"{c:,}" if isinstance(c, int) else visible(str(c)) for c in row] for row in rows]
    width = None if out.console.soft_wrap else out.console.width
    head, lines = shared.consoles.table_lines(columns, cells, width, right_aligned)
    for block, style in ((head, "bold"), (lines, None)):
        if block:
            say("\n".join(block), wrap=False, style=style)


def print_records(columns: Mapping[str, Callable[[T], object]], records: Iterable[T]) -> None:
    """Print a table of records, given a function for each column."""
    rows = [[value(record) for value in columns.values()] for record in records]
    print_table(None, list(columns), rows)


def print_batches(batches: Sequence[ct.records.BatchSummary]) -> None:
    """Print batches submitted to providers as a table."""
    short = ct.models.model_strings.short_names(batch.model for batch in batches)
    rows = [
        [
            batch.name or "",
            short[batch.model],
            batch.state,
            batch.calls,
            f"{(time.time() - batch.planned) / 3600:,.1f} h ago",
        ]
        for batch in batches
    ]
    print_table(None, ["batch", "model", "state", "calls", "created"], rows)


MIN_INTERVAL = 5.0
"""Minimum seconds between two progress lines if the output is not a terminal."""
MAX_INTERVAL = 30.0
"""Seconds after which a progress line is printed even if little has changed."""
STEP = 0.05
"""Increase in the completed share after which a progress line is printed early."""
REFRESH_INTERVAL = 0.2
"""Seconds between two updates of the progress line on a terminal."""


def on_terminal() -> bool:
    """Return whether standard error is a terminal."""
    return is_terminal(sys.stderr)


class StatusLine:
    """A progress line on standard error, updated or printed again at limited intervals."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._share = 0.0

    def print(self, line: str, share: float | None = None) -> None:
        """Print a line if enough time has passed; wait longer if ``share`` has hardly grown."""
        grown = share is None or share - self._share >= STEP
        if self._due(MIN_INTERVAL if grown else MAX_INTERVAL):
            self._share = share or 0.0
            err.print(line, markup=False, soft_wrap=True)

    @contextmanager
    def shown(self, line: str) -> Iterator[Callable[[str], None]]:
        """Show a line; yield a function that replaces it or, without a terminal, prints another."""
        if not on_terminal():
            self.print(line)
            yield self.print
            return
        with err.status(shared.consoles.Text(line)) as status:

            def update(line: str) -> None:
                if self._due(REFRESH_INTERVAL):
                    status.update(shared.consoles.Text(line))

            yield update

    def _due(self, seconds: float) -> bool:
        now = time.monotonic()
        if now - self._last < seconds:
            return False
        self._last = now
        return True
