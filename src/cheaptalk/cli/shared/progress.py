"""How far something is: in place on a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cheaptalk.cli import shared
from cheaptalk.cli.shared.printing import err, is_terminal

EVERY = 5.0
"""Seconds between two plain lines of progress, at the least."""
SELDOM = 30.0
"""Seconds after which a line comes though little has happened."""
STEP = 0.05
"""Share of the whole that is worth a line before that."""
OFTEN = 0.2
"""Seconds between two looks at a line that stays in place."""


def on_terminal() -> bool:
    """Whether somebody watches standard error."""
    return is_terminal(sys.stderr)


class StatusLine:
    """Says how far something is, each time a while after the time before."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._share = 0.0

    def print(self, line: str, share: float | None = None) -> None:
        """Print a line below the last one, if that is long enough ago.

        Args:
            share: of the whole that is done: long enough is sooner where it has grown; None where
                nobody can tell.
        """
        grown = share is None or share - self._share >= STEP
        if self._due(EVERY if grown else SELDOM):
            self._share = share or 0.0
            err.print(line, markup=False, soft_wrap=True)

    @contextmanager
    def shown(self, line: str) -> Iterator[Callable[[str], None]]:
        """Something to give lines to; on a terminal each takes the place of the one before.

        Args:
            line: the first.
        """
        if not on_terminal():
            self.print(line)
            yield self.print
            return
        with err.status(shared.consoles.Text(line)) as status:
            yield (
                lambda line: status.update(shared.consoles.Text(line)) if self._due(OFTEN) else None
            )

    def _due(self, seconds: float) -> bool:
        now = time.monotonic()
        if now - self._last < seconds:
            return False
        self._last = now
        return True
