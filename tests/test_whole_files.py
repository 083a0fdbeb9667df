"""Files and folders are written atomically."""

import os
from pathlib import Path

import pytest

from cheaptalk.atomic_files import read_whole, whole_file, whole_folder, whole_path
from cheaptalk.records import Store


def test_file_is_replaced_after_writing(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("old")
    with whole_file(path) as file:
        file.write("one\r\n")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_bytes() == b"one\r\n"


def test_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError), whole_file(path) as file:
        file.writelines(["half", "\udc80"])
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("a.csv", "old")]
    inside = path / "a.csv"
    with pytest.raises(OSError, match="Not a directory") as caught, whole_file(inside):
        pass
    assert caught.value.filename == str(inside)


def test_store_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    Store.open(path, create=True).close()
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="the file is a store"), whole_file(path) as file:
        file.write("text")
    assert path.read_bytes() == before


def test_parent_folders_are_created(tmp_path: Path) -> None:
    with whole_file(tmp_path / "no" / "such" / "a.csv", new=True) as file:
        file.write("new")
    assert (tmp_path / "no" / "such" / "a.csv").read_text() == "new"


def test_new_file_does_not_replace_an_existing_one(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("old")
    with pytest.raises(FileExistsError, match=r"a\.csv"), whole_file(path, new=True):
        pass
    assert path.read_text() == "old"


def test_pipe_is_written_directly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with whole_file(pipe) as file:
        file.write("through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert pipe.is_fifo()


def test_reading_is_limited_in_size(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="File too large"):
        read_whole(Path("/dev/zero"), 1000)
    short = tmp_path / "short"
    short.write_bytes(b"\xef\xbb\xbf" + "Zürich".encode())
    assert read_whole(short, 10) == "Zürich"


def test_folder_is_written_atomically(tmp_path: Path) -> None:
    out = tmp_path / "on" / "the" / "way"
    with pytest.raises(FileNotFoundError), whole_folder(out) as folder:
        (folder / "half").rename(folder / "whole")
    assert [*out.parent.iterdir()] == []
    out.mkdir()
    with whole_folder(out) as folder:
        (folder / "a").write_text("1")
        assert [*out.iterdir()] == []
    assert [entry.name for entry in out.iterdir()] == ["a"]
    with pytest.raises(FileExistsError), whole_folder(out):
        pass
    assert [*out.parent.iterdir()] == [out]


def test_leftovers_of_killed_processes_are_removed(tmp_path: Path) -> None:
    """Those of a process that is still writing are kept."""
    for name in ("policy", "other"):
        (tmp_path / f".{name}.0123abcd.part").mkdir()
        (tmp_path / f".{name}.0123abcd.part" / name).touch()
    policy = tmp_path / "policy"
    with whole_path(policy) as slow:
        slow.write_text("slow")
        with whole_path(policy) as fast:
            fast.write_text("fast")
        assert policy.read_text() == "fast"
    assert policy.read_text() == "slow"
    with whole_folder(tmp_path / "other"):
        pass
    assert sorted(tmp_path.iterdir()) == [tmp_path / "other", policy]
