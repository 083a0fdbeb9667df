"""TAB offers commands, options and values, through what bash, zsh and fish ask."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.cli.commands import COMMANDS, GROUPS
from cheaptalk.cli.shared.completion import BUILT_IN, VARIABLE
from tests.conftest import Command

Tab = Callable[[str, str], list[str]]
SHELLS = ("bash", "zsh", "fish")


@pytest.fixture
def tab(cheaptalk: Command, monkeypatch: pytest.MonkeyPatch) -> Tab:
    """What TAB offers behind a line, and what was said meanwhile: ``tab("bash", "run st")``."""

    def asked(shell: str, line: str) -> list[str]:
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
        return offers(shell, done.out)

    return asked


def offers(shell: str, out: str) -> list[str]:
    """The values that a shell reads from what it is told."""
    if shell == "zsh":
        return [one.replace(r"\\:", ":") for one in re.findall(r'^(?:.*\(\()?"(.+?)"', out, re.M)]
    return [line.partition("\t")[0] for line in out.splitlines() if line]


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_and_options_are_offered(tab: Tab, shell: str) -> None:
    assert tab(shell, "") == [*COMMANDS, *GROUPS]
    assert tab(shell, "re") == ["resume", "report"]
    assert tab(shell, "game ") == ["list", "strategies", "check", "new"]
    assert tab(shell, "store re") == ["restore"]
    assert tab(shell, "run --max-") == [
        "--max-matches",
        "--max-dollars",
        "--max-calls",
        "--max-tokens",
    ]
    assert tab(shell, "model cache ") == ["stats", "clear", "export", "explain"]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "offered"),
    [
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
    ],
)
def test_values_are_offered(
    tab: Tab, tmp_path: Path, shell: str, line: str, offered: set[str]
) -> None:
    (tmp_path / "mine.yaml").touch()
    assert set(tab(shell, line)) == offered


@pytest.mark.parametrize(
    ("line", "behind", "offered"),
    [
        ("run q --player rival=boulw", "rival=", "boulware"),
        ("run q --player rival=", "rival=", "openai/"),
        ("run q --roster glee:gpt-4o,o3", "glee:", "gpt-4o,o3-mini"),
        ("model rosters self-play:", "self-play:", "gpt-4"),
    ],
)
def test_values_of_several_parts_are_offered_as_each_shell_divides_words(
    tab: Tab, line: str, behind: str, offered: str
) -> None:
    assert offered in tab("bash", line)
    assert behind + offered in tab("zsh", line)
    assert behind + offered in tab("fish", line)
    assert all(one.startswith(line.split(" ")[-1]) for one in tab("fish", line))


def test_names_that_are_offered_unloaded_are_those_that_are_registered() -> None:
    assert {
        "cheaptalk.presets": tuple(ct.studies.preset_names()),
        "cheaptalk.rosters": tuple(ct.players.roster_names()),
        "cheaptalk.rubrics": tuple(ct.judges.rubric_names()),
    } == BUILT_IN


@pytest.mark.parametrize("shell", SHELLS)
def test_studies_are_those_in_the_store(
    cheaptalk: Command, tab: Tab, tmp_path: Path, shell: str
) -> None:
    for name, store in (("here", "cheaptalk.sqlite"), ("there", "other store.sqlite")):
        study = {
            "name": name,
            "games": [{"game": "bargaining"}],
            "players": {"a": {"strategy": "linear"}, "b": {"strategy": "boulware"}},
        }
        ct.run(ct.studies.parse_study(study, name), tmp_path / store)
    assert tab(shell, "report ") == ["here"]
    other = shlex.quote(str(tmp_path / "other store.sqlite"))
    assert tab(shell, f"resume --store {other} ") == ["there"]
    assert tab(shell, "run he") == ["here"]
    assert cheaptalk("status").status == 0


def test_nothing_is_left_beside_a_store_that_is_read(tab: Tab, tmp_path: Path) -> None:
    path = tmp_path / "cheaptalk.sqlite"
    with ct.Store.open(path, create=True) as store:
        store.register_study("here", {})
    before = set(tmp_path.iterdir())
    assert tab("bash", "report ") == ["here"]
    assert set(tmp_path.iterdir()) == before
    with ct.Store.open(path) as store:
        store.register_study("now", {})
        assert tab("bash", "report ") == ["here", "now"], "what is in its log alone"


@pytest.mark.parametrize("line", ["report ", "resume --store no.sqlite ", "play nogame --seat "])
def test_nothing_is_offered_where_nothing_can_be_found(tab: Tab, tmp_path: Path, line: str) -> None:
    (tmp_path / "cheaptalk.sqlite").write_text("no store")
    assert tab("bash", line) == []
    assert not (tmp_path / "no.sqlite").exists()
