"""Observers of a run, such as telemetry, which change nothing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from cheaptalk.calls.dispatcher import Models
from cheaptalk.records import Ended
from cheaptalk.rules import ReplayMismatch
from cheaptalk.studies.plans.matches import PlannedMatch

End: TypeAlias = Ended | ReplayMismatch | None
"""The end of a match, as returned by :meth:`.Host.play`."""


class RunObserver:
    """Base observer of a run; all callbacks are no-ops."""

    def models(self, models: Models) -> Models:
        """Wrap the model client to observe its calls."""
        return models

    @contextmanager
    def match(self, _study: str, _match: PlannedMatch) -> Iterator[Callable[[End], None]]:
        """Observe a match while it is played, in the context of all its calls.

        Yields a callback that receives the end of the match.
        """
        yield lambda _end: None


NULL_OBSERVER: RunObserver = RunObserver()
