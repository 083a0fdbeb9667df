"""Turns: runs of one process wait for each other, even if acquiring a store is slow."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, Lock
from types import SimpleNamespace
from typing import cast

import pytest

import cheaptalk as ct
from cheaptalk.records.store.backend import StoreLocked
from cheaptalk.studies.runs.turns import in_turn

SLOW = 0.02
"""Seconds for which the store is held before and after a run."""


def store_with(lock: Lock) -> ct.Store:
    """Return a store that is acquired and released slowly."""

    @contextmanager
    def sharing(_: str | None) -> Iterator[None]:
        if not lock.acquire(blocking=False):
            raise StoreLocked("held")
        try:
            time.sleep(SLOW)
            yield
            time.sleep(SLOW)
        finally:
            lock.release()

    backend = SimpleNamespace(address="slow.sqlite")
    return cast("ct.Store", SimpleNamespace(backend=backend, sharing=sharing))


def test_runs_of_one_process_wait_for_each_other() -> None:
    """Regression: a run that started while another acquired or released the store failed."""
    store, active = store_with(Lock()), [0]

    def run(_: int) -> int:
        with in_turn(store, None, Event()):
            active[0] += 1
            most = active[0]
            active[0] -= 1
            return most

    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(run, range(12))] == [1] * 12


def test_store_held_by_another_process_raises_error() -> None:
    lock = Lock()
    lock.acquire()
    with pytest.raises(StoreLocked), in_turn(store_with(lock), None, Event()):
        pass
