"""How far the solving of games is: in place on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.markup import escape

from cheaptalk.cli.base import err
from cheaptalk.cli.progress import EVERY

OFTEN = 0.2
"""Seconds between two looks at a status on a terminal."""


class Solving:
    """Tells which of a source's games is being solved.

    Args:
        source: what the games are of.
        games: how many there are.
    """

    def __init__(self, source: str, games: int) -> None:
        self._source = source
        self._games = games
        self._last = time.monotonic()

    @contextmanager
    def game(self, name: str, place: int) -> Iterator[Callable[[float], None]]:
        """While a game is solved; yields what to tell the share of its search that is done.

        Args:
            name: what the game is called.
            place: which of all games it is, from 1.
        """
        which = f" {name}, game {place} of {self._games}" if self._games > 1 else ""
        line = f"{self._source}: solving{which}"
        if not err.is_terminal:
            if place > 1:
                self._tell(line, EVERY, _print)
            yield lambda share: self._tell(_with(line, share), EVERY, _print)
            return
        with err.status(escape(line)) as status:
            yield lambda share: self._tell(
                _with(line, share), OFTEN, lambda said: status.update(escape(said))
            )

    def _tell(self, line: str, every: float, tell: Callable[[str], None]) -> None:
        """Say something, if the last word is so many seconds ago."""
        if time.monotonic() - self._last >= every:
            self._last = time.monotonic()
            tell(line)


def _with(line: str, share: float) -> str:
    return f"{line}, {100 * share:.2g} % of all sets decided"


def _print(line: str) -> None:
    err.print(line, markup=False, soft_wrap=True)
