"""Awaited runs don't block the event loop, wait for each other, and lose nothing if cancelled."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock, Thread
from types import SimpleNamespace
from typing import cast

import pytest

import cheaptalk as ct
from cheaptalk.records.store.backend import StoreLocked
from cheaptalk.studies.runs.turns import in_turn
from tests.fakes import PATIENCE, Canned, Server, study, with_model
from tests.judges.judged import STUDY, always, judge_of, play
from tests.studies.test_interrupting import Doorkeeper


async def wait_until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)


def test_run_async_does_not_block_the_event_loop(tmp_path: Path) -> None:
    async def main() -> tuple[ct.Progress, int]:
        models = Canned(pause=0.02)
        running = asyncio.create_task(
            ct.run_async(study(**with_model()), tmp_path / "a.sqlite", models=models)
        )
        turns = 0
        while not running.done():
            await asyncio.sleep(0.005)
            turns += 1
        return running.result(), turns

    progress, turns = asyncio.run(main())
    assert (progress.done, progress.halted) == (6, None)
    assert turns > 1


def test_cancelled_run_records_calls_in_flight_and_can_be_resumed(tmp_path: Path) -> None:
    door = Doorkeeper(few=4)
    with Server(handler=door) as server, ct.Store.open(tmp_path / "a.sqlite", create=True) as store:
        spec = study(**with_model(server.url))

        async def main() -> None:
            running = asyncio.create_task(ct.run_async(spec, store, concurrency=3))
            await wait_until(lambda: len(server.calls) >= 7)
            running.cancel()
            running.cancel()
            _, waiting = await asyncio.wait([running], timeout=0.2)
            assert waiting, "the calls in flight were not waited for"
            await wait_until(lambda: ct.studies.run_state(store, "small").state == "stopping")
            door.open.set()
            await running

        with pytest.raises(asyncio.CancelledError):
            asyncio.run(main())
        bought = len(server.calls)
        assert store.study("small").halted == "called off"
        assert store.unresolved() == []
        progress = asyncio.run(ct.run_async(spec, store))
        assert progress.done == 6
        assert len(set(server.calls)) == len(server.calls) > bought, "an answer was bought twice"


def test_stop_event_ends_scripted_run_after_current_chunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cheaptalk.studies.runs.run.CHUNK", 4)
    stop = Event()
    spec = study(instances=10, seed=5)

    def tell(progress: ct.Progress) -> None:
        if progress.done:
            stop.set()

    with ct.Store.open(tmp_path / "a.sqlite", create=True) as store:
        first = ct.run(spec, store, progress=tell, stop=stop)
        assert first.halted == "called off"
        assert first.done == 4 < first.planned
        assert ct.run(spec, store).before == first.done


def test_cancelled_judge_stops_and_can_be_resumed(tmp_path: Path) -> None:
    with ct.Store.open(tmp_path / "a.sqlite", create=True) as store:
        play(store, instances=4)
        models = always("consistent")
        models.pause = 0.3

        async def main() -> None:
            judging = asyncio.create_task(
                ct.judges.judge_async(store, STUDY, judge_of(), models=models, concurrency=1)
            )
            await wait_until(lambda: bool(models.calls))
            judging.cancel()
            await judging

        with pytest.raises(asyncio.CancelledError):
            asyncio.run(main())
        bought = len(models.calls)
        assert store.unresolved() == []
        models.pause = 0.0
        done = asyncio.run(ct.judges.judge_async(store, STUDY, judge_of(), models=models))
        assert done.done == done.matches
        assert done.before == bought


def test_interrupted_notebook_cell_stops_its_run(tmp_path: Path) -> None:
    """ipykernel cancels a cell's task in a signal handler, which does not wake the event loop."""
    models = Canned(pause=0.05)
    spec = study(**with_model() | {"instances": 100})

    async def main() -> None:
        cell = asyncio.create_task(
            ct.run_async(spec, tmp_path / "a.sqlite", models=models, concurrency=2)
        )
        before = signal.signal(signal.SIGINT, lambda *_: cell.cancel())
        try:
            Thread(target=interrupt, daemon=True).start()
            await cell
        finally:
            signal.signal(signal.SIGINT, before)

    def interrupt() -> None:
        while len(models.calls) < 10:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    assert 10 <= len(models.calls) < 100


def test_studies_on_one_store_can_be_awaited_together_but_not_nested(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    models = Canned(pause=0.02)

    async def main() -> list[ct.Progress]:
        first, second = study(**with_model()), study(**with_model() | {"name": "second", "seed": 9})
        return await asyncio.gather(
            *(ct.run_async(spec, path, models=models) for spec in (first, second, first))
        )

    assert [(progress.done, progress.left) for progress in asyncio.run(main())] == [(6, 0)] * 3
    with ct.Store.open(path) as store:
        assert store.unresolved() == []
        counts = {summary.name: summary.counts for summary in store.studies()}
        assert counts == {name: {"finished": 6} for name in ("small", "second")}

    def run_another(_: ct.Progress) -> None:
        ct.run(study(name="third"), path)

    with pytest.raises(ct.records.StoreError, match="another cheaptalk"):
        ct.run(study(), path, progress=run_another)


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
