"""The server behind the rooms."""

import asyncio
import socket
from pathlib import Path

import uvicorn
from fastapi import FastAPI, HTTPException
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.staticfiles import StaticFiles
from starlette.routing import Route
from starlette.types import ASGIApp

from cheaptalk.loopback import HOST
from cheaptalk.studies.study import Study, load_study
from cheaptalk.web.headers import Headed, page_headers
from cheaptalk.web.rooms.addresses import ANYWHERE, Address, own_address
from cheaptalk.web.rooms.house import House, NotHere
from cheaptalk.web.rooms.links import BadLink, ExpiredLink, Links
from cheaptalk.web.rooms.pages import STYLE, RoomPages

HERE = Path(__file__).parent


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
    app.router.routes.append(Route("/static/{name}", StaticFiles(directory=HERE)))
    for error in (
        404, 405, 500, HTTPException, RequestValidationError, NotHere, BadLink, ExpiredLink,
    ):  # fmt: skip
        app.add_exception_handler(error, pages.refused)
    return app


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
    await serve_app(make_rooms(house, links, address), there, address)


async def serve_app(app: ASGIApp, there: socket.socket, address: Address) -> None:
    """Serve a web application until stopped.

    Args:
        there: where to listen.
        address: where people find it.
    """
    config = uvicorn.Config(
        app, log_level="warning", timeout_graceful_shutdown=1, proxy_headers=address.proxied,
        forwarded_allow_ips=[HOST], server_header=False,
    )  # fmt: skip
    server = uvicorn.Server(config)
    try:
        await server.serve(sockets=[there])
    except asyncio.CancelledError:
        await server.shutdown(sockets=[there])  # or its connections would stay open
        raise
