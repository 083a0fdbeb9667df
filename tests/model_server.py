"""The mock model server with hooks for tests: it logs calls and can misbehave."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from aiohttp import web

from cheaptalk.mock_server import Answerer, answer, make_mock_server
from cheaptalk.mock_server.server import Handler as Responder
from cheaptalk.models.http.transport import CALL_HEADER

CALLS = web.AppKey("CALLS", list[str])
Handler = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse | None]]
"""Responds to a request, or returns None for the default response."""


async def nothing_special(request: web.Request, body: dict[str, Any]) -> web.StreamResponse | None:
    return None


def make_app(
    log: Path | None = None,
    answerer: Answerer = answer,
    handler: Handler = nothing_special,
    paths: Sequence[str] = ("/v1/chat/completions",),
) -> web.Application:
    """Return the server; ``app[CALLS]`` and the log collect the numbers of received calls."""
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
