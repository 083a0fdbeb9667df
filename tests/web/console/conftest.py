"""A console that a test opens."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.web.console.office import Office, opened


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with opened(tmp_path) as office:
        yield office
