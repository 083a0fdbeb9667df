"""Locks of stores in files: where those are kept that outlive a removed lock file."""

import os
import shutil
from pathlib import Path

import pytest

from cheaptalk.records import Store, StoreError
from cheaptalk.records.store import sqlite


@pytest.mark.file
def test_a_folder_of_locks_that_another_user_owns_is_passed_over(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cheaptalk.records.store.sqlite.gettempdir", lambda: str(tmp_path))
    theirs = tmp_path / f"cheaptalk-locks-{os.getuid()}"
    theirs.symlink_to(tmp_path)
    with store.writing():
        kept = [*theirs.with_name(f"{theirs.name}-1").glob("*.lock")]
    assert len(kept) == 1
    for number in range(2, 10):
        theirs.with_name(f"{theirs.name}-{number}").write_text("")
    assert sqlite._lock_folder() == theirs.with_name(f"{theirs.name}-1")
    shutil.rmtree(kept[0].parent)
    kept[0].parent.write_text("")
    with pytest.raises(StoreError, match=r"cannot create a lock folder: .* belong to other users"):
        sqlite._lock_folder()


@pytest.mark.file
def test_locks_are_kept_without_the_user_ids_of_posix(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cheaptalk.records.store.sqlite.gettempdir", lambda: str(tmp_path))
    monkeypatch.delattr("os.getuid")
    monkeypatch.setenv("USERNAME", "ann")
    monkeypatch.setenv("LOGNAME", "ann")
    with store.writing():
        assert [*tmp_path.glob("cheaptalk-locks-ann/*.lock")]
