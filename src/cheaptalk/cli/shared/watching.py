"""Experiment trackers and telemetry of a command."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import cheaptalk as ct
from cheaptalk.extras import needing


@contextmanager
def trackers(targets: Sequence[str], run: str) -> Iterator[list[ct.adapters.Tracker]]:
    """Open the experiment trackers of ``--track`` for a run."""
    with ExitStack() as stack:
        with needing("analysis"):
            opened = [stack.enter_context(ct.adapters.tracker(target, run)) for target in targets]
        yield opened


@contextmanager
def watched(
    track: Sequence[str], telemetry: bool, study: str
) -> Iterator[tuple[list[ct.adapters.TrackerCallback], ct.studies.RunObserver]]:
    """Yield a progress callback for each tracker, and an observer of the run's matches."""
    with ExitStack() as stack:
        observer = ct.studies.RunObserver()
        if telemetry:
            observer = stack.enter_context(ct.adapters.open_telemetry())
        opened = stack.enter_context(trackers(track, study))
        yield [ct.adapters.TrackerCallback(tracker) for tracker in opened], observer
