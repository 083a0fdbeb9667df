"""Who watches what a command does: trackers, and telemetry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import cheaptalk as ct
from cheaptalk.extras import needing


@contextmanager
def trackers(written: Sequence[str], run: str) -> Iterator[list[ct.adapters.Tracker]]:
    """The trackers of ``--track``, opened for a run of this name."""
    with ExitStack() as stack:
        with needing("analysis"):
            opened = [stack.enter_context(ct.adapters.tracker(one, run)) for one in written]
        yield opened


@contextmanager
def watched(
    track: Sequence[str], telemetry: bool, study: str
) -> Iterator[tuple[list[ct.adapters.Follower], ct.studies.Onlooker]]:
    """Who follows the run of a study, and who looks on at its matches."""
    with ExitStack() as stack:
        onlooker = ct.studies.Onlooker()
        if telemetry:
            onlooker = stack.enter_context(ct.adapters.open_telemetry())
        told = stack.enter_context(trackers(track, study))
        yield [ct.adapters.Follower(one) for one in told], onlooker
