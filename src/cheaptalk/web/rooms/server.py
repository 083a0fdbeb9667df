"""The server behind the rooms."""

import asyncio
import socket
from functools import partial

import uvicorn
from fastapi import FastAPI, HTTPException
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cheaptalk.loopback import HOST
from cheaptalk.records import StoreError
from cheaptalk.web.headers import Headed, page_headers
from cheaptalk.web.rooms.addresses import ANYWHERE, Address, own_address
from cheaptalk.web.rooms.connections import Connections, raise_descriptor_limit
from cheaptalk.web.rooms.house import House, NotHere
from cheaptalk.web.rooms.links import BadLink, ExpiredLink, Links
from cheaptalk.web.rooms.pages import STYLE, RoomPages


def make_rooms(
    house: House, links: Links, address: Address = ANYWHERE, title: str = "cheaptalk"
) -> FastAPI:
    """The rooms as a web application, which may be mounted below the beginning of a site.

    Args:
        address: where people find them.
        title: what stands over all pages.
    """
    pages = RoomPages(house, links, address, title)
    app = bare_app(pages, STYLE, address, title)
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


def bare_app(pages: RoomPages, style: str, address: Address, title: str) -> FastAPI:
    """A web application without pages yet: its headers, its files, and what it refuses."""
    app = FastAPI(
        title=title, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False
    )
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(address.hosts))
    app.add_middleware(Headed, headers=page_headers(style))
    app.api_route("/static/{name}", methods=["GET", "HEAD"])(pages.file)
    for error in (
        404, 405, 500, HTTPException, RequestValidationError, NotHere, BadLink, ExpiredLink,
        StoreError,
    ):  # fmt: skip
        app.add_exception_handler(error, pages.refused)
    return app


class EndingStreams:
    """An application whose streams of events end when the server stops, so that it need not wait.

    Args:
        app: the application.

    Attributes:
        closing: is set as the server stops.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.closing = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].endswith("/events"):
            await self.app(scope, receive, send)
            return
        streaming = False

        async def sent(message: Message) -> None:
            nonlocal streaming
            streaming = message["type"] == "http.response.start" or message.get("more_body", False)
            await send(message)

        await self.app(scope, partial(self._heard, receive), sent)
        if streaming:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _heard(self, receive: Receive) -> Message:
        """What the browser says; once the server stops, that it has gone."""
        hearing = asyncio.ensure_future(receive())
        closed = asyncio.ensure_future(self.closing.wait())
        try:
            await asyncio.wait({hearing, closed}, return_when=asyncio.FIRST_COMPLETED)
            return hearing.result() if hearing.done() else {"type": "http.disconnect"}
        finally:
            hearing.cancel()
            closed.cancel()


class _Server(uvicorn.Server):
    """A server that says when it stops."""

    closing: asyncio.Event

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.closing.set()
        await super().shutdown(sockets)


async def serve_rooms(
    house: House, links: Links, there: socket.socket, address: Address | None = None
) -> None:
    """Serve the rooms of a house until stopped.

    Args:
        there: where to listen.
        address: where people find them; by default where they listen.
    """
    address = address or own_address(there)
    await serve_app(make_rooms(house, links, address), there, address)


async def serve_app(app: ASGIApp, there: socket.socket, address: Address) -> None:
    """Serve a web application until stopped.

    Args:
        there: where to listen.
        address: where people find it.
    """
    raise_descriptor_limit()
    streams = EndingStreams(app)
    config = uvicorn.Config(
        streams, log_level="warning", timeout_graceful_shutdown=1, proxy_headers=address.proxied,
        forwarded_allow_ips=[HOST], server_header=False,
        http=Connections(HOST if address.proxied else ""),  # type: ignore[arg-type]
    )  # fmt: skip
    server = _Server(config)
    server.closing = streams.closing
    try:
        await server.serve(sockets=[there])
    except asyncio.CancelledError:
        await server.shutdown(sockets=[there])  # or its connections would stay open
        raise
