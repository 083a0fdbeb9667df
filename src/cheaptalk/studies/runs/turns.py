"""Runs of one process that write to one store take turns, so that several may be awaited together.

A store has one writer at a time, across processes. A second process is refused, as nobody knows how
long the first goes on; within a process a run waits for the other, which is sure to end.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Condition, Event, get_ident

from cheaptalk.records import Store
from cheaptalk.records.store.backend import StoreHeld
from cheaptalk.records.store.shares import Shares

PAUSE = 0.1
"""Seconds between two attempts to get the store."""
CHANGED = Condition()
WRITING: Counter[tuple[str, int]] = Counter()
"""Runs of this process that hold a store, by its address and the run's thread."""


@contextmanager
def in_turn(store: Store, work: str | None, stop: Event) -> Iterator[Shares]:
    """Hold a store for a run, after the runs of other threads of this process that hold it.

    Args:
        work: as :meth:`.Store.sharing` takes it.
        stop: ends the wait.

    Raises:
        StoreHeld: another process holds it, this thread does, or ``stop`` was set meanwhile.
    """
    run = store.backend.address, get_ident()
    with ExitStack() as stack:
        # what a run holds and what WRITING says of it change together, so that no other run sees
        # a held store without a holder
        with CHANGED:
            while True:
                try:
                    shares = stack.enter_context(store.sharing(work))
                    break
                except StoreHeld:
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
