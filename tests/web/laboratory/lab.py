"""A laboratory for tests: a folder of studies, and a model that answers on demand."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from threading import Semaphore
from typing import Any

import yaml
from aiohttp import web

from cheaptalk.web.laboratory.folder import Folder
from tests.fakes import PATIENCE, spec


def laboratory(path: Path, name: str = "small", **changes: Any) -> Folder:
    """Return a folder that contains a study."""
    text = yaml.safe_dump(spec(name=name, **changes))
    (path / f"{name}.yaml").write_text(text, encoding="utf-8")
    return Folder(path)


async def wait_until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(PATIENCE):
        while not await condition():
            await asyncio.sleep(0.02)


class Gate:
    """Hold calls to a model until they are released."""

    def __init__(self) -> None:
        self.open = False
        self.waiting = 0
        self._tickets = Semaphore(0)

    def release(self, number: int) -> None:
        """Release a number of calls."""
        self._tickets.release(number)

    async def __call__(
        self, request: web.Request, body: dict[str, Any]
    ) -> web.StreamResponse | None:
        self.waiting += 1
        try:
            while not self.open and not self._tickets.acquire(blocking=False):
                await asyncio.sleep(0.01)
        finally:
            self.waiting -= 1
        return None
