"""Let concurrent runs in one process take turns writing to a store.

A store has one writer at a time, across processes. A second process is rejected, because the first
may run indefinitely; within a process a run waits for the other.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Condition, Event, get_ident

from cheaptalk.records import Store
from cheaptalk.records.store.backend import StoreLocked
from cheaptalk.records.store.shares import Shares

PAUSE = 0.1
"""Seconds between two attempts to lock the store."""
CHANGED = Condition()
WRITING: Counter[tuple[str, int]] = Counter()
"""Runs of this process that hold a store, by store address and thread."""


@contextmanager
def in_turn(store: Store, work: str | None, stop: Event) -> Iterator[Shares]:
    """Lock a store for a run, after the runs of other threads in this process.

    Args:
        work: see :meth:`.Store.sharing`.
        stop: ends the wait.

    Raises:
        StoreLocked: another process or this thread holds it, or ``stop`` was set.
    """
    run = store.backend.address, get_ident()
    with ExitStack() as stack:
        # the lock and WRITING change together, so that no other run sees
        # a locked store without its holder
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
