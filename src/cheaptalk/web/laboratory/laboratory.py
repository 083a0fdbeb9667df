"""A laboratory at work: the studies of its folder, open to their people, run, and reported on."""

import asyncio
import os
import shutil
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from fastapi import FastAPI

from cheaptalk.rules import CheaptalkError, unknown
from cheaptalk.studies.study import Study, StudyError
from cheaptalk.web.laboratory.database import LaboratoryDatabase
from cheaptalk.web.laboratory.designs import read_design
from cheaptalk.web.laboratory.folder import Folder
from cheaptalk.web.laboratory.outputs import Outputs
from cheaptalk.web.laboratory.runs import Runs
from cheaptalk.web.participants.server import identities_beside, make_experiment, open_experiment
from cheaptalk.web.participants.supervisor import Supervisor
from cheaptalk.web.problems import problem_of
from cheaptalk.web.rooms.addresses import ANYWHERE, Address
from cheaptalk.web.rooms.links import Links
from cheaptalk.whole_files import whole_file

PRIVATE = 0o077
"""The process's umask while a laboratory is open: only the owner can read what it writes."""


class OpenStudy(NamedTuple):
    """A study to which people come.

    Attributes:
        supervisor: of its participants.
        app: their pages.
        stack: what closes it.
    """

    supervisor: Supervisor
    app: FastAPI
    stack: AsyncExitStack


class Laboratory:
    """The studies of a folder, while a server looks after them. Use as an async context manager.

    Args:
        path: the folder, which must exist.
        database: of the laboratory.
        links: sign where participants are.
        address: where people find the laboratory.

    Attributes:
        folder: where the studies that were launched lie.
        runs, outputs: of studies of models, and what is made of all.
        open: the studies to which people come, by name.
        broken: why a study could not be opened when the laboratory was, by name.
    """

    def __init__(
        self, path: Path, database: LaboratoryDatabase, links: Links, address: Address = ANYWHERE
    ) -> None:
        self.folder = Folder(path)
        self.database = database
        self.links = links
        self.address = address
        self.runs = Runs(self.folder)
        self.outputs = Outputs(self.runs.overviews)
        self.open: dict[str, OpenStudy] = {}
        self.broken: dict[str, str] = {}
        self._launching = asyncio.Lock()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        # Participants' data are in many files, and child processes write some of them.
        self._stack.callback(os.umask, os.umask(PRIVATE))
        await asyncio.to_thread(self.folder.make_private)
        await self._stack.enter_async_context(self.runs)
        await self._stack.enter_async_context(self.outputs)
        for name in self.folder.names():
            try:
                study = read_design(name, self.launched(name) or "")
                if study.people is not None:
                    await self._open(name, study)
            except Exception as error:  # noqa: BLE001 - a damaged study must not keep the others closed
                self.broken[name] = problem_of(error, f"the study {name}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        for name in list(self.open):
            await self._close(name)
        await self._stack.aclose()

    def launched(self, name: str) -> str | None:
        """The text with which a study was launched; None where it was not."""
        if name not in self.folder.names():
            return None
        return self.folder.text(name).read_text(encoding="utf-8", errors="replace")

    async def launch(self, name: str, text: str) -> Study:
        """Launch a study as its design now is: its people may come, its models can be run.

        One that people take part in is opened anew, everybody where they were, if what changed
        makes no difference to them.

        Raises:
            StudyError: the design is none.
            CheaptalkError: it was launched otherwise, and people take part or a run is under way.
        """
        async with self._launching:
            study = read_design(name, text)
            before = self.launched(name)
            if before != text:
                if before is None or not _reads_alike(name, before, study):
                    await self._expect_unused(name)
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

    def _write(self, name: str, text: str | None) -> None:
        """Write the text of a study; None where there is to be none."""
        path = self.folder.path / f"{name}.yaml"
        if text is None:
            path.unlink()
            return
        with whole_file(path) as file:
            file.write(text)

    async def _expect_unused(self, name: str) -> None:
        """Refuse to change a study under those who take part in it."""
        opened = self.open.get(name)
        if opened is not None and opened.supervisor.experiment.people:
            raise CheaptalkError(
                "people take part in this study as it was launched: only who may come, whom they "
                "can ask and how long data are kept can change; give the changed design another "
                "name"
            )
        launched = opened is None and name in self.folder.names()
        if launched and (await self.runs.status(name)).stage.under_way:
            raise CheaptalkError("a run of this study is under way; stop it first")

    async def _open(self, name: str, study: Study) -> None:
        stack, store = AsyncExitStack(), self.folder.store(name)
        try:
            supervisor = await stack.enter_async_context(
                open_experiment(study, store, identities_beside(str(store)))
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
        """Who looks after the participants of a study.

        Raises:
            UnknownName: it is not open to people.
        """
        if name not in self.open:
            raise unknown("study that people come to", name, sorted(self.open))
        return self.open[name].supervisor

    async def remove(self, name: str) -> None:
        """Delete a study that was launched, with its store and all that was made of it.

        Raises:
            CheaptalkError: people are on their way in it, or a run is under way.
        """
        opened = self.open.get(name)
        if opened is not None:
            there = [one for one in opened.supervisor.experiment.people.values() if not one.ending]
            if there:
                raise CheaptalkError(
                    f"{len(there)} people are on their way in this study; close it, and wait for "
                    "them, or remove them"
                )
        elif name in self.folder.names() and (await self.runs.status(name)).stage.under_way:
            raise CheaptalkError("a run of this study is under way; stop it first")
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


def _reads_alike(name: str, before: str, study: Study) -> bool:
    """Whether a study that was launched is the same to those who take part in it."""
    try:
        return _alike(read_design(name, before), study)
    except StudyError:
        return False


def _alike(one: Study, other: Study) -> bool:
    """Whether two studies are one to those who take part in them."""
    return _to_participants(one) == _to_participants(other)


def _to_participants(study: Study) -> Study:
    """A study without what makes no difference to those who take part in it already."""
    free: dict[str, object] = {"description": ""}
    if study.people is not None:
        coming = {"places": None, "invited": None, "one_browser": False}
        recruitment = study.people.recruitment.model_copy(update=coming)
        changes = {"recruitment": recruitment, "contact": "", "keep_days": None}
        free["people"] = study.people.model_copy(update=changes)
    return study.model_copy(update=free)
