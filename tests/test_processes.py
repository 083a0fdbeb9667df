"""Processes that work at the same time, and what is heard when one of them is lost."""

import os
import time
from pathlib import Path

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
