"""Interruption of a command by a signal, or by output that can no longer be written."""

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
"""Exit status after Ctrl-C."""
CLOSED_PIPE = 128 + 13
"""Exit status after a closed pipe, equal to that of a program that SIGPIPE ended."""
OUTPUTS = {"stdout": "standard output", "stderr": "standard error"}


class Outside:
    """Interruptions of a command by signals and output errors, and the resulting exit status.

    ``signal`` is the last signal except SIGINT; ``lost`` has the errors by name of the output.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self.lost: dict[str, OSError] = {}
        self._ended = False

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Treat signals and output errors like Ctrl-C."""
        streams = {name: getattr(sys, name) for name in OUTPUTS}
        handlers = {number: signal.signal(number, self._receive) for number in _signals()}
        for name, stream in streams.items():
            setattr(sys, name, self._monitored(name, stream))
        try:
            yield
        finally:
            for name, stream in streams.items():
                setattr(sys, name, stream)
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def ended(self, status: int) -> int:
        """Return a command's exit status after interruptions, given its status without them."""
        self._ended = True
        for name in OUTPUTS:
            getattr(sys, name).flush()
        if status == STOPPED and self.signal is not None:
            return 128 + self.signal
        if status in (0, STOPPED) and self.lost:
            closed = all(error.errno == errno.EPIPE for error in self.lost.values())
            return CLOSED_PIPE if closed else 1
        return status

    @property
    def problem(self) -> str | None:
        """The error message if writing failed for a reason other than a closed pipe; else None."""
        for name, error in self.lost.items():
            if error.errno != errno.EPIPE:
                return f"cannot write to {OUTPUTS[name]}: {error.strerror}"
        return None

    def _monitored(self, name: str, stream: TextIO | None) -> TextIO:
        """Wrap a stream to detect write errors; replace a closed stream by the null device."""
        if stream is None:
            return Path(os.devnull).open("w", encoding="utf-8")
        return cast(TextIO, _MonitoredStream(stream, partial(self._lose, name)))

    def _receive(self, number: int, _: object) -> None:
        if not self._ended:
            self.signal = number
            _interrupt()

    def _lose(self, name: str, error: OSError, interrupts: bool) -> None:
        first = not self.lost
        self.lost[name] = error
        if first and interrupts and not self._ended:
            _interrupt()


@contextmanager
def finishing() -> Iterator[None]:
    """Let a command finish writing its files even if its output is closed."""
    streams = [s for s in (sys.stdout, sys.stderr) if isinstance(s, _MonitoredStream)]
    for stream in streams:
        stream.interrupts = False
    try:
        yield
    finally:
        for stream in streams:
            stream.interrupts = True


class _MonitoredStream:
    """A stream that discards its output after the first error."""

    def __init__(self, stream: TextIO, lose: Callable[[OSError, bool], None]) -> None:
        self.interrupts = True  # whether an error interrupts the command
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


def _signals() -> list[signal.Signals]:
    """Return the signals that stop a command, except those that the process ignores."""
    signals = [number for number in signal.Signals if number.name in ("SIGTERM", "SIGHUP")]
    return [number for number in signals if signal.getsignal(number) is not signal.SIG_IGN]


def _interrupt() -> None:
    """Interrupt the process as Ctrl-C does, even if it was started with SIGINT ignored."""
    if callable(signal.getsignal(signal.SIGINT)):
        signal.raise_signal(signal.SIGINT)
    else:
        raise KeyboardInterrupt
