"""Observers of runs, such as telemetry."""

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
        """Return the model client, wrapped to observe its calls."""
        return models

    @contextmanager
    def match(self, _study: str, _match: PlannedMatch) -> Iterator[Callable[[End], None]]:
        """Observe a match and all of its calls; yield a callback for the end of the match."""
        yield lambda _end: None


NULL_OBSERVER: RunObserver = RunObserver()
