"""How commands print: text, tables and JSON."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import Any, Literal, TextIO

import cheaptalk as ct
from cheaptalk.cli import shared
from cheaptalk.text import visible


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a standard stream is a terminal; one that is closed is none."""
    return stream is not None and stream.isatty()


class Output:
    """Standard output, or standard error; its console is made when something is first printed."""

    def __init__(self, stream: Literal["stdout", "stderr"]) -> None:
        self.stream = stream
        self.quiet = False

    @cached_property
    def _console(self) -> shared.consoles.SafeConsole:
        return shared.consoles.SafeConsole(
            stderr=self.stream == "stderr", highlight=False, emoji=False,
            soft_wrap=not is_terminal(getattr(sys, self.stream)),
        )  # fmt: skip

    @property
    def console(self) -> shared.consoles.SafeConsole:
        """Where it is drawn; what is drawn there is not seen while this is quiet."""
        self._console.quiet = self.quiet
        return self._console

    def print(self, *things: Any, **how: Any) -> None:
        """Print as :meth:`rich.console.Console.print` does."""
        self.console.print(*things, **how)

    def status(self, status: str | shared.consoles.Text) -> shared.consoles.Status:
        """A line that says what is being done while it is."""
        return self.console.status(status)


out = Output("stdout")
"""Where results are printed."""
hints = Output("stdout")
"""Where a command says what can be done next, behind its results."""
err = Output("stderr")
"""Where all else is said that a command says: how far it is, what it may cost, warnings."""
errors = Output("stderr")
"""Where errors are printed, which are always seen."""


class _Told(logging.Handler):
    """Prints what is logged."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage(), to=err, whole=True, style="dim")


LOG = logging.getLogger("cheaptalk")
TOLD = _Told()


@contextmanager
def usual_volume() -> Iterator[None]:
    """Begin and end at the volume that no option has changed."""
    with ExitStack() as after:
        after.callback(verbose, wanted=False)
        after.callback(quiet, wanted=False)
        yield


def quiet(wanted: bool) -> None:
    """Print nothing but results and errors, where that is wanted."""
    err.quiet = hints.quiet = wanted


def verbose(wanted: bool) -> None:
    """Print what is logged, too, where that is wanted."""
    LOG.setLevel(logging.DEBUG if wanted else logging.NOTSET)
    (LOG.addHandler if wanted else LOG.removeHandler)(TOLD)


def is_verbose() -> bool:
    """Whether what is logged is printed."""
    return TOLD in LOG.handlers


def say(text: object, *, to: Output = out, whole: bool = False, style: str | None = None) -> None:
    """Print a text as it is: nothing in it is markup.

    Args:
        whole: leave its lines whole, as commands to copy must be.
    """
    to.print(text, markup=False, soft_wrap=True if whole else None, style=style)


def hint(text: str) -> None:
    """Say what can be done next, in whole lines; nothing where only results are wanted."""
    say(text, to=hints, whole=True)


def escaped(text: str) -> str:
    """A text as it stands in a line with markup: nothing in it is markup."""
    return shared.consoles.escape(text)


def say_boxed(text: str, title: str | None = None) -> None:
    """Print a text in a box on a terminal; elsewhere behind its title, if it has one."""
    console = out.console
    if console.soft_wrap:
        say(f"{title}: {text}" if title else text)
    else:
        out.print(shared.consoles.boxed(text, title, console.width))


def print_json(data: Any) -> None:
    """Print data as JSON on standard output; undefined and infinite numbers are null."""
    sys.stdout.write(ct.records.encoding.standard_json(data, indent=2, default=str) + "\n")


def print_table(
    title: str | None,
    columns: list[str],
    rows: list[list[object]],
    *,
    right: Collection[str] = (),
) -> None:
    """Print a table; numbers stand right, and columns named so."""
    if title is not None:
        say(title, style="italic")
    stand = [
        place
        for place, column in enumerate(columns)
        if column in right or (rows and all(isinstance(row[place], int | float) for row in rows))
    ]
    cells = [[f"{c:,}" if isinstance(c, int) else visible(str(c)) for c in row] for row in rows]
    width = None if out.console.soft_wrap else out.console.width
    head, lines = shared.layout.table_lines(columns, cells, width, stand)
    for some, style in ((head, "bold"), (lines, None)):
        if some:
            say("\n".join(some), whole=True, style=style)


def print_batches(found: Sequence[ct.records.BatchSummary]) -> None:
    """Print providers' batches as a table."""
    short = ct.models.model_strings.short_names(one.model for one in found)
    rows: list[list[object]] = [
        [one.name or "", short[one.model], one.state, one.calls,
         f"{(time.time() - one.planned) / 3600:,.1f} h ago"]
        for one in found
    ]  # fmt: skip
    print_table(None, ["batch", "model", "state", "calls", "planned"], rows)
