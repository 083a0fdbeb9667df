"""A time limit for a game's code: rules in an endless loop would never return."""

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
    """Code of a game took too long; the arguments are its location and the limit.

    It is not an :class:`Exception`, which a loop that continues after any error would catch.
    """

    def __str__(self) -> str:
        location, seconds = self.args
        return (
            f"{location} is still running after {seconds:g} seconds without a decision "
            "request; let its loops end, or raise the limit"
        )


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`Stuck` after this many seconds without :func:`sign_of_life`; 0 for no limit.

    Only the main thread of a program can be interrupted; other threads have no limit. A single call
    of a library, such as an endless sum, is not interrupted either.
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
    """Return the current limit, in seconds; 0 if there is none."""
    return signal.getitimer(signal.ITIMER_REAL)[1]


def sign_of_life() -> None:
    """Restart the time limit."""
    if allowed():
        signal.setitimer(signal.ITIMER_REAL, allowed(), allowed())
