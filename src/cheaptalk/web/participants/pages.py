"""Web pages of participants, who each have one link that shows their current step."""

import asyncio
import hmac
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from fastapi import HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from markupsafe import Markup

from cheaptalk.players import PersonSeat
from cheaptalk.records.people.participants import note_hidden
from cheaptalk.rules import Game
from cheaptalk.studies.people.answers import RANGE
from cheaptalk.studies.people.conditions import hold
from cheaptalk.studies.people.files import template_text
from cheaptalk.studies.people.items import Item
from cheaptalk.studies.people.page_templates import render_page
from cheaptalk.studies.people.path import Assign, End, GoOn, Page
from cheaptalk.studies.people.pay import Due, bonus_of, dues_if_ended, statements
from cheaptalk.studies.people.pay_rules import Bonus, cents
from cheaptalk.studies.people.protocol import ANY_ID, Ending, Protocol
from cheaptalk.studies.people.steps import (
    Comprehension,
    CustomPage,
    Instructions,
    Payment,
    Quiz,
)
from cheaptalk.studies.people.texts import in_language
from cheaptalk.web.participants.clocks import note_visible, session_of
from cheaptalk.web.participants.correcting import text_version_of
from cheaptalk.web.participants.mturk import SUBMIT_TO, mturk_host, submission
from cheaptalk.web.participants.payments import PaymentBreakdown, breakdown_of, seed_of
from cheaptalk.web.participants.people import Participant, Refused, missing_id, study_changed
from cheaptalk.web.participants.supervisor import Supervisor
from cheaptalk.web.participants.texts import Images, PageTexts, clock, day_text, plain_prose
from cheaptalk.web.posted import LoginThrottle, asker, posted_form
from cheaptalk.web.rooms.addresses import Address
from cheaptalk.web.rooms.chat_box import DEEDS
from cheaptalk.web.rooms.languages import Language
from cheaptalk.web.rooms.links import BadLink, ExpiredLink, Links, new_name
from cheaptalk.web.rooms.pages import STYLE, RoomPages, about, gist, root_of
from cheaptalk.web.rooms.rooms import Stage, Visitor
from cheaptalk.web.rooms.screens import introduced
from cheaptalk.web.rooms.views import table_view

FOLDER = Path(__file__).parent
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
UNPAID: tuple[Ending, ...] = ("failed_attention", "timed_out", "removed", "withdrawn")
"""Endings whose pages state that there is no payment, if that is the case."""
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
"""MTurk's assignment ID in previews."""
PLACEHOLDER = re.compile(r"^[$%{]")
"""Start of an ID that the platform should have replaced."""
NUMBER = re.compile("[0-9]{1,18}")


class ParticipantPages(RoomPages):
    """The web pages of an experiment's participants."""

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
        seats = [entry.form for entry in self.experiment.study.players.values()]
        deadlines = [seat.deadline for seat in seats if isinstance(seat, PersonSeat)]
        return min(filter(None, deadlines), default=0)

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
            note_visible(person, person.visitor.seen)
            if person.pause is None:
                person.waits_since = time.time()  # waiting starts anew after an absence
        return self.record_visit(request, person.visitor)

    def participant(self, request: Request, token: str) -> Participant:
        return self.experiment.people[self.visitor_of(request, token).name]

    # A participant's page

    async def visitor(self, request: Request, token: str) -> Response:
        person = self.participant(request, token)
        if "lang" in request.query_params:
            await self.room_manager.keep(person.visitor)
            return self.to_page_of(request, person.visitor, token)
        await self.experiment.resume(person)
        pay = self.protocol.pay
        drawn = pay.drawn  # at the end; until then, amounts would reveal the games and rounds
        payments: list[Due] = []
        if not person.ending:
            payments = dues_if_ended(person.journey, "withdrawn", self._seed(person))
        in_games = {due.key: due.cents for due in payments if due.reason == "game"}
        hidden = ("game", "tasks") if drawn else ("tasks",)  # scores may be part of the study
        values: dict[str, Any] = {
            "token": token,
            "visitor": person.visitor,
            "participant": person,
            "number": person.visitor.notifier.number,
            "number_of_page": len(person.journey.responses),
            "text_version": text_version_of(self.experiment, person),
            "wrong": (),
            "entered": lambda name: person.entered.get(name, ""),
            "earned": 0 if drawn else sum(in_games.values()),
            "drawn": drawn,
            "withdrawn_pay": sum(due.cents for due in payments if due.reason not in hidden),
            "finished": any(
                answer.visit == person.journey.stop.visit and answer.answer["state"] == "finished"
                for answer in person.journey.games
            ),
            "answered": any(
                answer.visit == person.journey.stop.visit and answer.step in pay.tasks.steps
                for answer in person.journey.responses
            ),
            "progress": self._step_number(person),
            "expels": self.supervisor.ends_on_failure,
            "platform": self.protocol.recruitment.source in ("prolific", "mturk"),
            "pay": pay,
            "own": self._started_here(request, person),
        }
        room = person.visitor.room
        if room is not None and room.stage is not Stage.WAITING:
            view = table_view(self.room_manager, room, person.visitor, self.language(request))
            games = person.journey.games
            settled = games and room.over and not self.experiment.plays_in(person, room)
            worth = games[-1].answer["cents"] if settled and pay.paid_rounds == "all" else None
            if worth and not drawn and not pay.offset_losses:
                worth = in_games.get(f"game/{games[-1].game}", worth if person.ending else 0)
            return self.render(
                request,
                "at_table.html.jinja",
                room=room,
                view=view,
                worth=worth,
                stood_in=settled and games[-1].answer.get("stood_in"),
                bonus=self._bonus(person, room.table_template.game),
                **values,
            )
        if person.shown_at is None:
            person.shown_at = time.time()
        template, page_values = self._current_page(request, person)
        return self.render(request, template, **values | page_values)

    def _bonus(self, person: Participant, game: Game) -> Bonus | None:
        assigned = person.journey.assigned
        treatment = "" if assigned is None else assigned.answer["treatment"] or ""
        return bonus_of(self.protocol.pay, game, treatment)

    def _current_page(self, request: Request, person: Participant) -> tuple[str, dict[str, Any]]:
        match person.journey.stop:
            case Page():
                page = self.experiment.page_of(person)
                values: dict[str, Any] = {"page": page, "wrong": page.wrong, "of": 1, "read": ()}
                if isinstance(page.step, Instructions):
                    values["text"] = self._instructions(request, person, page, page.step)
                    values["of"] = len(page.step.pages) + page.step.game
                elif isinstance(page.step, Comprehension):
                    steps = takewhile(lambda step: step is not page.step, self.protocol.steps)
                    known = person.journey.values
                    values["read"] = [
                        text
                        for step in steps
                        if isinstance(step, Instructions) and hold(step.when, known)
                        for text in step.pages
                    ]
                elif isinstance(page.step, Payment):
                    values["payment"] = self._payment(person, page.visit, "complete")
                elif isinstance(page.step, CustomPage):
                    values["own_page"] = partial(self._custom_page, request, person, page)
                elif isinstance(page.step, Quiz):
                    plain = self.texts(request).plain  # a quiz may quote a player
                    values |= {"words": plain, "question_texts": lambda ask: (plain(ask), "")}
                if page.attempt and not person.entered:
                    kept = self._earlier_answers(request, person, page)
                    values["entered"] = lambda name: kept.get(name, "")
                return "step.html.jinja", values
            case GoOn(visit=visit, game=game):
                played = sum(response.visit == visit for response in person.journey.games)
                games, limits = self.protocol.games, self.protocol.limits
                remaining = min(games.count - played, limits.games - game)
                return "go_on.html.jinja", {"played": played, "left": remaining}
            case End() as end:
                return "end.html.jinja", self._end(person, end)
        room, lobby = person.visitor.room, self.protocol.games.lobby
        substitutes = room is not None and set(room.free) <= set(room.table_template.substitutes)
        return "waiting.html.jinja", {
            "room": room,
            "group": self.supervisor.waiting_group(person),
            "waitlist": isinstance(person.journey.stop, Assign),
            "waited": self.supervisor.has_waited(person),
            "skips": self.supervisor.may_skip(person),
            "may_go": self.supervisor.may_leave_at(person),
            "minutes": lobby.minutes,
            "waiting_pay": cents(self.protocol.pay.ended.get("timed_out", 0)),
            "substitutes": lobby.substitutes and substitutes,
        }

    def _step_number(self, person: Participant) -> tuple[int, int] | None:
        names = [step.called for step in self.protocol.steps]
        name = person.journey.stop.name
        return (names.index(name) + 1, len(names)) if name in names else None

    def _earlier_answers(self, request: Request, person: Participant, page: Page) -> dict[str, str]:
        """Return the correct answers of the last attempt, as texts of form fields."""
        previous = person.journey.responses[-1].answer
        write = self.language(request).writing.local
        kept = {}
        for item in page.items:
            for column in item.columns.values() if item.name not in page.wrong else ():
                if (value := previous.get(column)) is not None:
                    text = f"{value:.15g}" if isinstance(value, float) else str(value)
                    kept[column] = write(text) if item.answer.typed else text
        return kept

    def _custom_page(
        self, request: Request, person: Participant, page: Page, render: Callable[[Item], Markup]
    ) -> Markup:
        """Return the page of the researcher's template, whose fields ``render`` renders."""
        assert isinstance(page.step, CustomPage)
        texts = self.texts(request, person)
        template = template_text(texts.plain(page.step.template), self.protocol.files) or ""
        fields = {item.name: render(item) for item in page.items}
        return render_page(template, fields, texts.value, texts.image_url, texts.language.code)

    def _instructions(
        self, request: Request, person: Participant, page: Page, step: Instructions
    ) -> Markup:
        language, texts = self.language(request), self.texts(request, person)
        if page.part < len(step.pages):
            text = in_language(step.pages[page.part], language.code).strip()
            first, _, last = text.rpartition("\n\n") if page.items else ("", "", text)
            blocks = [texts.block(first), texts.block(last)]
        else:
            paragraphs = list(self._game_description(person, language))
            blocks = [plain_prose(*paragraphs[:-1]), plain_prose(paragraphs[-1])]
        if page.items:
            hint = language.text(
                "To show that you have read this page, write only the word \u201c%(word)s\u201d in "
                "the text box below, even if its label asks for something else."
            )
            blocks.insert(1, plain_prose(hint % {"word": step.code_word}))
        return Markup().join(blocks)

    def _game_description(self, person: Participant, language: Language) -> Iterator[str]:
        templates = self.room_manager.table_templates
        table_template = self.experiment.template_of(person) or next(iter(templates.values()))
        game = table_template.game
        yield introduced(language, game, "gist") or gist(game)
        yield introduced(language, game, "about") or about(game)
        if len(table_template.human_seats) == 1:
            seat = table_template.human_seats[0]
            yield from filter(None, [introduced(language, game, "part", seat)])

    def _seed(self, person: Participant) -> str:
        return seed_of(self.experiment.study, person.code)

    def _payment(self, person: Participant, visit: int, ending: Ending) -> PaymentBreakdown:
        """Return the payment for the current visit, given how it ends."""
        endings = [*person.journey.endings[: visit - 1], ending]
        statement = statements(person.journey, endings, self._seed(person))[-1]
        return breakdown_of(person.journey, statement)

    def _end(self, person: Participant, stop: End) -> dict[str, Any]:
        payment = self._payment(person, stop.visit, stop.ending)
        identity = self.experiment.identities.find(person.code)
        code = completion_code(self.links, self.protocol, person.code, stop.visit, stop.ending)
        known_by = "" if identity is None else identity.known_by
        return {
            "ending": stop.ending,
            "completion_code": code,
            "payment": payment,
            "unpaid": not payment.total and stop.ending in UNPAID and self.protocol.pay.anything,
            "back_to": self.protocol.recruitment.sent_to(code, known_by, stop.ending),
            "submission": None if identity is None else submission(self.protocol, identity.more),
            "again": self.experiment.may_start_visit(person),
        }

    # Participants' actions

    async def answer(self, request: Request, token: str) -> Response:
        """Submit an answer in a game; during a pause, keep it on the page instead."""
        person = self.participant(request, token)
        if person.pause is None:
            return await super().answer(request, token)
        posted = await posted_form(request, self.posts, person.code)
        session = session_of(self.experiment, person)
        if session is not None and session.find(posted.pop("question", "")):
            session.rejected = posted
        return self.to_page_of(request, person.visitor, token)

    async def focus(self, request: Request, token: str) -> Response:
        """Record that a participant's page became hidden or visible, as its script reports."""
        person = self.participant(request, token)
        posted = await posted_form(request, self.posts, person.code)
        if posted.get("hidden") == "yes":
            if person.hidden_since is None and not person.ending:
                person.hidden_since = time.time()
                person.hidden_times += 1
        elif person.hidden_since is not None:
            note_visible(person, person.changed if person.ending else None)
            totals = person.hidden_seconds, person.hidden_times
            await self.experiment.write(note_hidden(person.id, *totals))
        return Response(status_code=204)

    async def page(self, request: Request, token: str) -> Response:
        person = self.participant(request, token)
        posted = await posted_form(request, self.posts, person.code)
        number, version = posted.pop("page-number", ""), posted.pop("text-version", "")
        if NUMBER.fullmatch(number):
            shown = int(version) if NUMBER.fullmatch(version) else 0
            known = shown if 0 < shown <= self.experiment.text_version else None
            writing = self.language(request).writing
            if await self.experiment.answer(person, int(number), posted, writing, known):
                await self.supervisor.erase_visit(person)
        return self.to_page_of(request, person.visitor, token)

    async def deed(self, request: Request, token: str, deed: str) -> Response:
        """Perform the action of a button, such as leaving, withdrawing or confirming a message."""
        person = self.participant(request, token)
        posted = await posted_form(request, self.posts, person.code)
        deeds = {
            "leave": self.supervisor.leave_table,
            "done": self.supervisor.done,
            "give_up": self.supervisor.end_failed_match,
            "back": self._back,
            "fill": self._fill,
        }
        if deed in (*deeds, "again") and person.pause is not None:
            pass  # the page says that the participant is paused
        elif deed in deeds:
            await deeds[deed](person)
        elif deed == "notice":
            number = posted.get("notice", "")
            if NUMBER.fullmatch(number):
                await self.supervisor.answer_notice(person, int(number), posted.get("text", ""))
        elif deed == "again":
            if person.visitor.room is not None:
                await self.room_manager.try_again(person.visitor.room)
        elif deed in DEEDS:
            await self.chat_deed(person.visitor, deed, posted)
        elif deed == "withdraw":
            await self._withdraw(request, person, erase=bool(posted.get("erase")))
        else:
            raise HTTPException(404)
        if person.code not in self.experiment.people:
            return RedirectResponse(f"{root_of(request)}/gone", 303)
        return self.to_page_of(request, person.visitor, token)

    async def _withdraw(self, request: Request, person: Participant, *, erase: bool) -> None:
        if erase and not self._started_here(request, person):
            raise Refused(
                "You can delete your data only in the browser in which you started the study. If "
                "you cannot use that browser, ask the researchers to delete your data.",
                403,
            )
        if erase:
            await self.supervisor.erase(person)
        else:
            await self.supervisor.end(person, "withdrawn")

    async def _back(self, person: Participant) -> None:
        await self.experiment.resume(person)
        room = person.visitor.room
        if room is not None and room.seat_sessions and room.has_seat(person.visitor):
            room.seat_session(person.visitor).back()

    async def _fill(self, person: Participant) -> None:
        await self.experiment.resume(person)
        if person.visitor.room is None or not self.protocol.games.lobby.substitutes:
            return
        if not self.supervisor.has_waited(person):
            raise HTTPException(409, "Other players may still join. Please wait a little longer.")
        await self.room_manager.fill(person.visitor.room)

    async def gone(self, request: Request) -> Response:
        text = self.language(request).text("All your data has been deleted.")
        return self.render(request, "gone.html.jinja", said=text)


def expect_accepted(assignment: str | None) -> None:
    """Raise :class:`Refused` if a worker of MTurk sees a preview, and has not accepted the task."""
    if assignment == PREVIEW:
        raise Refused("To start the study, accept the task first.", 200)


def expect_legal(values: Iterable[str]) -> None:
    """Raise :class:`Refused` if a link's parameters are too long or contain invalid characters."""
    if not all(re.fullmatch(ANY_ID, value) for value in values):
        raise Refused("This link is incomplete. Use the complete link that you received.", 400)


def completion_codes(links: Links, protocol: Protocol, person: Participant) -> list[str]:
    """Return the completion codes of a participant's visits."""
    return [
        completion_code(links, protocol, person.code, visit, ending)
        for visit, ending in enumerate(person.journey.endings, 1)
    ]


def completion_code(links: Links, protocol: Protocol, code: str, visit: int, ending: Ending) -> str:
    """Return the completion code of a visit, unique unless the study sets a code for its ending.

    Unique codes cannot be derived from anything that a participant knows.
    """
    code_of_study = protocol.codes.get(ending)
    return links.code(f"{code}/{visit}/{ending}") if code_of_study is None else code_of_study
