"""The time that a game's code may take: rules that spin would never come back by themselves."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from traceback import walk_stack
from types import FrameType

from cheaptalk.rules.errors import place_of

LIMIT = 60.0
"""Seconds from one answer to the next, unless a check is told otherwise."""


class Stuck(BaseException):
    """Code of a game took too long; its argument says where it was.

    No exception of the usual kind, which a loop that goes on after any error would catch.
    """

    def __str__(self) -> str:
        place, seconds = self.args
        return (
            f"{place} is still running after {seconds:g} seconds in which nobody was asked "
            "anything; let its loops end, or raise the limit"
        )


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`Stuck` when so many seconds pass without :func:`sign_of_life`; 0 for no limit.

    Only the main thread of a program can be interrupted; in another there is no limit. Nor is a
    single call of a library cut short, such as a sum without end.
    """
    if current_thread() is not main_thread():
        yield
        return

    def interrupt(_: int, frame: FrameType | None) -> None:
        raise Stuck(place_of(walk_stack(frame)) or "a library", seconds)

    handler = signal.signal(signal.SIGALRM, interrupt)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, handler)


def allowed() -> float:
    """The seconds between signs of life that are allowed here; 0 where there is no limit."""
    return signal.getitimer(signal.ITIMER_REAL)[1]


def sign_of_life() -> None:
    """Let the time that is allowed begin anew."""
    if allowed():
        signal.setitimer(signal.ITIMER_REAL, allowed(), allowed())
