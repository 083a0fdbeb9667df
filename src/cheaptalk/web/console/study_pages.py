"""Console pages: list of studies, and a study's Overview, Design and Log tabs."""

import asyncio
from functools import lru_cache
from pathlib import Path
from typing import Annotated, NamedTuple

from fastapi import HTTPException, Query
from fastapi.responses import Response

from cheaptalk.rules import game_title
from cheaptalk.studies.plans.plan import Plan, plan
from cheaptalk.studies.status import Stage, StudyStatus
from cheaptalk.studies.study import Study
from cheaptalk.web.console.account_pages import MAX_ID, Before
from cheaptalk.web.console.authentication import STUDY, Authentication, CurrentVisit, Visit
from cheaptalk.web.laboratory.audit import PAGE as LOG_PAGE
from cheaptalk.web.laboratory.designs import read_design
from cheaptalk.web.laboratory.drafts import PAGE, BadName, Conflict, Draft, Taken
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.web.laboratory.staff import Role
from cheaptalk.web.problems import problem_of
from cheaptalk.yaml_files import parse_yaml

MAX_SUMMARIES = 500
"""Designs whose summary is cached."""
DEFAULT_DESIGN = """\
name: {name}
description: The question that this study answers.
seed: 1
instances: 5
games:
  - game: bargaining
players:
  fair: {{strategy: equal_split}}
  firm: {{strategy: boulware}}
"""
"""Design of a new study."""


class CheckedDesign(NamedTuple):
    """A study design after parsing, with its plan or an error.

    ``planned`` is None if the design is invalid, or uses another study's instances.
    """

    study: Study | None
    planned: Plan | None
    problem: str


class DesignSummary(NamedTuple):
    """A study design in the list of studies: titles of its games, and number of players."""

    games: list[str]
    players: int
    problem: str = ""


def check_design(name: str, text: str, laboratory: Path | None = None) -> CheckedDesign:
    """Parse a study design; its name must match the study's name in the laboratory.

    ``laboratory`` is the folder of the laboratory, whose files the design can name.

    >>> len(check_design("pilot", DEFAULT_DESIGN.format(name="pilot")).planned.matches)
    20
    >>> check_design("pilot", DEFAULT_DESIGN.format(name="other")).problem
    "name: must be pilot, the study's name here, not other"
    """
    try:
        study = read_design(name, text, laboratory)
        return CheckedDesign(study, None if study.instances_from else plan(study), "")
    except Exception as error:  # noqa: BLE001 - a game of a plug-in may fail in any way
        problem = problem_of(error, "the design")
        return CheckedDesign(None, None, problem.removeprefix(f"{name}: "))


def summarize_design(name: str, text: str, laboratory: Path | None = None) -> DesignSummary:
    """Summarise a study design for the list of studies."""
    study, _, problem = check_design(name, text, laboratory)
    if study is None:
        return DesignSummary([], 0, problem)
    return DesignSummary(games_of(study), len(study.players))


def games_of(study: Study) -> list[str]:
    """Return the titles of a study's games.

    >>> games_of(check_design("pilot", DEFAULT_DESIGN.format(name="pilot")).study)
    ['Bargaining']
    """
    if study.instances_from:
        return [f"as in {study.instances_from}"]
    return list(dict.fromkeys(game_title(grid.game) for grid in study.games))


class StudyPages:
    """Pages for the list of studies and for a study's Overview, Design and Log tabs."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory
        self.folder = laboratory.folder.path
        self.drafts = laboratory.database.drafts
        self.audit = laboratory.database.audit
        self._summaries = lru_cache(MAX_SUMMARIES)(summarize_design)

    def add(self, authentication: Authentication) -> None:
        authentication.add_page("/", self.listing, Role.VIEWER)
        authentication.add_page("/new-study", self.new, Role.RESEARCHER)
        authentication.add_action("/new-study", self.create, Role.RESEARCHER)
        authentication.add_page(f"{STUDY}/overview", self.overview, Role.VIEWER)
        authentication.add_page(f"{STUDY}/design", self.design, Role.VIEWER)
        authentication.add_action(f"{STUDY}/design", self.save, Role.RESEARCHER)
        authentication.add_page(f"{STUDY}/log", self.log, Role.VIEWER)
        authentication.add_page(f"{STUDY}/delete", self.before_delete, Role.RESEARCHER)
        authentication.add_action(f"{STUDY}/delete", self.delete, Role.RESEARCHER)

    async def listing(
        self,
        visit: CurrentVisit,
        query: Annotated[str, Query(alias="words")] = "",
        after: Annotated[int, Query(ge=0, le=MAX_ID)] = 0,
    ) -> Response:
        drafts = await asyncio.to_thread(self.drafts.page, query, after)
        rows = []
        for draft in drafts:
            summary = self._summaries(draft.name, draft.text, self.folder)
            rows.append((draft, summary, await self._standing(draft.name)))
        next_page = after + PAGE if len(drafts) == PAGE else None
        return visit.render(
            "studies.html.jinja", rows=rows, query=query, after=after, next_page=next_page
        )

    def new(self, visit: CurrentVisit) -> Response:
        return visit.render("new_study.html.jinja", name="", text="", problem="")

    def create(self, visit: CurrentVisit) -> Response:
        """Create a study from a posted study file or, if there is none, a default design."""
        name, text = visit.form.get("name", "").strip(), _text(visit.form.get("text", ""))
        name = name or _name_in(text)
        try:
            draft = self.drafts.create(
                name, text if text.strip() else DEFAULT_DESIGN.format(name=name), visit.account.name
            )
        except (BadName, Taken) as error:
            return visit.reject("new_study.html.jinja", error, name=name, text=text)
        return visit.go(f"/studies/{draft.name}/design", "%(title)s was created.", title=draft.name)

    async def overview(self, visit: CurrentVisit, name: str) -> Response:
        draft = await asyncio.to_thread(self.drafts.read, name)
        read = await asyncio.to_thread(check_design, draft.name, draft.text, self.folder)
        return visit.render(
            "overview.html.jinja",
            name=draft.name,
            tab="overview",
            draft=draft,
            read=read,
            games=games_of(read.study) if read.study else [],
            standing=await self._standing(draft.name),
            changed=await self._changed(draft),
        )

    async def _changed(self, draft: Draft) -> bool:
        return await asyncio.to_thread(is_restorable, self.laboratory, draft)

    async def _standing(self, name: str) -> StudyStatus | None:
        try:
            return await self.laboratory.status(name)
        except Exception as error:  # noqa: BLE001 - a damaged store may fail in any way
            why = problem_of(error, f"the store of {name}")
            return StudyStatus(name, Stage.UNREADABLE, why)

    async def design(self, visit: CurrentVisit, name: str) -> Response:
        draft = await asyncio.to_thread(self.drafts.read, name)
        read = await asyncio.to_thread(check_design, draft.name, draft.text, self.folder)
        return visit.render(
            "design.html.jinja",
            name=draft.name,
            tab="design",
            draft=draft,
            problem=read.problem,
            found=self.laboratory.changes(draft.name, read.study) if read.study else None,
            restorable=await self._changed(draft),
            standing=await self._standing(draft.name),
        )

    def save(self, visit: CurrentVisit, name: str) -> Response:
        """Save a study design, even an invalid one; on a conflict, show both versions."""
        text = _text(_required_field(visit.form, "text"))
        try:
            after = self.drafts.replace(name, text, version_in(visit.form), visit.account.name)
        except Conflict as conflict:
            return conflict_page(visit, conflict)
        return visit.go(
            f"/studies/{name}/design", "Version %(version)s was saved.", version=after.version
        )

    def log(self, visit: CurrentVisit, name: str, before: Before = None) -> Response:
        draft = self.drafts.read(name)
        return visit.render(
            "study_log.html.jinja",
            name=draft.name,
            later=before is not None,
            entries=self.audit.page(draft.name, before),
            page=LOG_PAGE,
        )

    async def before_delete(self, visit: CurrentVisit, name: str) -> Response:
        draft = await asyncio.to_thread(self.drafts.read, name)
        return _delete_page(visit, draft, await self._standing(draft.name))

    async def delete(self, visit: CurrentVisit, name: str) -> Response:
        """Delete a study, unless it has changed since the confirmation page was shown."""
        version = version_in(visit.form)
        draft = await asyncio.to_thread(self.drafts.read, name)
        try:
            if draft.version != version:
                raise Conflict("", draft)
            await self.laboratory.remove(draft.name)
            await asyncio.to_thread(self.drafts.delete, name, version, visit.account.name)
        except Conflict as conflict:
            return _delete_page(visit, conflict.current, await self._standing(name), 409)
        return visit.go("/", "%(title)s was deleted.", title=name)


def is_restorable(laboratory: Laboratory, draft: Draft) -> bool:
    """Return whether a design differs from the launched version of its study."""
    return laboratory.launched(draft.name) not in (None, draft.text)


def conflict_page(visit: Visit, conflict: Conflict) -> Response:
    """Show both versions of a design that two researchers changed at the same time."""
    return visit.render(
        "conflict.html.jinja",
        409,
        name=conflict.current.name,
        tab="design",
        mine=conflict.submitted,
        theirs=conflict.current,
    )


def _delete_page(
    visit: CurrentVisit, draft: Draft, standing: StudyStatus | None, status: int = 200
) -> Response:
    return visit.render(
        "delete.html.jinja",
        status,
        name=draft.name,
        tab="overview",
        draft=draft,
        changed=status == 409,
        standing=standing,
    )


def _name_in(text: str) -> str:
    try:
        data = parse_yaml(text)
    except ValueError:
        return ""
    return str(data.get("name", "")) if isinstance(data, dict) else ""


def _text(posted: str) -> str:
    return posted.replace("\r\n", "\n").replace("\r", "\n")


def _required_field(form: dict[str, str], field: str) -> str:
    if field not in form:
        raise HTTPException(400, "The form is incomplete. Reload the page and try again.")
    return form[field]


def version_in(form: dict[str, str]) -> int:
    """Return the version of the design in a form; raise HTTPException if it is invalid."""
    text = _required_field(form, "version")
    if not (text.isascii() and text.isdigit() and len(text) < len(str(MAX_ID))):
        raise HTTPException(400, "The form is invalid. Reload the page and try again.")
    return int(text)
