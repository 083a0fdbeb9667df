"""Web pages of participants, who each have one link that shows their current step."""

import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import takewhile
from typing import Any

from fastapi import HTTPException, Request
from fastapi.responses import RedirectResponse, Response
from markupsafe import Markup

from cheaptalk.records.people.participants import note_hidden
from cheaptalk.rules import Game
from cheaptalk.studies.people.conditions import hold
from cheaptalk.studies.people.items import Item
from cheaptalk.studies.people.page_texts.files import template_text
from cheaptalk.studies.people.page_texts.page_templates import render_page
from cheaptalk.studies.people.page_texts.texts import in_language
from cheaptalk.studies.people.path import Assign, End, GoOn, Page
from cheaptalk.studies.people.pay import Due, bonus_of, dues_if_ended, statements
from cheaptalk.studies.people.pay_rules import Bonus, cents
from cheaptalk.studies.people.protocol import Ending, Protocol
from cheaptalk.studies.people.steps import (
    Comprehension,
    CustomPage,
    Instructions,
    Payment,
    Quiz,
)
from cheaptalk.web.participants.admission.entry import EntryPages
from cheaptalk.web.participants.admission.mturk import submission
from cheaptalk.web.participants.correcting import text_version_of
from cheaptalk.web.participants.exchange import rate_text, result_text
from cheaptalk.web.participants.payments import PaymentBreakdown, breakdown_of, seed_of
from cheaptalk.web.participants.people import Participant, Refused
from cheaptalk.web.participants.restoration import session_of
from cheaptalk.web.participants.texts import plain_prose
from cheaptalk.web.posted import posted_form
from cheaptalk.web.rooms.chat_box import DEEDS
from cheaptalk.web.rooms.languages import Language
from cheaptalk.web.rooms.links import Links
from cheaptalk.web.rooms.pages import about, gist, root_of
from cheaptalk.web.rooms.rooms import Stage
from cheaptalk.web.rooms.screens import introduced
from cheaptalk.web.rooms.views import table_view

UNPAID: tuple[Ending, ...] = ("failed_attention", "timed_out", "removed", "withdrawn")
"""Endings whose pages state that there is no payment, if that is the case."""
NUMBER = re.compile("[0-9]{1,18}")


class ParticipantPages(EntryPages):
    """The web pages of an experiment's participants."""

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
            "rate_text": rate_text,
            "result_text": result_text,
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
        played = {number: play["game"] for number, play in person.plays.items()}
        return breakdown_of(person.journey, statement, played)

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
            person.note_visible(person.changed if person.ending else None)
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
