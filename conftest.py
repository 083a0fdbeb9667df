"""Fixtures for examples in documents."""

from pathlib import Path

import pytest

EXAMPLES = Path(__file__).with_name("examples")


@pytest.fixture(autouse=True)
def temporary_folder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the examples of a document in a temporary folder with a link to ``examples``."""
    if isinstance(request.node, pytest.DoctestItem) and request.path.suffix == ".md":
        folder: Path = request.getfixturevalue("tmp_path")
        (folder / EXAMPLES.name).symlink_to(EXAMPLES)
        monkeypatch.chdir(folder)
