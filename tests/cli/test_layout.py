"""Output layout: pipes get unwrapped lines, and terminals never split words."""

from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.cli.commands import full_names
from cheaptalk.cli.shared.consoles import table_lines
from cheaptalk.cli.shared.printing import err, out, print_table, say
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
    printing = {
        name
        for name in full_names()
        for command in PRINTING
        if command[: len(name.split())] == name.split()
    }
    assert printing | OTHERS == set(full_names())


def test_tables_wrap_only_at_spaces() -> None:
    for width in range(8, 60, 3):
        rows = [["a horse", "12", "that eats hay, and sleeps"], ["one more", "7", "a rhinoceros"]]
        head, lines = table_lines(["what", "many", "which is"], rows, width, [1])
        assert {word for row in rows for cell in row for word in cell.split()} <= {
            word for line in lines for word in line.split()
        }
        assert all(len(line) <= width or len(line.split()) == 1 for line in [*head, *lines])
        assert all(line == line.rstrip() for line in [*head, *lines])


def test_table_without_width_prints_one_line_per_row() -> None:
    head, lines = table_lines(["what", "which is"], [["word " * 40 + ".", "x"]], None)
    assert (len(head), len(lines)) == (1, 1)


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
