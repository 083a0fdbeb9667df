"""Processes that work at the same time, and what is heard when one of them is lost."""

import os
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from cheaptalk.processes import processes
from cheaptalk.rules import CheaptalkError


def end_at(sign: Path) -> None:
    """End the process that this is called in, once a file is there."""
    while not sign.exists():
        time.sleep(0.01)
    os._exit(1)


def test_whoever_waits_hears_of_a_lost_process_whatever_was_taken_back(tmp_path: Path) -> None:
    def lose_one() -> None:
        with processes(1, "ask for none") as pool:
            pool.submit(end_at, sign)
            taken_back, waited_for = [pool.submit(abs, -1) for _ in range(6)][-2:]
            assert taken_back.cancel()
            sign.touch()
            waited_for.result(timeout=60)

    sign = tmp_path / "now"
    with pytest.raises(CheaptalkError, match="a process was killed"):
        lose_one()


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
