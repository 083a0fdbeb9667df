"""A new store, and a folder for games to import."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cheaptalk.records import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "games.sqlite", create=True) as opened:
        yield opened


@pytest.fixture
def games(tmp_path: Path) -> Path:
    folder = tmp_path / "games"
    folder.mkdir()
    return folder
