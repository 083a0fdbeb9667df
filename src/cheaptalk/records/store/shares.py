"""Shares of a study's work, which runs on several machines take without two ever taking one.

Where a kind of database lets one process write at a time, that process has all of it.
"""

import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

import sqlalchemy as sa


class Share(NamedTuple):
    """Some of a plan's matches.

    Attributes:
        kind: of work.
        start, stop: the numbers of the first of them in the plan, and of the one behind the last.
        matches: how many of these are to be played.
    """

    kind: str
    start: int
    stop: int
    matches: int


class Shares(Protocol):
    """What a run shares with others that do the same work."""

    @property
    def first(self) -> bool:
        """Whether no other was there when this run came."""

    @property
    def halted(self) -> str | None:
        """Why all who share the work are to stop, once they are."""

    def halt(self, reason: str) -> None:
        """Have all who share the work stop."""

    def offer(self, kind: str, shares: Callable[[], Iterable[Share]]) -> None:
        """Lay out the work of a kind, unless another has."""

    def take(self, kind: str, *, alone: bool = False) -> Share | None:
        """A share that nobody has; None where there is none now.

        Args:
            alone: only one run is to work on this kind, the one that came first of those that are
                there.
        """

    def done(self, share: Share, connection: sa.Connection) -> None:
        """Note that a share is done, in the transaction that stores what came of it."""

    def waits(self, kind: str) -> bool:
        """Whether others work on shares that may come back, as these runs may end."""

    def elsewhere(self) -> int:
        """How many matches stood in the shares that others have done."""


class Undivided:
    """All the work, for one run that is alone."""

    first = True
    halted: str | None = None

    def __init__(self) -> None:
        self._left: list[Share] = []

    def halt(self, reason: str) -> None:
        """Stop; nobody else is there."""
        self.halted = reason

    def offer(self, kind: str, shares: Callable[[], Iterable[Share]]) -> None:
        self._left.append(Share(kind, 0, sys.maxsize, 0))

    def take(self, kind: str, *, alone: bool = False) -> Share | None:
        found = next((one for one in self._left if one.kind == kind), None)
        if found is not None:
            self._left.remove(found)
        return found

    def done(self, share: Share, connection: sa.Connection) -> None:
        pass

    def waits(self, kind: str) -> bool:
        return False

    def elsewhere(self) -> int:
        return 0
