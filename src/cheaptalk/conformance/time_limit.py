"""A time limit for a game's code, which stops rules in an endless loop."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from traceback import walk_stack
from types import FrameType

from cheaptalk.rules.errors import place_of

LIMIT = 60.0
"""Default maximum seconds from one answer to the next."""


class Stuck(BaseException):
    """An error about code that exceeds the time limit, with its location and the limit.

    The class is no :class:`Exception`, so that game code with ``except Exception`` cannot catch it.
    """

    def __str__(self) -> str:
        location, seconds = self.args
        return (
            f"{location} is still running after {seconds:g} seconds without a decision request; "
            "check for an endless loop, or raise --timeout (limit= in Python)"
        )


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`Stuck` after ``seconds`` without :func:`sign_of_life`; 0 means no limit.

    Only the main thread can be interrupted; other threads, and single calls of compiled library
    code, have no limit.
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
    """Return the time limit in force, in seconds; 0 if there is none."""
    return signal.getitimer(signal.ITIMER_REAL)[1]


def sign_of_life() -> None:
    """Restart the time limit."""
    if allowed():
        signal.setitimer(signal.ITIMER_REAL, allowed(), allowed())
