"""Examples in documents are run in a folder of their own."""

from pathlib import Path

import pytest

EXAMPLES = Path(__file__).with_name("examples")


@pytest.fixture(autouse=True)
def apart(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have an example's files beside the project's examples, and nowhere else."""
    if isinstance(request.node, pytest.DoctestItem) and request.path.suffix == ".md":
        folder: Path = request.getfixturevalue("tmp_path")
        (folder / EXAMPLES.name).symlink_to(EXAMPLES)
        monkeypatch.chdir(folder)
