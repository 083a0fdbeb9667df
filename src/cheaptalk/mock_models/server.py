"""The mock server's HTTP application."""

import asyncio
import socket
from asyncio import AbstractEventLoop
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Thread, current_thread, main_thread
from typing import Any, TypeAlias

from aiohttp import web

from cheaptalk.loopback import listening
from cheaptalk.mock_models.answers import SCHEMA, Answerer, answer, share
from cheaptalk.mock_models.batches import Batches
from cheaptalk.mock_models.formats import BY_PATH, Respond, response
from cheaptalk.models.http.transport import CALL_HEADER, SCHEMA_HEADER

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
LARGEST = 2**28
"""Maximum size of a request in bytes; batches are large."""


def make_mock_server(
    answerer: Answerer = answer,
    delay: float = 0.0,
    error_rate: float = 0.0,
    batches: Batches | None = None,
    paths: Iterable[str] = tuple(BY_PATH),
    middlewares: Iterable[Any] = (),
) -> web.Application:
    """Return the mock server as a web application.

    Each answer to a single call is delayed by ``delay`` seconds; a share
    ``error_rate`` of these calls, determined by the call's number, fails with status 503. Paths
    that are not in :data:`BY_PATH` use the chat format.
    """

    def handler(respond: Respond) -> Handler:
        async def handle(request: web.Request) -> web.Response:
            body = await request.read()
            await asyncio.sleep(delay)
            if error_rate and share(request.headers.get(CALL_HEADER, "")) < error_rate:
                return web.json_response({"error": {"message": "overloaded"}}, status=503)
            schema = request.headers.get(SCHEMA_HEADER)
            status, data = response(respond, body, _informed(answerer, schema))
            return web.json_response(data, status=status)

        return handle

    app = web.Application(client_max_size=LARGEST, middlewares=tuple(middlewares))
    for path in paths:
        app.router.add_post(path, handler(BY_PATH.get(path, BY_PATH["/v1/chat/completions"])))
    if batches is not None:
        app.add_routes([*batches.routes(), *batches.fine_tuning.routes()])
    return app


def _informed(answerer: Answerer, schema: str | None) -> Answerer:
    """Return an answerer that knows the schema in a request's header, if any."""
    if schema is None:
        return answerer
    return lambda messages: answerer([*messages[:-1], {**messages[-1], SCHEMA: schema}])


def serve(sock: socket.socket, seed: int = 0, delay: float = 0.0, error_rate: float = 0.0) -> None:
    """Serve the mock server on a listening socket until stopped."""
    _run(_default_server(partial(answer, seed=seed), delay, error_rate), sock)


@contextmanager
def mock_server(
    answerer: Answerer | None = None,
    *,
    seed: int = 0,
    delay: float = 0.0,
    error_rate: float = 0.0,
    port: int = 0,
) -> Iterator[str]:
    """Run a mock model server in a thread, on a port that only this machine can reach.

    >>> with ct.mock_server() as url:
    ...     players = {"model": {"model": f"vllm/tiny@{url}"}}
    ...     study = ct.Study(name="mock", games=[{"game": "bargaining"}], players=players)
    ...     ct.run(study, "mock.sqlite")
    <Progress: 1 of 1 match ended>

    Args:
        answerer: returns a model's answer to a conversation, a list of dictionaries with ``role``
            and ``content``. By default, answers are random legal actions.
        seed: random seed of the default answers.
        delay: seconds before each response, except in batches.
        error_rate: share of calls that fail with HTTP status 503.
        port: the port; by default, a free one. A player's model string contains the port, so use
            the same port to resume a study.

    Yields:
        The server's base URL for model strings, such as ``http://127.0.0.1:8123/v1``.
    """
    chosen = answerer or partial(answer, seed=seed)
    with serving(_default_server(chosen, delay, error_rate), port) as url:
        yield f"{url}/v1"


@contextmanager
def serving(app: web.Application, port: int = 0) -> Iterator[str]:
    """Serve an application in a thread until the context ends, and yield its URL."""
    loop = asyncio.new_event_loop()
    with listening(port) as sock:
        thread = Thread(target=_run, args=(app, sock, loop))
        thread.start()
        try:
            yield "http://{}:{}".format(*sock.getsockname())
        finally:
            loop.call_soon_threadsafe(_stop)
            thread.join()


def _default_server(answerer: Answerer, delay: float, error_rate: float) -> web.Application:
    return make_mock_server(answerer, delay, error_rate, Batches(answerer=answerer))


def _run(app: web.Application, sock: socket.socket, loop: AbstractEventLoop | None = None) -> None:
    web.run_app(
        app,
        sock=sock,
        print=None,
        access_log=None,
        shutdown_timeout=0.1,
        handle_signals=current_thread() is main_thread(),  # no other thread can
        handler_cancellation=True,
        loop=loop,
    )


def _stop() -> None:
    raise web.GracefulExit
