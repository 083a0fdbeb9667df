from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import cheaptalk as ct
from tests.pages import Page
from tests.played import BADLY, WELL, play

Reported: TypeAlias = Callable[..., Page]


@pytest.fixture(scope="package")
def well(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a study without failures."""
    return play(tmp_path_factory.mktemp("well"), WELL)


@pytest.fixture(scope="package")
def badly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a study with failures of every kind."""
    return play(tmp_path_factory.mktemp("badly"), BADLY)


@pytest.fixture
def reported(tmp_path: Path) -> Reported:
    """Write a report of the study named like the store, and return its page."""

    def write(path: Path, **options: Any) -> Page:
        with ct.Store.open(path) as store:
            ct.reports.report(store, path.stem, tmp_path / "report.html", **options)
        return Page((tmp_path / "report.html").read_text(encoding="utf-8"))

    return write
