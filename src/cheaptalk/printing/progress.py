"""Progress displays in notebooks."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any, Protocol, TypeVar

PAUSE = 0.2
"""Minimum seconds between two updates of a display."""


class Advancing(Protocol):
    """The progress of a run: its completed share in [0, 1], and a description in one line."""

    @property
    def share(self) -> float: ...
    @property
    def line(self) -> str: ...


P = TypeVar("P", bound=Advancing)


@contextmanager
def reporting(progress: Callable[[P], None] | None) -> Iterator[Callable[[P], None]]:
    """Yield a function to call with a run's progress: the given one, or a notebook's display.

    Without a given function, scripts and terminals show no progress.
    """
    display = _display() if progress is None else None
    if display is None:
        yield progress or (lambda _: None)
        return
    live = _Live(display)
    try:
        yield live
    finally:
        live.update()


def _display() -> Callable[..., Any] | None:
    """Return IPython's display function; None if this process is not a notebook's kernel."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return (
        None if getattr(shell, "kernel", None) is None else sys.modules["IPython"].display.display
    )


class _Live:
    """An updated display of the latest progress, at most every :data:`PAUSE` seconds."""

    def __init__(self, display: Callable[..., Any]) -> None:
        self.display, self.handle = display, None
        self.latest: Advancing | None = None
        self.updated = 0.0

    def __call__(self, progress: Advancing) -> None:
        self.latest = progress
        if time.monotonic() - self.updated >= PAUSE:
            self.update()

    def update(self) -> None:
        """Show the latest progress."""
        if self.latest is None:
            return
        share, line = self.latest.share, self.latest.line
        bar = f'<progress value="{share:.4f}" max="1"></progress> {escape(line)}'
        shown = {"text/html": bar, "text/plain": line}
        if self.handle is None:
            self.handle = self.display(shown, raw=True, display_id=True)
        else:
            self.handle.update(shown, raw=True)
        self.updated = time.monotonic()
