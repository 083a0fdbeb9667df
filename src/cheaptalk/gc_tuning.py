"""Garbage collector thresholds; collection costs most if many objects live and few are garbage."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

Thresholds = tuple[int, int, int]
COMMAND: Thresholds = (50_000, 20, 100)
"""While a command loads and plans: nearly all of its objects live to its end."""
LIVE: Thresholds = (100_000, 50, 50)
"""While thousands of matches are live: reduces CPU time per call by a fifth."""
READ: Thresholds = (700, 10, 1_000)
"""While rows of matches are stored, each of which leaves a little garbage: reduces it by an
eighth."""


@contextmanager
def collecting(thresholds: Thresholds) -> Iterator[None]:
    """Set the collector's thresholds inside the context."""
    previous = gc.get_threshold()
    gc.set_threshold(*thresholds)
    try:
        yield
    finally:
        gc.set_threshold(*previous)
