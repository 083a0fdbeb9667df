"""Lock folders of file-based stores, which survive a removed lock file."""

import os
import shutil
from pathlib import Path

import pytest

from cheaptalk.records import Store, StoreError
from cheaptalk.records.store import sqlite


@pytest.mark.file
def test_lock_folder_of_another_user_is_skipped(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cheaptalk.records.store.sqlite.gettempdir", lambda: str(tmp_path))
    folder = tmp_path / f"cheaptalk-locks-{os.getuid()}"
    folder.symlink_to(tmp_path)
    with store.writing():
        kept = [*folder.with_name(f"{folder.name}-1").glob("*.lock")]
    assert len(kept) == 1
    for number in range(2, 10):
        folder.with_name(f"{folder.name}-{number}").write_text("")
    assert sqlite._lock_folder() == folder.with_name(f"{folder.name}-1")
    shutil.rmtree(kept[0].parent)
    kept[0].parent.write_text("")
    with pytest.raises(StoreError, match=r"cannot create a lock folder: .* belong to other users"):
        sqlite._lock_folder()


@pytest.mark.file
def test_locks_work_without_posix_user_ids(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cheaptalk.records.store.sqlite.gettempdir", lambda: str(tmp_path))
    monkeypatch.delattr("os.getuid")
    monkeypatch.setenv("USERNAME", "ann")
    monkeypatch.setenv("LOGNAME", "ann")
    with store.writing():
        assert [*tmp_path.glob("cheaptalk-locks-ann/*.lock")]
