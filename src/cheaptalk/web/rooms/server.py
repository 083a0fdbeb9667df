"""The server behind the rooms: pages that work without scripts, and events that keep them fresh."""

import asyncio
import base64
import hashlib
import inspect
import ipaddress
import re
import socket
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import jinja2
import uvicorn
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from fastapi.staticfiles import StaticFiles
from markupsafe import Markup

from cheaptalk.loopback import HOST
from cheaptalk.reports.pages import WITHIN
from cheaptalk.rules import Game
from cheaptalk.studies.study import Study, load_study
from cheaptalk.text import capital
from cheaptalk.web.rooms.addresses import ANYWHERE, Address, own_address
from cheaptalk.web.rooms.forms import Unclear, answer_text, fields
from cheaptalk.web.rooms.house import House, NotHere
from cheaptalk.web.rooms.languages import Language, best, languages
from cheaptalk.web.rooms.limits import Limit
from cheaptalk.web.rooms.links import BadLink, ExpiredLink, Links
from cheaptalk.web.rooms.offers import by_game
from cheaptalk.web.rooms.rooms import Guest, Room, Stage
from cheaptalk.web.rooms.screens import introduced
from cheaptalk.web.rooms.sittings import Bell, Question, Sitting
from cheaptalk.web.rooms.views import table_view

HERE = Path(__file__).parent
STATIC = HERE / "static"
OPENINGS = (600, 20.0)
"""Tables that one address may open at once, and a second: a whole school may sit behind it."""
LONGEST = 64_000
"""Bytes of a form."""
BEAT = 15.0
"""Seconds after which a page that hears nothing is told that all is well."""
COUNT = re.compile("[0-9]{1,18}")
SETTLING = 30.0
"""Seconds that an answer may take to be kept before it is said not to be."""
STYLE = Markup((STATIC / "rooms.css").read_text(encoding="utf-8"))  # noqa: S704 - our own file
"""Stands in every page: to fetch it would take a slow line as long again as the page itself."""
STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; script-src 'self'; style-src 'sha256-{STYLE_HASH}'; "
        "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
SECURE = "max-age=31536000"
"""How long browsers that came by https come by nothing else."""
KEPT = "public, max-age=31536000, immutable"
"""How long browsers keep our files: another text has another address."""
NOT_SAID = "Not Found"
FORM = "application/x-www-form-urlencoded"


def static_path(name: str) -> str:
    """Where a file of ours is, below the root; another text has another address, shown at once."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()
    return f"/static/{name}?{digest[:12]}"


def templates(language: Language) -> jinja2.Environment:
    """The templates of pages in a language, everything in them escaped."""
    made = language.templates(HERE / "templates")
    made.filters |= {"about": about, "gist": gist}
    made.globals["introduced"] = partial(introduced, language)
    made.globals |= {
        "fields": fields, "Stage": Stage, "script": static_path("rooms.js"),
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


def make_rooms(
    house: House, links: Links, address: Address = ANYWHERE, title: str = "cheaptalk"
) -> FastAPI:
    """The rooms as a web application, which may be mounted below the beginning of a site.

    Args:
        address: where people find them.
        title: what stands over all pages.
    """
    app = FastAPI(
        title=title, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False
    )
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(address.hosts))
    app.add_middleware(_Headed)
    pages = _Pages(house, links, address, title)
    for error in (
        404,
        405,
        500,
        HTTPException,
        RequestValidationError,
        NotHere,
        BadLink,
        ExpiredLink,
    ):
        app.add_exception_handler(error, pages.refused)
    app.api_route("/static/{name}", methods=["GET", "HEAD"])(pages.file)
    app.get("/")(pages.gallery)
    app.get("/games/{name}")(pages.game)
    app.post("/open")(pages.open)
    app.get("/join")(pages.by_code)
    app.get("/join/{code}")(pages.invitation)
    app.post("/join/{code}")(pages.join)
    app.get("/p/{token}")(pages.guest)
    app.get("/p/{token}/events")(pages.events)
    app.post("/p/{token}/answer")(pages.answer)
    app.post("/p/{token}/{deed}")(pages.deed)
    return app


class _Headed:
    """Says in the headers of every answer what browsers may do with it."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        file = scope["path"].startswith(f"{scope.get('root_path', '')}/static/")

        async def headed(message: Any) -> None:
            if message["type"] == "http.response.start":
                said = dict(HEADERS)
                if message["status"] == 200 and file:
                    said["Cache-Control"] = KEPT
                if scope["scheme"] == "https":
                    said["Strict-Transport-Security"] = SECURE
                pairs = [(name.lower().encode(), text.encode()) for name, text in said.items()]
                message = {**message, "headers": [*message["headers"], *pairs]}
            await send(message)

        await self.app(scope, receive, headed)


class _Pages:
    """The pages, each for one guest alone."""

    def __init__(self, house: House, links: Links, address: Address, title: str) -> None:
        self.house = house
        self.links = links
        self.address = address
        self.title = title
        self.templates = {one.code: templates(one) for one in languages().values()}
        for one in self.templates.values():
            one.filters["called"] = lambda offer: links.offer(offer.name)
        self.offers = {links.offer(name): offer for name, offer in house.offers.items()}
        self.games = by_game(house.offers)
        self.files = StaticFiles(directory=STATIC)
        self.posts = Limit(30, 5)
        self.openings = Limit(*OPENINGS)

    def render(
        self, request: Request, template: str, status: int = 200, me: str = "", **values: Any
    ) -> HTMLResponse:
        """A page in the language of whoever asks; ``me`` is in its links to pages of nobody."""
        chosen = request.query_params.get("lang")
        language = self.language(request)
        root = _root(request)
        values |= {
            "title": self.title, "me": me, "root": root,
            "here": request.url.path if request.method == "GET" else f"{root}/",
            "query": f"?me={me}" if me else f"?lang={language.code}" if chosen else "",
        }  # fmt: skip
        text = self.templates[language.code].get_template(template).render(values)
        return HTMLResponse(text, status)

    def language(self, request: Request) -> Language:
        """What somebody chose to read, here or before; else what suits their browser."""
        guest: Guest | None = getattr(request.state, "guest", None)
        chosen = request.query_params.get("lang", "")
        known = languages().get(chosen) or languages().get(guest.language if guest else "")
        return known or best(request.headers.get("Accept-Language", ""))

    async def refused(self, request: Request, error: Exception) -> Response:
        """Say in a page why there is nothing."""
        status, said = _refusal(error, self.language(request).text)
        mine = request.path_params.get("token", "") if hasattr(request.state, "guest") else ""
        return self.render(request, "refused.html.jinja", status, said=said, mine=mine)

    async def file(self, request: Request, name: str) -> Response:
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
        posted = await self.posted(request, self.openings, _address(request))
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
        where = f"{_root(request)}/join/{room.code}"
        return RedirectResponse(f"{where}?{query}" if query else where, 303)

    async def invitation(self, request: Request, code: str, me: str = "") -> Response:
        room = self.room(code)
        if me and self.known(request, me).room is room:
            return RedirectResponse(f"{_root(request)}/p/{me}", 303)
        self.house.sweep(room)
        game = room.offer.game
        return self.render(request, "invitation.html.jinja", room=room, game=game, me=me)

    async def join(self, request: Request, code: str) -> Response:
        posted = await self.posted(request, self.openings, _address(request))
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
            link = f"{site}{_root(request)}/join/{room.code}"
            return self.render(request, "lobby.html.jinja", room=room, link=link, **values)
        view = table_view(self.house, room, guest, self.language(request))
        return self.render(request, "table.html.jinja", room=room, view=view, **values)

    async def events(self, request: Request, token: str, after: int = 0) -> Response:
        """Tell a page when something has happened, by the number of what happened last."""
        guest = self.known(request, token)
        known = request.headers.get("Last-Event-ID", "")
        seen = int(known) if COUNT.fullmatch(known) else after
        return StreamingResponse(
            _events(guest, seen), media_type="text/event-stream",
            headers={"X-Accel-Buffering": "no"},
        )  # fmt: skip

    async def answer(self, request: Request, token: str) -> Response:
        """Answer a question; one that is no longer open counts as seen, and changes nothing."""
        guest = self.known(request, token)
        posted = await self.posted(request, self.posts, guest.name)
        await self.house.come_back(guest)
        room = guest.room
        if room is not None and room.stage is Stage.PLAYING:
            sitting, key = room.sitting(guest), posted.pop("question", "")
            await _until(lambda: room.over or not sitting.behind(key, room.table), guest.bell)
            if not room.over and sitting.behind(key, room.table):
                raise _not_ready()
            question = sitting.waiting(key)
            if question is not None:
                kept = _kept(room, sitting, question)
                try:
                    text = answer_text(question.call.form, posted, self.language(request).writing)
                except Unclear as unclear:
                    sitting.refused, sitting.unclear = posted, str(unclear)
                else:
                    sitting.answer(question, text, posted)
                    await _until(kept, guest.bell)
                    if not kept() and not room.over:
                        raise _not_ready()
        return self.to_page_of(request, guest, token)

    async def deed(self, request: Request, token: str, deed: str) -> Response:
        """Leave, say that one is back, begin with stand-ins, try again, or be done."""
        guest = self.known(request, token)
        await self.posted(request, self.posts, guest.name)
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
        where = f"{_root(request)}/p/{token or self.links.token(guest.name)}"
        return RedirectResponse(where, 303)

    async def posted(self, request: Request, limit: Limit, who: str) -> dict[str, str]:
        """A form's fields.

        Raises:
            HTTPException: it comes from another site, too often, or is too long or no form.
        """
        if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            raise HTTPException(403, "This form was sent from another page.")
        if not limit.allows(who):
            raise HTTPException(429, "That was too fast. Wait a few seconds, and try again.")
        kind = request.headers.get("Content-Type", FORM).partition(";")[0].strip().lower()
        if kind != FORM:
            raise HTTPException(415, "This was not sent as a form. Go back, and try again.")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > LONGEST:
                raise HTTPException(413, "That is too long. Go back, and write less.")
        try:
            pairs = parse_qsl(
                body.decode(), keep_blank_values=True, errors="strict", max_num_fields=500
            )
            named = dict(pairs)
            if len(set(pairs)) > len(named):
                raise ValueError("a field has two values")
        except ValueError:
            raise HTTPException(400, "This form cannot be read. Go back, and try again.") from None
        return named


def _refusal(error: Exception, _: Callable[[str], str]) -> tuple[int, str]:
    """The status and the sentence of a page that says why there is nothing."""
    match error:
        case BadLink():
            return 403, _("This link was never given out. Use the whole link that you were sent.")
        case ExpiredLink():
            return 410, _("This link is no longer good. Ask for a new one.")
        case NotHere():
            return 409, f"{capital(_(str(error)))}."
        case RequestValidationError():
            return 400, _("This address cannot be read.")
        case HTTPException(detail=said) if said != NOT_SAID:
            return error.status_code, _(said)
    status = getattr(error, "status_code", 500)
    if status == 500:
        return status, _("Something failed here that is no fault of yours. Go back, and try again.")
    return status, _("There is nothing here. Go to the beginning, and choose a game.")


def _root(request: Request) -> str:
    """Where the rooms are mounted: what stands before each of their paths."""
    root: str = request.scope.get("root_path", "")
    return root


def _address(request: Request) -> str:
    """Who asks, as far as anybody can tell: one line has many IPv6 addresses, but one network."""
    host = request.client.host if request.client else ""
    try:
        asked = ipaddress.ip_address(host)
    except ValueError:
        return host
    if asked.version == 6:
        return str(ipaddress.ip_network((host.partition("%")[0], 64), strict=False))
    return host


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


async def serve_rooms(
    house: House, links: Links, there: socket.socket, address: Address | None = None
) -> None:
    """Serve the rooms of a house until stopped.

    Args:
        there: where to listen.
        address: where people find them; by default where they listen.
    """
    address = address or own_address(there)
    config = uvicorn.Config(
        make_rooms(house, links, address), log_level="warning", timeout_graceful_shutdown=1,
        proxy_headers=address.proxied, forwarded_allow_ips=[HOST], server_header=False,
    )  # fmt: skip
    server = uvicorn.Server(config)
    try:
        await server.serve(sockets=[there])
    except asyncio.CancelledError:
        await server.shutdown(sockets=[there])  # or its connections would stay open
        raise
