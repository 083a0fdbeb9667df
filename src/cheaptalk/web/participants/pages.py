"""The pages of participants: one link each, which shows whatever they come to next."""

import asyncio
import hmac
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import jinja2
from babel.dates import format_datetime
from babel.units import format_unit
from fastapi import HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from markupsafe import Markup

from cheaptalk.players import PersonSeat
from cheaptalk.rules import game_title
from cheaptalk.studies.people.items import Words, in_language
from cheaptalk.studies.people.path import End, GoOn, Page
from cheaptalk.studies.people.pay import Due, bonus_of, dues, dues_if_ended
from cheaptalk.studies.people.protocol import ANY_ID, Ending, Pay, Protocol, cents
from cheaptalk.studies.people.steps import Comprehension, Instructions, Step
from cheaptalk.web.participants.experiment import changed, nameless
from cheaptalk.web.participants.people import Participant, Refused
from cheaptalk.web.participants.supervisor import Supervisor
from cheaptalk.web.posted import asker, posted_form
from cheaptalk.web.rooms.addresses import Address
from cheaptalk.web.rooms.languages import Language
from cheaptalk.web.rooms.links import BadLink, ExpiredLink, Links, new_name
from cheaptalk.web.rooms.offers import Offer
from cheaptalk.web.rooms.pages import STYLE, RoomPages, about, gist, root_of
from cheaptalk.web.rooms.rooms import Guest, Stage
from cheaptalk.web.rooms.screens import introduced
from cheaptalk.web.rooms.views import table_view
from cheaptalk.web.tries import Tries

HERE = Path(__file__).parent
OWN_STYLE = (HERE / "static" / "participants.css").read_text(encoding="utf-8")
PAGE_STYLE = STYLE + Markup(OWN_STYLE)  # noqa: S704 - our own file
COOKIE = "participant"
LASTS = 90 * 24 * 3600
"""Seconds for which a browser remembers who took part in it."""
AMOUNTS: Mapping[str, Callable[[Pay], float | None]] = {
    "base": lambda pay: pay.base, "game": lambda pay: pay.game, "aborted": lambda pay: pay.aborted,
    "most": lambda pay: pay.most, "waiting": lambda pay: pay.ended.get("timed_out"),
}  # fmt: skip
"""What stands for amounts of the pay in a study's texts, in braces."""
OWN = "participant-"
"""How the name of the cookie begins that only the browser has in which a participant began."""
ENTRY = "entry/"
"""How the name begins that an entry's page offers: no participant's link can take its place."""
GUESSES, WITHIN = 60, 600.0
"""Refused ids, and known ids in other browsers, that an address may send, and within how many
seconds."""
UNPAID: tuple[Ending, ...] = ("failed_attention", "timed_out", "removed", "withdrawn")
"""Endings at which people are told that they are paid nothing, where that is so."""
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
"""What MTurk puts in the place of an assignment where somebody only looks."""
PLACEHOLDER = re.compile(r"^[$%{]")
"""How an id begins that a platform should have put in, and did not."""
NUMBER = re.compile("[0-9]{1,18}")


class ParticipantPages(RoomPages):
    """The pages of an experiment, each for one participant alone.

    Args:
        supervisor: of the experiment.
    """

    folders = (HERE / "templates",)

    def __init__(self, supervisor: Supervisor, links: Links, address: Address, title: str) -> None:
        self.supervisor = supervisor
        self.experiment = supervisor.experiment
        self.protocol = self.experiment.protocol
        self.guesses = Tries(GUESSES, WITHIN, time.monotonic)
        super().__init__(self.experiment.house, links, address, title)

    def environment(self, language: Language) -> jinja2.Environment:
        made, code = super().environment(language), language.code
        made.filters["words"] = lambda text: self.said(text, code)
        made.filters["clock"] = lambda moment: clock(moment, code)
        made.globals["style"] = PAGE_STYLE
        return made

    def said(self, words: Words, code: str) -> str:
        """A text of the study in a language, with its :data:`AMOUNTS` and times put in."""
        text, pay = in_language(words, code), self.protocol.pay
        if "{" not in text:
            return text
        for name, amount in AMOUNTS.items():
            money = self.languages[code].paid(cents(amount(pay) or 0))
            text = text.replace(f"{{{name}}}", money)
        waits = 60 * self.protocol.games.lobby.minutes
        for name, seconds in (("lobby", waits), ("deadline", self.deadline)):
            text = text.replace(f"{{{name}}}", duration(seconds, code))
        return text

    @property
    def deadline(self) -> float:
        """Seconds that people have for an answer: the fewest that any of them has; 0 for no end."""
        seats = [entry.form for entry in self.experiment.study.players.values()]
        ends = [one.deadline for one in seats if isinstance(one, PersonSeat) and one.deadline]
        return min(ends, default=0)

    def render(
        self, request: Request, template: str, status: int = 200, me: str = "", **values: Any
    ) -> HTMLResponse:
        language = self.language(request)
        title = in_language(self.protocol.title, language.code) or self.title
        values = {"contact": self.protocol.contact, "title": title} | values
        return super().render(request, template, status, me, **values)

    async def refused(self, request: Request, error: Exception) -> Response:
        if not isinstance(error, Refused):
            return await super().refused(request, error)
        text = self.language(request).text
        return self.render(
            request, "refused.html.jinja", error.status, said=text(str(error)), mine="",
            heading=headings(text).get(error.status, text("You cannot take part")),
        )  # fmt: skip

    # Coming

    async def entry(self, request: Request) -> Response:
        """Where people come to by the link that recruits them; nothing is noted yet."""
        given = dict(request.query_params)
        parameters = self.protocol.recruitment.parameters
        known_by = given.get(parameters[0], "") if parameters else ""
        more = {name: given[name] for name in parameters[1:] if name in given}
        known = self.remembered(request)
        if known is not None and known_by and self._came_by(known) == known_by:
            known_by = ""  # there is nobody else to begin
        if known is None:
            await self._expect_welcome(request, known_by, given)
        expect_legal(more.values())
        return self.render(
            request, "entry.html.jinja", known_by=known_by, more=urlencode(more),
            cohort=given.get("cohort", ""), typed=self.protocol.recruitment.source == "code",
            key=self.links.token(f"{ENTRY}{new_name()}"),
            mine=None if known is None else self.links.token(known.code),
            ended=known is not None and known.ending,
        )  # fmt: skip

    async def _expect_welcome(self, request: Request, known_by: str, given: dict[str, str]) -> None:
        """Say at once to somebody new that they cannot take part.

        Raises:
            Refused: their link does not say who they are, or nobody new can come.
        """
        if given.get("assignmentId") == PREVIEW:
            raise Refused("Accept the task first; then this page begins.", 200)
        source = self.protocol.recruitment.source
        if source in ("open", "code"):
            self.experiment.expect_open()
            return
        if not known_by or PLACEHOLDER.search(known_by):
            raise nameless()
        self._expect_form(known_by)
        with self._guessing(request):
            find = self.experiment.identities.code_of
            study = self.experiment.study.name
            if await asyncio.to_thread(find, study, source, known_by) is None:
                self.experiment.expect_open()

    def _expect_form(self, known_by: str) -> None:
        """Refuse an id that the source does not give out.

        Raises:
            Refused: its characters or its length are others.
        """
        if not self.protocol.recruitment.has_form(known_by):
            raise Refused("The id in this link is not valid. Use the link that you were sent.", 400)

    @contextmanager
    def _guessing(self, request: Request) -> Iterator[None]:
        """Count an id that is refused as a guess of the address that it came from.

        Raises:
            Refused: the address has guessed too often.
        """
        who = asker(request)
        if self.guesses.wait(who):
            raise Refused("Too many attempts. Please try again in a few minutes.", 429)
        try:
            yield
        except Refused:
            self.guesses.count(who)
            raise

    async def enter(self, request: Request) -> Response:
        """Let somebody in, or bring them back to where they were."""
        posted = await posted_form(request, self.openings, asker(request))
        known_by = posted.get("known_by", "").strip()
        known = self.remembered(request)
        if known is not None and not known_by:
            return self.to_page_of(request, known.guest)
        recruitment = self.protocol.recruitment
        before = None if known is None else self._came_by(known)
        if recruitment.one_browser and before not in (None, known_by):
            raise Refused("Somebody has taken part in this browser before.", 409)
        sent = dict(parse_qsl(posted.get("more", "")))
        others = {name: sent[name] for name in recruitment.parameters[1:] if name in sent}
        expect_legal(others.values())
        if known_by:
            self._expect_form(known_by)
        offered = self._offered(posted) or new_name()
        with self._guessing(request):
            who = await self.experiment.admit(
                known_by or None, urlencode(others), posted.get("cohort") or None,
                self.language(request).code, offered,
            )  # fmt: skip
        response = self.to_page_of(request, who.guest)
        self._set_cookie(request, response, COOKIE, self.links.token(who.code))
        if who.code == offered:
            self._set_cookie(request, response, f"{OWN}{who.code}", self.links.secret(who.code))
        elif not self._is_own(request, who):
            self.guesses.count(asker(request))
        return response

    def _set_cookie(self, request: Request, response: Response, name: str, value: str) -> None:
        response.set_cookie(
            name, value, max_age=LASTS, path=f"{root_of(request)}/",
            secure=request.url.scheme == "https", httponly=True, samesite="lax",
        )  # fmt: skip

    def _is_own(self, request: Request, who: Participant) -> bool:
        """Whether a participant began in this browser.

        An id is no secret: whoever knows a participant's id comes to their page by it.
        """
        given = request.cookies.get(f"{OWN}{who.code}", "")
        return hmac.compare_digest(given.encode(), self.links.secret(who.code).encode())

    def _came_by(self, who: Participant) -> str | None:
        """The id by which somebody came; None where they came by none."""
        identity = self.experiment.identities.find(who.code)
        return None if identity is None else identity.known_by

    def _offered(self, posted: dict[str, str]) -> str:
        """The code that the entry's page offered, so that a form sent twice lets in one person."""
        try:
            name = self.links.guest(posted.get("key", ""))
        except (BadLink, ExpiredLink):
            return ""
        return name.removeprefix(ENTRY) if name.startswith(ENTRY) else ""

    def remembered(self, request: Request) -> Participant | None:
        """Who took part in this browser before."""
        try:
            code = self.links.guest(request.cookies.get(COOKIE, ""))
        except (BadLink, ExpiredLink):
            return None
        return self.experiment.people.get(code)

    def known(self, request: Request, token: str) -> Guest:
        code = self.links.guest(token)
        if code in self.experiment.lost:
            raise changed()
        if code not in self.experiment.people:
            raise Refused("What was given under this link is deleted, or the study is.", 404)
        who = self.experiment.people[code]
        if who.guest.seen and not who.guest.present:
            who.waits_since = time.time()  # they were away, and did not wait
        return self.there(request, who.guest)

    def participant(self, request: Request, token: str) -> Participant:
        """Whose link it is."""
        return self.experiment.people[self.known(request, token).name]

    # The one page of a participant

    async def guest(self, request: Request, token: str) -> Response:
        who = self.participant(request, token)
        if "lang" in request.query_params:
            await self.house.keep(who.guest)
            return self.to_page_of(request, who.guest, token)
        await self.experiment.come_back(who)
        drawn = self.protocol.pay.one_game  # one game is paid: which, nobody knows before the end
        now = [] if who.ending else dues_if_ended(who.journey, "withdrawn", self._seed(who))
        in_games = {due.key: due.cents for due in now if due.key.startswith("game/")}
        values: dict[str, Any] = {
            "token": token, "guest": who.guest, "who": who, "number": who.guest.bell.number,
            "number_of_page": len(who.journey.responses), "wrong": (), "kept": {},
            "earned": 0 if drawn else sum(in_games.values()), "drawn": drawn,
            "withdrawn_pay": sum(due.cents for due in now if not (drawn and due.key in in_games)),
            "finished": bool(in_games),
            "place": self._place(who), "expels": self.supervisor.expels, "pay": self.protocol.pay,
            "own": self._is_own(request, who),
        }  # fmt: skip
        room = who.guest.room
        if room is not None and room.stage is not Stage.WAITING:
            view = table_view(self.house, room, who.guest, self.language(request))
            games = who.journey.games
            settled = games and room.over and not self.experiment.is_at(who, room)
            worth = games[-1].answer["cents"] if settled else None
            if not drawn and worth:
                worth = in_games.get(f"game/{games[-1].game}", worth if who.ending else 0)
            return self.render(
                request, "at_table.html.jinja", room=room, view=view, worth=worth,
                stood_in=settled and games[-1].answer.get("stood_in"),
                bonus=bonus_of(self.protocol.pay, room.offer.game), **values,
            )  # fmt: skip
        if who.shown is None:
            who.shown = time.time()
        template, more = self._shown(request, who)
        return self.render(request, template, **values | more)

    def _shown(self, request: Request, who: Participant) -> tuple[str, dict[str, Any]]:
        """The template of the page that somebody is at, and what it is to know."""
        match who.journey.stop:
            case Page():
                page = self.experiment.page_of(who)
                more: dict[str, Any] = {"page": page, "wrong": page.wrong, "of": 1, "read": ()}
                if isinstance(page.step, Instructions):
                    more["paragraphs"] = list(self._instructions(request, who, page, page.step))
                    more["of"] = len(page.step.pages) + page.step.game
                elif isinstance(page.step, Comprehension):
                    more["read"] = list(self._read(page.step))
                if page.attempt:
                    before = who.journey.responses[-1].answer
                    known = {*before} - {*page.wrong}
                    write = self.language(request).writing.local
                    more["kept"] = {
                        one: write(f"{value:.15g}") if isinstance(value, float) else str(value)
                        for one in known if (value := before[one]) is not None
                    }  # fmt: skip
                return "step.html.jinja", more
            case GoOn(visit=visit, game=game):
                played = sum(one.visit == visit for one in who.journey.games)
                left = min(self.protocol.games.most - played, self.protocol.limits.games - game)
                return "go_on.html.jinja", {"played": played, "left": left}
            case End() as end:
                return "end.html.jinja", self._end(who, end)
        return "waiting.html.jinja", self._waiting(who)

    def _waiting(self, who: Participant) -> dict[str, Any]:
        """What the page says on which somebody waits for others."""
        room, lobby = who.guest.room, self.protocol.games.lobby
        stand_ins = room is not None and set(room.free) <= set(room.offer.stand_ins)
        return {
            "room": room, "waited": room is not None and self.supervisor.waited(who),
            "may_go": self.supervisor.may_go(who), "minutes": lobby.minutes,
            "waiting_pay": cents(self.protocol.pay.ended.get("timed_out", 0)),
            "stand_ins": lobby.stand_ins and stand_ins,
        }  # fmt: skip

    def _place(self, who: Participant) -> tuple[int, int] | None:
        """Where somebody is among the steps, and how many there are; None outside of them."""
        names = [step.called for step in self.protocol.steps]
        name = who.journey.stop.name
        return (names.index(name) + 1, len(names)) if name in names else None

    def _instructions(
        self, request: Request, who: Participant, page: Page, step: Instructions
    ) -> Iterator[str]:
        """The paragraphs of a page of instructions, the code word before the last."""
        language = self.language(request)
        if page.part < len(step.pages):
            found = self.said(step.pages[page.part], language.code).strip().split("\n\n")
        else:
            found = list(self._explained(who, language))
        if page.items:
            hint = language.text(
                "To show us that you have read all of this, write only the word %(word)s into the "
                "box below, whatever stands over it."
            )
            found.insert(len(found) - 1, hint % {"word": step.code_word})
        yield from found

    def _read(self, step: Step) -> Iterator[Words]:
        """The pages of instructions that come before a step."""
        for one in takewhile(lambda other: other is not step, self.protocol.steps):
            if isinstance(one, Instructions):
                yield from one.pages

    def _explained(self, who: Participant, language: Language) -> Iterator[str]:
        """The game that somebody comes to, in its own words."""
        offer: Offer | None = None
        if who.journey.stop.game:
            offer = self.house.offers.get(who.plays[who.journey.stop.game]["treatment"])
        offer = offer or next(iter(self.house.offers.values()))
        game = offer.game
        yield introduced(language, game, "gist") or gist(game)
        yield introduced(language, game, "about") or about(game)
        if len(offer.people) == 1:
            place = offer.people[0]
            yield from filter(None, [introduced(language, game, "part", place)])
        yield language.text("This is a game of %(game)s.") % {
            "game": language.text(game_title(game.name))
        }

    def _seed(self, who: Participant) -> str:
        """The seed of the draw of the game that somebody is paid for."""
        return f"{self.experiment.study.seed}/{who.code}"

    def _end(self, who: Participant, stop: End) -> dict[str, Any]:
        """What the last page of a visit says."""
        now = [
            one for one in dues(who.journey, self._seed(who))
            if self._is_of_visit(who, one, stop.visit)
        ]  # fmt: skip
        identity = self.experiment.identities.find(who.code)
        code = completion_code(self.links, self.protocol, who.code, stop.visit, stop.ending)
        known_by = "" if identity is None else identity.known_by
        return {
            "ending": stop.ending, "dues": [{"label": due.key, "cents": due.cents} for due in now],
            "owed": sum(due.cents for due in now), "completion_code": code,
            "unpaid": not now and stop.ending in UNPAID and self.protocol.pay.anything,
            "none_drawn": self.protocol.pay.one_game and stop.ending == "complete" and not any(
                due.key.startswith("game/") for due in now
            ),
            "back_to": self.protocol.recruitment.sent_to(code, known_by),
            "again": self.experiment.may_come_again(who),
        }  # fmt: skip

    def _is_of_visit(self, who: Participant, due: Due, visit: int) -> bool:
        kind, _, number = due.key.partition("/")
        if kind != "game":
            return int(number) == visit
        return any(one.game == int(number) and one.visit == visit for one in who.journey.games)

    # What a participant does

    async def page(self, request: Request, token: str) -> Response:
        """Answer the page of a step."""
        who = self.participant(request, token)
        posted = await posted_form(request, self.posts, who.code)
        number = posted.pop("number", "")
        if NUMBER.fullmatch(number):
            writing = self.language(request).writing
            erased = await self.experiment.answer(who, int(number), posted, writing)
            if erased:
                await self.supervisor.erase_visit(who)
        return self.to_page_of(request, who.guest, token)

    async def deed(self, request: Request, token: str, deed: str) -> Response:
        """Leave, withdraw, say that one is back, answer a notice, or go on."""
        who = self.participant(request, token)
        posted = await posted_form(request, self.posts, who.code)
        deeds = {
            "leave": self.supervisor.leave_table, "done": self.supervisor.done,
            "give_up": self.supervisor.give_up, "back": self._back, "again": self._try_again,
            "fill": self._fill,
        }  # fmt: skip
        if deed in deeds:
            await deeds[deed](who)
        elif deed == "notice":
            number = posted.get("notice", "")
            if NUMBER.fullmatch(number):
                await self.supervisor.answer_notice(who, int(number), posted.get("text", ""))
        elif deed == "withdraw":
            await self._withdraw(request, who, erase=bool(posted.get("erase")))
        else:
            raise HTTPException(404)
        if who.code not in self.experiment.people:
            return RedirectResponse(f"{root_of(request)}/gone", 303)
        return self.to_page_of(request, who.guest, token)

    async def _withdraw(self, request: Request, who: Participant, *, erase: bool) -> None:
        if erase and not self._is_own(request, who):
            raise Refused(
                "This can be deleted only in the browser in which you began. If you cannot use it, "
                "ask the researchers to delete it.", 403
            )  # fmt: skip
        if erase:
            await self.supervisor.erase(who)
        else:
            await self.supervisor.end(who, "withdrawn")

    async def _back(self, who: Participant) -> None:
        """Let somebody be at the table again who was away."""
        await self.experiment.come_back(who)
        room = who.guest.room
        if room is not None and room.sittings and room.seats(who.guest):
            room.sitting(who.guest).back()

    async def _try_again(self, who: Participant) -> None:
        """Go on with a match that broke."""
        if who.guest.room is not None:
            await self.house.try_again(who.guest.room)

    async def _fill(self, who: Participant) -> None:
        """Begin with programs in the places of those who did not come."""
        await self.experiment.come_back(who)
        if who.guest.room is None or not self.protocol.games.lobby.stand_ins:
            return
        if not self.supervisor.waited(who):
            raise HTTPException(409, "Others may still come. Please wait a little.")
        await self.house.fill(who.guest.room)

    async def gone(self, request: Request) -> Response:
        """Say to somebody that nothing of them is kept."""
        said = self.language(request).text("All that you have given is deleted. Goodbye.")
        return self.render(request, "gone.html.jinja", said=said)


def expect_legal(values: Iterable[str]) -> None:
    """Refuse what a platform never puts in a link beside an id.

    Raises:
        Refused: a value has other characters, or too many.
    """
    if not all(re.fullmatch(ANY_ID, value) for value in values):
        raise Refused("This link is not whole. Use the whole link that you were sent.", 400)


def duration(seconds: float, code: str) -> str:
    """A time as people read it in a language.

    >>> duration(180, "de"), duration(90, "en")
    ('3 Minuten', '90 seconds')
    """
    minutes, left = divmod(seconds, 60)
    if left or not minutes:
        return format_unit(seconds, "duration-second", locale=code)
    return format_unit(minutes, "duration-minute", locale=code)


def clock(moment: float, code: str) -> str:
    """A moment as people read it in a language, in the server's time."""
    there = datetime.fromtimestamp(moment).astimezone()
    return format_datetime(there, "short", locale=code)


def completion_codes(links: Links, protocol: Protocol, who: Participant) -> list[str]:
    """What somebody was shown at the end of each visit; empty where a study shows nothing."""
    return [
        completion_code(links, protocol, who.code, visit, ending)
        for visit, ending in enumerate(who.journey.endings, 1)
    ]


def headings(text: Callable[[str], str]) -> dict[int, str]:
    """What stands over pages for those who cannot take part, by their status."""
    return {
        200: text("This is a preview"), 404: text("Nothing is kept here"),
        410: text("This study is closed"), 503: text("This study takes a break"),
    }  # fmt: skip


def completion_code(links: Links, protocol: Protocol, code: str, visit: int, ending: Ending) -> str:
    """What somebody shows in the end: the study's code for such an end, or one of their own.

    Their own cannot be told from anything that they know.
    """
    given = protocol.codes.get(ending)
    return links.code(f"{code}/{visit}/{ending}") if given is None else given
