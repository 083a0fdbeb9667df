"""Python's search for garbage, which costs most where many objects live and few are garbage."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

Thresholds = tuple[int, int, int]
COMMAND: Thresholds = (50_000, 20, 100)
"""While a command loads and plans: nearly all that it makes lives to its end."""
LIVE: Thresholds = (100_000, 50, 50)
"""While thousands of matches are live: a fifth less of CPU time a call."""
READ: Thresholds = (700, 10, 1_000)
"""While rows of matches are kept, each of which leaves a little garbage: an eighth less of it."""


@contextmanager
def collecting(thresholds: Thresholds) -> Iterator[None]:
    """Look for garbage after so many new objects, and each generation so many times as seldom."""
    before = gc.get_threshold()
    gc.set_threshold(*thresholds)
    try:
        yield
    finally:
        gc.set_threshold(*before)
