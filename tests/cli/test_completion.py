"""Shell completion of commands, options and values in bash, zsh and fish."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.cli.commands import COMMANDS
from cheaptalk.cli.shared.completion import BUILT_IN, VARIABLE
from tests.cli import CASES
from tests.conftest import Command
from tests.fakes import study

Tab = Callable[[str, str], list[str]]
SHELLS = ("bash", "zsh", "fish")


@pytest.fixture
def tab(cheaptalk: Command, monkeypatch: pytest.MonkeyPatch) -> Tab:
    """Return a function that completes a line: ``tab("bash", "run st")``."""

    def complete(shell: str, line: str) -> list[str]:
        parts = re.findall(r"'[^']*'|[^\s=:]+|[=:]", f"cheaptalk {line}")
        parts += [""] if line.endswith(" ") or not line else []
        variables = {
            VARIABLE: f"complete_{shell}",
            "COMP_WORDS": "\n".join(parts),
            "COMP_CWORD": str(len(parts) - 1),
            "_TYPER_COMPLETE_ARGS": f"cheaptalk {line}",
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        }
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        done = cheaptalk()
        monkeypatch.delenv(VARIABLE)
        assert (done.status, done.err) == (0, "")
        return parse_candidates(shell, done.out)

    return complete


def parse_candidates(shell: str, out: str) -> list[str]:
    """Return the candidates that a shell reads from the output."""
    if shell == "zsh":
        return [word.replace(r"\\:", ":") for word in re.findall(r'^(?:.*\(\()?"(.+?)"', out, re.M)]
    return [line.partition("\t")[0] for line in out.splitlines() if line]


def test_commands_and_options_are_completed(tab: Tab) -> None:
    for shell in SHELLS:
        assert tab(shell, "") == list(COMMANDS)
        assert tab(shell, "re") == ["resume", "reproduce", "report"]
        assert tab(shell, "game ") == ["list", "strategies", "check", "new"]
        assert tab(shell, "store re") == ["restore"]
        limits = [f"--max-{unit}" for unit in ("matches", "dollars", "calls", "tokens")]
        assert tab(shell, "run --max-") == limits
        assert tab(shell, "model cache ") == ["stats", "clear", "export", "explain"]


def test_option_values_are_completed(tab: Tab, tmp_path: Path) -> None:
    for line, offered in [
        ("game list barg", {"bargaining"}),
        ("play bargaining --opponent boul", {"boulware"}),
        ("play bargaining --seat ", {"alice", "bob"}),
        ("play bargaining --prompt-style ", set(ct.get_game("bargaining").styles)),
        ("model prompt bargaining --prompt-style ", set(ct.get_game("bargaining").styles)),
        ("study presets quick", {"quickstart"}),
        ("run quick", {"quickstart"}),
        ("run q --roster self", {"self-play"}),
        ("model providers openai", {"openai", "openai-compatible"}),
        ("report s --recipe gl", {"glee"}),
        ("run quickstart --game barg", {"bargaining"}),
        ("match list --game barg", {"bargaining"}),
        ("judge run s --rubric hon", {"honesty"}),
        ("plan ./mi", {"./mine.yaml"}),
        ("plan mi", {"mine.yaml"}),
    ]:
        for shell in SHELLS:
            (tmp_path / "mine.yaml").touch()
            assert set(tab(shell, line)) == offered


def test_compound_values_respect_shell_word_splitting(tab: Tab) -> None:
    for line, prefix, offered in CASES["compound_values_respect_shell_word_splitting"]:
        assert offered in tab("bash", line)
        assert prefix + offered in tab("zsh", line)
        assert prefix + offered in tab("fish", line)
        assert all(word.startswith(line.split(" ")[-1]) for word in tab("fish", line))


def test_built_in_names_match_registered_names() -> None:
    assert {
        "cheaptalk.presets": ct.studies.preset_names(),
        "cheaptalk.rosters": ct.players.roster_names(),
        "cheaptalk.rubrics": ct.judges.rubric_names(),
    } == {group: names.split() for group, names in BUILT_IN.items()}


def test_studies_in_the_store_are_completed_without_creating_files(
    cheaptalk: Command, tab: Tab, tmp_path: Path
) -> None:
    path = tmp_path / "cheaptalk.sqlite"
    for name, store in (("here", path), ("there", tmp_path / "other store.sqlite")):
        ct.run(study(name=name), store)
    before = set(tmp_path.iterdir())
    other = shlex.quote(str(tmp_path / "other store.sqlite"))
    for shell in SHELLS:
        assert tab(shell, "report ") == ["here"]
        assert tab(shell, f"resume --store {other} ") == ["there"]
        assert tab(shell, "run he") == ["here"]
    assert set(tmp_path.iterdir()) == before
    assert cheaptalk("status").status == 0
    with ct.Store.open(path) as opened:
        opened.register_study("now", {})
        assert tab("bash", "report ") == ["here", "now"], "a study only in the write-ahead log"


def test_invalid_stores_and_games_offer_no_completions(tab: Tab, tmp_path: Path) -> None:
    for line in ["report ", "resume --store no.sqlite ", "play nogame --seat "]:
        (tmp_path / "cheaptalk.sqlite").write_text("no store")
        assert tab("bash", line) == []
        assert not (tmp_path / "no.sqlite").exists()
