"""Starters of ``cheaptalk game new``: types, checks, and registration."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.test_startup import loaded_modules
from tests.conftest import Command

ROOT = Path(__file__).parents[1]
WRITTEN = {
    "my_game": ("game",),
    "my_player": ("player", "--game", "battle_royale"),
    "my_style": ("style", "--game", "deal_or_no_deal"),
}
"""The kind and options of starters, by name."""
SHOWN = {
    "my_game": (["game", "list", "my_game"], "my_game"),
    "my_player": (["game", "strategies", "battle_royale"], "my_player"),
    "my_style": (
        ["model", "prompt", "deal_or_no_deal", "--prompt-style", "my_style"],
        "Think before you answer",
    ),
}
"""A command that shows the registered part and a text of its output, by name."""


def run(folder: Path, *module: str, path: Sequence[Path] = ()) -> str:
    """Run a module in a folder, which is imported from by default, and return its output."""
    done = subprocess.run(
        [sys.executable, "-m", *module],
        cwd=folder,
        text=True,
        capture_output=True,
        check=False,
        env=os.environ
        | {
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": os.pathsep.join(map(str, path or [folder])),
        },
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def write_entry_points(folder: Path) -> None:
    """Write the entry points of a folder's package, as its installation does."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    points = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in of.items())
        for group, of in project["entry-points"].items()
    ]
    about = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    (about / "entry_points.txt").write_text("\n".join(points))


def test_starters_pass_their_tests(cheaptalk: Command, tmp_path: Path) -> None:
    folders = []
    for name, (kind, *options) in WRITTEN.items():
        done = cheaptalk("game new", kind, name, *options)
        folders.append(tmp_path / name.replace("_", "-"))
        assert (done.status, done.err) == (0, "")
        files = {tmp_path / line for line in done.out.splitlines()[:-2]}
        assert files == set(starter_files(folders[-1]))
    names = [folder.name for folder in folders]
    shown = ("-v", "-p", "no:cacheprovider", "-k", "not check_processes")  # see test_examples
    tests = run(tmp_path, "pytest", *shown, *names, path=folders)
    assert all(f"/test_{name}.py::" in tests for name in WRITTEN)
    assert run(tmp_path, "ruff", "check", "--no-cache", "--select", "E,F,I,N", *names)
    assert run(tmp_path, "ruff", "format", "--no-cache", "--check", *names)


def starter_files(folder: Path) -> list[Path]:
    made = [path for path in folder.rglob("*") if path.is_file()]
    assert not [path for path in made if "<<" in path.read_text() or "NAME" in str(path)]
    return made


def test_installed_starters_are_registered(
    cheaptalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tmp_path / name.replace("_", "-") for name in WRITTEN]
    for folder, (name, arguments) in zip(folders, WRITTEN.items(), strict=True):
        kind, *options = arguments
        assert cheaptalk("game new", kind, name, *options).status == 0
        write_entry_points(folder)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, folders)))
    loaded_modules(*((command, text, {}) for command, text in SHOWN.values()))


@pytest.mark.slow
def test_starters_pass_mypy(cheaptalk: Command, tmp_path: Path) -> None:
    for name, (kind, *_) in WRITTEN.items():
        cheaptalk("game new", kind, name)
        strictly = ("mypy", "--strict", "--cache-dir", str(tmp_path / "types"), ".")
        assert "Success" in run(tmp_path / name.replace("_", "-"), *strictly)


def test_invalid_starters_are_rejected(cheaptalk: Command, tmp_path: Path) -> None:
    for arguments, expected in [
        (("game", "MyGame"), "use lower-case letters, digits and underscores, e.g. my_game"),
        (("style", "Café"), '"Café" is not a valid module name; use lower-case letters, digits'),
        (("player", "class"), '"class" is a Python keyword; choose another name, e.g. my_class'),
        (("game", "bargaining"), 'a game named "bargaining" already exists; choose another name'),
        (("game", "json"), 'a module named "json" already exists'),
        (("game", "mine", "--out", "."), ". already exists; choose another folder"),
        (("game", "mine", "--game", "persuasion"), "--game is only valid with the kinds"),
        (("player", "linear"), 'bargaining already has a strategy named "linear"'),
        (("style", "plain"), 'bargaining already has a style named "plain"'),
        (("style", "mine", "--game", "bargainin"), 'did you mean "bargaining"?'),
    ]:
        done = cheaptalk("game new", *arguments)
        assert (done.status, expected in done.said, list(tmp_path.iterdir())) == (2, True, [])


def test_unwritable_folder_prints_error(cheaptalk: Command, tmp_path: Path) -> None:
    done = cheaptalk("game new game mine --out no/such/folder")
    assert (done.status, list(tmp_path.iterdir())) == (1, [])
    assert "No such file or directory" in done.said


def test_guide_example_equals_the_starter(cheaptalk: Command, tmp_path: Path) -> None:
    assert cheaptalk("game new game ultimatum").status == 0
    guide = ROOT / "examples" / "ultimatum"
    for path in starter_files(tmp_path / "ultimatum"):
        example = guide / path.relative_to(tmp_path / "ultimatum")
        assert path.read_text() == example.read_text(), example.name
