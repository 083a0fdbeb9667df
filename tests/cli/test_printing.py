"""Printed text: layout, escaped control characters and status lines."""

import io
import json
from pathlib import Path

import pytest
import yaml
from rich.console import Console

import cheaptalk as ct
from cheaptalk.cli.commands import full_names
from cheaptalk.cli.shared import printing
from cheaptalk.cli.shared.consoles import SafeConsole, table_lines
from cheaptalk.cli.shared.printing import StatusLine, err, out, print_json, print_table, say
from tests.cli import CASES
from tests.conftest import Command
from tests.fakes import study

LONG = "a_word_that_is_by_far_too_long_for_a_narrow_terminal"
PRINTING = CASES["printing"]
"""Commands that print results, as they are typed."""
OTHERS = set(CASES["others"])
"""Commands that serve, ask or write, and print only a line or two."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with a finished study of a player with a long name."""
    path = tmp_path_factory.mktemp("printing") / "small.sqlite"
    players = {LONG: {"strategy": "random"}, "fair": {"strategy": "equal_split"}}
    small = study(players=players, pairing=[[LONG, "fair"], ["fair", LONG]], instances=2)
    ct.run(small, path)
    return path


def printed_words(
    cheaptalk: Command, store: Path, command: tuple[str, ...]
) -> tuple[list[str], list[str]]:
    """Return the lines and words that a command prints, or none if they include a duration."""
    with ct.Store.open(store) as opened:
        match = next(opened.records()).id
    done = cheaptalk(*(match if word == "MATCH" else word for word in command))
    text = done.out if " now in " not in done.out else ""
    return text.splitlines(), text.split()


@pytest.mark.usefixtures("importable")
def test_pipes_are_not_wrapped_and_terminals_never_split_words(
    cheaptalk: Command, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHEAPTALK_STORE", str(store))
    for command in PRINTING:
        monkeypatch.setattr(out.console, "soft_wrap", True)
        monkeypatch.setattr(out.console, "width", 1_000)
        lines, expected_words = printed_words(cheaptalk, store, command)
        for console in (out.console, err.console):
            monkeypatch.setattr(console, "width", 40)
        assert printed_words(cheaptalk, store, command)[0] == lines
        assert "\x1b" not in "".join(lines)
        monkeypatch.setattr(out.console, "soft_wrap", False)
        _, folded = printed_words(cheaptalk, store, command)
        words = {word.strip(":,") for word in folded}
        assert {word.strip(":,") for word in expected_words} <= words, command


def test_every_command_is_classified() -> None:
    typed = [" ".join(command) + " " for command in PRINTING]
    printing = {name for name in full_names() if any(x.startswith(f"{name} ") for x in typed)}
    assert printing | OTHERS == set(full_names())


def test_tables_wrap_only_at_spaces() -> None:
    head, lines = table_lines(["what", "which is"], [["word " * 40 + ".", "x"]], None)
    assert (len(head), len(lines)) == (1, 1), "the width is unlimited"
    for width in range(8, 60, 3):
        rows = [["a horse", "12", "that eats hay, and sleeps"], ["one more", "7", "a rhinoceros"]]
        head, lines = table_lines(["what", "many", "which is"], rows, width, [1])
        assert {word for row in rows for cell in row for word in cell.split()} <= {
            word for line in lines for word in line.split()
        }
        assert all(len(line) <= width or len(line.split()) == 1 for line in [*head, *lines])
        assert all(line == line.rstrip() for line in [*head, *lines])


def test_markup_is_printed_literally(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = ":smile: costs [b]5[/b] " + LONG
    for wrap in (True, False):
        monkeypatch.setattr(out.console, "soft_wrap", wrap)
        monkeypatch.setattr(out.console, "width", 20)
        say(text)
        print_table(None, ["said"], [[text]])
        printed_words = capsys.readouterr().out.replace("said:", "said").split()
        assert printed_words == [*text.split(), "said", *text.split()]


HOSTILE = "\x1b]0;title\x07 \x1b[2J \x9b31m \r over \u202eback"
SHOWN = r"\x1b]0;title \x1b[2J \x9b31m  over \u202eback"


def test_control_characters_are_escaped_and_colours_kept() -> None:
    for colours in [False, True]:
        file = io.StringIO()
        console = SafeConsole(
            file=file, highlight=False, width=200, color_system="standard" if colours else None
        )
        console.print(HOSTILE, style="red", markup=False)
        printed = file.getvalue()
        assert SHOWN in printed
        assert printed.count("\x1b") == (2 if colours else 0)


def test_nan_and_infinity_are_printed_as_null(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"mean": float("nan"), "at": [(1, float("inf"))], "where": Path("x")})
    printed = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert printed == {"mean": None, "at": [[1, None]], "where": "x"}


def test_study_text_is_escaped_in_all_commands(cheaptalk: Command, tmp_path: Path) -> None:
    path = tmp_path / "theirs.yaml"
    path.write_text(yaml.safe_dump(study(description=HOSTILE).written()))
    for command in ("plan", "run", "status"):
        done = cheaptalk(command, *([str(path)] if command != "status" else []))
        assert done.status == 0
        assert not set(done.out + done.said) & set("\x1b\x07\x9b\r\u202e")
    assert SHOWN in cheaptalk("plan", str(path)).out


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the current time in a list, which a test can change."""
    now = [0.0]
    monkeypatch.setattr("cheaptalk.cli.shared.printing.time.monotonic", lambda: now[0])
    return now


def capture_stderr(monkeypatch: pytest.MonkeyPatch, *, on_terminal: bool) -> io.StringIO:
    """Capture standard error, as a terminal or not."""
    text = io.StringIO()
    console = Console(file=text, width=200, force_terminal=on_terminal)
    monkeypatch.setattr(printing, "err", console)
    monkeypatch.setattr(printing, "on_terminal", lambda: on_terminal)
    return text


def test_lines_are_throttled_and_updated_in_place_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    stderr = capture_stderr(monkeypatch, on_terminal=False)
    status = StatusLine()
    with status.shown("first") as update:
        update("too early")
        clock[0] += printing.MIN_INTERVAL
        update("half")
        update("too early again")
    with status.shown("too early as well"):
        clock[0] += printing.MIN_INTERVAL
    with status.shown("[third]"):
        pass
    assert stderr.getvalue().splitlines() == ["half", "[third]"]
    stderr = capture_stderr(monkeypatch, on_terminal=True)
    clock[0] = 0.0
    with StatusLine().shown("a [b]: solving") as update:
        clock[0] = printing.REFRESH_INTERVAL
        update("a [b]: solving, 25 % searched")
    assert "a [b]: solving" in stderr.getvalue()
    assert "25 % searched" in stderr.getvalue()


def test_lines_are_printed_sooner_after_more_progress(
    monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    stderr = capture_stderr(monkeypatch, on_terminal=False)
    status = StatusLine()
    for seconds, share in ((5, 0.01), (5, 0.06), (3, 0.5), (10, 0.08), (20, 0.09)):
        clock[0] += seconds
        status.print(f"{clock[0]:.0f} s, {share:.0%}", share)
    assert stderr.getvalue().splitlines() == ["10 s, 6%", "43 s, 9%"]
    assert not any(ord(character) < 32 for character in stderr.getvalue().replace("\n", ""))
