"""Detect deadlock: all matches of a run wait for replies."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Q = TypeVar("Q")
A = TypeVar("A")


class Pace:
    """Counts active tasks: matches between requests, and answers in progress.

    ``when_still`` is called when no task is active. A match becomes active again (:meth:`go`)
    before it receives its reply.
    """

    def __init__(self) -> None:
        self.moving = 0
        self.when_still: Callable[[], None] | None = None

    def go(self) -> None:
        """Count a task as active."""
        self.moving += 1

    def rest(self) -> None:
        """Count a task as waiting. Tasks ready to run get a turn before ``when_still``."""
        self.moving -= 1
        if not self.moving and self.when_still is not None:
            asyncio.get_running_loop().call_soon(self._look)

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Count as waiting for another match inside the context."""
        self.rest()
        try:
            yield
        finally:
            self.go()

    def answering(self, answer: Callable[[Q], Awaitable[A]]) -> Callable[[Q], Awaitable[A]]:
        """Wrap a match's answer function; the match is active until all its answers wait."""
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
