"""Progress display: a line that is updated on a terminal, otherwise a new line at intervals."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cheaptalk.cli import shared
from cheaptalk.cli.shared.printing import err, is_terminal

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
