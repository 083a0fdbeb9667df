"""Queueing of runs in one process, because a store has only one writer at a time.

A run in a second process is rejected, because the first run may take indefinitely. In the same
process, a run waits until the other run has ended.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Condition, Event, get_ident

from cheaptalk.records import Store
from cheaptalk.records.store.backend import Shares, StoreLocked

PAUSE = 0.1
"""Seconds between two attempts to lock the store."""
CHANGED = Condition()
WRITING: Counter[tuple[str, int]] = Counter()
"""Number of runs that lock a store in this process, by store address and thread."""


@contextmanager
def in_turn(store: Store, work: str | None, stop: Event) -> Iterator[Shares]:
    """Lock a store for a run, after waiting for other runs in this process; ``stop`` ends the wait.

    For ``work``, see :meth:`.Store.sharing`.
    """
    run = store.backend.address, get_ident()
    with ExitStack() as stack:
        # other runs must not see a locked store before WRITING contains the run that locks it
        with CHANGED:
            while True:
                try:
                    shares = stack.enter_context(store.sharing(work))
                    break
                except StoreLocked:
                    if stop.is_set() or not _held_by_other_thread(run):
                        raise
                CHANGED.wait(PAUSE)
            WRITING[run] += 1
        try:
            yield shares
        finally:
            with CHANGED:
                WRITING[run] -= 1
                stack.close()
                CHANGED.notify_all()


def _held_by_other_thread(run: tuple[str, int]) -> bool:
    address, thread = run
    held = [key for key, count in [*WRITING.items()] if count and key[0] == address]
    return bool(held) and all(key[1] != thread for key in held)
