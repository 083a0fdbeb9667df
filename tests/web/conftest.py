"""Rooms that the tests of a module share."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from cheaptalk.web import demo
from tests.web.walker import Rooms, visited


@pytest.fixture(scope="module")
async def demo_rooms(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rooms]:
    """Rooms of all games."""
    async with visited(demo(), tmp_path_factory.mktemp("rooms") / "s.sqlite") as opened:
        yield opened


@pytest.fixture
def rooms(demo_rooms: Rooms) -> Rooms:
    """Rooms of all games, with a new client."""
    transport = demo_rooms.client._transport
    return demo_rooms._replace(
        client=httpx2.AsyncClient(transport=transport, base_url="http://test")
    )
