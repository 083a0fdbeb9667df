"""A server with one response at every path, over real HTTP, and calls to it."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from cheaptalk.models import ChatMessage, ModelCall, Reply
from cheaptalk.models.clients import AllModels
from tests.fakes import at_home

RequestHandler = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]
CHAT = (ChatMessage(role="user", content="Your price?"),)
"""The messages of a call."""


@dataclass
class Received:
    """The requests that a server received."""

    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)


def exchange(
    handler: RequestHandler,
    model: str,
    times: int = 1,
    deadline: float = 30,
    home: bool = False,
    **fields: Any,
) -> tuple[list[Reply], Received]:
    """Make a call several times in sequence to a server with this request handler.

    Args:
        model: the model string, in which ``{url}`` is replaced with the server's URL.
        home: whether the URL is the provider's own, to which its key is sent.
        fields: further fields of the call.
    """
    received = Received()

    async def handle(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        received.paths.append(request.path)
        received.headers.append(dict(request.headers))
        received.bodies.append(body)
        return await handler(request, body)

    async def run() -> list[Reply]:
        app = web.Application()
        app.router.add_post("/{tail:.*}", handle)
        async with TestServer(app) as server, AllModels() as models:
            url = str(server.make_url("")).rstrip("/")
            data = {"model": model.format(url=url), "messages": CHAT} | fields
            call, provider = ModelCall.model_validate(data), model.partition("/")[0]

            async def call_until_routed(number: int) -> Reply:
                reply = await models.call(call, f"m/0/alice/0/{number}", deadline)
                return await call_until_routed(number) if reply.rerouted else reply

            with at_home(provider, url) if home else nullcontext():
                return [await call_until_routed(number) for number in range(times)]

    return asyncio.run(run()), received


def always(data: Any, status: int = 200, **headers: str) -> RequestHandler:
    """Return a request handler that always sends the same bytes, text or JSON."""
    text = data if isinstance(data, str | bytes) else json.dumps(data)
    body = text.encode() if isinstance(text, str) else text
    all_headers = {"Content-Type": "application/json"} | headers

    async def handler(request: web.Request, _: dict[str, Any]) -> web.StreamResponse:
        return web.Response(body=body, status=status, headers=all_headers)

    return handler
