"""Studies that several test modules read, and an empty folder for game files."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cheaptalk.records import Store
from cheaptalk.reports.recipes.findings import Findings
from tests.papers import chip_games, glee_study
from tests.papers.studies import play, report


@pytest.fixture
def games(tmp_path: Path) -> Path:
    folder = tmp_path / "games"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def chips_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Play the chip-trading study and return the path of its store."""
    return play(tmp_path_factory.mktemp("chips"), chip_games.STUDY)


@pytest.fixture(scope="session")
def chips_results(chips_path: Path) -> Findings:
    return report(chips_path, "chips")


@pytest.fixture(scope="session")
def glee_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Play the study of GLEE's games and return its store."""
    with Store.open(play(tmp_path_factory.mktemp("glee"), glee_study.STUDY)) as store:
        yield store


@pytest.fixture(scope="session")
def glee_results(glee_store: Store) -> Findings:
    return report(glee_store, "glee")
