"""A laboratory that a test opens."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.web.laboratory.lab import Site, site


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Site]:
    async with site(tmp_path) as opened:
        yield opened
