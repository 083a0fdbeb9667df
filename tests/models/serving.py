"""A server of one answer at any path, over real HTTP, and a call to it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from cheaptalk.models import ModelCall, Reply
from cheaptalk.models.clients import open_models
from tests.fakes import at_home

Answering = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]


@dataclass
class Heard:
    """What a server was sent."""

    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)


def exchange(
    answering: Answering,
    make: Callable[[str], ModelCall],
    times: int = 1,
    deadline: float = 30,
    home: bool = False,
) -> tuple[list[Reply], Heard]:
    """Make a call so many times, one after the other, to a server that answers so.

    Args:
        make: the call, given the server's address.
        home: whether this is the provider's own address, where its key is sent.
    """
    heard = Heard()

    async def handle(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        heard.paths.append(request.path)
        heard.headers.append(dict(request.headers))
        heard.bodies.append(body)
        return await answering(request, body)

    async def once() -> list[Reply]:
        app = web.Application()
        app.router.add_post("/{tail:.*}", handle)
        async with TestServer(app) as server, open_models() as models:
            url = str(server.make_url("")).rstrip("/")
            call = make(url)
            provider = call.model.partition("/")[0]

            async def whole(number: int) -> Reply:
                reply = await models.call(call, f"m/0/alice/0/{number}", deadline)
                return await whole(number) if reply.rerouted else reply

            with at_home(provider, url) if home else nullcontext():
                return [await whole(number) for number in range(times)]

    return asyncio.run(once()), heard


def always(data: Any, status: int = 200) -> Answering:
    """A server that always says the same."""

    async def answering(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        return web.json_response(data, status=status)

    return answering
