"""The stand-in's HTTP server."""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from threading import current_thread, main_thread
from typing import Any, TypeAlias

from aiohttp import web

from cheaptalk.models.http.transport import CALL_HEADER
from cheaptalk.stand_in.answers import Answerer, answer, share
from cheaptalk.stand_in.batches import Batches
from cheaptalk.stand_in.formats import BY_PATH, Respond

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
LARGEST = 2**28
"""Bytes that a request may have: batches are large."""


def make_stand_in(
    answerer: Answerer = answer,
    delay: float = 0.0,
    faults: float = 0.0,
    batches: Batches | None = None,
    paths: Iterable[str] = tuple(BY_PATH),
    middlewares: Iterable[Any] = (),
) -> web.Application:
    """The stand-in as a web application.

    Args:
        answerer: what answers conversations.
        delay: seconds that each answer to a single call takes.
        faults: the share of single calls that fail with status 503, by their numbers alone.
        batches: the endpoints of batches and of fine-tuning, if there are any.
        paths: of :data:`BY_PATH`, or others at which the chat format is spoken.
        middlewares: what is to happen around requests.
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
                said = f"this stand-in cannot read that: {error!r}"
                return web.json_response({"error": {"message": said}}, status=400)

        return handle

    app = web.Application(client_max_size=LARGEST, middlewares=tuple(middlewares))
    for path in paths:
        app.router.add_post(path, handler(BY_PATH.get(path, BY_PATH["/v1/chat/completions"])))
    if batches is not None:
        app.add_routes([*batches.routes(), *batches.fine_tuning.routes()])
    return app


def serve(listening: socket.socket, seed: int = 0, delay: float = 0.0, faults: float = 0.0) -> None:
    """Answer at a socket until stopped.

    Args:
        listening: the socket.
        seed: as in :func:`~cheaptalk.stand_in.answers.answer`.
        delay, faults: as in :func:`make_stand_in`.
    """
    answerer = partial(answer, seed=seed)
    app = make_stand_in(answerer, delay, faults, Batches(answerer=answerer))
    web.run_app(
        app, sock=listening, print=None, access_log=None, shutdown_timeout=0.1,
        handle_signals=current_thread() is main_thread(),  # no other thread can
    )  # fmt: skip
