from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

import cheaptalk as ct
from cheaptalk.equilibrium import PayoffTable
from cheaptalk.reports import Played
from tests.fakes import install_game
from tests.pages import Page
from tests.played import play
from tests.reports.browser import Tab, browser
from tests.toys import SPEC

Reported: TypeAlias = Callable[..., Page]
HEURISTICS = {
    "name": "table",
    "seed": 3,
    "instances": 12,
    "games": [
        {
            "game": "item_bargaining",
            "fixed": {"quantities": [7, 4, 1]},
            "cases": [{"discount": 0.9}, {"discount": 0.98}, {"discount": 0.98, "rounds": 5}],
        }
    ],
    "players": {
        label: {"strategies": {"item_bargaining": label}} for label in ("soft", "tough", "walk")
    },
}


@pytest.fixture(scope="package")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a study of three heuristics in BG4 to BG6."""
    return play(tmp_path_factory.mktemp("table"), HEURISTICS)


@pytest.fixture(scope="package")
def matches(path: Path) -> Iterator[Played]:
    """The matches of this study, with its store open."""
    with ct.Store.open(path) as store:
        yield Played.of(store, "table")


def table(payoffs: object, *labels: str) -> PayoffTable:
    """Return the payoffs of a symmetric game."""
    matrix = np.array(payoffs, dtype=float)
    return PayoffTable(labels, labels, matrix, matrix.T)


def report(out: Path, path: Path, **options: Any) -> Page:
    """Write a report of the study named like the store, and return its page."""
    with ct.Store.open(path) as store:
        ct.reports.report(store, path.stem, out, **options)
    return Page(out.read_text(encoding="utf-8"))


@pytest.fixture
def reported(tmp_path: Path) -> Reported:
    return partial(report, tmp_path / "report.html")


@pytest.fixture(scope="package")
def well_page(well: Path) -> Page:
    """The report of the study without failures."""
    return report(well.with_name("report.html"), well)


@pytest.fixture
async def tab(tmp_path: Path) -> AsyncIterator[Tab]:
    """A tab of a new browser."""
    async with browser(tmp_path / "profile") as opened:
        yield await opened.tab()


@pytest.fixture
def guessing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a game of two payoffs without gain metrics."""
    install_game(monkeypatch, SPEC)
