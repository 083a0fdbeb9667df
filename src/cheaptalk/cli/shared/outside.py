"""What ends a command from outside: a signal, or output that can no longer be written."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TextIO, cast

STOPPED = 128 + signal.SIGINT
"""The exit status after Ctrl-C."""
UNREAD = 128 + 13
"""The exit status where nobody reads on, as of a program that SIGPIPE ends."""
OUTPUTS = {"stdout": "standard output", "stderr": "standard error"}


class Outside:
    """Lets a command end from outside as Ctrl-C ends it, and says with which exit status.

    Attributes:
        signal: the last signal that was heard beside Ctrl-C.
        lost: why an output could not be written any more, by the output's name.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self.lost: dict[str, OSError] = {}
        self._over = False

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Take signals and failing output for Ctrl-C."""
        streams = {name: getattr(sys, name) for name in OUTPUTS}
        before = {one: signal.signal(one, self._hear) for one in _heard()}
        for name, stream in streams.items():
            setattr(sys, name, self._watched(name, stream))
        try:
            yield
        finally:
            for name, stream in streams.items():
                setattr(sys, name, stream)
            for one, handler in before.items():
                signal.signal(one, handler)

    def ended(self, status: int) -> int:
        """The exit status of a command that is over and by itself would end with this one."""
        self._over = True
        for name in OUTPUTS:
            getattr(sys, name).flush()
        if status == STOPPED and self.signal is not None:
            return 128 + self.signal
        if status in (0, STOPPED) and self.lost:
            broken = all(one.errno == errno.EPIPE for one in self.lost.values())
            return UNREAD if broken else 1
        return status

    @property
    def problem(self) -> str | None:
        """Why output is missing, in a sentence; None where none is, or its reader had enough."""
        for name, error in self.lost.items():
            if error.errno != errno.EPIPE:
                return f"{OUTPUTS[name]} cannot be written: {error.strerror}"
        return None

    def _watched(self, name: str, stream: TextIO | None) -> TextIO:
        """The stream, or where it is closed one that takes everything."""
        if stream is None:
            return Path(os.devnull).open("w", encoding="utf-8")
        return cast(TextIO, _Watched(stream, partial(self._lose, name)))

    def _hear(self, number: int, _: object) -> None:
        if not self._over:
            self.signal = number
            _interrupt()

    def _lose(self, name: str, error: OSError, interrupts: bool) -> None:
        first = not self.lost
        self.lost[name] = error
        if first and interrupts and not self._over:
            _interrupt()


@contextmanager
def finishing() -> Iterator[None]:
    """Go on though nobody reads on: what a command writes to files is written before it ends."""
    streams = [one for one in (sys.stdout, sys.stderr) if isinstance(one, _Watched)]
    for one in streams:
        one.interrupts = False
    try:
        yield
    finally:
        for one in streams:
            one.interrupts = True


class _Watched:
    """A stream that, once it cannot be written, takes everything and keeps nothing.

    Attributes:
        interrupts: whether that ends the command as Ctrl-C does.
    """

    def __init__(self, stream: TextIO, lose: Callable[[OSError, bool], None]) -> None:
        self.interrupts = True
        self._stream = stream
        self._lose = lose

    def write(self, text: str) -> int:
        with self._guarded():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._guarded():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            with suppress(OSError, ValueError):  # a stream without a file
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            self._lose(error, self.interrupts)


def _heard() -> list[signal.Signals]:
    """The signals that stop a command, but for those that it was started to ignore."""
    known = [one for one in signal.Signals if one.name in ("SIGTERM", "SIGHUP")]
    return [one for one in known if signal.getsignal(one) is not signal.SIG_IGN]


def _interrupt() -> None:
    """Do as Ctrl-C does, also where this process was started to ignore it."""
    if callable(signal.getsignal(signal.SIGINT)):
        signal.raise_signal(signal.SIGINT)
    else:
        raise KeyboardInterrupt
