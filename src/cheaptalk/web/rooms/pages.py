"""Web pages for rooms, which work without JavaScript."""

import inspect
import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from functools import cache, partial
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
from cheaptalk.web.posted import Limit, asker, posted_form
from cheaptalk.web.rooms.addresses import Address
from cheaptalk.web.rooms.chat_box import DEEDS, do_in_chat
from cheaptalk.web.rooms.connections import CountedStream, Streams
from cheaptalk.web.rooms.forms import answer_text, fields
from cheaptalk.web.rooms.languages import Language, best_language, languages
from cheaptalk.web.rooms.links import BadLink, ExpiredLink, Links
from cheaptalk.web.rooms.room_manager import RoomManager, RoomUnavailable
from cheaptalk.web.rooms.rooms import Room, Stage, Visitor
from cheaptalk.web.rooms.screens import introduced
from cheaptalk.web.rooms.seat_sessions import ChangeNotifier, PendingRequest, SeatSession
from cheaptalk.web.rooms.table_templates import group_by_game
from cheaptalk.web.rooms.views import table_view
from cheaptalk.web.typed_numbers import BadNumber

LOG = logging.getLogger(__name__)
FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"
OPENINGS = (600, 20.0)
"""Rooms that an address, possibly of a whole school, may open at once and per second."""
KEEPALIVE_SECONDS = 15.0
"""Interval of the comments that keep an event stream open."""
COUNT = re.compile("[0-9]{1,18}")
ANSWER_TIMEOUT = 30.0
"""Seconds to wait until an answer is saved."""
STYLE = Markup((STATIC / "rooms.css").read_text(encoding="utf-8"))  # noqa: S704 - our own file
"""Included in every page, because another request would double the load time on slow lines."""
DEFAULT_DETAIL = "Not Found"


@cache
def templates(language: Language, *folders: Path) -> jinja2.Environment:
    """Return the page templates in a language; templates in ``folders`` take precedence.

    The compiled templates are shared by all studies of a server.
    """
    environment = language.templates(*folders, FOLDER / "templates")
    environment.filters |= {"about": about, "gist": gist}
    environment.globals["introduced"] = partial(introduced, language)
    environment.globals |= {
        "fields": fields,
        "Stage": Stage,
        "script": static_path(STATIC / "rooms.js"),
        "languages": list(languages().values()),
    }
    return environment


def gist(game: Game) -> str:
    """Return a game's one-line summary from its docstring."""
    return about_in_full(game).partition("\n")[0].partition(" (")[0].rstrip(".") + "."


def about(game: Game) -> str:
    """Return a game's docstring without its first paragraph, with one line per paragraph."""
    return WITHIN.sub(" ", about_in_full(game).partition("\n\n")[2])


def about_in_full(game: Game) -> str:
    """Return a game's docstring."""
    return inspect.cleandoc(type(game).__doc__ or "")


class RoomPages:
    """Web pages of rooms; templates in ``folders`` replace the built-in ones.

    Attributes:
        preview: whether the pages preview a study, in frames of the console.
    """

    folders: ClassVar[tuple[Path, ...]] = ()
    style: ClassVar[Markup] = STYLE
    preview: ClassVar[bool] = False

    def __init__(
        self, room_manager: RoomManager, links: Links, address: Address, title: str
    ) -> None:
        self.room_manager = room_manager
        self.links = links
        self.address = address
        self.title = title
        self.languages = room_manager.languages
        self.table_templates = {
            links.table_template(name): table_template
            for name, table_template in room_manager.table_templates.items()
        }
        self.games = group_by_game(room_manager.table_templates)
        self.files = StaticFiles(directory=STATIC)
        self.posts = Limit(30, 5)
        self.streams = Streams()
        self.openings = Limit(*OPENINGS)

    def render(
        self, request: Request, template: str, status: int = 200, me: str = "", **values: Any
    ) -> HTMLResponse:
        """Render a page in the visitor's language; ``me`` is the visitor's link token."""
        chosen = request.query_params.get("lang")
        language = self.language(request)
        root = root_of(request)
        common = {
            "me": me,
            "root": root,
            "here": request.url.path if request.method == "GET" else f"{root}/",
            "besides": _other_parameters(request),
            "query": f"?me={me}" if me else f"?lang={language.code}" if chosen else "",
            "style": self.style,
            "preview": self.preview,
            "called": lambda item: self.links.table_template(item.name),
        }
        page = templates(language, *self.folders).get_template(template)
        return HTMLResponse(page.render({"title": self.title} | values | common), status)

    def language(self, request: Request) -> Language:
        """Return the language that the visitor chose or, by default, their browser's."""
        visitor: Visitor | None = getattr(request.state, "visitor", None)
        chosen = request.query_params.get("lang", "")
        language = self.languages.get(chosen) or self.languages.get(
            visitor.language if visitor else ""
        )
        if language is not None:
            return language
        return self.languages[best_language(request.headers.get("Accept-Language", ""))]

    async def refused(self, request: Request, error: Exception) -> Response:
        if isinstance(error, StoreError):
            LOG.error("%s", error)
        status, message = _error_page(error, self.language(request).text)
        token = request.path_params.get("token", "") if hasattr(request.state, "visitor") else ""
        return self.render(request, "refused.html.jinja", status, said=message, mine=token)

    async def file(self, request: Request, name: str) -> Response:
        return await self.files.get_response(name, request.scope)

    async def gallery(self, request: Request) -> Response:
        return self.render(request, "gallery.html.jinja", games=self.games)

    async def game(self, request: Request, name: str, me: str = "") -> Response:
        table_templates = self.games.get(name)
        if table_templates is None:
            raise HTTPException(404)
        if me:
            self.visitor_of(request, me)
        return self.render(
            request,
            "game.html.jinja",
            me=me,
            table_templates=table_templates,
            game=table_templates[0].game,
        )

    async def open(self, request: Request) -> Response:
        posted = await posted_form(request, self.openings, asker(request))
        table_template = self.table_templates.get(posted.get("offer", ""))
        if table_template is None:
            raise HTTPException(404)
        visitor = self.form_visitor(request, posted)
        await self.room_manager.open(table_template, visitor, posted.get("seat") or None)
        return self.to_page_of(request, visitor, posted.get("me", ""))

    async def by_code(self, request: Request, code: str = "", me: str = "") -> Response:
        room = self.room(code.strip())
        chosen = {"me": me, "lang": request.query_params.get("lang", "")}
        query = urlencode({name: text for name, text in chosen.items() if text})
        location = f"{root_of(request)}/join/{room.code}"
        return RedirectResponse(f"{location}?{query}" if query else location, 303)

    async def invitation(self, request: Request, code: str, me: str = "") -> Response:
        room = self.room(code)
        if me and self.visitor_of(request, me).room is room:
            return RedirectResponse(f"{root_of(request)}/p/{me}", 303)
        self.room_manager.sweep(room)
        game = room.table_template.game
        return self.render(request, "invitation.html.jinja", room=room, game=game, me=me)

    async def join(self, request: Request, code: str) -> Response:
        posted = await posted_form(request, self.openings, asker(request))
        room, visitor = self.room(code), self.form_visitor(request, posted)
        await self.room_manager.join(room, visitor)
        return self.to_page_of(request, visitor, posted.get("me", ""))

    async def visitor(self, request: Request, token: str) -> Response:
        visitor = self.visitor_of(request, token)
        if "lang" in request.query_params:
            await self.room_manager.keep(visitor)
            return self.to_page_of(request, visitor, token)
        await self.room_manager.restore_seat(visitor)
        room = visitor.room
        values: dict[str, Any] = {
            "token": token,
            "visitor": visitor,
            "number": visitor.notifier.number,
        }
        if room is None:
            return self.render(request, "gallery.html.jinja", games=self.games, me=token)
        if room.stage is Stage.WAITING:
            site = self.address.url or f"{request.url.scheme}://{request.url.netloc}"
            link = f"{site}{root_of(request)}/join/{room.code}"
            return self.render(request, "lobby.html.jinja", room=room, link=link, **values)
        view = table_view(self.room_manager, room, visitor, self.language(request))
        return self.render(request, "table.html.jinja", room=room, view=view, **values)

    async def events(self, request: Request, token: str, after: int = 0) -> Response:
        visitor = self.visitor_of(request, token)
        last_id = request.headers.get("Last-Event-ID", "")
        number = int(last_id) if COUNT.fullmatch(last_id) else after
        return CountedStream(_events(visitor, number), self.streams, visitor.name, asker(request))

    async def answer(self, request: Request, token: str) -> Response:
        """Submit an answer, unless its request is no longer pending."""
        visitor = self.visitor_of(request, token)
        posted = await posted_form(request, self.posts, visitor.name)
        await self.room_manager.restore_seat(visitor)
        room = visitor.room
        if room is not None and room.stage is Stage.PLAYING:
            seat_session, key = room.seat_session(visitor), posted.pop("question", "")
            await until(
                lambda: room.over or not seat_session.behind(key, room.table), visitor.notifier
            )
            if not room.over and seat_session.behind(key, room.table):
                raise _not_saved()
            pending = seat_session.find(key)
            if pending is not None:
                is_saved = _saved_check(room, seat_session, pending)
                try:
                    text = answer_text(pending.call.form, posted, self.language(request).writing)
                except BadNumber as unclear:
                    seat_session.rejected, seat_session.unclear_number = posted, str(unclear)
                else:
                    seat_session.answer(pending, text, posted)
                    await until(is_saved, visitor.notifier)
                    if not is_saved() and not room.over:
                        raise _not_saved()
        return self.to_page_of(request, visitor, token)

    async def deed(self, request: Request, token: str, deed: str) -> Response:
        visitor = self.visitor_of(request, token)
        posted = await posted_form(request, self.posts, visitor.name)
        if deed in DEEDS:
            await self.chat_deed(visitor, deed, posted)
            return self.to_page_of(request, visitor, token)
        if deed != "leave":
            await self.room_manager.restore_seat(visitor)
        room = visitor.room
        if deed == "leave":
            await self.room_manager.leave(visitor)
        elif deed == "back" and room is not None and room.seat_sessions:
            room.seat_session(visitor).back()
        elif deed == "fill" and room is not None:
            await self.room_manager.fill(room)
        elif deed == "again" and room is not None:
            await self.room_manager.try_again(room)
        elif deed == "done" and room is not None and room.over:
            visitor.room = None
        elif deed not in ("back", "fill", "again", "done"):
            raise HTTPException(404)
        return self.to_page_of(request, visitor, token)

    async def chat_deed(self, visitor: Visitor, deed: str, posted: Mapping[str, str]) -> None:
        """Perform a person's action in the chat, after the match has been restored."""
        room = visitor.room
        if room is None or room.stage is not Stage.PLAYING or not room.has_seat(visitor):
            return
        await until(
            lambda: room.over or (room.chat is not None and room.chat.is_live), visitor.notifier
        )
        await do_in_chat(room, visitor, deed, posted)

    def visitor_of(self, request: Request, token: str) -> Visitor:
        return self.record_visit(request, self.room_manager.visitor(self.links.visitor(token)))

    def record_visit(self, request: Request, visitor: Visitor) -> Visitor:
        """Record the time and language of a visitor's request, and return the visitor."""
        visitor.mark_seen()
        request.state.visitor = visitor
        visitor.language = self.language(request).code
        return visitor

    def form_visitor(self, request: Request, posted: dict[str, str]) -> Visitor:
        """Return the visitor whose token a form contains, or a new visitor."""
        token = posted.get("me", "")
        if token:
            return self.visitor_of(request, token)
        return self.record_visit(request, self.room_manager.visitor())

    def room(self, code: str) -> Room:
        room = self.room_manager.rooms.get(code.upper())
        if room is None:
            raise HTTPException(
                404, "There is no game with this code. Check the code and try again."
            )
        return room

    def to_page_of(self, request: Request, visitor: Visitor, token: str = "") -> Response:
        location = f"{root_of(request)}/p/{token or self.links.token(visitor.name)}"
        return RedirectResponse(location, 303)


def _error_page(error: Exception, _: Callable[[str], str]) -> tuple[int, str]:
    match error:
        case BadLink():
            return 403, _("This link is not valid. Use the complete link that you received.")
        case ExpiredLink():
            return 410, _("This link has expired. Ask for a new one.")
        case RoomUnavailable():
            return 409, f"{capital(_(str(error)))}."
        case StoreError():
            return 503, _("Your input could not be saved. Wait a moment and try again.")
        case RequestValidationError():
            return 400, _("This web address is not valid.")
        case HTTPException(detail=message) if message != DEFAULT_DETAIL:
            return error.status_code, _(message)
    status = getattr(error, "status_code", 500)
    if status == 500:
        return status, _(
            "A technical error occurred. This is not your fault. Go back and try again."
        )
    return status, _("This page does not exist. Go to the start page and choose a game.")


def root_of(request: Request) -> str:
    """Return the path below which the application is mounted."""
    root: str = request.scope.get("root_path", "")
    return root


def _not_saved() -> HTTPException:
    """Return the error for an answer that could not be saved in time."""
    return HTTPException(503, "Your answer was not saved. Go back to the game and send it again.")


def _saved_check(
    room: Room, seat_session: SeatSession, pending: PendingRequest
) -> Callable[[], bool]:
    """Return a function that checks whether an answer has been accepted or rejected."""
    table, actor = room.table, pending.call.seat
    number = table.requests if table else 0

    def is_saved() -> bool:
        repeated = seat_session.open.get(actor, pending) is not pending
        return repeated or table is None or table.requests > number or actor not in table.pending

    return is_saved


async def until(condition: Callable[[], bool], notifier: ChangeNotifier) -> None:
    """Wait until a condition is true, for at most :data:`ANSWER_TIMEOUT` seconds."""
    deadline = time.monotonic() + ANSWER_TIMEOUT
    while not condition() and time.monotonic() < deadline:
        await notifier.wait(notifier.number, deadline - time.monotonic())


async def _events(visitor: Visitor, last: int) -> AsyncIterator[str]:
    yield "retry: 2000\n\n"
    while True:
        number = await visitor.notifier.wait(last, KEEPALIVE_SECONDS)
        visitor.mark_seen()
        if number == last:
            yield ": all is well\n\n"
        else:
            last = number
            yield f"id: {number}\nevent: moved\ndata: {number}\n\n"


def _other_parameters(request: Request) -> str:
    """Return the query parameters except the language and the visitor's token."""
    parameters = request.query_params.multi_items() if request.method == "GET" else []
    return urlencode([(name, text) for name, text in parameters if name not in ("lang", "me")])
