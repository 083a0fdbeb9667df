"""A fixture for importers: an empty folder for game files."""

from pathlib import Path

import pytest


@pytest.fixture
def games(tmp_path: Path) -> Path:
    folder = tmp_path / "games"
    folder.mkdir()
    return folder
