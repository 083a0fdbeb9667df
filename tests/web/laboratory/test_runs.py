"""Runs managed by a server: started, paused, stopped, resumed and interrupted."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cheaptalk.calls.commands import ControlError
from cheaptalk.records import Status, Store
from cheaptalk.rules import UnknownName
from cheaptalk.studies import StudyError, StudyStatus
from cheaptalk.studies.status import Stage
from cheaptalk.web.laboratory import commands
from cheaptalk.web.laboratory.folder import Folder
from cheaptalk.web.laboratory.runs import Runs
from tests.fakes import PATIENCE, with_model
from tests.web.laboratory.lab import Gate, laboratory


async def wait_for(runs: Runs, *stages: Stage) -> StudyStatus:
    """Wait until the small study's run is at one of the stages, and return its status."""
    async with asyncio.timeout(PATIENCE):
        while (status := await runs.status("small")).stage not in stages:
            await asyncio.sleep(0.1)
    return status


@pytest.fixture
def gate() -> Iterator[Gate]:
    """A gate in front of a model server."""
    gate = Gate()
    with gate.server:
        yield gate


async def wait_for_matches(runs: Runs) -> None:
    async with asyncio.timeout(PATIENCE):
        while (run := (await runs.status("small")).run) is None or not run.live:
            await asyncio.sleep(0.1)


async def test_run_is_paused_stopped_and_resumed_without_duplicate_calls(
    tmp_path: Path, gate: Gate
) -> None:
    async with Runs(laboratory(tmp_path, **with_model(gate.server.url)), workers=1) as runs:
        assert await runs.status("small") == StudyStatus("small")
        await runs.start("small")
        assert (await runs.status("small")).stage is Stage.RUNNING
        with pytest.raises(ControlError, match="already in progress"):
            await runs.start("small")
        await wait_for_matches(runs)
        await runs.pause("small")
        assert (await runs.status("small")).stage is Stage.PAUSED
        await runs.set_budget("small", 1000)
        changed = (await runs.status("small")).run
        assert changed is not None
        assert changed.budget["dollars"] == 1000
        with pytest.raises(ControlError, match="budget"):
            await runs.set_budget("small", -1)
        await runs.resume("small")
        assert (await runs.status("small")).stage is Stage.RUNNING
        gate.release(3)
        await runs.stop("small")
        gate.open = True
        stopped = await wait_for(runs, Stage.STOPPED, Stage.DONE, Stage.FAILED)
        assert stopped.stage is Stage.STOPPED
        assert stopped.reason == "the run was stopped on request"
        assert stopped.done < 6
    async with Runs(runs.folder, workers=1) as later:
        assert (await later.status("small")).stage is Stage.STOPPED
        await later.resume("small")
        done = await wait_for(later, Stage.DONE, Stage.FAILED)
        assert (done.stage, done.reason, later.latest["small"].status) == (Stage.DONE, "", 0)
        assert "6 of 6 matches ended" in later.latest["small"].output
        assert done.games == {"bargaining": {Status.FINISHED: 6}}
        assert done.failures == {}
        assert (done.cost.calls, done.cost.unresolved) == (len(gate.server.calls), 0)
    assert len(set(gate.server.calls)) == len(gate.server.calls)
    async with Runs(runs.folder) as last:
        assert (await last.status("small")).stage is Stage.DONE


async def test_stopped_server_leaves_no_run_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gate: Gate
) -> None:
    monkeypatch.setattr(commands, "GRACE", 0.0)  # the model never answers
    folder = laboratory(tmp_path, **with_model(gate.server.url))

    async with Runs(folder) as runs:
        await runs.start("small")
        await gate.called()
    with Store.open(folder.store("small")) as store, store.writing():
        pass
    with pytest.raises(ControlError, match="stopping"):
        await runs.start("small")
    async with Runs(folder) as later:
        status = await later.status("small")
    assert (status.stage, status.run) == (Stage.STOPPED, None)
    assert "interrupted" in status.reason
    assert status.cost.unresolved > 0


SERVER = """
import asyncio, sys
from pathlib import Path
from cheaptalk.web.laboratory.folder import Folder
from cheaptalk.web.laboratory.runs import Runs

async def main():
    await Runs(Folder(Path(sys.argv[1])), workers=1).start("small")
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.kill
async def test_run_stops_when_its_server_is_killed(tmp_path: Path, gate: Gate) -> None:
    folder = laboratory(tmp_path, **with_model(gate.server.url))
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", SERVER, tmp_path)

    await gate.called()
    killed.kill()
    await killed.wait()
    async with Runs(folder) as later:
        assert (await later.status("small")).stage is Stage.RUNNING
        with pytest.raises(ControlError, match="already in progress"):
            await later.start("small")
        await wait_for(later, Stage.STOPPING)
        gate.open = True
        stopped = await wait_for(later, Stage.STOPPED, Stage.DONE)
        assert stopped.stage is Stage.STOPPED
        assert "interrupted" in stopped.reason
        await later.resume("small")
        await wait_for(later, Stage.DONE)
    assert len(set(gate.server.calls)) == len(gate.server.calls)


async def test_failed_start_explains_why_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    players = {"gpt": {"model": "openai/gpt-4o"}, "fair": {"strategy": "equal_split"}}
    folder = laboratory(tmp_path, players=players, pairing=[["gpt", "fair"]])
    laboratory(tmp_path, "worded", player={})
    (tmp_path / "other.yaml").write_bytes(folder.text("small").read_bytes())
    async with Runs(folder) as runs:
        await runs.start("small")
        failed = await wait_for(runs, Stage.FAILED, Stage.DONE)
        assert failed.stage is Stage.FAILED
        assert "OPENAI_API_KEY" in failed.reason
        assert failed.reason.count("\n") == 0
        for name, message in (("worded", "player"), ("other", 'contains the study "small"')):
            with pytest.raises(StudyError, match=message):
                await runs.start(name)
            assert (await runs.status(name)).stage is Stage.NOT_BEGUN


def test_only_existing_studies_have_paths(tmp_path: Path) -> None:
    (tmp_path / "lab").mkdir()
    laboratory(tmp_path)
    folder: Folder = laboratory(tmp_path / "lab")
    assert folder.names() == ["small"]
    for name in ("../small", "small/../small", "small.yaml", "", ".", ".."):
        for path in (folder.text, folder.store, folder.outputs):
            with pytest.raises(UnknownName, match="unknown study"):
                path(name)
