"""Outputs: reports, comparisons and exports of studies, made by subprocesses.

The outputs of a study are in ``outputs/NAME``. Next to each file, ``FILE.json`` describes it and
the state of its studies. A file is replaced only when the new one is complete.
"""

import asyncio
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from cheaptalk.atomic_files import whole_file
from cheaptalk.calls.commands import ControlError
from cheaptalk.records import StoreError
from cheaptalk.reports.pages import page_policy
from cheaptalk.reports.recipes.parts import RECIPES
from cheaptalk.rules import unknown
from cheaptalk.studies.status import StudyStatus
from cheaptalk.web.laboratory.commands import Command, Commands
from cheaptalk.web.laboratory.study_status import StudyStatuses
from cheaptalk.web.problems import problem_of

VIEWER = ("--viewer", "../transcripts")
"""Option for links from a page to the transcripts in the console."""


EXPORT_FORMS = ("csv", "parquet", "wide", "otree")
"""Formats of exports; the last two contain only participants."""


class Output(BaseModel):
    """A report, comparison or export of a study; the last three fields are not stored.

    ``made`` and ``matches`` are the time and the number of ended matches when it was started, and
    ``seen`` is the state of its source studies at that time. ``policy`` is the content security
    policy of a page, ``stale`` says whether results have changed since, and ``problem`` is the
    reason why that is unknown.
    """

    title: str
    made: float
    matches: int
    policy: str
    seen: dict[str, list[Any] | None]
    file: str = Field("", exclude=True)
    stale: bool = Field(True, exclude=True)
    problem: str = Field("", exclude=True)


class Making(NamedTuple):
    """The current or latest output of a study, and the task that creates it.

    The task returns the reason why it failed, or "".
    """

    title: str
    task: asyncio.Task[str]

    @property
    def under_way(self) -> bool:
        return not self.task.done()

    @property
    def problem(self) -> str:
        return "" if self.under_way else self.task.result()


class Outputs(Commands):
    """The outputs of a laboratory's studies, created one at a time per study.

    Methods raise :class:`.UnknownName` for an unknown study, recipe or file. Methods that
    start an output raise :class:`.StoreError` for a study without matches, and
    :class:`.ControlError` while another output of the study is being made.
    """

    def __init__(self, statuses: StudyStatuses) -> None:
        super().__init__()
        self.statuses = statuses
        self.folder = statuses.folder
        self._works: dict[str, Making] = {}

    async def close(self) -> None:
        await super().close()
        for work in self._works.values():
            await work.task

    async def recipes(self, name: str) -> dict[str, str]:
        """Return the titles of the report recipes that suit a study's games, keyed by recipe."""
        try:
            games = {*(await self.statuses.get(name)).games}
        except Exception as error:  # noqa: BLE001 - a damaged store may fail in any way; the list shows it
            problem_of(error, f"the store of {name}")
            return {}
        registered = await asyncio.to_thread(dict, RECIPES)
        return {
            key: registered[key].title
            for key in sorted(registered)
            if not registered[key].games or games & {*registered[key].games}
        }

    async def report(self, name: str, recipe: str | None = None) -> None:
        """Start creating a study's report or, with ``recipe``, a recipe's tables and figures."""
        if recipe is None:
            await self._begin(name, "report.html", "Report", "report", name, *VIEWER)
            return
        recipes = await asyncio.to_thread(dict, RECIPES)
        if recipe not in recipes:
            raise unknown("recipe", recipe, sorted(recipes))
        file, title = f"recipe-{recipe}.html", f"Report: {recipes[recipe].title}"
        await self._begin(name, file, title, "report", name, "--recipe", recipe, *VIEWER)

    async def comparison(self, name: str, reference: str) -> None:
        """Start creating a comparison: the reference study's results minus this study's."""
        arguments = (reference, "--other-store", str(self.folder.store(reference)), *VIEWER)
        file, title = f"compare-{reference}.html", f"Comparison with {reference}"
        await self._begin(name, file, title, "compare", name, *arguments, reference=reference)

    async def export(self, name: str, form: str = "csv") -> None:
        """Start creating an export in one of :data:`EXPORT_FORMS`."""
        if form not in EXPORT_FORMS:
            raise unknown("export format", form, list(EXPORT_FORMS))
        arguments = ("store", "export", name, "--format", form)
        await self._begin(name, f"export-{form}.zip", f"Export ({form})", *arguments)

    def making(self, name: str) -> Making | None:
        """Return the latest output that this server has started for a study, or None."""
        self.folder.text(name)
        return self._works.get(name)

    async def listed(self, name: str) -> list[Output]:
        return await asyncio.to_thread(self._listed, name)

    async def output(self, name: str, file: str) -> tuple[Path, Output]:
        outputs = {item.file: item for item in await self.listed(name)}
        if file not in outputs:
            raise unknown(f"output of {name}", file, sorted(outputs))
        return self.folder.outputs(name) / file, outputs[file]

    async def delete(self, name: str, file: str) -> Output:
        path, output = await self.output(name, file)
        for target in (path.with_name(f"{file}.json"), path):
            await asyncio.to_thread(target.unlink, missing_ok=True)
        return output

    def _listed(self, name: str) -> list[Output]:
        notes = self.folder.outputs(name).glob("*.json")
        listed = [self._read(note) for note in notes if note.with_suffix("").is_file()]
        return sorted(listed, key=lambda output: -output.made)

    def _read(self, note: Path) -> Output:
        file, problem = note.stem, ""
        try:
            stored = Output.model_validate_json(note.read_bytes())
        except (ValidationError, OSError) as error:
            made, problem = note.stat().st_mtime, problem_of(error, f"the note {note.name}")
            stored = Output(title=file, made=made, matches=0, policy=page_policy(), seen={})
            return stored.model_copy(update={"file": file, "problem": problem})
        names = self.folder.names()
        try:
            now = {study: self.statuses.read(study) for study in stored.seen if study in names}
            stale = stored.seen != json.loads(json.dumps(_marks(now)))
        except Exception as error:  # noqa: BLE001 - a damaged store may fail in any way
            stale, problem = True, problem_of(error, "one of its studies")
        return stored.model_copy(update={"file": file, "stale": stale, "problem": problem})

    async def _begin(
        self, name: str, file: str, title: str, *arguments: str, reference: str | None = None
    ) -> None:
        async with self.starting(name):
            work = self._works.get(name)
            if work is not None and work.under_way:
                raise ControlError(
                    f"{work.title} of {name} is in progress; wait until it is complete"
                )
            folder = self.folder.outputs(name)
            statuses: dict[str, StudyStatus] = {}
            for study in filter(None, (name, reference)):
                statuses[study] = await self.statuses.get(study)
                if not statuses[study].games:
                    raise StoreError(f"{study} has no matches yet; run it first")
            output = Output(
                title=title,
                made=time.time(),
                matches=statuses[name].done,
                policy=page_policy() if file.endswith(".html") else "",
                seen=_marks(statuses),
            )
            folder.mkdir(parents=True, exist_ok=True)
            half, store = folder / f".{file}", str(self.folder.store(name))
            command = await self.begin(name, *arguments, "--store", store, "--out", str(half))
            task = asyncio.create_task(_finish(command, half, folder / file, output))
            self._works[name] = Making(title, task)


def _marks(statuses: Mapping[str, StudyStatus]) -> dict[str, list[Any]]:
    """Return, for each study, a value that changes whenever the study's results change."""
    return {name: status.marker for name, status in statuses.items()}


async def _finish(command: Command, half: Path, file: Path, output: Output) -> str:
    """Wait for a command and move its output into place; return an error message or ""."""
    try:
        if await command.ended() == 0:
            await asyncio.to_thread(_put, half, file, output)
            return ""
        half.unlink(missing_ok=True)
    except OSError as error:
        return f"{file.name} cannot be written: {error.strerror}"
    return command.error or command.crash or "stopped before it was complete"


def _put(half: Path, file: Path, output: Output) -> None:
    half.replace(file)
    with whole_file(file.with_name(f"{file.name}.json")) as text:
        text.write(output.model_dump_json())
