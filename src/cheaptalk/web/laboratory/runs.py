"""Runs of studies with models, each in a subprocess.

The state of a run is in its study's store, so that it survives a restart of the server. The server
never starts a run without an order, because runs cost money.
"""

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from cheaptalk.calls.commands import ControlError, control_run, last_state, live_state
from cheaptalk.calls.control import STOPPED
from cheaptalk.calls.event_loop import INTERRUPTED
from cheaptalk.records import Status, Store, StoreNotFound
from cheaptalk.rules import counted
from cheaptalk.studies.status import Stage, StudyStatus
from cheaptalk.studies.study import StudyError, load_study
from cheaptalk.web.laboratory.commands import Command, Commands
from cheaptalk.web.laboratory.folder import Folder
from cheaptalk.web.laboratory.study_status import StudyStatuses

WORKERS = max(1, (os.cpu_count() or 1) - 1)
"""Processes for matches between scripts; one core is left for the server."""
INTERRUPTION = "the run was interrupted, for example by a restart of the server"
HALTS = MappingProxyType({STOPPED: "the run was stopped on request", INTERRUPTED: INTERRUPTION})
"""Messages for the reasons that a store contains."""


class Runs(Commands):
    """The runs of a laboratory's studies, which can be stopped and resumed.

    Methods raise :class:`.UnknownName` if the study does not exist, and :class:`.ControlError` if
    the run is not in a state that permits the action.
    """

    def __init__(self, folder: Folder, workers: int = WORKERS) -> None:
        super().__init__()
        self.folder = folder
        self.statuses = StudyStatuses(folder)
        self.workers = workers

    async def start(self, name: str) -> None:
        """Start a study's run, or resume a stopped or failed one."""
        text, store = self.folder.text(name), self.folder.store(name)
        async with self.starting(name):
            if (await self.status(name)).stage.under_way:
                raise ControlError(f"the run of {name} is already in progress")
            await asyncio.to_thread(_prepare, name, text, store)
            await self.begin(
                name, "run", str(text), "--store", str(store), "--workers", str(self.workers)
            )

    async def pause(self, name: str) -> None:
        """Pause a run: start no new model calls, but wait for those in flight."""
        await self._order(name, "pause")

    async def resume(self, name: str) -> None:
        if (await self.status(name)).stage.under_way:
            await self._order(name, "resume")
        else:
            await self.start(name)

    async def stop(self, name: str) -> None:
        """Stop a run, and record the model calls that are in flight."""
        command, status = self.latest.get(name), await self.status(name)
        if command is not None and status.stage.under_way and status.run is None:
            command.interrupt()
        else:
            await self._order(name, "stop")

    async def set_budget(self, name: str, dollars: float) -> None:
        """Change the budget of a run in progress."""
        await self._order(name, "set", budget={"dollars": dollars})

    async def status(self, name: str) -> StudyStatus:
        """Return the status of a study and its run, even if another process started it."""
        command, store = self.latest.get(name), self.folder.store(name)
        pid = command.pid if command is not None and command.status is None else None
        return _status(await asyncio.to_thread(self._read, name, store, pid), command)

    async def _order(
        self, name: str, action: Literal["pause", "resume", "stop", "set"], **settings: Any
    ) -> None:
        await asyncio.to_thread(control_run, self.folder.store(name), name, action, **settings)

    def _read(self, name: str, store_path: Path, pid: int | None) -> StudyStatus:
        """Return what the store contains on a study and, while a run is in progress, its state."""
        try:
            with Store.open(store_path) as store:
                run = live_state(store) if pid is None else last_state(store)
                if run is not None and pid in (None, run.pid):
                    return replace(self.statuses.count(name, store), run=run)
                return self.statuses.count(name, store)
        except StoreNotFound:
            return StudyStatus(name)


def _prepare(name: str, text: Path, store_path: Path) -> None:
    """Check a study file, and create the study's store before the run starts."""
    study = load_study(text)
    if study.name != name:
        raise StudyError(
            f'{text.name} contains the study "{study.name}"; change its name to "{name}"'
        )
    with Store.open(store_path, create=True):
        pass


def _status(status: StudyStatus, command: Command | None) -> StudyStatus:
    """Complete a status with the stage of the study's run."""
    if status.run is not None:
        return replace(status, stage=Stage(status.run.state))
    if command is not None and command.status is None:
        return replace(status, stage=Stage.STOPPING if command.interrupted else Stage.RUNNING)
    if status.stage is Stage.DONE:
        return status
    failed, halted = status.counts[Status.FAILED], HALTS.get(status.halted or "", status.halted)
    reason = command.error if command is not None else ""
    if not reason and not halted:
        reason = f"{counted(failed, 'match')} failed; resume the run to retry" if failed else ""
        reason = reason or (command.crash if command is not None else "")
    if reason:
        return replace(status, stage=Stage.FAILED, reason=reason)
    if status.stage is Stage.NOT_BEGUN:
        return status
    return replace(status, reason=halted or INTERRUPTION)
