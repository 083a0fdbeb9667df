"""Detection of deadlocks, in which all matches of a run wait for replies."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Q = TypeVar("Q")
A = TypeVar("A")


class Pace:
    """A counter of active tasks: matches that compute a request, and answers in progress.

    ``when_still`` is called when no task is active. A match becomes active again before it receives
    a reply.
    """

    def __init__(self) -> None:
        self.moving = 0
        self.when_still: Callable[[], None] | None = None

    def go(self) -> None:
        self.moving += 1

    def rest(self) -> None:
        """Mark a task as waiting, and schedule ``when_still`` if no task is active."""
        self.moving -= 1
        if not self.moving and self.when_still is not None:
            asyncio.get_running_loop().call_soon(self._look)

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Mark a match as waiting while the context is open."""
        self.rest()
        try:
            yield
        finally:
            self.go()

    def answering(self, answer: Callable[[Q], Awaitable[A]]) -> Callable[[Q], Awaitable[A]]:
        """Wrap a match's answer function to keep the match active until all its answers wait."""
        thinking = 0

        async def counted(request: Q) -> A:
            nonlocal thinking
            if thinking:
                self.go()
            thinking += 1
            try:
                return await answer(request)
            finally:
                thinking -= 1
                if thinking:
                    self.rest()

        return counted

    def _look(self) -> None:
        if not self.moving and self.when_still is not None:
            self.when_still()
