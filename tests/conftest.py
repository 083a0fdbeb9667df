"""What many tests need: a store, the toy game in the registry, and the command line."""

import importlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from cheaptalk.cli import main
from cheaptalk.doctor import Imported
from cheaptalk.models import flow_control as flow
from cheaptalk.records import Store
from cheaptalk.rules.registry import GAMES
from tests import crowds, postgres
from tests import toys as toys_module
from tests.reports.browser import CHROMIUM

ROOT = Path(__file__).parents[1]
EXAMPLE_GAMES = ("tender", "ultimatum")
"""The games of the packages in ``examples``."""
TOYS = (toys_module.SPEC, crowds.GIVING, crowds.COLLECTING)
"""The games that only tests have."""
for variable in ("CHEAPTALK_PROVIDERS", "CHEAPTALK_SETTINGS"):
    os.environ[variable] = ""  # a developer's own are no part of the tests
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup, processes would inherit its deafness
STORES = os.environ.get("CHEAPTALK_TEST_STORES", "sqlite")
"""The kind of store that tests use which do not care: sqlite or postgres."""
LACKING = {
    "browser": None if CHROMIUM else "no Chromium is installed",
    "file": None if STORES == "sqlite" else "is about a store in a file",
    "lm": None if all(map(find_spec, ("torch", "trl"))) else "needs the extra tune",
}
"""Why tests with a mark cannot run here; None if they can."""


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark, reason in LACKING.items():
        if reason is not None and item.get_closest_marker(mark):
            pytest.skip(reason)


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
    """Makes new databases of a PostgreSQL server, if tests are to have their stores there."""
    if STORES != "postgres":
        yield None
        return
    with postgres.serving() as server:
        yield postgres.Databases(server).new


@pytest.fixture
def store(tmp_path: Path, databases: Callable[[], str] | None) -> Iterator[Store]:
    """A new store."""
    where = databases() if databases else tmp_path / "store.sqlite"
    with Store.open(where, create=True) as opened:
        yield opened


@pytest.fixture
def toys() -> Iterator[None]:
    """Small games among the registered ones: for two seats at once, and for many places."""
    for game_spec in TOYS:
        GAMES.add(game_spec.name, game_spec)
    yield
    for game_spec in TOYS:
        GAMES.remove(game_spec.name)


@pytest.fixture
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failed calls are sent again at once, and nothing pauses for them."""
    for pause in ("FIRST_WAIT", "BREATH", "LONGEST"):
        monkeypatch.setattr(flow, pause, 0.0)


class Done(NamedTuple):
    """What a command did: its exit status, and what it printed."""

    status: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """The error in one line, however it was wrapped."""
        return " ".join(self.err.split())


Command = Callable[..., Done]


@pytest.fixture
def cheaptalk(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Command:
    """Runs the command line in a folder of its own: ``cheaptalk("plan", "quickstart")``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CHEAPTALK_STORE", raising=False)
    monkeypatch.delenv("CHEAPTALK_CACHE", raising=False)

    def command(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["cheaptalk", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        status = left.value.code
        assert status is None or isinstance(status, int)
        return Done(status or 0, *capsys.readouterr())

    return command


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that optional parts need can be imported, without a look, which takes seconds."""
    found = "cheaptalk.doctor.imported"
    monkeypatch.setattr(found, lambda modules: [Imported(one, "1.0") for one in modules])
