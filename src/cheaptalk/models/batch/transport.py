"""HTTP to a provider's batch endpoint."""

from collections.abc import Mapping
from typing import Any, TypeVar

import aiohttp
import msgspec

from cheaptalk.models.batch.protocol import BatchTrouble
from cheaptalk.models.http.transport import blanked, broken, complaint, lost_connection, proxy_of
from cheaptalk.models.model_strings import ModelName

T = TypeVar("T")

PATIENCE = aiohttp.ClientTimeout(total=3600, connect=60, sock_read=300)
"""Seconds for one request, of which the largest takes up or brings down hundreds of megabytes."""


class BatchWire:
    """HTTP to one provider's batch endpoint; its errors in one line that never holds the key."""

    def __init__(self, name: ModelName, headers: Mapping[str, str]) -> None:
        self._url = name.url
        self._key = name.key
        self._headers = headers
        self._session: aiohttp.ClientSession | None = None

    async def get(self, kind: type[T], path: str, **query: str) -> T:
        """The JSON at a path, as it should be."""
        return self._read(kind, await self.read("GET", path, params=query))

    async def post(self, kind: type[T], path: str, **what: Any) -> T:
        """What comes back for a form (``data``) or for JSON (``json``), as it should be."""
        return self._read(kind, await self.read("POST", path, **what))

    async def read(self, method: str, path: str, **what: Any) -> bytes:
        """The bytes that come back."""
        url = f"{self._url}/{path}"
        try:
            async with self._pool().request(
                method, url, headers=self._headers, proxy=proxy_of(url), allow_redirects=False,
                **what,
            ) as response:  # fmt: skip
                data = await response.read()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise self._trouble(lost_connection(error)) from None
        data = blanked(data, self._key)
        if response.status == 200:
            return data
        try:
            said = complaint(msgspec.json.decode(data), response.status)
        except (ValueError, RecursionError):
            words = data[:2000].decode(errors="replace")
            again = response.status == 429 or response.status >= 500
            raise self._trouble(f"status {response.status}: {words}", again=again) from None
        raise BatchTrouble(said.model_copy(update={"status": response.status}))

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _read(self, kind: type[T], data: bytes) -> T:
        try:
            return msgspec.json.decode(data, type=kind)
        except (ValueError, RecursionError) as error:
            raise self._trouble(f"the server's reply is not what it should be: {error}") from None

    def _trouble(self, detail: str, *, again: bool = True) -> BatchTrouble:
        said = blanked(detail.encode(), self._key).decode()
        return BatchTrouble(broken(said, retry=again))

    def _pool(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=PATIENCE)
        return self._session
