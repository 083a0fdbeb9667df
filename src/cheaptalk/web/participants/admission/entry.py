"""The entry pages of an experiment, and the identification of participants by links and cookies."""

import asyncio
import hmac
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from cheaptalk.studies.people.answers import RANGE
from cheaptalk.studies.people.page_texts.texts import in_language
from cheaptalk.studies.people.protocol import ANY_ID, Protocol
from cheaptalk.web.participants.admission.mturk import SUBMIT_TO, mturk_host
from cheaptalk.web.participants.people import Participant, Refused, missing_id, study_changed
from cheaptalk.web.participants.supervisor import Supervisor
from cheaptalk.web.participants.texts import Images, PageTexts, clock, day_text, shortest_deadline
from cheaptalk.web.posted import LoginThrottle, asker, posted_form
from cheaptalk.web.rooms.addresses import Address
from cheaptalk.web.rooms.links import BadLink, ExpiredLink, Links, new_name
from cheaptalk.web.rooms.pages import STYLE, RoomPages, root_of
from cheaptalk.web.rooms.rooms import Visitor

FOLDER = Path(__file__).parents[1]
OWN_STYLE = (FOLDER / "static" / "participants.css").read_text(encoding="utf-8")
PAGE_STYLE = STYLE + Markup(OWN_STYLE)  # noqa: S704 - our own file
COOKIE = "participant"
COOKIE_SECONDS = 90 * 24 * 3600
START_COOKIE = "participant-"
"""Prefix of the cookie that only the browser has in which a participant started."""
ENTRY = "entry/"
"""Prefix of the names that entry pages offer, so that they differ from participants' codes."""
GUESSES, GUESS_SECONDS = 60, 600.0
"""Rejected IDs, and known IDs in other browsers, that an address may send within this time."""
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
"""MTurk's assignment ID in previews."""
PLACEHOLDER = re.compile(r"^[$%{]")
"""Start of an ID that the platform should have replaced."""


class EntryPages(RoomPages):
    """Common parts of participants' pages, and the pages on which participants enter."""

    folders = (FOLDER / "templates",)
    style = PAGE_STYLE

    def __init__(self, supervisor: Supervisor, links: Links, address: Address, title: str) -> None:
        self.supervisor = supervisor
        self.experiment = supervisor.experiment
        self.guesses = LoginThrottle(GUESSES, GUESS_SECONDS, time.monotonic)
        self._images = Images(self.protocol)
        super().__init__(self.experiment.room_manager, links, address, title)

    @property
    def protocol(self) -> Protocol:
        return self.experiment.protocol

    @property
    def images(self) -> Images:
        if self._images.protocol is not self.protocol:  # a text or image was corrected
            self._images = Images(self.protocol, self._images)
        return self._images

    @property
    def deadline(self) -> float:
        """Shortest deadline of all human players in seconds; 0 if none has a deadline."""
        return shortest_deadline(self.experiment.study)

    def render(
        self, request: Request, template: str, status: int = 200, me: str = "", **values: Any
    ) -> HTMLResponse:
        language = self.language(request)
        code = language.code
        texts = self.texts(request, values.get("participant"))
        logo = self.protocol.logo
        common = {
            "contact": self.protocol.contact,
            "title": in_language(self.protocol.title, code) or self.title,
            "logo": texts.image_url(logo) if logo else "",
            "words": texts.inline,
            "prose": texts.block,
            "question_texts": texts.question,
            "range_problem": RANGE,
            "clock": partial(clock, code=code),
            "day": partial(day_text, code=code),
        }
        return super().render(request, template, status, me, **common | values)

    def texts(self, request: Request, person: Participant | None = None) -> PageTexts:
        """Return the study's texts in the page's language, with the participant's values."""
        values = {} if person is None else person.journey.values
        images = partial(self.images.url, root_of(request))
        return PageTexts(self.protocol, self.language(request), self.deadline, values, images)

    async def image(self, request: Request, name: str) -> Response:
        return self.images.response(name)

    async def refused(self, request: Request, error: Exception) -> Response:
        if not isinstance(error, Refused):
            return await super().refused(request, error)
        text = self.language(request).text
        headings = {
            200: text("This is a preview"),
            404: text("No data found"),
            410: text("This study is closed"),
            503: text("This study is paused"),
        }
        return self.render(
            request,
            "refused.html.jinja",
            error.status,
            said=text(str(error)),
            mine="",
            heading=headings.get(error.status, text("You cannot take part")),
            **self._return_of(request, error),
        )

    def _return_of(self, request: Request, error: Refused) -> dict[str, Any]:
        """Return the completion code and link of a person whom a full study turns away."""
        known_by: str = getattr(request.state, "known_by", "")
        recruitment = self.protocol.recruitment
        if error.ending is None or not known_by or not recruitment.has_form(known_by):
            return {}
        code = self.protocol.codes.get(error.ending)
        url = recruitment.url(error.ending)
        if code is None and (url is None or "{code}" in url):
            return {}
        back_to = recruitment.sent_to(code or "", known_by, error.ending)
        return {"completion_code": code, "back_to": back_to}

    # Entry

    async def entry(self, request: Request) -> Response:
        """Show the entry page of the recruitment link without recording anything."""
        query = dict(request.query_params)
        parameters = self.protocol.recruitment.parameters
        known_by = request.state.known_by = query.get(parameters[0], "") if parameters else ""
        other_ids = {name: query[name] for name in parameters[1:] if name in query}
        if "hitId" in parameters and (host := mturk_host(query.get(SUBMIT_TO, ""))):
            other_ids[SUBMIT_TO] = host
        earlier = self.remembered(request)
        if earlier is not None and known_by and self._platform_id(earlier) == known_by:
            known_by = ""  # the link belongs to the same person
        if earlier is None:
            await self._expect_welcome(request, known_by, query)
        expect_legal(other_ids.values())
        return self.render(
            request,
            "entry.html.jinja",
            known_by=known_by,
            more=urlencode(other_ids),
            cohort=query.get("cohort", ""),
            typed=self.protocol.recruitment.source == "code",
            key=self.links.token(f"{ENTRY}{new_name()}"),
            mine=None if earlier is None else self.links.token(earlier.code),
            ended=earlier is not None and earlier.ending,
        )

    async def _expect_welcome(self, request: Request, known_by: str, query: dict[str, str]) -> None:
        expect_accepted(query.get("assignmentId"))
        source = self.protocol.recruitment.source
        if source in ("open", "code"):
            self.experiment.expect_open()
            return
        if not known_by or PLACEHOLDER.search(known_by):
            raise missing_id()
        self._expect_form(known_by)
        with self._guessing(request):
            find = self.experiment.identities.code_of
            study = self.experiment.study.name
            if await asyncio.to_thread(find, study, source, known_by) is None:
                self.experiment.expect_open()

    def _expect_form(self, known_by: str) -> None:
        if not self.protocol.recruitment.has_form(known_by):
            raise Refused("The ID in this link is not valid. Use the link that you received.", 400)

    @contextmanager
    def _guessing(self, request: Request) -> Iterator[None]:
        address = asker(request)
        if self.guesses.wait(address):
            raise Refused("Too many attempts. Please try again in a few minutes.", 429)
        try:
            yield
        except Refused:
            self.guesses.count(address)
            raise

    async def enter(self, request: Request) -> Response:
        """Admit a new participant, or redirect a returning one to their page."""
        posted = await posted_form(request, self.openings, asker(request))
        known_by = request.state.known_by = posted.get("known_by", "").strip()
        earlier = self.remembered(request)
        if earlier is not None and not known_by:
            return self.to_page_of(request, earlier.visitor)
        recruitment = self.protocol.recruitment
        earlier_id = None if earlier is None else self._platform_id(earlier)
        if recruitment.one_browser and earlier_id not in (None, known_by):
            raise Refused("This browser has already been used to take part in this study.", 409)
        sent = dict(parse_qsl(posted.get("more", "")))
        expect_accepted(sent.get("assignmentId"))
        other_ids = {name: sent[name] for name in recruitment.parameters[1:] if name in sent}
        if "hitId" in recruitment.parameters and mturk_host(f"https://{sent.get(SUBMIT_TO, '')}"):
            other_ids[SUBMIT_TO] = sent[SUBMIT_TO]
        expect_legal(other_ids.values())
        if known_by:
            self._expect_form(known_by)
        offered = self._offered(posted) or new_name()
        with self._guessing(request):
            person = await self.experiment.admit(
                known_by or None,
                urlencode(other_ids),
                posted.get("cohort") or None,
                self.language(request).code,
                offered,
            )
        response = self.to_page_of(request, person.visitor)
        self._set_cookie(request, response, COOKIE, self.links.token(person.code))
        if person.code == offered:
            secret = self.links.secret(person.code)
            self._set_cookie(request, response, f"{START_COOKIE}{person.code}", secret)
        elif not self._started_here(request, person):
            self.guesses.count(asker(request))
        return response

    def _set_cookie(self, request: Request, response: Response, name: str, value: str) -> None:
        response.set_cookie(
            name,
            value,
            max_age=COOKIE_SECONDS,
            path=f"{root_of(request)}/",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="lax",
        )

    def _started_here(self, request: Request, person: Participant) -> bool:
        """Return whether a participant started in this browser, as shown by a secret cookie."""
        secret = request.cookies.get(f"{START_COOKIE}{person.code}", "")
        return hmac.compare_digest(secret.encode(), self.links.secret(person.code).encode())

    def _platform_id(self, person: Participant) -> str | None:
        identity = self.experiment.identities.find(person.code)
        return None if identity is None else identity.known_by

    def _offered(self, posted: dict[str, str]) -> str:
        """Return the participant code that the entry form contains; empty if it is invalid."""
        try:
            name = self.links.visitor(posted.get("key", ""))
        except (BadLink, ExpiredLink):
            return ""
        return name.removeprefix(ENTRY) if name.startswith(ENTRY) else ""

    def remembered(self, request: Request) -> Participant | None:
        try:
            code = self.links.visitor(request.cookies.get(COOKIE, ""))
        except (BadLink, ExpiredLink):
            return None
        return self.experiment.people.get(code)

    def visitor_of(self, request: Request, token: str) -> Visitor:
        code = self.links.visitor(token)
        if code in self.experiment.orphaned:
            raise study_changed()
        if code not in self.experiment.people:
            raise Refused(
                "The data for this link has been deleted, or the study no longer exists.", 404
            )
        person = self.experiment.people[code]
        if person.visitor.seen and not person.visitor.present:
            person.note_visible(person.visitor.seen)
            if person.pause is None:
                person.waits_since = time.time()  # waiting starts anew after an absence
        return self.record_visit(request, person.visitor)

    def participant(self, request: Request, token: str) -> Participant:
        return self.experiment.people[self.visitor_of(request, token).name]


def expect_accepted(assignment: str | None) -> None:
    """Raise :class:`Refused` if a worker of MTurk sees a preview, and has not accepted the task."""
    if assignment == PREVIEW:
        raise Refused("To start the study, accept the task first.", 200)


def expect_legal(values: Iterable[str]) -> None:
    """Raise :class:`Refused` if a link's parameters are too long or contain invalid characters."""
    if not all(re.fullmatch(ANY_ID, value) for value in values):
        raise Refused("This link is incomplete. Use the complete link that you received.", 400)
