"""Imports of help, completion and scripted runs: no module that only other commands need."""

import subprocess
import sys
from itertools import product
from pathlib import Path

from cheaptalk.cli.commands import full_names
from tests.cli import CASES

HEAVY = set(CASES["heavy_modules"])
"""Modules that are slow to import, besides typer."""
PROGRAM = """
import contextlib, io, os, sys
from cheaptalk.cli import main
for words, expected, variables in {commands!r}:
    sys.argv = ["cheaptalk", *words]
    os.environ |= variables
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as output:
        main()
    assert expected in output.getvalue(), output.getvalue()
print(*sys.modules)
"""


def loaded_modules(*commands: tuple[list[str], str, dict[str, str]]) -> set[str]:
    """Run commands in a process with environment variables, and return the loaded modules.

    The second item of each command is a part of its expected output.
    """
    code = PROGRAM.format(commands=commands)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_top_level_help_loads_no_command() -> None:
    lines = (["--help"], ["--help-all"], ["game", "--help"])
    modules = loaded_modules(*((line, "Commands", {}) for line in lines))
    packages = ("cheaptalk.cli.catalogue", "cheaptalk.cli.results", "cheaptalk.cli.studies")
    assert [name for name in modules if name.startswith(packages)] == []
    assert modules & HEAVY == set()


def test_command_help_loads_no_heavy_modules() -> None:
    lines = ([*name.split(), "--help"] for name in full_names())
    assert loaded_modules(*((line, "Usage: cheaptalk ", {}) for line in lines)) & HEAVY == set()


def test_completion_loads_no_heavy_modules() -> None:
    for shells, allowed in [
        (["bash"], set()),
        (["zsh", "fish"], {"rich"}),  # Typer renders descriptions with rich
    ]:
        commands: list[tuple[list[str], str, dict[str, str]]] = []
        for shell, (typed, expected) in product(shells, CASES["completion_loads_no_heavy_modules"]):
            line = f"cheaptalk {typed}"
            variables = {
                "_CHEAPTALK_COMPLETE": f"complete_{shell}",
                "COMP_WORDS": line,
                "COMP_CWORD": str(len(line.split(" ")) - 1),
                "_TYPER_COMPLETE_ARGS": line,
                "_TYPER_COMPLETE_FISH_ACTION": "get-args",
            }
            commands.append(([], expected, variables))
        assert loaded_modules(*commands) & HEAVY <= allowed


def test_scripted_run_loads_no_http_client(tmp_path: Path) -> None:
    store = tmp_path / "scripted.sqlite"
    line = ["run", "quickstart", "--max-matches", "2", "--store", str(store)]
    assert (
        loaded_modules((line, "2 of 2 matches ended", {})) & {"aiohttp", "numpy", "polars"} == set()
    )
