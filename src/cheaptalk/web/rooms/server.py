"""The server behind the rooms: pages that work without scripts, and events that keep them fresh."""

import hashlib
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import jinja2
import uvicorn
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from fastapi.staticfiles import StaticFiles

from cheaptalk.loopback import HOST
from cheaptalk.reports.pages import environment
from cheaptalk.studies.study import Study, load_study
from cheaptalk.text import capital
from cheaptalk.web.rooms.forms import answer_text, fields, option_label
from cheaptalk.web.rooms.house import House, NotHere
from cheaptalk.web.rooms.limits import Limit
from cheaptalk.web.rooms.links import BadLink, ExpiredLink, Links
from cheaptalk.web.rooms.offers import by_game
from cheaptalk.web.rooms.rooms import Guest, Room, Stage
from cheaptalk.web.rooms.sittings import Bell, Question, Sitting
from cheaptalk.web.rooms.views import table_view

HERE = Path(__file__).parent
STATIC = HERE / "static"
LONGEST = 64_000
"""Bytes of a form."""
BEAT = 15.0
"""Seconds after which a page that hears nothing is told that all is well."""
SETTLING = 10.0
"""Seconds that an answer may take to be kept before the page is shown all the same."""
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}


def static_path(name: str) -> str:
    """Where a file of ours is; another text has another address, so that no old one is shown."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()
    return f"/static/{name}?{digest[:12]}"


def templates() -> jinja2.Environment:
    """The templates of pages, everything in them escaped."""
    made = environment(HERE / "templates")
    made.filters["option_label"] = option_label
    made.globals |= {
        "fields": fields, "Stage": Stage, "script": static_path("rooms.js"),
        "style": static_path("rooms.css"),
    }  # fmt: skip
    return made


def make_rooms(
    house: House, links: Links, title: str = "cheaptalk", hosts: Sequence[str] = ("*",)
) -> FastAPI:
    """The rooms as a web application.

    Args:
        title: what stands over all pages.
        hosts: the names of this server that requests may have.
    """
    app = FastAPI(title=title, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    app.mount("/static", StaticFiles(directory=STATIC))
    pages = _Pages(house, links, title)
    for error in (404, 405, HTTPException, RequestValidationError, NotHere, BadLink, ExpiredLink):
        app.add_exception_handler(error, pages.refused)
    app.get("/")(pages.gallery)
    app.get("/games/{name}")(pages.game)
    app.post("/open")(pages.open)
    app.get("/join/{code}")(pages.invitation)
    app.post("/join/{code}")(pages.join)
    app.get("/p/{token}")(pages.guest)
    app.get("/p/{token}/events")(pages.events)
    app.post("/p/{token}/answer")(pages.answer)
    app.post("/p/{token}/{deed}")(pages.deed)
    return app


class _Pages:
    """The pages, each for one guest alone."""

    def __init__(self, house: House, links: Links, title: str) -> None:
        self.house = house
        self.links = links
        self.title = title
        self.templates = templates()
        self.games = by_game(house.offers)
        self.posts = Limit(30, 5)
        self.openings = Limit(600, 20)  # of an address, behind which a whole school may sit

    def render(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        text = self.templates.get_template(template).render(title=self.title, **values)
        return HTMLResponse(text, status, HEADERS)

    async def refused(self, request: Request, error: Exception) -> Response:
        """Say in a page why there is nothing."""
        status, said = _refusal(error)
        return self.render("refused.html.jinja", status, said=said)

    async def gallery(self) -> Response:
        return self.render("gallery.html.jinja", games=self.games, me="")

    async def game(self, name: str, me: str = "") -> Response:
        offers = self.games.get(name)
        if offers is None:
            raise HTTPException(404)
        return self.render("game.html.jinja", offers=offers, game=offers[0].game, me=me)

    async def open(self, request: Request) -> Response:
        """Open a room, and go there."""
        posted = await self.posted(request, self.openings, _address(request))
        offer = self.house.offers.get(posted.get("offer", ""))
        if offer is None:
            raise HTTPException(404)
        guest = self.whoever(posted)
        await self.house.open(offer, guest, posted.get("place") or None)
        return self.to_page_of(guest, posted.get("me", ""))

    async def invitation(self, code: str) -> Response:
        room = self.room(code)
        self.house.sweep(room)
        return self.render("invitation.html.jinja", room=room, game=room.offer.game)

    async def join(self, request: Request, code: str) -> Response:
        posted = await self.posted(request, self.openings, _address(request))
        room, guest = self.room(code), self.whoever(posted)
        await self.house.join(room, guest)
        return self.to_page_of(guest, posted.get("me", ""))

    async def guest(self, request: Request, token: str) -> Response:
        """The one page of a guest: where they are, whatever that is."""
        guest = self.known(token)
        await self.house.come_back(guest)
        room = guest.room
        values: dict[str, Any] = {"token": token, "guest": guest, "number": guest.bell.number}
        if room is None:
            return self.render("gallery.html.jinja", games=self.games, me=token)
        if room.stage is Stage.WAITING:
            link = str(request.url_for("invitation", code=room.code))
            return self.render("lobby.html.jinja", room=room, link=link, **values)
        view = table_view(self.house, room, guest)
        return self.render("table.html.jinja", room=room, view=view, **values)

    async def events(self, request: Request, token: str, after: int = 0) -> Response:
        """Tell a page when something has happened, by the number of what happened last."""
        guest = self.known(token)
        known = request.headers.get("Last-Event-ID", "")
        seen = int(known) if known.isdigit() else after
        return StreamingResponse(
            _events(guest, seen), media_type="text/event-stream",
            headers=HEADERS | {"X-Accel-Buffering": "no"},
        )  # fmt: skip

    async def answer(self, request: Request, token: str) -> Response:
        """Answer a question; one that is no longer open counts as seen, and changes nothing."""
        guest = self.known(token)
        posted = await self.posted(request, self.posts, guest.name)
        room = guest.room
        if room is not None and room.stage is Stage.PLAYING:
            sitting, key = room.sitting(guest), posted.pop("question", "")
            await _until(lambda: room.over or not sitting.behind(key, room.table), guest.bell)
            question = sitting.waiting(key)
            if question is not None:
                kept = _kept(room, sitting, question)
                sitting.answer(question, answer_text(question.call.form, posted), posted)
                await _until(kept, guest.bell)
        return self.to_page_of(guest, token)

    async def deed(self, request: Request, token: str, deed: str) -> Response:
        """Leave, say that one is back, begin with stand-ins, or have done with what is over."""
        guest = self.known(token)
        await self.posted(request, self.posts, guest.name)
        room = guest.room
        if deed == "leave":
            await self.house.leave(guest)
        elif deed == "back" and room is not None and room.sittings:
            room.sitting(guest).back()
        elif deed == "fill" and room is not None:
            await self.house.fill(room)
        elif deed == "done" and room is not None and room.over:
            guest.room = None
        elif deed not in ("back", "fill", "done"):
            raise HTTPException(404)
        return self.to_page_of(guest, token)

    def known(self, token: str) -> Guest:
        """Whose link it is.

        Raises:
            BadLink, ExpiredLink: nobody's.
        """
        guest = self.house.guest(self.links.guest(token))
        guest.here()
        return guest

    def whoever(self, posted: dict[str, str]) -> Guest:
        """The guest that a form names, or a new one."""
        token = posted.get("me", "")
        return self.known(token) if token else self.house.guest()

    def room(self, code: str) -> Room:
        """The room with a code."""
        found = self.house.rooms.get(code.upper())
        if found is None:
            raise HTTPException(404, "There is no table with this code. Ask for it once more.")
        return found

    def to_page_of(self, guest: Guest, token: str = "") -> Response:
        where = f"/p/{token or self.links.token(guest.name)}"
        return RedirectResponse(where, 303, HEADERS)

    async def posted(self, request: Request, limit: Limit, who: str) -> dict[str, str]:
        """A form's fields.

        Raises:
            HTTPException: it comes from another site, too often, or is too long or no form.
        """
        if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            raise HTTPException(403, "This form was sent from another page.")
        if not limit.allows(who):
            raise HTTPException(429, "That was too fast. Wait a few seconds, and try again.")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > LONGEST:
                raise HTTPException(413, "That is too long. Go back, and write less.")
        try:
            pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=500)
        except ValueError:
            raise HTTPException(400, "This form cannot be read. Go back, and try again.") from None
        return dict(pairs)


def _refusal(error: Exception) -> tuple[int, str]:
    """The status and the sentence of a page that says why there is nothing."""
    match error:
        case BadLink():
            return 403, "This link was never given out. Use the whole link that you were sent."
        case ExpiredLink():
            return 410, "This link is no longer good. Ask for a new one."
        case NotHere():
            return 409, f"{capital(str(error))}."
        case HTTPException(status_code=status, detail=said) if said != "Not Found":
            return status, said
        case RequestValidationError():
            return 400, "This address cannot be read."
    return 404, "There is nothing here. Go to the beginning, and choose a game."


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _kept(room: Room, sitting: Sitting, question: Question) -> Callable[[], bool]:
    """Whether an answer to a question is kept: the table goes on, or it is asked for again."""
    table, seat = room.table, question.call.seat
    request = table.requests if table else 0

    def kept() -> bool:
        again = sitting.open.get(seat, question) is not question
        return again or table is None or table.requests > request or seat not in table.pending

    return kept


async def _until(true: Callable[[], bool], bell: Bell) -> None:
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


def demo() -> Study:
    """The study of the demo: all games, in the browser against scripts or with one another."""
    return load_study(HERE / "demo.yaml")


async def serve_rooms(house: House, links: Links, there: socket.socket) -> None:
    """Serve the rooms of a house on this machine until stopped."""
    app = make_rooms(house, links, hosts=(HOST, "localhost"))
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    await uvicorn.Server(config).serve(sockets=[there])
