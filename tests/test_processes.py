"""Parallel processes, and the error raised if one of them is lost."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from cheaptalk.processes import processes
from cheaptalk.rules import CheaptalkError


def end_at(sign: Path) -> None:
    """End the calling process as soon as a file exists."""
    while not sign.exists():
        time.sleep(0.01)
    os._exit(1)


def test_a_lost_process_fails_a_waiting_task_despite_a_cancelled_one(tmp_path: Path) -> None:
    def lose_process() -> None:
        with processes(1, "ask for none") as pool:
            pool.submit(end_at, sign)
            cancelled, waiting = [pool.submit(abs, -1) for _ in range(6)][-2:]
            assert cancelled.cancel()
            sign.touch()
            waiting.result(timeout=60)

    sign = tmp_path / "now"
    with pytest.raises(CheaptalkError, match="a process was killed"):
        lose_process()


def test_a_worker_that_blocks_stop_signals_can_be_terminated() -> None:
    """A pool terminates the other workers if one is lost, and waits for their end."""
    with processes(1, "ask for none") as pool:
        pool.submit(abs, -1).result(timeout=60)
        (worker,) = pool._pool._processes.values()
        worker.terminate()
        worker.join(60)
        assert worker.exitcode == -signal.SIGKILL


def test_an_interrupt_ends_a_pool_whose_pipe_is_full_of_work() -> None:
    """Before Python 3.11.5 Ctrl-C hung: a thread of the pool wrote work that nobody read."""

    def interrupt() -> None:
        with suppress(KeyboardInterrupt), processes(2, "ask for none") as pool:
            for _ in range(6):
                pool.submit(len, bytes(1_000_000))
            raise KeyboardInterrupt

    stopping = Thread(target=interrupt, daemon=True)
    stopping.start()
    stopping.join(60)
    assert not stopping.is_alive()
