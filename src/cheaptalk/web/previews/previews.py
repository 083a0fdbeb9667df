"""The open previews of a server, which expire when they are not used."""

import asyncio
import logging
import secrets
import shutil
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.study import Study
from cheaptalk.web.previews.autopilot import Earlier
from cheaptalk.web.previews.preview import Preview, open_preview
from cheaptalk.web.previews.settings import PreviewSettings
from cheaptalk.web.rooms.addresses import ANYWHERE, Address

LOG = logging.getLogger(__name__)
IDLE_SECONDS = 1800.0
"""Time without a request after which a preview is closed."""
CHECK_SECONDS = 30.0
MOST = 10
"""Maximum number of previews that are open at the same time."""
MOST_OF_ACCOUNT = 3
"""Maximum number of one account's previews."""
FOLDER = "previews"


class TooMany(CheaptalkError):
    """Raised if no further preview can be opened."""

    status_code = 409


class Gone(CheaptalkError):
    """Raised for a preview that was closed or has expired."""

    status_code = 410


@dataclass
class OpenPreview:
    """An open preview with its address.

    Attributes:
        key: the unguessable part of its address.
        text: the design as it is previewed.
        account: name of the account that opened it.
        used: time of the last request, in seconds.
    """

    key: str
    study: Study
    text: str
    account: str
    settings: PreviewSettings
    used: float
    stack: AsyncExitStack = field(repr=False)
    preview: Preview = field(repr=False)


class Previews:
    """The previews of a laboratory; use as an asynchronous context manager.

    Args:
        folder: the laboratory's folder, in which previews have temporary folders.
        now: a clock in seconds.
    """

    def __init__(self, folder: Path, now: Callable[[], float] = time.monotonic) -> None:
        self.folder = folder / FOLDER
        self.now = now
        self._open: dict[str, OpenPreview] = {}
        self._changing = asyncio.Lock()
        self._checking: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)  # after a crash
        self._checking = asyncio.create_task(self._close_periodically())
        return self

    async def __aexit__(self, *exception: object) -> None:
        if self._checking is not None:
            self._checking.cancel()
        for key in list(self._open):
            await self.close(key)
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)

    def __len__(self) -> int:
        return len(self._open)

    def get(self, key: str) -> OpenPreview:
        """Return an open preview; raise :class:`Gone` if there is none with this key."""
        opened = self._open.get(key)
        if opened is None or self._is_expired(opened):
            raise Gone("this preview was closed, or not used for 30 minutes; open a new one")
        return opened

    def use(self, key: str) -> OpenPreview:
        """Return an open preview, and note that it is used."""
        opened = self.get(key)
        opened.used = self.now()
        return opened

    async def open(
        self,
        study: Study,
        text: str,
        account: str,
        settings: PreviewSettings,
        address: Address = ANYWHERE,
    ) -> OpenPreview:
        """Open a preview of a study, in place of the account's earlier preview of the same study.

        Raises:
            StudyError: the study has no participants, or cannot be played.
            CheaptalkError: the study does not offer a setting.
            TooMany: too many previews are open.
        """
        async with self._changing:
            await self._close_expired()
            mine = [opened for opened in self._open.values() if opened.account == account]
            same = [opened for opened in mine if opened.study.name == study.name]
            if len(mine) - len(same) >= MOST_OF_ACCOUNT:
                names = ", ".join(sorted(opened.study.name for opened in mine))
                raise TooMany(f"you have open previews of {names}; close one of them first")
            if len(self._open) - len(same) >= MOST:
                raise TooMany(
                    f"{MOST} previews are open in this laboratory; try again in a few minutes"
                )
            for opened in same:
                await self._close(opened.key)
            return await self._begin(
                secrets.token_urlsafe(24), study, text, account, settings, address, []
            )

    async def restart(self, key: str, start: str) -> OpenPreview:
        """Start a preview again at a step, with the same settings and the earlier answers."""
        async with self._changing:
            opened = self.use(key)
            preview = opened.preview
            earlier, address = preview.earlier(), preview.pages.address
            settings = opened.settings._replace(start=start)
            preview.options.check(settings)
            await self._close(key)
            return await self._begin(
                key, opened.study, opened.text, opened.account, settings, address, earlier
            )

    async def close(self, key: str) -> None:
        """Close a preview and delete its data; do nothing if it is not open."""
        async with self._changing:
            await self._close(key)

    async def _begin(
        self,
        key: str,
        study: Study,
        text: str,
        account: str,
        settings: PreviewSettings,
        address: Address,
        earlier: list[Earlier | None],
    ) -> OpenPreview:
        await asyncio.to_thread(self.folder.mkdir, mode=0o700, parents=True, exist_ok=True)
        stack = AsyncExitStack()
        opening = open_preview(study, settings, address, self.folder, earlier)
        preview = await stack.enter_async_context(opening)
        opened = OpenPreview(key, study, text, account, settings, self.now(), stack, preview)
        self._open[key] = opened
        return opened

    async def _close(self, key: str) -> None:
        opened = self._open.pop(key, None)
        if opened is not None:
            await opened.stack.aclose()

    def _is_expired(self, opened: OpenPreview) -> bool:
        return self.now() - opened.used >= IDLE_SECONDS

    async def _close_expired(self) -> None:
        for key, opened in list(self._open.items()):
            if self._is_expired(opened):
                await self._close(key)

    async def _close_periodically(self) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            try:
                async with self._changing:
                    await self._close_expired()
            except Exception:  # the other previews must still be closed
                LOG.exception("a preview cannot be closed")
