"""A folder for games to import."""

from pathlib import Path

import pytest


@pytest.fixture
def games(tmp_path: Path) -> Path:
    folder = tmp_path / "games"
    folder.mkdir()
    return folder
