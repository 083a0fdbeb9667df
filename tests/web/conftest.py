"""Rooms that the tests of a module share, and a console and a laboratory for one test."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from cheaptalk.web import demo
from tests.web.console.office import Office, opened
from tests.web.laboratory.lab import Site, site
from tests.web.walker import Rooms, visited


@pytest.fixture(scope="module")
async def demo_rooms(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rooms]:
    """Rooms of all games."""
    async with visited(demo(), tmp_path_factory.mktemp("rooms") / "s.sqlite") as rooms:
        yield rooms


@pytest.fixture
def rooms(demo_rooms: Rooms) -> Rooms:
    """Rooms of all games, with a new client."""
    transport = demo_rooms.client._transport
    return demo_rooms._replace(
        client=httpx2.AsyncClient(transport=transport, base_url="http://test")
    )


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with opened(tmp_path) as office:
        yield office


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Site]:
    async with site(tmp_path) as lab:
        yield lab
