"""Runs: studies of models that a server starts, looks after and stops, each in its own process.

What is true of a run is in its study's store and the store's mailbox, so that a server that is
started again finds every run as it was left. It begins none by itself: that costs money.
"""

import asyncio
import os
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from cheaptalk.calls.control import STOPPED
from cheaptalk.calls.event_loop import INTERRUPTED
from cheaptalk.calls.orders import ControlError, RunState, account_of, give_order, last_account
from cheaptalk.records import NoStore, Status, Store
from cheaptalk.rules import counted
from cheaptalk.studies.study import StudyError, load_study
from cheaptalk.web.laboratory.commands import Command, Commands
from cheaptalk.web.laboratory.folder import Folder
from cheaptalk.web.laboratory.overview import Overview, Overviews

WORKERS = max(1, (os.cpu_count() or 1) - 1)
"""Processes for matches between scripts: one core is left to the server."""
INTERRUPTION = "it was interrupted, as by a server that stops"
HALTS = MappingProxyType({STOPPED: "it was told to stop", INTERRUPTED: INTERRUPTION})
"""What a store notes of a run that was stopped, in the words of a server."""


class RunStage(StrEnum):
    """Where a run is."""

    NOT_BEGUN = "not begun"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"
    DONE = "done"

    @property
    def under_way(self) -> bool:
        """Whether a process is at it."""
        return self in (RunStage.RUNNING, RunStage.PAUSED, RunStage.STOPPING)


class RunStatus(NamedTuple):
    """How a study's run is doing.

    Attributes:
        stage: where it is, by its process, its account and its store.
        why: why it stopped or failed; empty else.
        account: what the run itself says; None while it begins, and when it is not under way.
        overview: what the store holds; None while there is an account, and before the first run.
        said: the last lines of its output, if this server started it.
        exit: its exit status, if this server started it and it has ended.
    """

    stage: RunStage
    why: str = ""
    account: RunState | None = None
    overview: Overview | None = None
    said: str = ""
    exit: int | None = None


class Runs(Commands):
    """The runs of a laboratory's studies; those that are stopped at the end can be resumed.

    Args:
        folder: of the laboratory.
        workers: processes of each run for matches between scripts.

    Attributes:
        overviews: what the studies' stores hold.
    """

    def __init__(self, folder: Folder, workers: int = WORKERS) -> None:
        super().__init__()
        self.folder = folder
        self.overviews = Overviews(folder)
        self.workers = workers

    async def start(self, name: str, *, set_aside: bool = False) -> None:
        """Start a study's run, or go on with one that has stopped or failed; nothing is bought
        twice.

        Args:
            name: of the study.
            set_aside: let go of matches that the study, as it now stands, no longer has; they
                stay in the store and its exports.

        Raises:
            UnknownName: there is no such study.
            StudyError: its file is none, or of a study of another name.
            ControlError: it is under way, or the server is stopping.
            CheaptalkError: its store cannot be used.
        """
        text, where = self.folder.text(name), self.folder.store(name)
        async with self.beginning(name):
            if (await self.status(name)).stage.under_way:
                raise ControlError(f'"{name}" is running already')
            await asyncio.to_thread(_prepare, name, text, where)
            allowed = ["--yes"] if set_aside else []
            await self.begin(
                name, "run", str(text), "--store", str(where), "--workers", str(self.workers),
                *allowed,
            )  # fmt: skip

    async def pause(self, name: str) -> None:
        """Let calls in flight come back, and send no more; raises as :meth:`set` does."""
        await self._order(name, "pause")

    async def resume(self, name: str) -> None:
        """Go on with a run that is paused, has stopped or has failed.

        Raises:
            CheaptalkError: as of :meth:`start` and :meth:`set`.
        """
        if (await self.status(name)).stage.under_way:
            await self._order(name, "resume")
        else:
            await self.start(name)

    async def stop(self, name: str) -> None:
        """End a run: calls in flight come back and are recorded; raises as :meth:`set` does."""
        command, status = self.latest.get(name), await self.status(name)
        if command is not None and status.stage.under_way and status.account is None:
            command.interrupt()
        else:
            await self._order(name, "stop")

    async def set(
        self,
        name: str,
        *,
        concurrency: int | None = None,
        budget: dict[str, float | None] | None = None,
        limits: dict[str, int | None] | None = None,
    ) -> None:
        """Retune a run until it ends.

        Args:
            name: of the study.
            concurrency: matches with models played at once.
            budget: caps by unit: calls, tokens, dollars or per_match; None lifts one.
            limits: calls under way at once by model or its player's label; None lets it tune
                itself.

        Raises:
            UnknownName: there is no such study.
            ControlError: it is not running, or refuses; the message says why.
        """
        wanted = {"concurrency": concurrency, "budget": budget, "limits": limits}
        await self._order(
            name, "set", **{key: one for key, one in wanted.items() if one is not None}
        )

    async def status(self, name: str) -> RunStatus:
        """How a study's run is doing, whoever started it.

        Raises:
            UnknownName: there is no such study.
            CheaptalkError: its store cannot be read.
        """
        command, where = self.latest.get(name), self.folder.store(name)
        pid = command.pid if command is not None and command.status is None else None
        account, seen = await asyncio.to_thread(self._look, name, where, pid)
        if command is None:
            return _status(account, seen)
        found = _status(account, seen, command)
        return found._replace(said=command.said, exit=command.status)

    async def _order(
        self, name: str, action: Literal["pause", "resume", "stop", "set"], **what: Any
    ) -> None:
        await asyncio.to_thread(give_order, self.folder.store(name), name, action, **what)

    def _look(
        self, name: str, where: Path, pid: int | None
    ) -> tuple[RunState | None, Overview | None]:
        """A run's account, or what its store holds.

        Args:
            pid: its process, if this server started it; an account of another one is an old one.
        """
        try:
            with Store.open(where) as store:
                if pid is None:
                    account = account_of(store)
                else:
                    account = last_account(store)
                    account = account if account is not None and account.pid == pid else None
                return account, None if account else self.overviews.count(name, store)
        except NoStore:
            return None, None


def _prepare(name: str, text: Path, where: Path) -> None:
    """See that a study can be read, and that its store is there: who only looks never waits for
    the run to make it.
    """
    study = load_study(text)
    if study.name != name:
        raise StudyError(f'{text.name} is of a study named "{study.name}"; name it "{name}"')
    with Store.open(where, create=True):
        pass


def _status(
    account: RunState | None, seen: Overview | None, command: Command | None = None
) -> RunStatus:
    """Where a run is, by what it says, what its store holds and what its process did."""
    if account is not None:
        return RunStatus(RunStage(account.state), account=account)
    if command is not None and command.status is None:
        stage = RunStage.STOPPING if command.told else RunStage.RUNNING
        return RunStatus(stage, overview=seen)
    if seen is not None and seen.complete:
        return RunStatus(RunStage.DONE, overview=seen)
    halted, failed = _ended(seen)
    error = command.error if command is not None else ""
    crash = command.crash if command is not None else ""
    if why := error or (not halted and (failed or crash)):
        return RunStatus(RunStage.FAILED, why, overview=seen)
    if seen is None:
        return RunStatus(RunStage.NOT_BEGUN)
    return RunStatus(RunStage.STOPPED, halted or INTERRUPTION, overview=seen)


def _ended(seen: Overview | None) -> tuple[str, str]:
    """Why a run that is not complete halted, and which of its matches failed, if any did."""
    if seen is None:
        return "", ""
    number = seen.counts[Status.FAILED]
    failed = f"{counted(number, 'match')} failed, which are tried again" if number else ""
    return HALTS.get(seen.halted or "", seen.halted or ""), failed
