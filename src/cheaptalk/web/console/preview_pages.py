"""Console pages on which researchers preview a study as a participant."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from fastapi import HTTPException, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.study import StudyError
from cheaptalk.web.console.authentication import (
    COOKIE,
    STUDY,
    STYLE,
    Authentication,
    CurrentVisit,
    Visit,
)
from cheaptalk.web.console.errors import sentence, status_of
from cheaptalk.web.headers import page_headers
from cheaptalk.web.laboratory.designs import read_design
from cheaptalk.web.laboratory.drafts import Missing
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.web.laboratory.staff import Role
from cheaptalk.web.previews.preview import STARTING_SECONDS, Preview
from cheaptalk.web.previews.previews import Gone, OpenPreview, Previews
from cheaptalk.web.previews.settings import Options, PreviewSettings, options_of, settings_of
from cheaptalk.web.problems import problem_of
from cheaptalk.web.rooms.languages import best_language, languages

SEATS = "/seats"
"""Path below which the console shows the participants' pages of previews."""
PREVIEW = "/preview/{key}"
NEXT_SECONDS = 3.0
"""Maximum time until the next page is shown, because another own seat may have to move first."""


class OwnSeat(NamedTuple):
    """A participant whom the researcher plays, as the console shows them.

    Attributes:
        path: address of their page; empty if they have deleted their data.
        step, role, treatment: where they are; empty if unknown.
        driven: whether the autopilot answers for them.
        note: what the autopilot could not do.
    """

    number: int
    path: str
    step: str
    role: str
    treatment: str
    ending: str
    driven: bool
    note: str


class StudyPreviews:
    """Pages for opening, showing and controlling previews."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory
        self.previews = laboratory.previews

    def add(self, authentication: Authentication) -> None:
        authentication.add_page(f"{STUDY}/preview", self.before, Role.RESEARCHER)
        authentication.add_action("/preview", self.open, Role.RESEARCHER)
        authentication.add_page(PREVIEW, self.show, Role.RESEARCHER)
        authentication.add_action(PREVIEW, self.act, Role.RESEARCHER)
        authentication.app.mount(SEATS, PreviewedPages(authentication, self.previews))

    async def before(self, visit: CurrentVisit, name: str, launched: str = "") -> Response:
        """Show the settings of a preview of a study's design, or of its launched version."""
        draft = await asyncio.to_thread(self.laboratory.database.drafts.read, name)
        running = await asyncio.to_thread(self.laboratory.launched, draft.name)
        text = running if launched and running is not None else draft.text
        other = running is not None and running != draft.text
        return await settings_page(
            visit,
            self.laboratory,
            draft.name,
            text,
            saved=True,
            launched=bool(launched),
            other=other,
        )

    async def open(self, visit: CurrentVisit) -> Response:
        """Open a preview of a posted design, or show its settings."""
        name = visit.form.get("name", "").strip()
        text = visit.form.get("text", "").replace("\r\n", "\n")
        if visit.form.get("do") != "open":
            return await settings_page(visit, self.laboratory, name, text)
        settings = PreviewSettings()
        try:
            settings = settings_of(visit.form)
            study = await asyncio.to_thread(read_design, name, text, self.laboratory.folder.path)
            address = self.laboratory.address
            opened = await self.previews.open(study, text, visit.account.name, settings, address)
        except Exception as error:  # noqa: BLE001 - a game of a plug-in may fail in any way
            return await settings_page(visit, self.laboratory, name, text, settings, error)
        visit.record("previewed", study.name)
        await opened.preview.wait()
        return visit.go(f"/preview/{opened.key}")

    async def show(self, visit: CurrentVisit, key: str, seat: int = 1) -> Response:
        opened = self.previews.get(key)
        base = visit.link(f"{SEATS}/{key}")
        own, notes = opened.preview.own, opened.preview.notes.items()
        page = visit.render(
            "preview.html.jinja",
            name="",
            opened=opened,
            settings=opened.settings,
            options=opened.preview.options,
            language_name=_language_name(opened.settings.language),
            seats=[*own_seats(opened.preview, base)],
            shown=seat,
            bot_problem=next((note for code, note in notes if code not in own), ""),
        )
        page.headers.update(page_headers(STYLE, frames=True))
        return page

    async def act(self, visit: CurrentVisit, key: str) -> Response:
        """Move one of the researcher's participants to another page, or close the preview."""
        opened, action = self.previews.use(key), visit.form.get("do", "")
        if action == "close":
            await self.previews.close(key)
            return await self._after_close(visit, opened)
        seat = visit.form.get("seat", "")
        numbers = {str(number): code for number, code in enumerate(opened.preview.own, 1)}
        if seat not in numbers:
            raise HTTPException(400, "The form is incomplete. Reload the page and try again.")
        opened = await self._move(opened, numbers[seat], action, visit.form.get("step", ""))
        await opened.preview.wait(NEXT_SECONDS if action == "next" else STARTING_SECONDS)
        return visit.go(f"/preview/{key}?seat={seat}")

    async def _after_close(self, visit: Visit, opened: OpenPreview) -> Response:
        """Return to the study or, if the design was not saved, to the settings with its text."""
        name, drafts = opened.study.name, self.laboratory.database.drafts
        with suppress(Missing):
            draft = await asyncio.to_thread(drafts.read, name)
            if draft.text == opened.text:
                notice = "The preview was closed, and its data were deleted."
                return visit.go(f"/studies/{draft.name}/overview", notice)
        return await settings_page(visit, self.laboratory, name, opened.text, opened.settings)

    async def _move(self, opened: OpenPreview, code: str, action: str, step: str) -> OpenPreview:
        preview = opened.preview
        match action:
            case "next":
                preview.go_on(code)
            case "go" if step in preview.options.steps and preview.is_ahead(code, step):
                preview.go_to(code, step)
            case "go":
                return await self.previews.restart(opened.key, step)
            case "back":
                return await self.previews.restart(opened.key, preview.step_before(code) or "")
            case _:
                raise HTTPException(400, "The form is incomplete. Reload the page and try again.")
        return opened


def own_seats(preview: Preview, base: str) -> Iterator[OwnSeat]:
    """Yield the participants whom the researcher plays; ``base`` is the address of their pages."""
    experiment, options = preview.experiment, preview.options
    for number, code in enumerate(preview.own, 1):
        person = preview.person(code)
        if person is None:
            yield OwnSeat(number, "", "", "", "", "", False, "")
            continue
        template, assigned = experiment.template_of(person), person.journey.assigned
        seat = None if template is None else experiment.quotas.seat_of(person, template)
        treatment = "" if assigned is None else str(assigned.answer["treatment"] or "")
        if experiment.places is None and template is not None:
            names = list(experiment.room_manager.table_templates)
            treatment = options.treatments[str(names.index(template.name) + 1)]
        yield OwnSeat(
            number,
            f"{base}{preview.path_of(code)}",
            options.steps.get(person.journey.stop.name, ""),
            options.seats.get(seat or "", ""),
            treatment,
            person.ending or "",
            preview.is_driven(code),
            preview.notes.get(code, ""),
        )


async def settings_page(
    visit: Visit,
    laboratory: Laboratory,
    name: str,
    text: str,
    settings: PreviewSettings | None = None,
    error: Exception | None = None,
    **values: Any,
) -> Response:
    """Show the settings of a preview or, if the design is invalid, its problems."""
    options, problems = None, [] if error is None else problems_of(error, name)
    try:
        options = await asyncio.to_thread(_options, name, text, laboratory)
    except Exception as invalid:  # noqa: BLE001 - a game of a plug-in may fail in any way
        error, problems = invalid, problems_of(invalid, name)
    status = 200 if error is None else min(status_of(error), 422)
    return visit.render(
        "preview_settings.html.jinja",
        status,
        name=name,
        text=text,
        options=options,
        settings=settings or PreviewSettings(language=_browser_language(visit)),
        problems=problems,
        page_languages=list(languages().values()),
        **{"saved": False, "launched": False, "other": False} | values,
    )


def _options(name: str, text: str, laboratory: Laboratory) -> Options:
    return options_of(read_design(name, text, laboratory.folder.path))


def problems_of(error: Exception, name: str) -> list[str]:
    """Return the problems of a design, in one sentence each."""
    problems = error.problems if isinstance(error, StudyError) else ()
    if len(problems) > 1:
        return [sentence(CheaptalkError(str(problem))) for problem in problems]
    text = problem_of(error, "the design").removeprefix(f"{name}: ")
    return [sentence(CheaptalkError(text))]


def _browser_language(visit: Visit) -> str:
    return best_language(visit.request.headers.get("Accept-Language", ""))


def _language_name(code: str) -> str:
    return languages()[code].name if code in languages() else ""


class PreviewedPages:
    """ASGI application with the participants' pages of previews, for researchers only."""

    def __init__(self, authentication: Authentication, previews: Previews) -> None:
        self.authentication = authentication
        self.previews = previews

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        root = scope.get("root_path", "")
        key, _, path = scope["path"].removeprefix(root).lstrip("/").partition("/")
        try:
            await self._expect_researcher(Request(scope))
            opened = self.previews.get(key) if path.endswith("/events") else self.previews.use(key)
        except (Gone, HTTPException) as error:
            headers = page_headers("", frames=True)
            refusal = Response(sentence(error), status_of(error), headers, "text/plain")
            await refusal(scope, receive, send)
            return
        await opened.preview.app({**scope, "root_path": f"{root}/{key}"}, receive, send)

    async def _expect_researcher(self, request: Request) -> None:
        staff, token = self.authentication.accounts.staff, request.cookies.get(COOKIE)
        user = await run_in_threadpool(staff.login, token) if token else None
        if user is None or user.one_time or not user.role.may(Role.RESEARCHER):
            raise HTTPException(403, "Only researchers of this laboratory can see previews.")
