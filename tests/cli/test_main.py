"""Exit statuses of commands, and one-sentence errors."""

import logging
import re
import shutil
from pathlib import Path
from unittest.mock import Mock

import pytest

import cheaptalk as ct
from cheaptalk.cli import main
from tests.cli import CASES, write_study
from tests.conftest import Command, Done
from tests.fakes import Server, with_model


def test_exceptions_become_exit_statuses_and_messages(
    cheaptalk: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error, status, message in [
        (ct.studies.StudyError("no [good] study"), 2, "error: no [good] study"),
        (ct.records.StoreError("no store"), 2, "error: no store"),
        (OSError(28, "No space left on device"), 1, "error: [Errno 28] No space left on device"),
        (FileNotFoundError(2, "No such file", "x/y"), 1, "error: x/y: No such file"),
        (BrokenPipeError(32, "Broken pipe"), 1, "error: [Errno 32] Broken pipe"),
        (KeyboardInterrupt(), 130, ""),
    ]:
        monkeypatch.setitem(main.__globals__, "app", Mock(side_effect=error))
        done = cheaptalk("game list")
        assert (done.status, done.said) == (status, message)


def test_unexpected_exceptions_propagate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(main.__globals__, "app", Mock(side_effect=ZeroDivisionError("a bug")))
    with pytest.raises(ZeroDivisionError, match="a bug"):
        main()


def test_version_is_printed_and_errors_escape_control_characters(cheaptalk: Command) -> None:
    for option in ["--version", "-V"]:
        assert cheaptalk(option)[:2] == (0, f"cheaptalk {ct.__version__}\n")
    for line in [["--\u202ex"], ["run", "a", "--workers", "\u202ex"], ["run", "a", "\x1b[2Jx"]]:
        done = cheaptalk(*line)
        assert "\\u202ex" in done.said or "\\x1b[2Jx" in done.rejection
        assert not {"\u202e", "\x1b"} & set(done.said)


PLACES = ("{option} {line}", "{line} {option}")
"""An option before and after the command's name."""


def test_quiet_prints_only_results_and_errors(cheaptalk: Command) -> None:
    def run(seed: int, option: str) -> Done:
        write_study(seed=seed)
        return cheaptalk(place.format(line="run small.yaml --yes", option=option))

    for seed, place in zip((0, 2), PLACES, strict=True):
        assert run(seed, "-q").err == ""
        assert f"small: seed is {seed + 1} (stored: {seed})" in run(seed + 1, "--verbose").err
        done = run(seed + 2, "-q")
        assert (done.status, done.err) == (0, "")
        assert "small: 2 of 2 matches ended" in done.out
        assert "with: cheaptalk" not in done.out
        missing = cheaptalk(place.format(line="resume none", option="--quiet"))
        assert missing.rejection.startswith("error: ")


def test_hints_follow_the_output_unless_quiet(cheaptalk: Command, tmp_path: Path) -> None:
    for line in CASES["hinting"]:
        quiet = cheaptalk(*line, "-q").out
        shutil.rmtree(tmp_path / "mine", ignore_errors=True)
        full = cheaptalk(*line).out
        assert full.startswith(quiet)
        assert 0 < len(quiet) < len(full)


def test_dash_is_rejected_as_an_output_file(cheaptalk: Command, tmp_path: Path) -> None:
    for line in CASES["writing"]:
        done = cheaptalk(*line, "-")
        assert (done.status, done.out) == (2, "")
        assert re.search(rf"'{line[-1]}'.*: cannot write to standard output", done.said)
        assert not list(tmp_path.iterdir())


def test_verbose_logs_plugins_calls_and_tracebacks(cheaptalk: Command) -> None:
    for place in PLACES:
        with Server() as server:
            write_study(**with_model(server.url))
            ct.rules.registry.GAMES.forget()
            done = cheaptalk(place.format(line="run small.yaml", option="-v"))
        assert "game of cheaptalk loaded: bargaining\n" in done.err
        calls = [line for line in done.err.splitlines() if line.startswith("call ")]
        assert len(calls) == len(server.calls)
        assert all(f" to vllm/tiny@{server.url}: answered after " in line for line in calls)
        failed = cheaptalk(place.format(line="resume none", option="--verbose"))
        assert failed.err.startswith("Traceback (most recent call last):")
        assert "\nerror: " in failed.err
        assert "Traceback" not in cheaptalk("resume none").err
        assert not logging.getLogger("cheaptalk").handlers


def test_invalid_commands_print_errors(cheaptalk: Command) -> None:
    for arguments, message in CASES["invalid_commands"]:
        done = cheaptalk(*arguments)
        assert (done.status, message in done.out + done.said) == (2, True), (arguments, done)
