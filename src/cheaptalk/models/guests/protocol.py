"""Whoever brings guests' answers to a run."""

from typing import Protocol

from cheaptalk.models.calls import ModelCall, Reply


class Guests(Protocol):
    """Has the guests of a run asked."""

    def lacking(self, name: str) -> str | None:
        """Why a guest of this name cannot be asked here; None where one can."""

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Have a guest asked. Every failure comes back as a reply that says what failed.

        Args:
            number: identifies the call, as agents are told it.
            deadline: seconds until the call counts as timed out.
        """

    def begin(self) -> None:
        """A run begins: its calls wait for guests."""

    def halt(self) -> None:
        """Give up the calls to guests that have never come: the run stops; from any thread."""

    def conclude(self) -> None:
        """Tell the guests that it is over."""
