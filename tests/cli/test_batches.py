"""Batches on the command line: you can stop at any time and resume later."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest
from aiohttp import web

from tests.batch_server import BatchServer
from tests.cli import write_study
from tests.cli.terminal import unmeasured
from tests.conftest import Command
from tests.fakes import with_model

QUICK = ("--batch", "--poll-interval", "0.01")
TIMEOUT = 60.0


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")


def write_model_study(url: str) -> None:
    changes = with_model()
    changes["players"]["tiny"] = {"model": f"openai/gpt-4o@{url}"}
    write_study(**changes)


def test_batches_of_a_study_are_planned_run_and_listed(cheaptalk: Command) -> None:
    with BatchServer() as server:
        write_model_study(server.url)
        assert cheaptalk("model batches --store nowhere").status == 2
        parallel, sequential = (
            cheaptalk("plan small.yaml --batch --json --concurrency", number).json["estimate"]
            for number in ("100", "1")
        )
        done = cheaptalk("run small.yaml", *QUICK)
        assert done.status == 0
        assert "small: 6 of 6 matches ended" in done.out
        assert " at batch prices, 1 to 3 sequential rounds of batches" in done.err
        assert parallel["batch_rounds"][0] <= len(server.sizes) <= parallel["batch_rounds"][1]
        assert (parallel["concurrency"], sequential["concurrency"]) == (100, 1)
        assert sequential["batch_rounds"] == [6, 18], "each match has to wait for the one before"
        listed = cheaptalk("model batches --json").json
    assert [batch["calls"] for batch in listed] == server.sizes
    assert {batch["state"] for batch in listed} == {"collected"}
    assert "batch_0  openai/gpt-4o" in cheaptalk("model batches").out


def test_no_wait_exits_with_its_own_status(cheaptalk: Command) -> None:
    with BatchServer() as server:
        write_model_study(server.url)
        done = cheaptalk("run small.yaml --batch --no-wait")
        assert done.status == 3
        assert f"{server.sizes[0]} calls waiting in unfinished batches" in done.out
        assert "continue with: cheaptalk resume small --store cheaptalk.sqlite --batch" in done.out
        result = cheaptalk("run small.yaml --batch --no-wait --json").json
        assert result["waiting"] > 0
        done = cheaptalk("resume small")
        assert "are in a provider's batch; to collect them, run: cheaptalk resume" in done.rejection
        assert cheaptalk("resume small", *QUICK).status == 0
    assert server.billed.total() == sum(server.sizes)
    assert max(server.billed.values()) == 1


def test_ctrl_c_exits_at_once_and_resume_collects_batches(
    cheaptalk: Command, tmp_path: Path
) -> None:
    polled = Event()

    async def record_poll(step: str, request: web.Request) -> None:
        if step == "look":
            polled.set()

    with BatchServer(looks=10**9, before=record_poll) as server:
        write_model_study(server.url)
        command = [sys.executable, "-m", "cheaptalk", "run", "small.yaml", "--batch"]
        key = {"OPENAI_API_KEY": os.environ["OPENAI_API_KEY"]}
        with subprocess.Popen(
            command,
            cwd=tmp_path,
            env=unmeasured() | key,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert polled.wait(TIMEOUT)
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=TIMEOUT)
        assert process.returncode == 130
        assert "continue with: cheaptalk resume small --store cheaptalk.sqlite --batch" in stderr
        server.looks = 1
        assert cheaptalk("resume small", *QUICK).status == 0
    assert server.billed.total() == sum(server.sizes)
    assert max(server.billed.values()) == 1
