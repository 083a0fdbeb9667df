"""The mock server's HTTP application."""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from threading import current_thread, main_thread
from typing import Any, TypeAlias

from aiohttp import web

from cheaptalk.mock_server.answers import Answerer, answer, share
from cheaptalk.mock_server.batches import Batches
from cheaptalk.mock_server.formats import BY_PATH, Respond
from cheaptalk.models.http.transport import CALL_HEADER

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
LARGEST = 2**28
"""Maximum size of a request in bytes; batches are large."""


def make_mock_server(
    answerer: Answerer = answer,
    delay: float = 0.0,
    faults: float = 0.0,
    batches: Batches | None = None,
    paths: Iterable[str] = tuple(BY_PATH),
    middlewares: Iterable[Any] = (),
) -> web.Application:
    """Return the mock server as a web application.

    Each answer to a single call is delayed by ``delay`` seconds; a share ``faults`` of these calls,
    determined by the call's number, fails with status 503. Paths that are not in :data:`BY_PATH`
    use the chat format.
    """

    def handler(respond: Respond) -> Handler:
        async def handle(request: web.Request) -> web.Response:
            body = await request.read()
            await asyncio.sleep(delay)
            if faults and share(request.headers.get(CALL_HEADER, "")) < faults:
                return web.json_response({"error": {"message": "overloaded"}}, status=503)
            try:
                return web.json_response(respond(json.loads(body), answerer))
            except (LookupError, TypeError, ValueError) as error:
                message = f"the mock server cannot parse the request: {error!r}"
                return web.json_response({"error": {"message": message}}, status=400)

        return handle

    app = web.Application(client_max_size=LARGEST, middlewares=tuple(middlewares))
    for path in paths:
        app.router.add_post(path, handler(BY_PATH.get(path, BY_PATH["/v1/chat/completions"])))
    if batches is not None:
        app.add_routes([*batches.routes(), *batches.fine_tuning.routes()])
    return app


def serve(listening: socket.socket, seed: int = 0, delay: float = 0.0, faults: float = 0.0) -> None:
    """Serve the mock server on a listening socket until stopped."""
    answerer = partial(answer, seed=seed)
    app = make_mock_server(answerer, delay, faults, Batches(answerer=answerer))
    web.run_app(
        app,
        sock=listening,
        print=None,
        access_log=None,
        shutdown_timeout=0.1,
        handle_signals=current_thread() is main_thread(),  # no other thread can
    )
