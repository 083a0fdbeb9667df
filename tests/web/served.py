"""Rooms and experiments on a real server, for tests with browsers and proxies."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx2

from cheaptalk.studies.study import Study
from cheaptalk.web import (
    demo,
    listen,
    make_experiment,
    open_experiment,
    open_room_manager,
    own_address,
    public_address,
    serve_app,
    serve_rooms,
)
from tests.web.participants.comers import Open
from tests.web.walker import LINKS, Rooms


@asynccontextmanager
async def served(
    where: Path, url: str | None = None, study: Study | None = None
) -> AsyncIterator[Rooms]:
    """Serve rooms on this machine, with or without a public address."""
    with listen(0) as listener:
        async with open_room_manager(study or demo(), where / "s.sqlite") as room_manager:
            address = public_address(url) if url else None
            server = asyncio.create_task(serve_rooms(room_manager, LINKS, listener, address))
            base = own_address(listener).url
            async with httpx2.AsyncClient(base_url=base, timeout=60) as client:
                yield Rooms(room_manager, client)
            server.cancel()
            with suppress(asyncio.CancelledError):
                await server


@asynccontextmanager
async def served_experiment(where: Path, study: Study) -> AsyncIterator[Open]:
    store, ids = where / "s.sqlite", where / "s.identities"
    with listen(0) as listener:
        async with open_experiment(study, store, ids) as supervisor:
            address = own_address(listener)
            app = make_experiment(supervisor, LINKS, address)
            server = asyncio.create_task(serve_app(app, listener, address))
            async with httpx2.AsyncClient(base_url=address.url, timeout=60) as client:
                yield Open(supervisor, client)
            server.cancel()
            with suppress(asyncio.CancelledError):
                await server
