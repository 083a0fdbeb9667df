"""Who looks on while matches are played, as telemetry does, and changes nothing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from cheaptalk.calls.desk import Models
from cheaptalk.records import Ended
from cheaptalk.rules import ReplayMismatch
from cheaptalk.studies.plans.matches import PlannedMatch

End: TypeAlias = Ended | ReplayMismatch | None
"""How the playing of a match ended: see :meth:`.Host.play`."""


class Onlooker:
    """Looks on while a host plays. This one sees nothing; others override what they look at."""

    def models(self, models: Models) -> Models:
        """Whoever makes the calls, each of which is looked at."""
        return models

    @contextmanager
    def match(self, _study: str, _match: PlannedMatch) -> Iterator[Callable[[End], None]]:
        """Look at a match of a study while it is played, in the context of all its calls.

        What it yields is told how the match ended.
        """
        yield lambda _end: None


NOBODY: Onlooker = Onlooker()
