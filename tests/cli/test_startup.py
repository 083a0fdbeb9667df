"""What help and completion load: nothing that only a command's work needs."""

import subprocess
import sys

import pytest

from cheaptalk.cli.commands import full_names

HEAVY = {
    "aiohttp", "cheaptalk.records", "cheaptalk.rules", "cheaptalk.studies", "jinja2", "msgspec",
    "numpy", "polars", "pydantic", "rich", "scipy", "sqlalchemy", "yaml",
}  # fmt: skip
"""What takes long to import, beside typer."""
LOADED = """
import contextlib, io, os, sys
from cheaptalk.cli import main
for line in {lines!r}:
    sys.argv = ["cheaptalk", *line]
    os.environ |= {variables!r}
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as said:
        main()
    assert {expected!r} in said.getvalue(), said.getvalue()
print(*sys.modules)
"""


def loaded(lines: list[list[str]], expected: str, **variables: str) -> set[str]:
    """The modules that a process has after these commands, each of which says what is expected."""
    code = LOADED.format(lines=lines, variables=variables, expected=expected)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_help_of_all_commands_loads_no_command() -> None:
    modules = loaded([["--help"], ["--help-all"], ["game", "--help"]], "Commands")
    rooms = ("cheaptalk.cli.catalogue", "cheaptalk.cli.results", "cheaptalk.cli.studies")
    assert [one for one in modules if one.startswith(rooms)] == []
    assert modules & HEAVY == set()


def test_help_of_a_command_loads_nothing_heavy() -> None:
    lines = [[*name.split(), "--help"] for name in full_names()]
    lines += [["model", "cache", "stats", "--help"], ["store", "import", "glee", "--help"]]
    assert loaded(lines, "Usage: cheaptalk ") & HEAVY == set()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("", "game"),
        ("run --store x --max-t", "--max-tokens"),
        ("game list barg", "bargaining"),
        ("game ", "strategies"),
        ("report s --recipe gl", "glee"),
        ("run quick", "quickstart"),
        ("run q --roster self", "self-play"),
        ("judge run s --rubric hon", "honesty"),
    ],
)
def test_completing_commands_options_and_registered_names_loads_nothing_heavy(
    typed: str, expected: str, shell: str
) -> None:
    line = f"cheaptalk {typed}"
    variables = {
        "_CHEAPTALK_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    assert loaded([[]], expected, **variables) & HEAVY == set()
