"""Batches on the command line: stop whenever you like, and resume the run later."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from aiohttp import web

from tests.batch_server import BatchServer
from tests.cli.terminal import unmeasured
from tests.conftest import Command
from tests.fakes import spec, with_model

QUICK = ("--batch", "--poll-interval", "0.01")
PATIENCE = 60.0


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")


def written(folder: Path, url: str, **changes: Any) -> None:
    study = spec(**with_model() | changes)
    study["players"]["tiny"] = {"model": f"openai/gpt-4o@{url}"}
    (folder / "small.yaml").write_text(json.dumps(study))


def test_a_study_is_played_in_batches_and_lists_them(cheaptalk: Command, tmp_path: Path) -> None:
    with BatchServer() as server:
        written(tmp_path, server.url)
        assert cheaptalk("model", "batches", "--store", "nowhere").status == 2
        planned = ("plan", "small.yaml", "--batch", "--json", "--concurrency")
        many, one = (
            json.loads(cheaptalk(*planned, number).out)["estimate"] for number in ("100", "1")
        )
        done = cheaptalk("run", "small.yaml", *QUICK)
        assert done.status == 0
        assert "small: 6 of 6 matches ended" in done.out
        assert " at batch prices, 1 to 3 sequential rounds of batches" in done.err
        assert many["batch_rounds"][0] <= len(server.sizes) <= many["batch_rounds"][1]
        assert (many["concurrency"], one["concurrency"]) == (100, 1)
        assert one["batch_rounds"] == [6, 18], "each match has to wait for the one before"
        listed = json.loads(cheaptalk("model", "batches", "--json").out)
    assert [one["calls"] for one in listed] == server.sizes
    assert {one["state"] for one in listed} == {"collected"}
    assert "batch_0  openai/gpt-4o" in cheaptalk("model", "batches").out


def test_no_wait_leaves_with_a_status_of_its_own_until_all_is_done(
    cheaptalk: Command, tmp_path: Path
) -> None:
    with BatchServer() as server:
        written(tmp_path, server.url)
        done = cheaptalk("run", "small.yaml", "--batch", "--no-wait")
        assert done.status == 3
        assert f"{server.sizes[0]} calls waiting in unfinished batches" in done.out
        assert "continue with: cheaptalk resume small --store cheaptalk.sqlite --batch" in done.out
        found = json.loads(cheaptalk("run", "small.yaml", "--batch", "--no-wait", "--json").out)
        assert found["waiting"] > 0
        done = cheaptalk("resume", "small")
        assert done.status == 2
        assert "are in a provider's batch; to collect them, run: cheaptalk resume" in done.said
        assert cheaptalk("resume", "small", *QUICK).status == 0
    assert server.billed.total() == sum(server.sizes)
    assert max(server.billed.values()) == 1


def test_what_cannot_be_batched_is_refused_and_nothing_is_written(
    cheaptalk: Command, tmp_path: Path
) -> None:
    (tmp_path / "small.yaml").write_text(json.dumps(spec(**with_model("http://localhost:1/v1"))))
    done = cheaptalk("run", "small.yaml", "--batch")
    assert done.status == 2
    assert "does not support batches; use a model of openai" in done.said
    assert "--no-wait" in cheaptalk("run", "small.yaml", "--no-wait").said
    assert {path.name for path in tmp_path.iterdir()} == {"small.yaml"}


def test_ctrl_c_leaves_at_once_and_a_resume_collects(cheaptalk: Command, tmp_path: Path) -> None:
    looked = Event()

    async def note(step: str, request: web.Request) -> None:
        if step == "look":
            looked.set()

    with BatchServer(looks=10**9, before=note) as server:
        written(tmp_path, server.url)
        command = [sys.executable, "-m", "cheaptalk", "run", "small.yaml", "--batch"]
        key = {"OPENAI_API_KEY": os.environ["OPENAI_API_KEY"]}
        with subprocess.Popen(
            command, cwd=tmp_path, env=unmeasured() | key,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            assert looked.wait(PATIENCE)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130
        assert "continue with: cheaptalk resume small --store cheaptalk.sqlite --batch" in said
        server.looks = 1
        assert cheaptalk("resume", "small", *QUICK).status == 0
    assert server.billed.total() == sum(server.sizes)
    assert max(server.billed.values()) == 1
