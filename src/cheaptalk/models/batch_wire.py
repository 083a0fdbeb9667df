"""HTTP to a provider's batch endpoint."""

from collections.abc import Mapping
from typing import Any

import aiohttp
import msgspec

from cheaptalk.models.batch import BatchTrouble
from cheaptalk.models.names import ModelName
from cheaptalk.models.wire import broken, complaint, proxy_of

PATIENCE = aiohttp.ClientTimeout(total=None, connect=60, sock_read=300)


class BatchWire:
    """HTTP to one provider's batch endpoint; its errors in one line that never holds the key."""

    def __init__(self, name: ModelName, headers: Mapping[str, str]) -> None:
        self._url = name.url
        self._key = name.key
        self._headers = headers
        self._session: aiohttp.ClientSession | None = None

    async def get(self, path: str, **query: str) -> Any:
        """The JSON at a path."""
        return self._json(await self.read("GET", path, params=query))

    async def post(self, path: str, **what: Any) -> Any:
        """What comes back for a form (``data``) or for JSON (``json``)."""
        return self._json(await self.read("POST", path, **what))

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
            raise self._trouble(
                f"connection failed: {str(error) or type(error).__name__}"
            ) from None
        if response.status == 200:
            return data
        try:
            said = complaint(msgspec.json.decode(self._safe(data)), response.status)
        except ValueError:
            words = self._safe(data)[:2000].decode(errors="replace")
            again = response.status == 429 or response.status >= 500
            raise self._trouble(f"status {response.status}: {words}", again=again) from None
        raise BatchTrouble(said.model_copy(update={"status": response.status}))

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _json(self, data: bytes) -> Any:
        try:
            found = msgspec.json.decode(data)
        except ValueError as error:
            raise self._trouble(f"the server's reply is not what it should be: {error}") from None
        if not isinstance(found, dict):
            raise self._trouble("the server's reply is not what it should be: no JSON object")
        return found

    def _safe(self, data: bytes) -> bytes:
        return data.replace(self._key.encode(), b"[key]") if self._key else data

    def _trouble(self, detail: str, *, again: bool = True) -> BatchTrouble:
        said = detail.replace(self._key, "[key]") if self._key else detail
        return BatchTrouble(broken(said, retry=again))

    def _pool(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=PATIENCE)
        return self._session
