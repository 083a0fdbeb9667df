"""The web server of rooms."""

import asyncio
import socket
from collections.abc import Mapping

import uvicorn
from fastapi import FastAPI, HTTPException
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from cheaptalk.loopback import HOST
from cheaptalk.records import StoreError
from cheaptalk.web.headers import HeadersMiddleware, page_headers
from cheaptalk.web.rooms.addresses import ANYWHERE, Address
from cheaptalk.web.rooms.connections import CLOSING, Connections, raise_descriptor_limit
from cheaptalk.web.rooms.links import BadLink, ExpiredLink, Links
from cheaptalk.web.rooms.pages import RoomPages
from cheaptalk.web.rooms.room_manager import RoomManager, RoomUnavailable


def make_rooms(
    room_manager: RoomManager, links: Links, address: Address = ANYWHERE, title: str = "cheaptalk"
) -> FastAPI:
    """Return the rooms as a web application that can be mounted below a path."""
    pages = RoomPages(room_manager, links, address, title)
    app = bare_app(pages, address, title)
    app.get("/")(pages.gallery)
    app.get("/games/{name}")(pages.game)
    app.post("/open")(pages.open)
    app.get("/join")(pages.by_code)
    app.get("/join/{code}")(pages.invitation)
    app.post("/join/{code}")(pages.join)
    app.get("/p/{token}")(pages.visitor)
    app.get("/p/{token}/events")(pages.events)
    app.post("/p/{token}/answer")(pages.answer)
    app.post("/p/{token}/{deed}")(pages.deed)
    return app


def bare_app(
    pages: RoomPages,
    address: Address,
    title: str,
    headers: Mapping[str, str] | None = None,
) -> FastAPI:
    """Return an application that has only static files, headers and error pages.

    By default, the headers are those of :func:`.page_headers` for the pages' style.
    """
    app = FastAPI(
        title=title, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False
    )
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(address.hosts))
    headers = headers or page_headers(pages.style, frames=pages.preview)
    app.add_middleware(HeadersMiddleware, headers=headers)
    app.api_route("/static/{name}", methods=["GET", "HEAD"])(pages.file)
    for error in (
        404,
        405,
        500,
        HTTPException,
        RequestValidationError,
        RoomUnavailable,
        BadLink,
        ExpiredLink,
        StoreError,
    ):
        app.add_exception_handler(error, pages.refused)
    return app


class _Server(uvicorn.Server):
    """A uvicorn server that sets an event when it stops."""

    closing: asyncio.Event

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.closing.set()
        await super().shutdown(sockets)


async def serve_app(app: ASGIApp, listener: socket.socket, address: Address) -> None:
    """Serve a web application on a listening socket until stopped."""
    raise_descriptor_limit()
    closing = asyncio.Event()

    async def closing_app(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, CLOSING: closing}, receive, send)

    config = uvicorn.Config(
        closing_app,
        log_level="warning",
        timeout_graceful_shutdown=1,
        proxy_headers=address.proxied,
        forwarded_allow_ips=[HOST],
        server_header=False,
        http=Connections(HOST if address.proxied else ""),  # type: ignore[arg-type]
    )
    server = _Server(config)
    server.closing = closing
    try:
        await server.serve(sockets=[listener])
    except asyncio.CancelledError:
        await server.shutdown(sockets=[listener])  # closes open connections
        raise
