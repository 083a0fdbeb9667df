"""A laboratory on a running server, with studies, participants, runs and outputs."""

import asyncio
import os
import shutil
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Self

from fastapi import FastAPI

from cheaptalk.atomic_files import whole_file
from cheaptalk.records import Store, StoreNotFound
from cheaptalk.records.people.corrections import FIRST_VERSION, text_version
from cheaptalk.rules import CheaptalkError, unknown
from cheaptalk.studies.corrections import changes_since
from cheaptalk.studies.lookup import stored_study
from cheaptalk.studies.people.differences import Differences, differences
from cheaptalk.studies.status import Stage, StudyStatus
from cheaptalk.studies.study import Study, StudyError
from cheaptalk.web.laboratory.database import LaboratoryDatabase
from cheaptalk.web.laboratory.designs import read_design
from cheaptalk.web.laboratory.folder import Folder
from cheaptalk.web.laboratory.outputs import Outputs
from cheaptalk.web.laboratory.runs import Runs
from cheaptalk.web.laboratory.study_status import recruitment_stage, turnout
from cheaptalk.web.participants.correcting import correct_texts
from cheaptalk.web.participants.server import identities_path, make_experiment, open_experiment
from cheaptalk.web.participants.supervisor import Supervisor
from cheaptalk.web.previews.previews import Previews
from cheaptalk.web.problems import problem_of
from cheaptalk.web.rooms.addresses import ANYWHERE, Address
from cheaptalk.web.rooms.links import Links

PRIVATE = 0o077
"""Umask while a laboratory is open: only the owner can read its files."""


class OpenStudy(NamedTuple):
    """A study open to participants, with its pages and an exit stack for closing it."""

    supervisor: Supervisor
    app: FastAPI
    stack: AsyncExitStack


class CorrectsTexts(CheaptalkError):
    """Raised if a design corrects texts of a study, which requires a reason."""

    status_code = 409

    def __init__(self) -> None:
        super().__init__("the design corrects texts that participants have read; give a reason")


class Laboratory:
    """The studies of a laboratory on a running server. Use as an async context manager.

    Attributes:
        open: studies that participants can join, by name.
        broken: errors of studies that could not be opened at the start, by name.
    """

    def __init__(
        self, path: Path, database: LaboratoryDatabase, links: Links, address: Address = ANYWHERE
    ) -> None:
        self.folder = Folder(path)
        self.database = database
        self.links = links
        self.address = address
        self.runs = Runs(self.folder)
        self.outputs = Outputs(self.runs.statuses)
        self.previews = Previews(path)
        self.open: dict[str, OpenStudy] = {}
        self.broken: dict[str, str] = {}
        self._launching = asyncio.Lock()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        # Participants' data are in many files, some of which subprocesses write.
        self._stack.callback(os.umask, os.umask(PRIVATE))
        await asyncio.to_thread(self.folder.make_private)
        await self._stack.enter_async_context(self.runs)
        await self._stack.enter_async_context(self.outputs)
        await self._stack.enter_async_context(self.previews)
        for name in self.folder.names():
            try:
                study = read_design(name, self.launched(name) or "", self.folder.path)
                if study.people is not None:
                    await self._open(name, study)
            except Exception as error:  # noqa: BLE001 - a damaged study must not affect the others
                self.broken[name] = problem_of(error, f"the study {name}")
        return self

    async def __aexit__(self, *exception: object) -> None:
        for name in list(self.open):
            await self._close(name)
        await self._stack.aclose()

    def launched(self, name: str) -> str | None:
        """Return the study file with which a study was launched; None if it wasn't launched."""
        if name not in self.folder.names():
            return None
        return self.folder.text(name).read_text(encoding="utf-8", errors="replace")

    async def launch(self, name: str, text: str) -> Study:
        """Launch a study: open it to participants, and allow runs.

        A study that is already open is reopened if the change does not affect its participants.

        Raises:
            StudyError: the design is not a valid study.
            CorrectsTexts: the change corrects texts that participants have read.
            CheaptalkError: the change affects participants or a run in progress.
        """
        async with self._launching:
            study = read_design(name, text, self.folder.path)
            before = self.launched(name)
            if before != text:
                found = self.changes(name, study)
                if found is not None and found.rule:
                    raise CheaptalkError(found.rule)
                if found is not None and found.texts:
                    raise CorrectsTexts
                if before is None or not self._is_compatible(name, before, study):
                    await self._expect_no_run(name)
                await self._close(name)
                self._write(name, text)
            try:
                if study.people is not None and name not in self.open:
                    await self._open(name, study)
            except BaseException:
                self._write(name, before)
                raise
            self.broken.pop(name, None)
            return study

    def changes(self, name: str, study: Study) -> Differences | None:
        """Compare a design with the open study; None if the study has no participants."""
        opened = self.open.get(name)
        if opened is None or not opened.supervisor.experiment.people:
            return None
        return differences(opened.supervisor.experiment.study, study)

    async def correct(self, name: str, text: str, by: str, reason: str) -> None:
        """Correct the texts of an open study, and adjust its settings, as in a design.

        Raises:
            StudyError: the design is not a valid study.
            CheaptalkError: the design changes a rule.
        """
        async with self._launching:
            study = read_design(name, text, self.folder.path)
            experiment = self.supervisor(name).experiment
            found = differences(experiment.study, study)
            if found.rule:
                raise CheaptalkError(found.rule)
            if found.texts:
                await correct_texts(experiment, study, by, reason)
            self._write(name, text)
            if found.settings:
                await self._close(name)
                await self._open(name, study)

    def _is_compatible(self, name: str, before: str, study: Study) -> bool:
        try:
            found = differences(read_design(name, before, self.folder.path), study)
        except StudyError:
            return False
        return not (found.rule or found.texts)

    def _write(self, name: str, text: str | None) -> None:
        path = self.folder.path / f"{name}.yaml"
        if text is None:
            path.unlink()
            return
        with whole_file(path) as file:
            file.write(text)

    async def _expect_no_run(self, name: str) -> None:
        opened = self.open.get(name)
        launched = opened is None and name in self.folder.names()
        if launched and (await self.runs.status(name)).stage.under_way:
            raise CheaptalkError("a run of this study is in progress; stop it first")

    async def _open(self, name: str, study: Study) -> None:
        stack, store = AsyncExitStack(), self.folder.store(name)
        study = await asyncio.to_thread(_with_recorded_texts, study, store)
        try:
            supervisor = await stack.enter_async_context(
                open_experiment(study, store, identities_path(str(store)))
            )
        except BaseException:
            await stack.aclose()
            raise
        url = self.address.url and f"{self.address.url}/s/{name}"
        app = make_experiment(supervisor, self.links, self.address._replace(url=url), name)
        self.open[name] = OpenStudy(supervisor, app, stack)

    async def _close(self, name: str) -> None:
        opened = self.open.pop(name, None)
        if opened is not None:
            await opened.stack.aclose()

    def supervisor(self, name: str) -> Supervisor:
        """Return the supervisor of an open study; raise UnknownName for any other study."""
        if name not in self.open:
            raise unknown("study with participants", name, sorted(self.open))
        return self.open[name].supervisor

    async def status(self, name: str) -> StudyStatus | None:
        """Return the status of a study; None if the study was not launched."""
        if self.launched(name) is None:
            return None
        if name in self.broken:
            return StudyStatus(name, Stage.UNOPENED, self.broken[name])
        if name not in self.open:
            return await self.runs.status(name)
        experiment = self.open[name].supervisor.experiment
        people = turnout(experiment)
        stage, reason = recruitment_stage(experiment, people)
        status = await self.runs.statuses.get(name)
        return replace(status, stage=stage, reason=reason, people=people)

    async def remove(self, name: str) -> None:
        """Delete a launched study, unless it has active participants or a run in progress."""
        opened = self.open.get(name)
        if opened is not None:
            active = [
                person
                for person in opened.supervisor.experiment.people.values()
                if not person.ending
            ]
            if active:
                raise CheaptalkError(
                    f"{len(active)} participants are active in this study; close the study and "
                    "wait for them, or remove them"
                )
        elif name in self.folder.names() and (await self.runs.status(name)).stage.under_way:
            raise CheaptalkError("a run of this study is in progress; stop it first")
        await self._close(name)
        await asyncio.to_thread(self._delete_files, name)

    def _delete_files(self, name: str) -> None:
        if name not in self.folder.names():
            return
        for path in self.folder.files(name):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


def _with_recorded_texts(study: Study, path: Path) -> Study:
    """Return the stored version of a study if it differs from its file only in corrected texts.

    A server may stop after a correction was recorded and before the study's file was written.
    """
    with suppress(StoreNotFound, StudyError), Store.open(path) as store:
        found = changes_since(store, study)
        if found is not None and found.texts and not found.rule:
            is_corrected = text_version(store, store.study_id(study.name)) > FIRST_VERSION
            return stored_study(store, study.name) if is_corrected else study
    return study
