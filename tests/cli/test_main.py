"""Exit statuses of commands, and one-sentence errors."""

import logging
import re
import shutil
from pathlib import Path
from unittest.mock import Mock

import pytest
import yaml

import cheaptalk as ct
from cheaptalk.cli import main
from tests.cli import CASES
from tests.conftest import Command, Done
from tests.fakes import Server, spec, with_model


def test_exceptions_become_exit_statuses_and_messages(
    cheaptalk: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error, status, message in [
        (ct.StudyError("no [good] study"), 2, "error: no [good] study"),
        (ct.StoreError("no store"), 2, "error: no store"),
        (OSError(28, "No space left on device"), 1, "error: [Errno 28] No space left on device"),
        (FileNotFoundError(2, "No such file", "x/y"), 1, "error: x/y: No such file"),
        (BrokenPipeError(32, "Broken pipe"), 1, "error: [Errno 32] Broken pipe"),
        (KeyboardInterrupt(), 130, ""),
    ]:
        monkeypatch.setitem(main.__globals__, "app", Mock(side_effect=error))
        done = cheaptalk("game list")
        assert (done.status, done.said) == (status, message)


def test_version_option_prints_version(cheaptalk: Command) -> None:
    for option in ["--version", "-V"]:
        done = cheaptalk(option)
        assert (done.status, done.out) == (0, f"cheaptalk {ct.__version__}\n")


def test_unexpected_exceptions_propagate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(main.__globals__, "app", Mock(side_effect=ZeroDivisionError("a bug")))
    with pytest.raises(ZeroDivisionError, match="a bug"):
        main()


def test_errors_escape_control_characters(cheaptalk: Command) -> None:
    for line in [["--\u202ex"], ["run", "a", "--workers", "\u202ex"], ["run", "a", "\x1b[2Jx"]]:
        done = cheaptalk(*line)
        assert "\\u202ex" in done.said or "\\x1b[2Jx" in done.rejection
        assert not {"\u202e", "\x1b"} & set(done.said)


def option_positions(option: str, *line: str) -> list[tuple[str, ...]]:
    """Return a command line with an option before and after the command's name."""
    return [(option, *line), (*line, option)]


def test_quiet_prints_only_results_and_errors(cheaptalk: Command, tmp_path: Path) -> None:
    def run(seed: int, option: str, position: int) -> Done:
        (tmp_path / "small.yaml").write_text(yaml.safe_dump(spec(seed=seed)))
        return cheaptalk(*option_positions(option, "run", "small.yaml", "--yes")[position])

    for position in (0, 1):
        assert run(2 * position, "-q", position).err == ""
        verbose = run(2 * position + 1, "--verbose", position)
        assert f"small: seed is {2 * position + 1} (stored: {2 * position})" in verbose.err
        done = run(2 * position + 2, "-q", position)
        assert (done.status, done.err) == (0, "")
        assert "small: 2 of 2 matches ended" in done.out
        assert "with: cheaptalk" not in done.out
        missing = cheaptalk(*option_positions("--quiet", "resume", "none")[position])
        assert (missing.status, missing.said[:7]) == (2, "error: ")


HINTING = CASES["hinting"]


def test_hints_follow_the_output_unless_quiet(cheaptalk: Command, tmp_path: Path) -> None:
    for line in HINTING:
        quiet = cheaptalk(*line, "-q").out
        shutil.rmtree(tmp_path / "mine", ignore_errors=True)
        full = cheaptalk(*line).out
        assert full.startswith(quiet)
        assert 0 < len(quiet) < len(full)


WRITING = CASES["writing"]


def test_dash_is_rejected_as_an_output_file(cheaptalk: Command, tmp_path: Path) -> None:
    for line in WRITING:
        done = cheaptalk(*line, "-")
        assert (done.status, done.out) == (2, "")
        assert re.search(rf"'{line[-1]}'.*: cannot write to standard output", done.said)
        assert not list(tmp_path.iterdir())


def test_verbose_logs_plugins_calls_and_tracebacks(cheaptalk: Command, tmp_path: Path) -> None:
    for position in [0, 1]:
        with Server() as server:
            (tmp_path / "small.yaml").write_text(yaml.safe_dump(spec(**with_model(server.url))))
            ct.rules.registry.GAMES.forget()
            done = cheaptalk(*option_positions("-v", "run", "small.yaml")[position])
        assert "game of cheaptalk loaded: bargaining\n" in done.err
        calls = [line for line in done.err.splitlines() if line.startswith("call ")]
        assert len(calls) == len(server.calls)
        assert all(f" to vllm/tiny@{server.url}: answered after " in line for line in calls)
        failed = cheaptalk(*option_positions("--verbose", "resume", "none")[position])
        assert failed.err.startswith("Traceback (most recent call last):")
        assert "\nerror: " in failed.err
        assert "Traceback" not in cheaptalk("resume none").err
        assert not logging.getLogger("cheaptalk").handlers


def test_invalid_commands_print_errors(cheaptalk: Command) -> None:
    for arguments, message in CASES["invalid_commands"]:
        done = cheaptalk(*arguments)
        assert (done.status, message in done.out + done.said) == (2, True), (arguments, done)
