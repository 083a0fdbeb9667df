"""The files of a laboratory's studies: each belongs to one study, whatever their names."""

import itertools
import os
import stat
from pathlib import Path

import pytest
import yaml

import cheaptalk as ct
from cheaptalk.rules import CheaptalkError, UnknownName
from cheaptalk.web.laboratory.commands import Command
from cheaptalk.web.laboratory.drafts import BadName
from cheaptalk.web.laboratory.folder import STORE_ENDS, Folder
from tests.fakes import spec
from tests.web.laboratory.lab import STUDY, TEXT, CommandInThread, Site, laboratory, site

HOSTILE = (
    "pilot", "pilot.sqlite", "pilot.sqlite-v2", "pilot.sqlite-wal", "pilot.sqlite.lock",
    "pilot.sqlite.commands", "pilot.sqlite.identities", "pilot.yaml", "outputs", "laboratory",
    "laboratory.db", "a.html.json", "_",
)  # fmt: skip


def write_files(folder: Path, name: str) -> set[Path]:
    """Write each file that a study can have, and return their paths."""
    paths = Folder(folder).files(name)
    for path in paths:
        if path.name.endswith(".commands") and "outputs" not in path.parts[-2:]:
            path.mkdir(exist_ok=True)
            (path / "1.json").touch()
        elif path.parent.name == "outputs":
            path.mkdir(parents=True)
            (path / "report.html").touch()
            (path / ".half").mkdir()
        else:
            path.touch()
    return {*paths}


def test_no_file_belongs_to_two_studies(tmp_path: Path) -> None:
    assert not any(".sqlite" in end or ".yaml" in end for end in STORE_ENDS)
    for name in HOSTILE:
        laboratory(tmp_path, name)
    folder = Folder(tmp_path)
    for first, second in itertools.permutations(folder.names(), 2):
        assert not {*folder.files(first)} & {*folder.files(second)}, (first, second)
        assert tmp_path / "laboratory.db" not in folder.files(first)


async def test_deleting_a_study_deletes_only_its_files(tmp_path: Path, lab: Site) -> None:
    await lab.log_in()
    files = {}
    for name in HOSTILE:
        lab.laboratory.database.drafts.create(name, "name: x", "owner")
        laboratory(tmp_path, name)
        files[name] = write_files(tmp_path, name)
        (tmp_path / f"{name}.yaml").write_text(f"name: {name}")
        (tmp_path / f"{name}.sqlite").unlink()
    for number, deleted in enumerate(HOSTILE):
        (tmp_path / f"{deleted}.sqlite-mine").touch()
        await lab.laboratory.remove(deleted)
        for name, of_study in files.items():
            expected = {path for path in of_study if path.suffix != ".sqlite"}
            expected |= {tmp_path / f"{name}.yaml"}
            for path in expected:
                assert path.exists() == (name in HOSTILE[number + 1 :]), path
        assert (tmp_path / f"{deleted}.sqlite-mine").exists()
        assert (tmp_path / "laboratory.db").exists()


async def test_invalid_file_names_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "...yaml").touch()
    (tmp_path / "..yaml").touch()
    async with site(tmp_path) as lab:
        for name in (".", "..", "a/b", "../a", "", "-a", "a\n", "a\0", ".a"):
            with pytest.raises(BadName):
                lab.laboratory.database.drafts.create(name, "", "owner")
            for read in (lab.laboratory.folder.files, lab.laboratory.folder.outputs):
                with pytest.raises(UnknownName):
                    read(name)
            with pytest.raises(CheaptalkError):
                await lab.laboratory.outputs.delete(name, "report.html")


async def test_only_a_listed_output_is_deleted(tmp_path: Path) -> None:
    folder = laboratory(tmp_path, "pilot")
    outputs = folder.outputs("pilot")
    outputs.mkdir(parents=True)
    (outputs / "report.html").touch()
    (outputs / "notes.txt").touch()
    (tmp_path / "outputs" / "other.html").touch()
    async with site(tmp_path) as lab:
        for file in ("notes.txt", "../other.html", "report.html", "..", "", "/etc/hostname"):
            with pytest.raises(UnknownName):
                await lab.laboratory.outputs.delete("pilot", file)
        (outputs / "report.html.json").write_text("{")
        await lab.laboratory.outputs.delete("pilot", "report.html")
        assert {path.name for path in outputs.iterdir()} == {"notes.txt"}


async def test_files_are_readable_only_by_their_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o755)
    laboratory(tmp_path, "older")
    with ct.Store.open(tmp_path / "older.sqlite", create=True):
        pass
    (tmp_path / "older.sqlite").chmod(0o644)
    before = os.umask(0o022)
    try:
        async with site(tmp_path) as lab:
            await lab.laboratory.launch(STUDY.name, TEXT)
            await lab.laboratory.launch("small", yaml.safe_dump(spec(name="small", instances=1)))
            await lab.laboratory.runs.start("small")
            await lab.laboratory.runs.latest["small"].ended()
            monkeypatch.setattr(Command, "start", CommandInThread.start)
            await lab.laboratory.outputs.export("small")
            await lab.laboratory.outputs.latest["small"].ended()
            files = [path for path in tmp_path.rglob("*") if path.is_file()]
            names = {path.name for path in files}
            assert {"people.sqlite", "small.sqlite", "older.sqlite"} <= names
            assert any(path.parent.name == "small" for path in files)
            assert not [path for path in files if stat.S_IMODE(path.stat().st_mode) & 0o077]
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
