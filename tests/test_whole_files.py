"""A file is written whole, or what was there stays."""

import os
from pathlib import Path

import pytest

from cheaptalk.atomic_files import read_whole, whole_file, whole_folder
from cheaptalk.records import Store


def test_a_file_takes_its_place_when_all_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("old")
    with whole_file(path) as file:
        file.write("one\r\n")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_bytes() == b"one\r\n"


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError), whole_file(path) as file:
        file.writelines(["half", "\udc80"])
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("a.csv", "old")]
    inside = path / "a.csv"
    with pytest.raises(OSError, match="Not a directory") as caught, whole_file(inside):
        pass
    assert caught.value.filename == str(inside)


def test_no_text_replaces_a_store(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    Store.open(path, create=True).close()
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="the file is a store"), whole_file(path) as file:
        file.write("text")
    assert path.read_bytes() == before


def test_folders_on_the_way_are_made(tmp_path: Path) -> None:
    with whole_file(tmp_path / "no" / "such" / "a.csv", new=True) as file:
        file.write("new")
    assert (tmp_path / "no" / "such" / "a.csv").read_text() == "new"


def test_a_new_file_replaces_none(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("old")
    with pytest.raises(FileExistsError, match=r"a\.csv"), whole_file(path, new=True):
        pass
    assert path.read_text() == "old"


def test_what_is_no_file_is_written_as_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with whole_file(pipe) as file:
        file.write("through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert pipe.is_fifo()


def test_a_device_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="File too large"):
        read_whole(Path("/dev/zero"), 1000)
    short = tmp_path / "short"
    short.write_bytes(b"\xef\xbb\xbf" + "Zürich".encode())
    assert read_whole(short, 10) == "Zürich"


def test_a_folder_takes_its_place_when_all_is_written_or_not_at_all(tmp_path: Path) -> None:
    out = tmp_path / "on" / "the" / "way"
    with pytest.raises(FileNotFoundError), whole_folder(out) as folder:
        (folder / "half").rename(folder / "whole")
    assert [*out.parent.iterdir()] == []
    out.mkdir()
    with whole_folder(out) as folder:
        (folder / "a").write_text("1")
        assert [*out.iterdir()] == []
    assert [one.name for one in out.iterdir()] == ["a"]
    with pytest.raises(FileExistsError), whole_folder(out):
        pass
    assert [*out.parent.iterdir()] == [out]
