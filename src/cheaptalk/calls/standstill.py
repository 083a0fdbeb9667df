"""Detection of standstill: all matches of a run wait for replies, and none can go on by itself."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Q = TypeVar("Q")
A = TypeVar("A")


class Pace:
    """Counts what moves: matches between questions, and answers that are being thought about.

    ``when_still`` is called once nothing moves. A match that gets the reply it waits for counts as
    moving again (:meth:`go`) before the reply is handed to it.
    """

    def __init__(self) -> None:
        self.moving = 0
        self.when_still: Callable[[], None] | None = None

    def go(self) -> None:
        """Something moves."""
        self.moving += 1

    def rest(self) -> None:
        """Something moves no longer. Whatever is about to move has a turn before all is still."""
        self.moving -= 1
        if not self.moving and self.when_still is not None:
            asyncio.get_running_loop().call_soon(self._look)

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Wait for something that another match brings about."""
        self.rest()
        try:
            yield
        finally:
            self.go()

    def answering(self, answer: Callable[[Q], Awaitable[A]]) -> Callable[[Q], Awaitable[A]]:
        """The answers of one match, which moves until each that is thought about rests."""
        thinking = 0

        async def counted(question: Q) -> A:
            nonlocal thinking
            if thinking:
                self.go()
            thinking += 1
            try:
                return await answer(question)
            finally:
                thinking -= 1
                if thinking:
                    self.rest()

        return counted

    def _look(self) -> None:
        if not self.moving and self.when_still is not None:
            self.when_still()
