"""Ctrl-C stops a run cleanly and prints how to resume it, and a resumed run finishes."""

import asyncio
import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import sqlalchemy as sa
from aiohttp import web

import cheaptalk as ct
from cheaptalk.records import Store
from cheaptalk.records.ledger.ledger import mark_unresolved
from tests.cli.terminal import unmeasured
from tests.conftest import Command
from tests.fakes import Server, spec, with_model

PATIENCE = 60.0


def begin(folder: Path, url: str, *options: str) -> "subprocess.Popen[str]":
    """Start a run of long matches against a model at ``url``."""
    games = [{"game": "bargaining", "fixed": {"horizon": 8}}]
    (folder / "long.yaml").write_text(json.dumps(spec(**with_model(url) | {"games": games})))
    command = [sys.executable, "-m", "cheaptalk", "run", "long.yaml", "--store", "my store.sqlite"]
    return subprocess.Popen(
        [*command, *options], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_for(server: Server, calls: int) -> None:
    until = time.monotonic() + PATIENCE
    while len(server.calls) < calls:
        assert time.monotonic() < until, "the calls never arrived"
        time.sleep(0.01)


class Doorkeeper:
    """Answer the first ``few`` calls at once, and hold all others until ``open`` is set."""

    def __init__(self, few: int) -> None:
        self.few = few
        self.open = Event()

    async def __call__(self, request: web.Request, body: dict[str, Any]) -> None:
        self.few -= 1
        while self.few < 0 and not self.open.is_set():
            await asyncio.sleep(0.01)


async def hang(request: web.Request, body: dict[str, Any]) -> None:
    await asyncio.sleep(3600)


HINT = "stopped; continue with: cheaptalk resume small --store 'my store.sqlite'"


SIGNALS = [
    signal.SIGINT,
    pytest.param(signal.SIGTERM, marks=pytest.mark.kill),
    pytest.param(signal.SIGHUP, marks=pytest.mark.kill),
]


@pytest.mark.parametrize("stop", SIGNALS)
def test_interrupt_waits_for_calls_and_resume_repeats_none(
    cheaptalk: Command, tmp_path: Path, stop: signal.Signals
) -> None:
    door = Doorkeeper(few=4)
    with Server(handler=door) as server:
        with begin(tmp_path, server.url, "--concurrency", "3") as process:
            wait_for(server, 7)
            process.send_signal(stop)
            door.open.set()
            stdout, stderr = process.communicate(timeout=PATIENCE)
        assert process.returncode == 128 + stop
        assert stderr.splitlines()[-1] == HINT
        assert "Traceback" not in stderr
        assert re.match(r"small: \d of 6 matches ended \(0 before, \d now in ", stdout)
        assert f"cost of the study so far: {len(server.calls)} calls, " in stdout
        with ct.Store.open(tmp_path / "my store.sqlite") as store:
            assert store.studies()[0].counts.keys() <= {"live", "finished"}
            assert store.study("small").halted == "interrupted"
        again = cheaptalk("resume small --store", "my store.sqlite")
    assert "small: 6 of 6 matches ended" in again.out
    keys = Counter(number.rpartition("/")[0] for number in server.calls)
    assert max(keys.values()) == 1, "an answer was bought twice"
    with ct.Store.open(tmp_path / "my store.sqlite") as store:
        assert store.unresolved() == []
        assert store.studies()[0].counts == {"finished": 6}
        assert store.study("small").halted is None


@pytest.mark.parametrize("stop", SIGNALS)
def test_second_interrupt_does_not_wait_for_calls_in_flight(
    tmp_path: Path, stop: signal.Signals
) -> None:
    with (
        Server(handler=hang) as server,
        begin(tmp_path, server.url, "--concurrency", "2") as process,
    ):
        wait_for(server, 2)
        process.send_signal(stop)
        time.sleep(0.2)
        assert process.poll() is None, "the calls in flight were not waited for"
        process.send_signal(stop)
        stdout, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + stop
    assert stderr.splitlines()[-1] == HINT
    assert "Traceback" not in stderr
    assert stdout.startswith("small: 0 of 6 matches ended (0 before, 0 now in ")
    assert "cost of the study so far: 2 calls, 2 without a response" in stdout
    with ct.Store.open(tmp_path / "my store.sqlite") as store:
        assert store.studies()[0].counts == {"live": 2}
        assert store.study("small").halted == "interrupted"
        assert mark_unresolved(store) == len(store.unresolved()) == 2


def test_interrupt_during_planning_exits_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "cheaptalk", "run", "glee", "--store", "glee.sqlite"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=unmeasured(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        until = time.monotonic() + PATIENCE
        while not (tmp_path / "glee.sqlite").exists() and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in stderr


@pytest.mark.file
def test_signal_is_handled_after_current_commit(store: Store) -> None:
    def work(connection: sa.Connection) -> None:
        signal.raise_signal(signal.SIGINT)
        connection.execute(sa.text("create table once (number integer)"))

    with pytest.raises(KeyboardInterrupt):
        store.backend.commit(work)
    with store.reading() as connection:
        assert sa.inspect(connection).has_table("once")


PARTIAL_RESULT = """
from concurrent.futures import FIRST_COMPLETED, wait
from cheaptalk.processes import processes
if __name__ == "__main__":
    with processes(2, "lost") as pool:
        wait([pool.submit(bytes, 30_000_000) for _ in range(9)], return_when=FIRST_COMPLETED)
        raise SystemExit(3)
"""


def test_partial_result_of_killed_process_does_not_block_exit(tmp_path: Path) -> None:
    (tmp_path / "half.py").write_text(PARTIAL_RESULT)
    done = subprocess.run([sys.executable, "half.py"], cwd=tmp_path, timeout=PATIENCE, check=False)
    assert done.returncode == 3
