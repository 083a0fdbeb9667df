"""Text from other authors cannot send control sequences to the terminal."""

import io
import json
from pathlib import Path

import pytest
import yaml

from cheaptalk.cli.shared.consoles import SafeConsole
from cheaptalk.cli.shared.printing import print_json
from tests.conftest import Command
from tests.fakes import study

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
