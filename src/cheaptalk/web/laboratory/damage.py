"""Search for damage in the store of a study whose pages cannot be shown."""

import asyncio
import time

from cheaptalk.records import Damage, Store, StoreNotFound, examine
from cheaptalk.rules import CheaptalkError
from cheaptalk.web.laboratory.folder import Folder
from cheaptalk.web.problems import problem_of, without_folders

SECONDS = 10.0
"""Timeout of an examination; ``cheaptalk store doctor --deep`` has none."""


class _TooLong(Exception):
    """Raised if checking a store for damage takes too long."""


class Damages:
    """Damage found in a laboratory's stores, cached until a store changes."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._one_at_a_time = asyncio.Lock()
        self._known: dict[str, tuple[object, list[Damage]]] = {}

    async def find(self, name: str) -> list[Damage]:
        """Return the problems found in a study's store; empty if the store is intact or missing."""
        async with self._one_at_a_time:
            return await asyncio.to_thread(self._find, name)

    def _find(self, name: str) -> list[Damage]:
        if name not in self.folder.names():
            return []
        path = self.folder.store(name)
        log = path.with_name(f"{path.name}-wal")
        files = [file.stat() for file in (path, log) if file.exists()]
        stamp = [(file.st_ino, file.st_size, file.st_mtime_ns) for file in files]
        cached = self._known.get(name)
        if cached is None or cached[0] != stamp:
            cached = self._known[name] = stamp, self._examined(name)
        return cached[1]

    def _examined(self, name: str) -> list[Damage]:
        deadline = time.monotonic() + SECONDS

        def within_time(_done: int, _total: int) -> None:
            if time.monotonic() > deadline:
                raise _TooLong

        try:
            with Store.open(self.folder.store(name)) as store:
                damages = examine(store, within_time).damages
        except (StoreNotFound, _TooLong):
            return []
        except CheaptalkError as error:
            return [Damage("the store", without_folders(str(error)))]
        except Exception as error:  # noqa: BLE001 - a damaged store may fail in any way
            return [Damage("the store", problem_of(error, f"the store of {name}"))]
        return [Damage(damage.what, without_folders(damage.problem)) for damage in damages]
