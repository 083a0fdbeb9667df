"""Batches survive kill -9 at any step: no call is lost or paid for twice."""

import asyncio
import json
import os
import sys
from collections import Counter
from multiprocessing import get_context
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from aiohttp import web

import cheaptalk as ct
from cheaptalk.cli import main
from tests.batch_server import BatchServer
from tests.calls.test_batching import GAMES, calls_of, comparable

pytestmark = pytest.mark.kill
TIMEOUT = 60.0
FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(["cheaptalk.cli", "cheaptalk.models.clients", "tests.fakes"])
STEPS = {
    "openai/gpt-4o": ["upload", "create", "created", "list", "look", "results", "reading"],
    "anthropic/claude-sonnet-4-5": ["create", "created", "list", "look", "results", "reading"],
}


def write_study(url: str, model: str, folder: Path) -> Path:
    path = folder / "batched.json"
    players = {"one": {"model": f"{model}@{url}", "max_tokens": 500}}
    spec = {"name": "batched", "games": GAMES, "players": players, "pairing": "self"}
    path.write_text(json.dumps(spec | {"instances": 10}))
    return path


def play(file: Path, store: Path) -> None:
    """Run the study through the command line without output."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    os.environ |= {"OPENAI_API_KEY": "sk-1", "ANTHROPIC_API_KEY": "sk-2"}
    options = ["--batch", "--poll-interval", "0.01"]
    sys.argv = ["cheaptalk", "run", str(file), "--store", str(store), *options]
    main()


class Trap(BatchServer):
    """A server that blocks a run at the given occurrence of a step until the run is killed.

    For the step ``reading``, half of the results are served first.
    """

    def __init__(self) -> None:
        super().__init__(before=self.block)
        self.step, self.times, self.reached = "", 0, Event()

    def set(self, step: str, times: int) -> None:
        self.step, self.times = step, times
        self.reached.clear()

    async def block(self, step: str, request: web.Request) -> web.StreamResponse | None:
        if step == {"reading": "results"}.get(self.step, self.step):
            self.times -= 1
            if self.times == 0:
                if self.step == "reading":
                    body, response = self.results_of(request), web.StreamResponse()
                    await response.prepare(request)
                    await response.write(body[: len(body) // 2])
                self.reached.set()
                await asyncio.sleep(3600)
        return None


def kill_at(trap: Trap, step: str, times: int, file: Path, store: Path) -> None:
    trap.set(step, times)
    process = FORKS.Process(target=play, args=(file, store))
    process.start()
    assert trap.reached.wait(TIMEOUT), f"the run never came to {step}"
    process.kill()
    process.join()


def finish(file: Path, store: Path) -> dict[str, ct.MatchRecord]:
    process = FORKS.Process(target=play, args=(file, store))
    process.start()
    process.join(TIMEOUT)
    assert process.exitcode == 0
    with ct.Store.open(store) as opened:
        assert opened.unresolved() == []
        return {record.id: record for record in opened.records("batched", bodies=True)}


@pytest.mark.parametrize("model", list(STEPS))
def test_kills_at_every_step_lose_nothing_and_buy_nothing_twice(model: str, tmp_path: Path) -> None:
    store = tmp_path / "killed.sqlite"
    with Trap() as server:
        file = write_study(server.url, model, tmp_path)
        for step in STEPS[model]:
            kill_at(server, step, 1, file, store)
        kill_at(server, "created", 2, file, store)
        kill_at(server, "look", 2, file, store)
        server.set("", 0)
        records = finish(file, store)
        submitted, billed = sum(server.sizes), Counter(server.billed)
        undisturbed = finish(file, tmp_path / "quiet.sqlite")

    def tokens(matches: Any) -> int:
        return sum(record.input_tokens + record.output_tokens for record in matches.values())

    calls = calls_of(record.as_json() for record in records.values())
    assert len(calls) == billed.total() == submitted
    assert max(billed.values()) == 1
    assert {call["sending"] for call in calls} == {1}
    assert tokens(records) == tokens(undisturbed)
    assert comparable(records) == comparable(undisturbed)
