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
import yaml

import cheaptalk as ct
from cheaptalk.cli.shared.interrupts import Outside
from tests.cli import CASES
from tests.cli.terminal import unmeasured
from tests.conftest import Command
from tests.fakes import Server, spec, study
from tests.studies.test_interrupting import PATIENCE, Doorkeeper, begin, wait_for

FULL = Path("/dev/full")
EAGER = """
from cheaptalk.cli import main
from cheaptalk.cli.shared import printing
printing.MIN_INTERVAL = printing.MAX_INTERVAL = 0.0
main()
"""
"""The command line, which prints each line of progress."""


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


def closed_pipe() -> int:
    """Return the write end of a pipe whose read end is closed."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.kill
def test_closed_reader_ends_a_command_silently(tmp_path: Path) -> None:
    for command in ("game list --json", "run quickstart --max-matches 3"):
        done = run_command(*command.split(), folder=tmp_path, stdout=closed_pipe())
        assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.kill
@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_full_disk_prints_one_error(tmp_path: Path) -> None:
    for command in ("game list", "run quickstart --max-matches 3 --json"):
        with FULL.open("w") as full:
            done = run_command(*command.split(), folder=tmp_path, stdout=full.fileno())
        error = "error: cannot write to standard output: No space left on device\n"
        assert (done.returncode, done.stderr) == (1, error)
    with ct.Store.open(tmp_path / "cheaptalk.sqlite") as store:
        assert store.study("quickstart").done == 3


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
        while ct.studies.run_state(tmp_path / "my store.sqlite", "small").state != "stopping":
            assert time.monotonic() < deadline, "the run never noticed"
            time.sleep(0.05)
        door.open.set()
        assert process.wait(timeout=PATIENCE) == 141
    with ct.Store.open(tmp_path / "my store.sqlite") as store:
        assert store.study("small").halted == "interrupted"
        states = [c["state"] for r in store.records() for c in store.open_calls(r.id)]
        kept = sum(record.calls for record in store.records())
        assert set(states) <= {"answered"}
        assert len(states) + kept == len(server.calls), "an answer was lost"


@pytest.mark.kill
def test_signal_stops_a_scripted_run_and_its_workers(tmp_path: Path) -> None:
    (tmp_path / "many.yaml").write_text(yaml.safe_dump(spec(instances=50_000)))
    for signum in [signal.SIGTERM, signal.SIGHUP]:
        process = subprocess.Popen(
            [sys.executable, "-c", EAGER, "run", "many.yaml", "--workers", "2"],
            cwd=tmp_path,
            env=unmeasured(),
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        with process:
            assert process.stderr is not None
            assert " of 100,000 matches" in process.stderr.readline()
            os.killpg(process.pid, signum)
            stderr = process.stderr.read()
        assert process.returncode == 128 + signum, stderr
        again = "cheaptalk resume small --store cheaptalk.sqlite"
        assert stderr.splitlines()[-1] == f"stopped; continue with: {again}"
        assert "Traceback" not in stderr
        with ct.Store.open(tmp_path / "cheaptalk.sqlite") as store:
            assert store.study("small").halted == "interrupted"


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


def test_files_are_written_after_the_reader_closes(
    cheaptalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    players = {name: {"strategy": name} for name in ("random", "equal_split")}
    pairing = [[name, other] for name in players for other in players] + [["random", "down"]]
    players["down"] = {"model": "script/fail"}
    for seed, name in enumerate(("small", "other")):
        planned = study(name=name, players=players, pairing=pairing, instances=2, seed=seed)
        ct.run(planned, tmp_path / "cheaptalk.sqlite")
    for stream, (file, command) in zip(
        cycle(("stdout", "stderr")), CASES["commands_that_write_files"].items()
    ):
        with monkeypatch.context() as patch:
            patch.setattr(sys, stream, ClosedStream())
            assert cheaptalk(*command).status in (0, 141), command
        assert (tmp_path / file).exists()
