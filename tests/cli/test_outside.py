"""Signals, closed pipes and full disks end a command without losing results."""

import io
import os
import signal
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.cli.shared.interrupts import Outside
from tests.cli import CASES
from tests.cli.terminal import unmeasured
from tests.conftest import Command
from tests.fakes import Server, study
from tests.studies.test_interrupting import PATIENCE, Doorkeeper, begin, wait_for

HINT = "stopped; continue with: cheaptalk resume glee --store cheaptalk.sqlite"
FULL = Path("/dev/full")


def run_command(*arguments: str, folder: Path, stdout: int) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "cheaptalk", *arguments],
        cwd=folder,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def stderr_lines(done: "subprocess.CompletedProcess[str]") -> list[str]:
    """Return a command's standard error without progress lines."""
    return [line for line in done.stderr.splitlines() if " of 3,210 matches" not in line]


def closed_pipe() -> int:
    """Return the write end of a pipe whose read end is closed."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.kill
def test_closed_reader_ends_a_command_silently(tmp_path: Path) -> None:
    for arguments in [("game", "list", "--json"), ("run", "quickstart")]:
        done = run_command(*arguments, folder=tmp_path, stdout=closed_pipe())
        assert (done.returncode, stderr_lines(done)) == (141, [])


@pytest.mark.kill
@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_full_disk_prints_one_error(tmp_path: Path) -> None:
    for arguments in [("game", "list"), ("run", "quickstart", "--json")]:
        with FULL.open("w") as full:
            done = run_command(*arguments, folder=tmp_path, stdout=full.fileno())
        error = "error: cannot write to standard output: No space left on device"
        assert (done.returncode, stderr_lines(done)) == (1, [error])
        if "run" in arguments:
            with ct.Store.open(tmp_path / "cheaptalk.sqlite") as store:
                assert store.study("quickstart").done == 3210


@pytest.mark.kill
def test_run_with_closed_output_stops_as_on_ctrl_c(tmp_path: Path) -> None:
    door = Doorkeeper(few=1)
    with Server(handler=door) as server, begin(tmp_path, server.url) as process:
        wait_for(server, 2)
        assert process.stderr is not None
        assert process.stdout is not None
        process.stderr.close()
        process.stdout.close()
        deadline = time.monotonic() + PATIENCE
        while ct.studies.watch(tmp_path / "my store.sqlite", "small").state != "stopping":
            assert time.monotonic() < deadline, "the run never noticed"
            time.sleep(0.05)
        door.open.set()
        assert process.wait(timeout=PATIENCE) == 141
    with ct.Store.open(tmp_path / "my store.sqlite") as store:
        assert store.study("small").halted == "interrupted"
        calls = sum(len(store.open_calls(record.id)) for record in store.records())
        kept = sum(record.calls for record in store.records())
        assert calls + kept == len(server.calls), "an answer was lost"
        assert {
            call["state"] for record in store.records() for call in store.open_calls(record.id)
        } <= {"answered"}


@pytest.mark.kill
def test_signal_stops_a_scripted_run_and_its_workers(tmp_path: Path) -> None:
    for signum in [signal.SIGTERM, signal.SIGHUP]:
        process = subprocess.Popen(
            [sys.executable, "-m", "cheaptalk", "run", "glee", "--workers", "2"],
            cwd=tmp_path,
            env=unmeasured(),
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        with process:
            assert process.stderr is not None
            assert " of 80,100 matches" in process.stderr.readline()
            os.killpg(process.pid, signum)
            stderr = process.stderr.read()
        assert process.returncode == 128 + signum, stderr
        assert stderr.splitlines()[-1] == HINT
        assert "Traceback" not in stderr
        with ct.Store.open(tmp_path / "cheaptalk.sqlite") as store:
            assert store.study("glee").halted == "interrupted"


@pytest.mark.kill
def test_command_succeeds_with_closed_streams(tmp_path: Path) -> None:
    closed = f"exec {sys.executable} -m cheaptalk game list <&- >&- 2>&-"
    assert subprocess.run(closed, shell=True, cwd=tmp_path, check=False).returncode == 0  # noqa: S602 - to close them


def test_lost_stream_keeps_error_statuses() -> None:
    outside = Outside()
    outside.lost["stderr"] = BrokenPipeError(32, "Broken pipe")
    assert [outside.ended(status) for status in (0, 1, 2, 3, 130)] == [141, 1, 2, 3, 141]


class ClosedStream(io.StringIO):
    """A stream whose reader has gone away."""

    def write(self, text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")

    def fileno(self) -> int:
        raise io.UnsupportedOperation


WRITING = CASES["commands_that_write_files"]
"""Commands by the file that they write."""


def test_files_are_written_after_the_reader_closes(
    cheaptalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    players = {name: {"strategy": name} for name in ("random", "equal_split")}
    players["down"] = {"model": "script/fail"}
    pairing = [["random", "equal_split"], ["equal_split", "random"], ["random", "down"]]
    pairing += [[name, name] for name in ("random", "equal_split")]
    for seed, name in enumerate(("small", "other")):
        planned = study(name=name, players=players, pairing=pairing, instances=2, seed=seed)
        ct.run(planned, tmp_path / "cheaptalk.sqlite")
    for stream, (file, command) in zip(cycle(("stdout", "stderr")), WRITING.items()):
        with monkeypatch.context() as patch:
            patch.setattr(sys, stream, ClosedStream())
            assert cheaptalk(*command).status in (0, 141), command
        assert (tmp_path / file).exists()
