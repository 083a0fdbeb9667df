"""Every way in which a command can end has its exit status, and errors are one sentence."""

import logging
import re
import shutil
from pathlib import Path

import pytest
import yaml

import cheaptalk as ct
from cheaptalk.cli import main
from tests.conftest import Command, Done
from tests.fakes import Server, spec, with_model


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (ct.StudyError("no [good] study"), 2, "error: no [good] study"),
        (ct.StoreError("no store"), 2, "error: no store"),
        (OSError(28, "No space left on device"), 1, "error: [Errno 28] No space left on device"),
        (FileNotFoundError(2, "No such file", "x/y"), 1, "error: x/y: No such file"),
        (BrokenPipeError(32, "Broken pipe"), 1, "error: [Errno 32] Broken pipe"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_an_error_has_a_status_and_is_told_in_one_sentence(
    cheaptalk: Command,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    status: int,
    said: str,
) -> None:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setitem(main.__globals__, "app", fail)
    done = cheaptalk("game", "list")
    assert (done.status, done.said) == (status, said)


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_it_says_its_version(cheaptalk: Command, option: str) -> None:
    done = cheaptalk(option)
    assert (done.status, done.out) == (0, f"cheaptalk {ct.__version__}\n")


def test_a_fault_of_the_program_itself_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setitem(main.__globals__, "app", fail)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        main()


@pytest.mark.parametrize(
    "line", [["--\u202ex"], ["run", "a", "--workers", "\u202ex"], ["run", "a", "\x1b[2Jx"]]
)
def test_what_was_typed_wrong_is_shown_by_its_codes(cheaptalk: Command, line: list[str]) -> None:
    done = cheaptalk(*line)
    assert done.status == 2
    assert "\\u202ex" in done.said or "\\x1b[2Jx" in done.said
    assert not {"\u202e", "\x1b"} & set(done.said)


def before_or_behind(option: str, *line: str) -> list[tuple[str, ...]]:
    """A command line with an option before the command's name and behind it."""
    return [(option, *line), (*line, option)]


@pytest.mark.parametrize("place", [0, 1])
def test_a_quiet_command_prints_results_and_errors_alone(
    cheaptalk: Command, tmp_path: Path, place: int
) -> None:
    def run(seed: int, option: str) -> Done:
        (tmp_path / "small.yaml").write_text(yaml.safe_dump(spec(seed=seed)))
        return cheaptalk(*before_or_behind(option, "run", "small.yaml", "--yes")[place])

    run(0, "-q")
    assert "small: seed is 1 (stored: 0)" in run(1, "--verbose").err
    done = run(2, "-q")
    assert (done.status, done.err) == (0, "")
    assert "small: 2 of 2 matches ended" in done.out
    assert "with: cheaptalk" not in done.out
    none = cheaptalk(*before_or_behind("--quiet", "resume", "none")[place])
    assert (none.status, none.said[:7]) == (2, "error: ")
    assert "small: seed is 3 (stored: 2)" in run(3, "--verbose").err


HINTING = [
    ("game", "list"), ("game", "list", "bargaining"), ("study", "presets"), ("study", "recipes"),
    ("model", "providers"), ("model", "rosters"), ("model", "prices"),
    ("game", "new", "player", "mine"),
]  # fmt: skip


@pytest.mark.parametrize("line", HINTING, ids=" ".join)
def test_hints_stand_behind_what_was_asked_for_and_not_in_a_quiet_command(
    cheaptalk: Command, tmp_path: Path, line: tuple[str, ...]
) -> None:
    quiet = cheaptalk(*line, "-q").out
    shutil.rmtree(tmp_path / "mine", ignore_errors=True)
    whole = cheaptalk(*line).out
    assert whole.startswith(quiet)
    assert 0 < len(quiet) < len(whole)


WRITING = [
    ("report", "s", "--out"), ("report", "s", "--recipe", "glee", "--tables"),
    ("compare", "a", "b", "--out"), ("leaderboard", "s", "--tables"), ("metagame", "s", "--out"),
    ("store", "export", "s", "--out"), ("judge", "label", "s", "--rubric", "honesty", "--sheet"),
    ("model", "cache", "export", "--out"), ("model", "prices", "--init"),
    ("game", "new", "player", "mine", "--out"), ("metagame", "s", "--save-payoffs"),
]  # fmt: skip


@pytest.mark.parametrize("line", WRITING, ids=" ".join)
def test_no_command_writes_a_file_that_is_named_as_standard_output_is(
    cheaptalk: Command, tmp_path: Path, line: tuple[str, ...]
) -> None:
    done = cheaptalk(*line, "-")
    assert (done.status, done.out) == (2, "")
    assert re.search(rf"'{line[-1]}'.*: cannot write to standard output", done.said)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", [0, 1])
def test_a_verbose_command_tells_of_plugins_calls_and_where_an_error_arose(
    cheaptalk: Command, tmp_path: Path, place: int
) -> None:
    with Server() as server:
        (tmp_path / "small.yaml").write_text(yaml.safe_dump(spec(**with_model(server.url))))
        ct.rules.registry.GAMES.forget()
        done = cheaptalk(*before_or_behind("-v", "run", "small.yaml")[place])
    assert "game of cheaptalk loaded: bargaining\n" in done.err
    calls = [line for line in done.err.splitlines() if line.startswith("call ")]
    assert len(calls) == len(server.calls)
    assert all(f" to vllm/tiny@{server.url}: answered after " in line for line in calls)
    failed = cheaptalk(*before_or_behind("--verbose", "resume", "none")[place])
    assert failed.err.startswith("Traceback (most recent call last):")
    assert "\nerror: " in failed.err
    assert "Traceback" not in cheaptalk("resume", "none").err
    assert not logging.getLogger("cheaptalk").handlers
