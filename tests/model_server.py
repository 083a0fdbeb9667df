"""The stand-in for a model server, as tests use it: watched, and made to misbehave."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from aiohttp import web

from cheaptalk.mock_server import Answerer, answer, make_mock_server
from cheaptalk.mock_server.server import Handler as Responder
from cheaptalk.models.http.transport import CALL_HEADER

CALLS = web.AppKey("CALLS", list[str])
Handler = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse | None]]
"""Answers a request itself, or returns None to have it answered as usual."""


async def nothing_special(request: web.Request, body: dict[str, Any]) -> web.StreamResponse | None:
    """Leave every request to be answered as usual."""
    return None


def make_app(
    log: Path | None = None,
    answerer: Answerer = answer,
    handler: Handler = nothing_special,
    paths: Sequence[str] = ("/v1/chat/completions",),
) -> web.Application:
    """The server; ``app[CALLS]`` and the log collect the numbers of the calls that arrived."""
    calls: list[str] = []
    special = handler

    @web.middleware
    async def watched(request: web.Request, handler: Responder) -> web.StreamResponse:
        if request.method != "POST":
            return await handler(request)
        body = await request.json()
        number = request.headers.get(CALL_HEADER, "")
        calls.append(number)
        if log is not None:
            with log.open("a") as file:
                file.write(number + "\n")
        return await special(request, body) or await handler(request)

    app = make_mock_server(answerer, paths=paths, middlewares=[watched])
    app[CALLS] = calls
    return app
