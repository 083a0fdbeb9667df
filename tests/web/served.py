"""Rooms and experiments on a real server, for tests with browsers and proxies."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2

from cheaptalk.studies.study import Study
from cheaptalk.web import (
    demo,
    listen,
    make_experiment,
    make_rooms,
    open_experiment,
    open_room_manager,
    own_address,
    public_address,
    serve_app,
)
from tests.web.participants.comers import Open
from tests.web.walker import LINKS, Rooms


@asynccontextmanager
async def running(server: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run a server until the end of the context."""
    task = asyncio.create_task(server)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def served(
    where: Path, url: str | None = None, study: Study | None = None, port: int = 0
) -> AsyncIterator[Rooms]:
    """Serve rooms on this machine, with or without a public address."""
    with listen(port) as listener:
        async with open_room_manager(study or demo(), where / "s.sqlite") as room_manager:
            own = own_address(listener)
            address = public_address(url) if url else own
            async with (
                running(serve_app(make_rooms(room_manager, LINKS, address), listener, address)),
                httpx2.AsyncClient(base_url=own.url, timeout=60) as client,
            ):
                yield Rooms(room_manager, client)


@asynccontextmanager
async def served_experiment(where: Path, study: Study) -> AsyncIterator[Open]:
    store, ids = where / "s.sqlite", where / "s.identities"
    with listen(0) as listener:
        async with open_experiment(study, store, ids) as supervisor:
            address = own_address(listener)
            app = make_experiment(supervisor, LINKS, address)
            async with (
                running(serve_app(app, listener, address)),
                httpx2.AsyncClient(base_url=address.url, timeout=60) as client,
            ):
                yield Open(supervisor, client)
