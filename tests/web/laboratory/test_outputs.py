"""Outputs of studies on a server: reports, comparisons and exports, and whether they are stale."""

import asyncio
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.calls.commands import ControlError
from cheaptalk.records import StoreError
from cheaptalk.rules import UnknownName
from cheaptalk.web.laboratory.commands import Command
from cheaptalk.web.laboratory.folder import Folder
from cheaptalk.web.laboratory.outputs import Outputs
from cheaptalk.web.laboratory.study_status import StudyStatuses
from tests.fakes import PATIENCE, spec
from tests.web.laboratory.lab import CommandInThread, laboratory

VARIED: dict[str, Any] = {
    "games": [{"game": "bargaining", "fixed": {"horizon": 2}, "grid": {"money": [10, 99]}}]
}


def play_study(folder: Folder, name: str, **changes: object) -> None:
    """Play a study, including any matches added since the last run."""
    ct.run(ct.studies.parse_study(spec(name=name, **changes), "x"), folder.store(name))


async def finish(outputs: Outputs, name: str) -> str:
    """Wait until a study's output is made, and return why it failed, or ""."""
    making = outputs.making(name)
    assert making is not None
    await asyncio.wait([making.task], timeout=PATIENCE)
    assert not making.under_way
    return making.problem


@pytest.fixture
def commands_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Command, "start", CommandInThread.start)


@pytest.mark.usefixtures("commands_in_threads")
async def test_outputs_are_made_one_at_a_time_and_become_stale(tmp_path: Path) -> None:
    folder = laboratory(tmp_path, instances=4)
    laboratory(tmp_path, "other", instances=4)
    play_study(folder, "small", instances=4)
    play_study(folder, "other", instances=4)
    async with Outputs(StudyStatuses(folder)) as outputs:
        assert (outputs.making("small"), await outputs.listed("small")) == (None, [])
        await outputs.report("small")
        with pytest.raises(ControlError, match="is in progress"):
            await outputs.export("small")
        await outputs.comparison("other", "small")  # of another study
        assert [await finish(outputs, item) for item in ("small", "other")] == ["", ""]
        await outputs.export("small")
        assert await finish(outputs, "small") == ""
        export, report = await outputs.listed("small")
        (compared,) = await outputs.listed("other")
        assert (export.file, report.file) == ("export-csv.zip", "report.html")
        assert compared.title == "Comparison with small"
        assert {item.matches for item in (export, report, compared)} == {8}
        assert not any(item.stale for item in (export, report, compared))
        page, _ = await outputs.output("small", "report.html")
        assert 'href="../transcripts/studies/small/bargaining?' in page.read_text()
        (inside,) = re.findall(r'Content-Security-Policy" content="([^"]+)', page.read_text())
        assert inside.replace("&#39;", "'") == report.policy
        assert export.policy == ""
        archive, _ = await outputs.output("small", "export-csv.zip")
        assert any("matches" in name for name in zipfile.ZipFile(archive).namelist())
        assert {item.name for item in folder.outputs("small").iterdir()} == {
            "export-csv.zip", "export-csv.zip.json", "report.html", "report.html.json",
        }  # fmt: skip
        play_study(folder, "small", instances=5)
        listed = [*await outputs.listed("small"), *await outputs.listed("other")]
        assert [item.stale for item in listed] == [True, True, True]
        await outputs.report("small")
        assert await finish(outputs, "small") == ""
        newest, old = await outputs.listed("small")
        assert (newest.file, newest.matches, newest.stale) == ("report.html", 10, False)
        assert (old.matches, old.stale) == (8, True)
        await outputs.delete("small", old.file)
        assert [item.file for item in await outputs.listed("small")] == ["report.html"]


@pytest.mark.usefixtures("commands_in_threads")
async def test_recipe_makes_the_tables_of_its_paper(tmp_path: Path) -> None:
    folder = laboratory(tmp_path, **VARIED)
    play_study(folder, "small", **VARIED, instances=3)
    async with Outputs(StudyStatuses(folder)) as outputs:
        recipes = await outputs.recipes("small")
        assert "GLEE" in recipes["glee"]
        assert not {"chips", "self-play", "gama"} & recipes.keys()
        await outputs.report("small", "glee")
        assert await finish(outputs, "small") == ""
        path, _ = await outputs.output("small", "recipe-glee.html")
        assert "Effect of every level" in path.read_text()


@pytest.mark.usefixtures("commands_in_threads")
async def test_failed_output_explains_why_and_leaves_no_file(tmp_path: Path) -> None:
    folder = laboratory(tmp_path)
    laboratory(tmp_path, "idle")
    play_study(folder, "small")
    async with Outputs(StudyStatuses(folder)) as outputs:
        await outputs.report("small", "chips")
        assert "has no data for the recipe chips" in await finish(outputs, "small")
        assert await outputs.listed("small") == []
        assert list(folder.outputs("small").iterdir()) == []
        with pytest.raises(StoreError, match="idle has no matches yet"):
            await outputs.report("idle")
        for name in ("../small", "small/..", ""):
            for call in (
                outputs.report(name), outputs.report("small", name),
                outputs.comparison("small", name), outputs.export(name),
                outputs.listed(name), outputs.output("small", name),
            ):  # fmt: skip
                with pytest.raises(UnknownName):
                    await call
        (tmp_path / "outputs" / "small" / "secret.html").touch()
        for file in ("secret.html", "../../small.sqlite", "small.yaml"):
            with pytest.raises(UnknownName):
                await outputs.output("small", file)


async def test_stopped_server_leaves_no_partial_output(tmp_path: Path) -> None:
    folder = laboratory(tmp_path)
    play_study(folder, "small")
    async with Outputs(StudyStatuses(folder)) as outputs:
        await outputs.report("small")
    making = outputs.making("small")
    assert making is not None
    assert (making.under_way, making.problem) == (False, "stopped before it was complete")
    assert list(folder.outputs("small").iterdir()) == []
