"""After kill -9 at any moment, a resumed run loses nothing and buys nothing twice."""

import asyncio
import json
import os
import random
import sys
import time
from collections import Counter
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import cheaptalk as ct
from cheaptalk.cli import main
from tests.fakes import Server, essence

pytestmark = pytest.mark.kill
KILLS = 20
AT_ONCE = 6
FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(["cheaptalk.cli", "cheaptalk.models.http.openai", "tests.fakes"])


async def slow_response(request: web.Request, body: dict[str, Any]) -> None:
    await asyncio.sleep(0.05)


def write_study(url: str, folder: Path) -> Path:
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
                "players": {"model": {"model": f"vllm/tiny@{url}"}, "luck": {"strategy": "random"}},
                "instances": 16,
            }
        )
    )
    return path


def play(file: Path, store: Path, at_once: int) -> None:
    """Run the study through the CLI without output."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    sys.argv = ["cheaptalk", "run", str(file), "--store", str(store)]
    sys.argv += ["--concurrency", str(at_once)]
    main()


def begin(file: Path, store: Path, at_once: int = AT_ONCE) -> BaseProcess:
    """Run the study in a process forked from a preloaded one."""
    process = FORKS.Process(target=play, args=(file, store, at_once))
    process.start()
    return process


def finish(file: Path, store: Path) -> dict[str, ct.MatchRecord]:
    """Run the study to its end and return its matches."""
    process = begin(file, store, at_once=64)
    process.join(timeout=300)
    assert process.exitcode == 0
    with ct.Store.open(store) as opened:
        return {record.id: record for record in opened.records("killed", bodies=True)}


def call_number(call: dict[str, Any]) -> str:
    keys = ("match_id", "request", "actor", "attempt", "try")
    return "/".join(str(call[key]) for key in keys)


def call_numbers(records: dict[str, ct.MatchRecord]) -> list[str]:
    """Return the numbers under which the recorded calls were sent."""
    return [
        f"{id_}/{answer.request}/{answer.actor}/{attempt}/{call['sending']}"
        for id_, record in records.items()
        for answer in record.answers
        for attempt, call in enumerate(answer.calls)
    ]


def wait_for(process: BaseProcess, server: Server, calls: int) -> None:
    """Wait until ``calls`` calls have arrived or the process has ended."""
    while len(server.calls) < calls and process.is_alive():
        time.sleep(0.005)


def test_repeated_kills_lose_no_calls_and_repeat_none(tmp_path: Path) -> None:
    rng = random.Random(20)  # noqa: S311 - keeps no secrets
    store = tmp_path / "killed.sqlite"
    with Server(handler=slow_response) as server:
        file = write_study(server.url, tmp_path)
        for _ in range(KILLS):
            process = begin(file, store)
            wait_for(process, server, len(server.calls) + rng.randrange(30))
            time.sleep(rng.uniform(0, 0.1))
            assert process.is_alive(), "the study ended before it could be killed"
            process.kill()
            process.join()
        records = finish(file, store)
        arrived = Counter(server.calls)
        uninterrupted = finish(file, tmp_path / "quiet.sqlite")

    recorded = Counter(call_numbers(records))
    with ct.Store.open(store) as opened:
        unresolved = Counter(call_number(call) for call in opened.unresolved())
        open_calls = [call for id_ in records for call in opened.open_calls(id_)]
    assert unresolved, "no process was killed with a call in flight"
    assert {call["state"] for call in open_calls} == {"unresolved"}
    assert max(arrived.values()) == 1, "a call was sent twice under one number"
    assert not recorded & unresolved
    assert recorded == arrived - unresolved
    never_arrived = unresolved - arrived
    assert sum(arrived.values()) == recorded.total() + unresolved.total() - never_arrived.total()
    assert unresolved.total() <= KILLS * AT_ONCE, "more than the calls in flight when killed"
    assert {id_: essence(record) for id_, record in records.items()} == {
        id_: essence(record) for id_, record in uninterrupted.items()
    }
