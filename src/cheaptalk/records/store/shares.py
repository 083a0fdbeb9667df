"""Shares of a study's work, which runs on several machines claim without overlap.

With databases that allow only one writer, that process has all the work.
"""

import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

import sqlalchemy as sa


class Share(NamedTuple):
    """A part of a plan's matches.

    Attributes:
        kind: the kind of work.
        start, stop: the range of match numbers in the plan, without `stop`.
        matches: the number of these that are to be played.
    """

    kind: str
    start: int
    stop: int
    matches: int


class Shares(Protocol):
    """The shares of a run and of others that do the same work."""

    @property
    def first(self) -> bool:
        """Whether no other run was active when this one began."""

    @property
    def halted(self) -> str | None:
        """Why all runs that share the work are to stop; None if they are not."""

    def halt(self, reason: str) -> None:
        """Stop all runs that share the work."""

    def offer(self, kind: str, shares: Callable[[], Iterable[Share]]) -> None:
        """Register the shares of a kind, unless another run has."""

    def take(self, kind: str, *, alone: bool = False) -> Share | None:
        """Claim an available share; return None if there is none.

        Args:
            alone: only the oldest active run may claim shares of this kind.
        """

    def done(self, share: Share, connection: sa.Connection) -> None:
        """Mark a share as done, in the transaction that stores its results."""

    def waits(self, kind: str) -> bool:
        """Return whether other runs hold shares, which become available if these runs end."""

    def elsewhere(self) -> int:
        """Return the number of matches in shares that other runs have done."""


class Undivided:
    """All the work, for one run without others."""

    first = True
    halted: str | None = None

    def __init__(self) -> None:
        self._left: list[Share] = []

    def halt(self, reason: str) -> None:
        """Stop this run."""
        self.halted = reason

    def offer(self, kind: str, shares: Callable[[], Iterable[Share]]) -> None:
        self._left.append(Share(kind, 0, sys.maxsize, 0))

    def take(self, kind: str, *, alone: bool = False) -> Share | None:
        share = next((share for share in self._left if share.kind == kind), None)
        if share is not None:
            self._left.remove(share)
        return share

    def done(self, share: Share, connection: sa.Connection) -> None:
        pass

    def waits(self, kind: str) -> bool:
        return False

    def elsewhere(self) -> int:
        return 0
