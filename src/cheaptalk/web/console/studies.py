"""Studies as researchers write them: the list, a study's overview, its design and its log."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Annotated, NamedTuple, TypeAlias

from fastapi import HTTPException, Query
from fastapi.responses import Response

from cheaptalk.records.endings import ended_text
from cheaptalk.records.people.payouts import dollars_text
from cheaptalk.rules import game_title
from cheaptalk.studies.plans.plan import Plan, plan
from cheaptalk.studies.study import Study
from cheaptalk.web.console.reception import STUDY, Reception, Visiting
from cheaptalk.web.console.refusals import sentence, status_of
from cheaptalk.web.console.team import GREATEST, Before
from cheaptalk.web.laboratory.audit import PAGE as LOG_PAGE
from cheaptalk.web.laboratory.database import LaboratoryDatabase
from cheaptalk.web.laboratory.designs import read_design
from cheaptalk.web.laboratory.drafts import PAGE, BadName, Conflict, Draft, Taken
from cheaptalk.web.laboratory.staff import Role
from cheaptalk.web.laboratory.standing import Standing
from cheaptalk.web.problems import problem_of
from cheaptalk.yaml_files import parse_yaml

REMEMBERED = 500
"""Drafts of which is kept what the list says."""
START = """\
name: {name}
description: What is this study to find out?
seed: 1
deals: 5
games:
  - game: bargaining
players:
  fair: {{strategy: equal_split}}
  firm: {{strategy: boulware}}
"""
"""The design of a study that was just begun."""


Remove: TypeAlias = Callable[[str], Awaitable[None]]
Stand: TypeAlias = Callable[[str], Awaitable[Standing | None]]


async def nothing_else(_name: str) -> None:
    """Delete nothing: there is no more of a study than its design."""


async def not_launched(_name: str) -> Standing | None:
    """Say of every study that it was not launched."""
    return None


def nothing_launched(_name: str) -> str | None:
    """Say of every study that it was not launched."""
    return None


class Reading(NamedTuple):
    """What a design says.

    Attributes:
        study: None where it is no study.
        planned: its matches; None where it is no study, or takes its deals from another.
        problem: why nobody can play it; empty where that is not known.
    """

    study: Study | None
    planned: Plan | None
    problem: str


class Brief(NamedTuple):
    """A study in the list.

    Attributes:
        games: which it plays, in words.
        players: how many there are.
        problem: why it cannot be played; empty if it can.
    """

    games: str
    players: int
    problem: str = ""


def reading(name: str, text: str) -> Reading:
    """Read a design, which must name the study as the laboratory does.

    >>> len(reading("pilot", START.format(name="pilot")).planned.matches)
    20
    >>> reading("pilot", START.format(name="other")).problem
    'name: the study is called pilot here, not other'
    """
    try:
        study = read_design(name, text)
        return Reading(study, None if study.deals_from else plan(study), "")
    except Exception as error:  # noqa: BLE001 - a game of a plug-in may fail in any way
        problem = problem_of(error, "the design")
        return Reading(None, None, problem.removeprefix(f"{name}: "))


def in_brief(name: str, text: str) -> Brief:
    """Return what the list says of a design."""
    study, _, problem = reading(name, text)
    return Brief(games_of(study), len(study.players)) if study else Brief("", 0, problem)


def games_of(study: Study) -> str:
    """The titles of a study's games, each once.

    >>> games_of(reading("pilot", START.format(name="pilot")).study)
    'Bargaining'
    """
    if study.deals_from:
        return f"those of {study.deals_from}"
    return ", ".join(dict.fromkeys(game_title(grid.game) for grid in study.games))


class Studies:
    """The pages of the studies in a laboratory's database.

    Args:
        remove: deletes what else there is of a study, before its design goes.
        stand: tells how a study stands that was launched.
        launched: the text with which one was; None where it was not.
    """

    def __init__(
        self, database: LaboratoryDatabase, remove: Remove = nothing_else,
        stand: Stand = not_launched, launched: Callable[[str], str | None] = nothing_launched,
    ) -> None:  # fmt: skip
        self.drafts = database.drafts
        self.remove = remove
        self.stand = stand
        self.launched = launched
        self.audit = database.audit
        self._in_brief = lru_cache(REMEMBERED)(in_brief)

    def add(self, reception: Reception) -> None:
        """Add the pages to a console."""
        reception.page_at("/", self.listing, Role.VIEWER)
        reception.page_at("/new-study", self.new, Role.RESEARCHER)
        reception.deed_at("/new-study", self.begin, Role.RESEARCHER)
        reception.page_at(f"{STUDY}/overview", self.overview, Role.VIEWER)
        reception.page_at(f"{STUDY}/design", self.design, Role.VIEWER)
        reception.deed_at(f"{STUDY}/design", self.keep, Role.RESEARCHER)
        reception.page_at(f"{STUDY}/log", self.log, Role.VIEWER)
        reception.page_at(f"{STUDY}/delete", self.before_delete, Role.RESEARCHER)
        reception.deed_at(f"{STUDY}/delete", self.delete, Role.RESEARCHER)

    async def listing(
        self, visit: Visiting, words: str = "", after: Annotated[int, Query(ge=0, le=GREATEST)] = 0
    ) -> Response:
        found = await asyncio.to_thread(self.drafts.page, words, after)
        rows = [
            (draft, self._in_brief(draft.name, draft.text), await self._stands(draft.name))
            for draft in found
        ]
        more = after + PAGE if len(found) == PAGE else None
        return visit.render("studies.html.jinja", rows=rows, words=words, after=after, more=more)

    def new(self, visit: Visiting) -> Response:
        return visit.render("new_study.html.jinja", name="", text="", problem="")

    def begin(self, visit: Visiting) -> Response:
        """Keep a new draft, of a study file or of our beginning of one."""
        name, text = visit.form.get("name", "").strip(), _text(visit.form.get("text", ""))
        name = name or _named(text)
        try:
            draft = self.drafts.create(
                name, text if text.strip() else START.format(name=name), visit.account.name
            )
        except (BadName, Taken) as error:
            return visit.render(
                "new_study.html.jinja", status_of(error), name=name, text=text,
                problem=sentence(error),
            )  # fmt: skip
        return visit.go(f"/studies/{draft.name}/design", f"{draft.name} was begun.")

    async def overview(self, visit: Visiting, name: str) -> Response:
        draft = await asyncio.to_thread(self.drafts.read, name)
        read = await asyncio.to_thread(reading, draft.name, draft.text)
        return visit.render(
            "overview.html.jinja", name=draft.name, tab="overview", draft=draft, read=read,
            games=games_of(read.study) if read.study else "", dollars=dollars_text,
            stands=await self._stands(draft.name), changed=await self._changed(draft),
        )  # fmt: skip

    async def _changed(self, draft: Draft) -> bool:
        """Whether a study's design is another now than the one that was launched."""
        launched = await asyncio.to_thread(self.launched, draft.name)
        return launched is not None and launched != draft.text

    async def _stands(self, name: str) -> Standing | None:
        """How a study stands, or why its store cannot be read."""
        try:
            return await self.stand(name)
        except Exception as error:  # noqa: BLE001 - a damaged store may fail in any way
            why = problem_of(error, f"the store of {name}")
            return Standing("cannot be read", why, 0, ended_text(0, None), 0, 0, None)

    async def design(self, visit: Visiting, name: str) -> Response:
        draft = await asyncio.to_thread(self.drafts.read, name)
        problem = (await asyncio.to_thread(reading, draft.name, draft.text)).problem
        return visit.render(
            "design.html.jinja", name=draft.name, tab="design", draft=draft, problem=problem,
            stands=await self._stands(draft.name),
        )  # fmt: skip

    def keep(self, visit: Visiting, name: str) -> Response:
        """Keep another design, even one that is no study yet; if somebody was faster, ask."""
        text = _text(_given(visit.form, "text"))
        try:
            after = self.drafts.replace(name, text, _version(visit.form), visit.account.name)
        except Conflict as conflict:
            return visit.render(
                "conflict.html.jinja", 409, name=conflict.theirs.name, tab="design",
                mine=conflict.mine, theirs=conflict.theirs,
            )  # fmt: skip
        said = f"Version {after.version} is kept."
        return visit.go(f"/studies/{after.name}/design", said)

    def log(self, visit: Visiting, name: str, before: Before = None) -> Response:
        draft = self.drafts.read(name)
        return visit.render(
            "study_log.html.jinja", name=draft.name, tab="log", later=before is not None,
            entries=self.audit.page(draft.name, before), page=LOG_PAGE,
        )  # fmt: skip

    async def before_delete(self, visit: Visiting, name: str) -> Response:
        """Ask whether a study is really to go, and say what goes with it."""
        draft = await asyncio.to_thread(self.drafts.read, name)
        return _asked(visit, draft, await self._stands(draft.name))

    async def delete(self, visit: Visiting, name: str) -> Response:
        """Remove a study, unless it has changed since somebody was asked."""
        version = _version(visit.form)
        draft = await asyncio.to_thread(self.drafts.read, name)
        try:
            if draft.version != version:
                raise Conflict("", draft)
            await self.remove(draft.name)
            await asyncio.to_thread(self.drafts.delete, name, version, visit.account.name)
        except Conflict as conflict:
            return _asked(visit, conflict.theirs, await self._stands(name), 409)
        return visit.go("/", f"{name} was deleted.")


def _asked(visit: Visiting, draft: Draft, stands: Standing | None, status: int = 200) -> Response:
    return visit.render(
        "delete.html.jinja", status, name=draft.name, tab="overview", draft=draft,
        changed=status == 409, stands=stands, dollars=dollars_text,
    )  # fmt: skip


def _named(text: str) -> str:
    """The name in a study file; empty where it has none, or cannot be read."""
    try:
        data = parse_yaml(text)
    except ValueError:
        return ""
    return str(data.get("name", "")) if isinstance(data, dict) else ""


def _text(posted: str) -> str:
    """A text as it was written: browsers send its lines with other ends."""
    return posted.replace("\r\n", "\n").replace("\r", "\n")


def _given(form: dict[str, str], field: str) -> str:
    """A field that must be there.

    Raises:
        HTTPException: it is not.
    """
    if field not in form:
        raise HTTPException(400, "A part of this form is missing. Go back, and try again.")
    return form[field]


def _version(form: dict[str, str]) -> int:
    """The version that a page showed.

    Raises:
        HTTPException: there is none.
    """
    text = _given(form, "version")
    if not (text.isascii() and text.isdigit() and len(text) < len(str(GREATEST))):
        raise HTTPException(400, "A part of this form cannot be read. Go back, and try again.")
    return int(text)
