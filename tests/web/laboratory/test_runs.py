"""Runs that a server looks after: begun, paused, stopped, resumed, and left to nobody."""

import asyncio
import sys
from pathlib import Path

import pytest

from cheaptalk.calls.commands import ControlError
from cheaptalk.records import Status, Store
from cheaptalk.rules import UnknownName
from cheaptalk.studies import StudyError
from cheaptalk.web.laboratory import commands
from cheaptalk.web.laboratory.folder import Folder
from cheaptalk.web.laboratory.runs import Runs, RunStage, RunStatus
from tests.fakes import Server, with_model
from tests.web.laboratory.lab import Gate, laboratory, until


async def reached(runs: Runs, *stages: RunStage) -> RunStatus:
    """How the small study's run is doing once it is there."""
    statuses: list[RunStatus] = []

    async def lab() -> bool:
        statuses[:] = [await runs.status("small")]
        return statuses[0].stage in stages

    await until(lab)
    return statuses[0]


async def playing(runs: Runs) -> None:
    """Wait until its matches are under way, and it says so."""

    async def told() -> bool:
        account = (await runs.status("small")).account
        return account is not None and account.live > 0

    await until(told)


def test_a_scripted_study_is_played_to_its_end(tmp_path: Path) -> None:
    async def main() -> None:
        async with Runs(laboratory(tmp_path, instances=4), workers=1) as runs:
            assert await runs.status("small") == RunStatus(RunStage.NOT_BEGUN)
            assert await runs.overviews.get("small") is None
            await runs.start("small")
            assert (await runs.status("small")).stage is RunStage.RUNNING
            done = await reached(runs, RunStage.DONE, RunStage.FAILED)
            assert (done.stage, done.why, done.exit) == (RunStage.DONE, "", 0)
            assert "8 of 8 matches ended" in done.output
            assert done.overview is not None
            assert done.overview.games == {"bargaining": {Status.FINISHED: 8}}
            assert done.overview.failures == {}
        async with Runs(runs.folder) as later:
            assert (await later.status("small")).stage is RunStage.DONE

    asyncio.run(main())


def test_a_run_with_a_model_is_paused_stopped_and_ends_with_nothing_bought_twice(
    tmp_path: Path,
) -> None:
    gate = Gate()

    async def main(server: Server) -> None:
        async with Runs(laboratory(tmp_path, **with_model(server.url)), workers=1) as runs:
            await runs.start("small")
            with pytest.raises(ControlError, match="already in progress"):
                await runs.start("small")
            await playing(runs)
            await runs.pause("small")
            assert (await runs.status("small")).stage is RunStage.PAUSED
            await runs.set("small", concurrency=2, budget={"calls": 1000})
            tuned = (await runs.status("small")).account
            assert tuned is not None
            assert (tuned.concurrency, tuned.budget["calls"]) == (2, 1000)
            with pytest.raises(ControlError, match="budget"):
                await runs.set("small", budget={"calls": -1})
            await runs.resume("small")
            assert (await runs.status("small")).stage is RunStage.RUNNING
            gate.let(3)
            await runs.stop("small")
            gate.open = True
            stopped = await reached(runs, RunStage.STOPPED, RunStage.DONE, RunStage.FAILED)
            assert stopped.stage is RunStage.STOPPED
            assert stopped.why == "the run was stopped on request"
            assert stopped.overview is not None
            assert stopped.overview.done < 6
            await runs.resume("small")
            done = await reached(runs, RunStage.DONE, RunStage.FAILED)
            assert done.overview is not None
            assert done.overview.counts == {Status.FINISHED: 6}
            assert (done.overview.cost.calls, done.overview.cost.unresolved) == (
                len(server.calls), 0,
            )  # fmt: skip
        assert len(set(server.calls)) == len(server.calls)

    with Server(handler=gate) as server:
        asyncio.run(main(server))


def test_a_server_that_stops_leaves_no_run_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "GRACE", 0.0)  # the model never answers
    gate = Gate()

    async def main(server: Server) -> None:
        folder = laboratory(tmp_path, **with_model(server.url))

        async def called() -> bool:
            return gate.waiting > 0

        async with Runs(folder) as runs:
            await runs.start("small")
            await until(called)
        with Store.open(folder.store("small")) as store, store.writing():
            pass
        with pytest.raises(ControlError, match="stopping"):
            await runs.start("small")
        gate.open = True
        async with Runs(folder) as later:
            status = await later.status("small")
            assert (status.stage, status.account) == (RunStage.STOPPED, None)
            assert "interrupted" in status.why
            await later.resume("small")
            done = await reached(later, RunStage.DONE, RunStage.FAILED)
            assert done.overview is not None
            assert done.overview.counts == {Status.FINISHED: 6}
            assert done.overview.cost.unresolved > 0

    with Server(handler=gate) as server:
        asyncio.run(main(server))


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
def test_a_run_ends_by_itself_when_its_server_is_killed(tmp_path: Path) -> None:
    gate = Gate()

    async def main(server: Server) -> None:
        folder = laboratory(tmp_path, **with_model(server.url))
        killed = await asyncio.create_subprocess_exec(sys.executable, "-c", SERVER, tmp_path)

        async def called() -> bool:
            return gate.waiting > 0

        await until(called)
        killed.kill()
        await killed.wait()
        async with Runs(folder) as later:
            assert (await later.status("small")).stage is RunStage.RUNNING
            with pytest.raises(ControlError, match="already in progress"):
                await later.start("small")
            await reached(later, RunStage.STOPPING)
            gate.open = True
            stopped = await reached(later, RunStage.STOPPED, RunStage.DONE)
            assert stopped.stage is RunStage.STOPPED
            assert "interrupted" in stopped.why
            await later.resume("small")
            await reached(later, RunStage.DONE)
        assert len(set(server.calls)) == len(server.calls)

    with Server(handler=gate) as server:
        asyncio.run(main(server))


def test_what_cannot_run_says_why_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    players = {"gpt": {"model": "openai/gpt-4o"}, "fair": {"strategy": "equal_split"}}
    folder = laboratory(tmp_path, players=players, pairing=[["gpt", "fair"]])
    laboratory(tmp_path, "worded", player={})
    (tmp_path / "other.yaml").write_bytes(folder.text("small").read_bytes())

    async def main() -> None:
        async with Runs(folder) as runs:
            await runs.start("small")
            failed = await reached(runs, RunStage.FAILED, RunStage.DONE)
            assert failed.stage is RunStage.FAILED
            assert "OPENAI_API_KEY" in failed.why
            assert failed.why.count("\n") == 0
            for name, saying in (("worded", "player"), ("other", 'contains the study "small"')):
                with pytest.raises(StudyError, match=saying):
                    await runs.start(name)
                assert (await runs.status(name)).stage is RunStage.NOT_BEGUN

    asyncio.run(main())


@pytest.mark.parametrize("name", ["../small", "small/../small", "small.yaml", "", ".", ".."])
def test_only_studies_that_are_there_have_paths(tmp_path: Path, name: str) -> None:
    (tmp_path / "lab").mkdir()
    laboratory(tmp_path)
    folder: Folder = laboratory(tmp_path / "lab")
    assert folder.names() == ["small"]
    for path in (folder.text, folder.store, folder.outputs):
        with pytest.raises(UnknownName, match="unknown study"):
            path(name)
