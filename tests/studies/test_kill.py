"""Promise 1: kill -9 at any moment, resume, and nothing is lost or bought twice."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct

SERVER = Path(__file__).parents[1] / "model_server.py"
KILLS = 20


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A model server in a process of its own, with a log of the calls that arrive."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path / "arrived.txt"
    log.touch()
    command = [sys.executable, SERVER, "--port", port, "--log", log, "--delay", "0.05"]
    with subprocess.Popen([str(part) for part in command]) as process:
        try:
            _wait_for(port)
            yield f"http://127.0.0.1:{port}/v1", log
        finally:
            process.terminate()


def _wait_for(port: int) -> None:
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError("the model server did not start")


def _study(url: str, folder: Path) -> Path:
    path = folder / "killed.json"
    path.write_text(
        json.dumps(
            {
                "name": "killed",
                "games": [
                    {"game": "bargaining", "grid": {"discounts": [[0.9, 0.9], [1, 0.8]]}},
                    {"game": "negotiation", "fixed": {"scale": 10000}},
                    {"game": "persuasion", "fixed": {"signal": "text", "horizon": 4}},
                ],
                "players": {
                    "model": {"model": f"vllm/tiny@{url}"},
                    "luck": {"strategy": "random"},
                },
                "deals": 40,
            }
        )
    )
    return path


def _command(study: Path, store: Path) -> list[str]:
    return [
        sys.executable, "-m", "cheaptalk", "run", str(study), "--store", str(store),
        "--concurrency", "6", "--workers", "1",
    ]  # fmt: skip


def _essence(record: ct.MatchRecord) -> dict[str, Any]:
    """A record without what differs between two runs of the same match: times and sendings."""
    data = record.as_json()
    del data["finished"]
    for answer in data["answers"]:
        for call in answer.get("calls", ()):
            del call["sending"], call["reply"]["seconds"]
    return data


def _number(call: dict[str, Any]) -> str:
    keys = ("match_id", "request", "seat", "attempt", "try")
    return "/".join(str(call[key]) for key in keys)


def _call_numbers(records: list[ct.MatchRecord]) -> list[str]:
    """The numbers under which the recorded calls went over the wire."""
    return [
        f"{record.id}/{answer.request}/{answer.seat}/{attempt}/{call['sending']}"
        for record in records
        for answer in record.answers
        for attempt, call in enumerate(answer.calls)
    ]


def test_twenty_kills_lose_nothing_and_buy_nothing_twice(
    server: tuple[str, Path], tmp_path: Path
) -> None:
    url, log = server
    study = _study(url, tmp_path)
    store = tmp_path / "killed.sqlite"
    luck = random.Random(20)
    for _ in range(KILLS):
        process = subprocess.Popen(
            _command(study, store), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(luck.uniform(0.4, 1.8))
        assert process.poll() is None, "the study ended before it could be killed"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    last = subprocess.run(
        _command(study, store), capture_output=True, text=True, check=False, timeout=300
    )
    assert last.returncode == 0, last.stdout + last.stderr

    arrived = Counter(log.read_text().split())
    with ct.Store.open(store) as opened:
        records = list(opened.records("killed", bodies=True))
        recorded = Counter(_call_numbers(records))
        unresolved = Counter(_number(call) for call in opened.unresolved())
        open_calls = [call for record in records for call in opened.open_calls(record.id)]
    assert unresolved, "no kill met a call in flight"
    assert {call["state"] for call in open_calls} == {"unresolved"}
    assert max(arrived.values()) == 1, "a call was sent twice under one number"
    assert not recorded & unresolved
    assert recorded == arrived - unresolved
    never_arrived = unresolved - arrived
    assert sum(arrived.values()) == recorded.total() + unresolved.total() - never_arrived.total()
    assert never_arrived.total() <= KILLS, "more than the calls on their way when killed"

    with ct.Store.open(store) as opened:
        killed = {r.id: _essence(r) for r in opened.records("killed", bodies=True)}
    quiet = tmp_path / "quiet.sqlite"
    subprocess.run(_command(study, quiet), check=True, capture_output=True, timeout=300)
    with ct.Store.open(quiet) as opened:
        uninterrupted = {r.id: _essence(r) for r in opened.records("killed", bodies=True)}
    assert killed == uninterrupted
