"""Shares of a study's work, which runs on several machines claim without overlap.

Databases that allow only one writer give all the work to a single process.
"""

import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

import sqlalchemy as sa


class Share(NamedTuple):
    """A range of planned matches that only one run can claim.

    Attributes:
        kind: the kind of work.
        start, stop: the range of match numbers in the plan, without ``stop``.
        matches: the number of matches in the range that remain to be played.
    """

    kind: str
    start: int
    stop: int
    matches: int


class Shares(Protocol):
    """The work that several runs divide among themselves in shares."""

    @property
    def first(self) -> bool:
        """Whether no other run was active when this run began."""

    @property
    def halted(self) -> str | None:
        """The reason why all runs that share the work must stop; None if they can continue."""

    def halt(self, reason: str) -> None:
        """Stop all runs that share the work."""

    def offer(self, kind: str, shares: Callable[[], Iterable[Share]]) -> None:
        """Register shares of work, unless another run has registered shares of the same kind."""

    def take(self, kind: str, *, alone: bool = False) -> Share | None:
        """Claim an available share; return None if there is none.

        Args:
            alone: only the oldest active run may claim shares of this kind.
        """

    def done(self, share: Share, connection: sa.Connection) -> None:
        """Mark a share as done, in the transaction that stores its results."""

    def waits(self, kind: str) -> bool:
        """Return whether other runs hold shares that may become available to this run."""

    def elsewhere(self) -> int:
        """Return the number of matches in shares that other runs have completed."""


class Undivided:
    """The complete work of a study, claimed by a single run."""

    first = True
    halted: str | None = None

    def __init__(self) -> None:
        self._left: list[Share] = []

    def halt(self, reason: str) -> None:
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
