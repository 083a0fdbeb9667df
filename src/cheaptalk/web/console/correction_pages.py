"""Console page on which researchers review and apply corrections of a study's texts."""

import asyncio
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from fastapi import HTTPException
from fastapi.responses import Response

from cheaptalk.records.people.corrections import MadeCorrection, TextChange, made_corrections
from cheaptalk.studies.people.differences import Differences
from cheaptalk.web.console.authentication import STUDY, Authentication, CurrentVisit
from cheaptalk.web.console.study_pages import (
    check_design,
    conflict_page,
    is_restorable,
    version_in,
)
from cheaptalk.web.laboratory.drafts import Conflict
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.web.laboratory.staff import Role

MAX_REASON = 500
"""Maximum characters of a correction's reason."""
WORD = re.compile(r"\s+|\w+|[^\w\s]")


class Piece(NamedTuple):
    """A part of a text that a correction keeps, deletes or inserts."""

    kind: Literal["kept", "deleted", "inserted"]
    text: str


class ShownChange(NamedTuple):
    """A changed text with its parts, or the images before and after a change as data: URLs."""

    change: TextChange
    pieces: list[Piece]
    images: tuple[str, str] | None


def shown_change(change: TextChange) -> ShownChange:
    """Return a changed text in the form in which the page shows it.

    >>> shown_change(TextChange("title", "", "Our studdy", "Our study")).pieces[1:]
    [Piece(kind='deleted', text='studdy'), Piece(kind='inserted', text='study')]
    """
    before, after = change.before or "", change.after or ""
    if before.startswith("data:image/") or after.startswith("data:image/"):
        return ShownChange(change, [], (before, after))
    return ShownChange(change, list(_pieces(WORD.findall(before), WORD.findall(after))), None)


def _pieces(before: list[str], after: list[str]) -> Iterator[Piece]:
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        if kind == "equal":
            yield Piece("kept", "".join(before[start:end]))
            continue
        if start < end:
            yield Piece("deleted", "".join(before[start:end]))
        if new_start < new_end:
            yield Piece("inserted", "".join(after[new_start:new_end]))


class CorrectionPages:
    """The page with a study's pending and earlier corrections, below its Design tab."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory
        self.drafts = laboratory.database.drafts

    def add(self, authentication: Authentication) -> None:
        authentication.add_page(f"{STUDY}/corrections", self.review, Role.VIEWER)
        authentication.add_action(f"{STUDY}/corrections", self.apply, Role.RESEARCHER)
        authentication.add_action(f"{STUDY}/restore", self.restore, Role.RESEARCHER)

    async def review(self, visit: CurrentVisit, name: str) -> Response:
        """Compare the design with the launched study, and list earlier corrections."""
        return await self._page(visit, name)

    async def _page(self, visit: CurrentVisit, name: str, problem: str = "") -> Response:
        draft = await asyncio.to_thread(self.drafts.read, name)
        folder = self.laboratory.folder.path
        checked = await asyncio.to_thread(check_design, draft.name, draft.text, folder)
        found: Differences | None = None
        if checked.study is not None:
            found = self.laboratory.changes(draft.name, checked.study)
        made = await asyncio.to_thread(self._made, draft.name)
        return visit.render(
            "corrections.html.jinja",
            422 if problem else 200,
            name=draft.name,
            tab="design",
            draft=draft,
            invalid=checked.problem,
            found=found,
            restorable=await asyncio.to_thread(is_restorable, self.laboratory, draft),
            texts=[shown_change(change) for change in found.texts] if found else [],
            made=[
                (correction, [shown_change(change) for change in correction.changes])
                for correction in reversed(made)
            ],
            problem=problem,
            maximum=MAX_REASON,
            reason=visit.form.get("reason", ""),
        )

    def _made(self, name: str) -> list[MadeCorrection]:
        opened = self.laboratory.open.get(name)
        if opened is None:
            return []
        experiment = opened.supervisor.experiment
        return made_corrections(experiment.room_manager.store, experiment.study_id)

    async def apply(self, visit: CurrentVisit, name: str) -> Response:
        """Apply the changed texts of the version of the design that the page showed."""
        version, reason = version_in(visit.form), visit.form.get("reason", "").strip()
        draft = await asyncio.to_thread(self.drafts.read, name)
        if draft.version != version:
            problem = visit.text("The design has changed meanwhile. Review the correction again.")
            return await self._page(visit, name, problem)
        if not 0 < len(reason) <= MAX_REASON:
            raise HTTPException(400, f"Enter a reason of 1 to {MAX_REASON} characters.")
        await self.laboratory.correct(draft.name, draft.text, visit.account.name, reason)
        visit.record("corrected texts", draft.name, version=version, reason=reason)
        return visit.go(f"/studies/{draft.name}/corrections", "The correction was applied.")

    def restore(self, visit: CurrentVisit, name: str) -> Response:
        """Make the launched version the design again, as a new version of it."""
        launched = self.laboratory.launched(name)
        if launched is None:
            raise HTTPException(409, "This study wasn't launched, so no version can be restored.")
        try:
            after = self.drafts.replace(name, launched, version_in(visit.form), visit.account.name)
        except Conflict as conflict:
            return conflict_page(visit, conflict)
        notice = "The launched version was restored as version %(version)s."
        return visit.go(f"/studies/{name}/design", notice, version=after.version)
