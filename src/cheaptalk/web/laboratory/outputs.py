"""Outputs: reports, comparisons and exports of studies, made in processes of their own.

What is made of a study lies in ``outputs/NAME``; beside each file ``FILE.json`` says what it is and
what it was made from. A file takes the place of an older one once it is whole.
"""

import asyncio
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from cheaptalk.calls.orders import ControlError
from cheaptalk.records import StoreError
from cheaptalk.reports.pages import page_policy
from cheaptalk.reports.recipes.parts import RECIPES
from cheaptalk.rules import unknown
from cheaptalk.web.laboratory.commands import Command, Commands
from cheaptalk.web.laboratory.overview import Overview, Overviews
from cheaptalk.web.problems import problem_of
from cheaptalk.whole_files import whole_file

FORMS = ["csv", "parquet", "jsonl", "chats"]
"""The formats of exports."""

VIEWER = ("--viewer", "../transcripts")
"""Where a page finds the transcripts of its study when it is read in the console."""


class Output(NamedTuple):
    """Something that was made of a study.

    Attributes:
        file: its name in the study's folder of outputs.
        title: what it is.
        made: when its making began, in seconds since 1970.
        matches: how many matches of the study had ended by then.
        stale: whether a study that it was made from has other results now.
        policy: the content security policy that it needs as a page; empty of what is none.
        problem: why nothing more is known of it; empty if its note can be read.
    """

    file: str
    title: str
    made: float
    matches: int
    stale: bool
    policy: str
    problem: str = ""


class Making(NamedTuple):
    """The output of a study that was made last, or is being made.

    Attributes:
        file: its name.
        title: what it is.
        under_way: whether it is being made.
        problem: why it could not be made; empty where it could.
    """

    file: str
    title: str
    under_way: bool
    problem: str = ""


class _Wanted(NamedTuple):
    """An output to make: its file and title, the command, and the studies that it is made from."""

    file: str
    title: str
    words: tuple[str, ...]
    studies: tuple[str, ...]


class _Note(BaseModel):
    """What is kept of an output beside its file.

    Attributes:
        seen: the mark of each study that it was made from; None of one without a store.
    """

    title: str
    made: float
    matches: int
    policy: str
    seen: dict[str, list[Any] | None]


class _Work(NamedTuple):
    """An output on its way, and in the end why it could not be made, if so."""

    wanted: _Wanted
    task: asyncio.Task[str]


class Outputs(Commands):
    """What is made of a laboratory's studies, one output of a study at a time.

    Args:
        overviews: of the laboratory's studies.
    """

    def __init__(self, overviews: Overviews) -> None:
        super().__init__()
        self.overviews = overviews
        self.folder = overviews.folder
        self._works: dict[str, _Work] = {}

    async def close(self) -> None:
        """Stop what is being made, and begin no more; nothing is left of it."""
        await super().close()
        for work in self._works.values():
            await work.task

    async def recipes(self, name: str) -> dict[str, str]:
        """The titles of papers' tables and figures that a study's games may give, by recipe.

        Raises:
            UnknownName: there is no such study.
        """
        try:
            seen = await self.overviews.of(name)
        except Exception as error:  # noqa: BLE001 - a damaged store may fail in any way; the list shows it
            problem_of(error, f"the store of {name}")
            return {}
        games = set() if seen is None else {*seen.games}
        found = await asyncio.to_thread(dict, RECIPES)
        return {
            one: found[one].title for one in sorted(found)
            if not found[one].games or games & {*found[one].games}
        }  # fmt: skip

    async def report(self, name: str, recipe: str | None = None) -> None:
        """Begin a study's report, or the tables and figures of a paper from it.

        Args:
            name: of the study.
            recipe: of the paper; None for the study's own report.

        Raises:
            UnknownName: there is no such study or recipe.
            StoreError: the study has no match yet.
            ControlError: another output of the study is being made.
        """
        if recipe is None:
            wanted = _Wanted("report.html", "Report", ("report", name, *VIEWER), (name,))
        else:
            recipes = await asyncio.to_thread(dict, RECIPES)
            if recipe not in recipes:
                raise unknown("recipe", recipe, sorted(recipes))
            words = ("report", name, "--recipe", recipe, *VIEWER)
            title = f"Report: {recipes[recipe].title}"
            wanted = _Wanted(f"recipe-{recipe}.html", title, words, (name,))
        await self._begin(name, wanted)

    async def comparison(self, name: str, other: str) -> None:
        """Begin a comparison of another study with this one: the other one less this.

        Raises:
            UnknownName: there is no such study.
            StoreError: one of them has no match yet.
            ControlError: another output of the study is being made.
        """
        words = ("compare", name, other, "--other-store", str(self.folder.store(other)), *VIEWER)
        wanted = _Wanted(f"compare-{other}.html", f"Comparison with {other}", words, (name, other))
        await self._begin(name, wanted)

    async def export(self, name: str, form: str = "csv") -> None:
        """Begin an archive with a study's records.

        Args:
            name: of the study.
            form: one of :data:`FORMS`.

        Raises:
            UnknownName: there is no such study or format.
            StoreError, ControlError: as of :meth:`report`.
        """
        if form not in FORMS:
            raise unknown("format", form, FORMS)
        words = ("export", name, "--format", form)
        await self._begin(name, _Wanted(f"export-{form}.zip", f"Export ({form})", words, (name,)))

    def making(self, name: str) -> Making | None:
        """What is being made of a study, or was last since the server began; None if nothing was.

        Raises:
            UnknownName: there is no such study.
        """
        self.folder.text(name)
        work = self._works.get(name)
        if work is None:
            return None
        file, title, *_ = work.wanted
        ended = work.task.done()
        return Making(file, title, not ended, work.task.result() if ended else "")

    async def listed(self, name: str) -> list[Output]:
        """What there is of a study, newest first.

        Raises:
            UnknownName: there is no such study.
            CheaptalkError: a store cannot be read.
        """
        return await asyncio.to_thread(self._listed, name)

    async def output(self, name: str, file: str) -> tuple[Path, Output]:
        """One of what there is of a study, and where it lies.

        Raises:
            UnknownName: there is no such study, or no such output of it.
        """
        known = {one.file: one for one in await self.listed(name)}
        if file not in known:
            raise unknown(f"output of {name}", file, sorted(known))
        return self.folder.outputs(name) / file, known[file]

    async def delete(self, name: str, file: str) -> Output:
        """Delete one of what there is of a study.

        Raises:
            UnknownName: there is no such study, or no such output of it.
        """
        path, output = await self.output(name, file)
        for one in (path.with_name(f"{file}.json"), path):
            await asyncio.to_thread(one.unlink, missing_ok=True)
        return output

    def _listed(self, name: str) -> list[Output]:
        notes = self.folder.outputs(name).glob("*.json")
        listed = [self._noted(note) for note in notes if note.with_suffix("").is_file()]
        return sorted(listed, key=lambda output: -output.made)

    def _noted(self, note: Path) -> Output:
        """Return the output that a note describes."""
        try:
            kept = _Note.model_validate_json(note.read_bytes())
        except (ValidationError, OSError) as error:
            made, problem = note.stat().st_mtime, problem_of(error, f"the note {note.name}")
            return Output(note.stem, note.stem, made, 0, True, page_policy(), problem)
        names = self.folder.names()
        try:
            now = {one: self.overviews.read(one) if one in names else None for one in kept.seen}
            stale = kept.seen != json.loads(json.dumps(_marks(now)))
        except Exception as error:  # noqa: BLE001 - a damaged store may fail in any way
            stale, problem = True, problem_of(error, "a study from which it was made")
        else:
            problem = ""
        return Output(
            note.stem, kept.title, kept.made, kept.matches, stale, kept.policy, problem
        )  # fmt: skip

    async def _seen(self, name: str) -> Overview:
        """What a study's store holds.

        Raises:
            StoreError: no match.
        """
        seen = await self.overviews.of(name)
        if seen is None or not seen.games:
            raise StoreError(f"no match of {name} has begun; run it first")
        return seen

    async def _begin(self, name: str, wanted: _Wanted) -> None:
        async with self.beginning(name):
            work = self._works.get(name)
            if work is not None and not work.task.done():
                raise ControlError(f"{work.wanted.title} of {name} is being made; wait for it")
            folder = self.folder.outputs(name)
            seen = {one: await self._seen(one) for one in wanted.studies}
            note = {
                "title": wanted.title, "made": time.time(), "matches": seen[name].done,
                "policy": page_policy() if wanted.file.endswith(".html") else "",
                "seen": _marks(seen),
            }  # fmt: skip
            folder.mkdir(parents=True, exist_ok=True)
            half = folder / f".{wanted.file}"
            command = await self.begin(
                name, *wanted.words, "--store", str(self.folder.store(name)), "--out", str(half)
            )
            task = asyncio.create_task(_finish(command, half, folder / wanted.file, note))
            self._works[name] = _Work(wanted, task)


def _marks(seen: Mapping[str, Overview | None]) -> dict[str, list[object] | None]:
    """What tells whether studies have other results than before."""
    return {name: one and one.mark for name, one in seen.items()}


async def _finish(command: Command, half: Path, file: Path, note: Mapping[str, object]) -> str:
    """Wait for an output, and put it and what is known of it into their places.

    Returns:
        Why there is none; empty where there is.
    """
    try:
        if await command.ended() == 0:
            await asyncio.to_thread(_put, half, file, note)
            return ""
        half.unlink(missing_ok=True)
    except OSError as error:
        return f"{file.name} cannot be written: {error.strerror}"
    return command.error or command.crash or "it was stopped"


def _put(half: Path, file: Path, note: Mapping[str, object]) -> None:
    half.replace(file)
    with whole_file(file.with_name(f"{file.name}.json")) as text:
        json.dump(note, text)
