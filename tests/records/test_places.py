"""Read-only stores can be read."""

import os
from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct

STUDY = {
    "name": "archived",
    "games": [{"game": "bargaining"}],
    "players": {"fair": {"strategy": "equal_split"}},
    "instances": 3,
}


@pytest.fixture
def archived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "an archive.sqlite"
    with ct.Store.open(path, create=True) as store:
        ct.run(ct.studies.parse_study(STUDY, "study.yaml"), store)
    can = os.access

    def access(place: Any, mode: int, **options: Any) -> bool:
        return not mode & os.W_OK and can(place, mode, **options)

    monkeypatch.setattr(os, "access", access)
    return path


def test_read_only_store_is_read_without_new_files(archived: Path) -> None:
    before = {path.name for path in archived.parent.iterdir()}
    with ct.Store.open(archived) as store:
        records = list(store.records("archived", bodies=True))
        assert [record.replay().outcome is not None for record in records] == [True] * 3
        assert {path.name for path in archived.parent.iterdir()} == before


def test_writing_to_read_only_store_raises_error(archived: Path) -> None:
    content = archived.read_bytes()
    with (
        ct.Store.open(archived) as store,
        pytest.raises(ct.StoreError, match="the file is not writable"),
    ):
        store.register_study("other", {})
    assert archived.read_bytes() == content
