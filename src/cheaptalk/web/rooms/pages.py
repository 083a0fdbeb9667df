"""The pages of rooms: each for one guest alone, without scripts, and kept fresh by events."""

import inspect
import logging
import re
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlencode

import jinja2
from fastapi import HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from markupsafe import Markup

from cheaptalk.records import StoreError
from cheaptalk.reports.pages import WITHIN
from cheaptalk.rules import Game
from cheaptalk.text import capital
from cheaptalk.web.headers import static_path
from cheaptalk.web.posted import asker, posted_form
from cheaptalk.web.rooms.addresses import Address
from cheaptalk.web.rooms.connections import CountedStream, Streams
from cheaptalk.web.rooms.forms import answer_text, fields
from cheaptalk.web.rooms.house import House, NotHere
from cheaptalk.web.rooms.languages import Language, best, languages
from cheaptalk.web.rooms.limits import Limit
from cheaptalk.web.rooms.links import BadLink, ExpiredLink, Links
from cheaptalk.web.rooms.offers import by_game
from cheaptalk.web.rooms.rooms import Guest, Room, Stage
from cheaptalk.web.rooms.screens import introduced
from cheaptalk.web.rooms.sittings import Bell, Question, Sitting
from cheaptalk.web.rooms.views import table_view
from cheaptalk.web.typed_numbers import BadNumber

LOG = logging.getLogger(__name__)
HERE = Path(__file__).parent
STATIC = HERE / "static"
OPENINGS = (600, 20.0)
"""Tables that one address may open at once, and a second: a whole school may sit behind it."""
BEAT = 15.0
"""Seconds after which a page that hears nothing is told that all is well."""
COUNT = re.compile("[0-9]{1,18}")
SETTLING = 30.0
"""Seconds that an answer may take to be kept before it is said not to be."""
STYLE = Markup((STATIC / "rooms.css").read_text(encoding="utf-8"))  # noqa: S704 - our own file
"""Stands in every page: to fetch it would take a slow line as long again as the page itself."""
NOT_SAID = "Not Found"


def templates(language: Language, *folders: Path) -> jinja2.Environment:
    """The templates of pages in a language, everything in them escaped.

    Args:
        folders: with templates that go before those of rooms.
    """
    made = language.templates(*folders, HERE / "templates")
    made.filters |= {"about": about, "gist": gist}
    made.globals["introduced"] = partial(introduced, language)
    made.globals |= {
        "fields": fields, "Stage": Stage, "script": static_path(STATIC / "rooms.js"),
        "style": STYLE, "languages": list(languages().values()),
    }  # fmt: skip
    return made


def gist(game: Game) -> str:
    """What a game is, in a line: the first of its docstring, without its sources.

    It stands in for games whose screens do not introduce them, as does what follows.
    """
    return about_in_full(game).partition("\n")[0].partition(" (")[0].rstrip(".") + "."


def about(game: Game) -> str:
    """What more its docstring says of a game, each paragraph as one line."""
    return WITHIN.sub(" ", about_in_full(game).partition("\n\n")[2])


def about_in_full(game: Game) -> str:
    """The docstring of a game."""
    return inspect.cleandoc(type(game).__doc__ or "")


class RoomPages:
    """The pages, each for one guest alone.

    Attributes:
        folders: with templates that go before those of rooms.
    """

    folders: ClassVar[tuple[Path, ...]] = ()

    def __init__(self, house: House, links: Links, address: Address, title: str) -> None:
        self.house = house
        self.links = links
        self.address = address
        self.title = title
        self.languages = languages(house.currency)
        self.templates = {one.code: self.environment(one) for one in self.languages.values()}
        self.offers = {links.offer(name): offer for name, offer in house.offers.items()}
        self.games = by_game(house.offers)
        self.files = StaticFiles(directory=STATIC)
        self.posts = Limit(30, 5)
        self.streams = Streams()
        self.openings = Limit(*OPENINGS)

    def environment(self, language: Language) -> jinja2.Environment:
        """The templates of these pages in a language."""
        made = templates(language, *self.folders)
        made.filters["called"] = lambda offer: self.links.offer(offer.name)
        return made

    def render(
        self, request: Request, template: str, status: int = 200, me: str = "", **values: Any
    ) -> HTMLResponse:
        """A page in the language of whoever asks; ``me`` is in its links to pages of nobody."""
        chosen = request.query_params.get("lang")
        language = self.language(request)
        root = root_of(request)
        values = {"title": self.title} | values | {
            "me": me, "root": root,
            "here": request.url.path if request.method == "GET" else f"{root}/",
            "besides": _besides_language(request),
            "query": f"?me={me}" if me else f"?lang={language.code}" if chosen else "",
        }  # fmt: skip
        text = self.templates[language.code].get_template(template).render(values)
        return HTMLResponse(text, status)

    def language(self, request: Request) -> Language:
        """What somebody chose to read, here or before; else what suits their browser."""
        guest: Guest | None = getattr(request.state, "guest", None)
        chosen = request.query_params.get("lang", "")
        known = self.languages.get(chosen) or self.languages.get(guest.language if guest else "")
        return known or best(request.headers.get("Accept-Language", ""), self.house.currency)

    async def refused(self, request: Request, error: Exception) -> Response:
        """Say in a page why there is nothing."""
        if isinstance(error, StoreError):
            LOG.error("%s", error)
        status, said = _refusal(error, self.language(request).text)
        mine = request.path_params.get("token", "") if hasattr(request.state, "guest") else ""
        return self.render(request, "refused.html.jinja", status, said=said, mine=mine)

    async def file(self, request: Request, name: str) -> Response:
        """One of the files that pages load."""
        return await self.files.get_response(name, request.scope)

    async def gallery(self, request: Request) -> Response:
        return self.render(request, "gallery.html.jinja", games=self.games)

    async def game(self, request: Request, name: str, me: str = "") -> Response:
        offers = self.games.get(name)
        if offers is None:
            raise HTTPException(404)
        if me:
            self.known(request, me)
        return self.render(request, "game.html.jinja", offers=offers, game=offers[0].game, me=me)

    async def open(self, request: Request) -> Response:
        """Open a room, and go there."""
        posted = await posted_form(request, self.openings, asker(request))
        offer = self.offers.get(posted.get("offer", ""))
        if offer is None:
            raise HTTPException(404)
        guest = self.whoever(request, posted)
        await self.house.open(offer, guest, posted.get("place") or None)
        return self.to_page_of(request, guest, posted.get("me", ""))

    async def by_code(self, request: Request, code: str = "", me: str = "") -> Response:
        """Go where somebody is invited who was told the code alone."""
        room = self.room(code.strip())
        chosen = {"me": me, "lang": request.query_params.get("lang", "")}
        query = urlencode({name: text for name, text in chosen.items() if text})
        where = f"{root_of(request)}/join/{room.code}"
        return RedirectResponse(f"{where}?{query}" if query else where, 303)

    async def invitation(self, request: Request, code: str, me: str = "") -> Response:
        room = self.room(code)
        if me and self.known(request, me).room is room:
            return RedirectResponse(f"{root_of(request)}/p/{me}", 303)
        self.house.sweep(room)
        game = room.offer.game
        return self.render(request, "invitation.html.jinja", room=room, game=game, me=me)

    async def join(self, request: Request, code: str) -> Response:
        posted = await posted_form(request, self.openings, asker(request))
        room, guest = self.room(code), self.whoever(request, posted)
        await self.house.join(room, guest)
        return self.to_page_of(request, guest, posted.get("me", ""))

    async def guest(self, request: Request, token: str) -> Response:
        """The one page of a guest: where they are, whatever that is."""
        guest = self.known(request, token)
        if "lang" in request.query_params:
            await self.house.keep(guest)
            return self.to_page_of(request, guest, token)
        await self.house.come_back(guest)
        room = guest.room
        values: dict[str, Any] = {"token": token, "guest": guest, "number": guest.bell.number}
        if room is None:
            return self.render(request, "gallery.html.jinja", games=self.games, me=token)
        if room.stage is Stage.WAITING:
            site = self.address.url or f"{request.url.scheme}://{request.url.netloc}"
            link = f"{site}{root_of(request)}/join/{room.code}"
            return self.render(request, "lobby.html.jinja", room=room, link=link, **values)
        view = table_view(self.house, room, guest, self.language(request))
        return self.render(request, "table.html.jinja", room=room, view=view, **values)

    async def events(self, request: Request, token: str, after: int = 0) -> Response:
        """Tell a page when something has happened, by the number of what happened last."""
        guest = self.known(request, token)
        known = request.headers.get("Last-Event-ID", "")
        seen = int(known) if COUNT.fullmatch(known) else after
        return CountedStream(_events(guest, seen), self.streams, guest.name, asker(request))

    async def answer(self, request: Request, token: str) -> Response:
        """Answer a question; one that is no longer open counts as seen, and changes nothing."""
        guest = self.known(request, token)
        posted = await posted_form(request, self.posts, guest.name)
        await self.house.come_back(guest)
        room = guest.room
        if room is not None and room.stage is Stage.PLAYING:
            sitting, key = room.sitting(guest), posted.pop("question", "")
            await until(lambda: room.over or not sitting.behind(key, room.table), guest.bell)
            if not room.over and sitting.behind(key, room.table):
                raise _not_ready()
            question = sitting.waiting(key)
            if question is not None:
                kept = _kept(room, sitting, question)
                try:
                    text = answer_text(question.call.form, posted, self.language(request).writing)
                except BadNumber as unclear:
                    sitting.refused, sitting.unclear = posted, str(unclear)
                else:
                    sitting.answer(question, text, posted)
                    await until(kept, guest.bell)
                    if not kept() and not room.over:
                        raise _not_ready()
        return self.to_page_of(request, guest, token)

    async def deed(self, request: Request, token: str, deed: str) -> Response:
        """Leave, say that one is back, begin with stand-ins, try again, or be done."""
        guest = self.known(request, token)
        await posted_form(request, self.posts, guest.name)
        if deed != "leave":
            await self.house.come_back(guest)
        room = guest.room
        if deed == "leave":
            await self.house.leave(guest)
        elif deed == "back" and room is not None and room.sittings:
            room.sitting(guest).back()
        elif deed == "fill" and room is not None:
            await self.house.fill(room)
        elif deed == "again" and room is not None:
            await self.house.try_again(room)
        elif deed == "done" and room is not None and room.over:
            guest.room = None
        elif deed not in ("back", "fill", "again", "done"):
            raise HTTPException(404)
        return self.to_page_of(request, guest, token)

    def known(self, request: Request, token: str) -> Guest:
        """Whose link it is.

        Raises:
            BadLink, ExpiredLink: nobody's.
        """
        return self.there(request, self.house.guest(self.links.guest(token)))

    def there(self, request: Request, guest: Guest) -> Guest:
        """Somebody of whom something was heard, with the language that they read."""
        guest.here()
        request.state.guest = guest
        guest.language = self.language(request).code
        return guest

    def whoever(self, request: Request, posted: dict[str, str]) -> Guest:
        """The guest that a form names, or a new one."""
        token = posted.get("me", "")
        return self.known(request, token) if token else self.there(request, self.house.guest())

    def room(self, code: str) -> Room:
        """The room with a code."""
        found = self.house.rooms.get(code.upper())
        if found is None:
            raise HTTPException(404, "There is no table with this code. Ask for it once more.")
        return found

    def to_page_of(self, request: Request, guest: Guest, token: str = "") -> Response:
        where = f"{root_of(request)}/p/{token or self.links.token(guest.name)}"
        return RedirectResponse(where, 303)


def _refusal(error: Exception, _: Callable[[str], str]) -> tuple[int, str]:
    """The status and the sentence of a page that says why there is nothing."""
    match error:
        case BadLink():
            return 403, _("This link was never given out. Use the whole link that you were sent.")
        case ExpiredLink():
            return 410, _("This link is no longer good. Ask for a new one.")
        case NotHere():
            return 409, f"{capital(_(str(error)))}."
        case StoreError():
            return 503, _("What you did could not be kept. Wait a little, and try again.")
        case RequestValidationError():
            return 400, _("This address cannot be read.")
        case HTTPException(detail=said) if said != NOT_SAID:
            return error.status_code, _(said)
    status = getattr(error, "status_code", 500)
    if status == 500:
        return status, _("Something failed here that is no fault of yours. Go back, and try again.")
    return status, _("There is nothing here. Go to the beginning, and choose a game.")


def root_of(request: Request) -> str:
    """Where the rooms are mounted: what stands before each of their paths."""
    root: str = request.scope.get("root_path", "")
    return root


def _not_ready() -> HTTPException:
    """That an answer is not kept: its table is not there again yet, or the store is too slow."""
    return HTTPException(503, "The table is not ready. Go back to it, and send your answer again.")


def _kept(room: Room, sitting: Sitting, question: Question) -> Callable[[], bool]:
    """Whether an answer to a question is kept: the table goes on, or it is asked for again."""
    table, seat = room.table, question.call.seat
    request = table.requests if table else 0

    def kept() -> bool:
        again = sitting.open.get(seat, question) is not question
        return again or table is None or table.requests > request or seat not in table.pending

    return kept


async def until(true: Callable[[], bool], bell: Bell) -> None:
    """Wait until something is so, but not for ever."""
    late = time.monotonic() + SETTLING
    while not true() and time.monotonic() < late:
        await bell.after(bell.number, late - time.monotonic())


async def _events(guest: Guest, seen: int) -> AsyncIterator[str]:
    """What a page is sent: the number of what has happened, as often as something does."""
    yield "retry: 2000\n\n"
    while True:
        number = await guest.bell.after(seen, BEAT)
        guest.here()
        if number == seen:
            yield ": all is well\n\n"
        else:
            seen = number
            yield f"id: {number}\nevent: moved\ndata: {number}\n\n"


def _besides_language(request: Request) -> str:
    """What an address tells besides the language, such as by which id somebody comes."""
    asked = request.query_params.multi_items() if request.method == "GET" else []
    return urlencode([(name, text) for name, text in asked if name not in ("lang", "me")])
