"""HTTP to a provider's batch endpoint."""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import aiohttp
import msgspec
from msgspec import Struct

from cheaptalk.models.batch.protocol import BatchServer, BatchTrouble, json_lines
from cheaptalk.models.calls import ModelCall, Reply
from cheaptalk.models.http.secrets import scrubbed_reply, scrubbed_values
from cheaptalk.models.http.transport import (
    broken,
    hinted,
    lost_connection,
    proxy_of,
    refused,
    secrets_at,
)
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.settings import wire
from cheaptalk.models.structured_output import ways

T = TypeVar("T")
B = TypeVar("B", bound="ListedBatch")

PATIENCE = aiohttp.ClientTimeout(total=3600, connect=60, sock_read=300)
"""Seconds for one request, of which the largest takes up or brings down hundreds of megabytes."""


class ListedBatch(Struct):
    """A batch as its provider lists it."""

    id: str


class BatchPage(Struct, Generic[B]):
    """A page of the list of batches, the newest first."""

    data: list[B]
    has_more: bool = False


class HttpBatches(BatchServer):
    """A provider's batch endpoint over HTTP; errors are one line that never holds the key."""

    def __init__(self, name: ModelName, headers: Mapping[str, str]) -> None:
        self._name = name
        self._headers = {**headers, **name.key_header}
        self._secrets = secrets_at(name.url, name.key)
        self._session: aiohttp.ClientSession | None = None

    async def get(self, kind: type[T], path: str, **query: str) -> T:
        """The JSON at a path, as it should be."""
        return self._read(kind, await self.read("GET", path, params=query))

    async def post(self, kind: type[T], path: str, **what: Any) -> T:
        """What comes back for a form (``data``) or for JSON (``json``), as it should be."""
        return self._read(kind, await self.read("POST", path, **what))

    async def listed(self, page: type[BatchPage[B]], path: str, after: str) -> AsyncIterator[B]:
        """All batches, the newest first, page by page; ``after`` names where the next begins."""
        place: dict[str, str] = {}
        more = True
        while more:
            found = await self.get(page, path, limit="100", **place)
            for batch in found.data:
                yield batch
                place = {after: batch.id}
            more = found.has_more

    async def read(self, method: str, path: str, **what: Any) -> bytes:
        """The bytes that come back, which may still hold secrets."""
        url = self._name.endpoint(path)
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=PATIENCE)
        try:
            async with self._session.request(
                method, url, headers=self._headers, proxy=proxy_of(url), allow_redirects=False,
                **what,
            ) as response:  # fmt: skip
                data = await response.read()
        except TimeoutError:
            raise self._trouble("no answer in time") from None
        except (aiohttp.ClientError, OSError) as error:
            raise BatchTrouble(lost_connection(error, url)) from None
        if response.status == 200:
            return data
        said = refused(response.status, response.headers, data, self._secrets)
        raise BatchTrouble(hinted(scrubbed_reply(said, self._secrets), self._name, url))

    async def lines(self, path: str) -> Iterator[dict[str, Any]]:
        """The objects of a file of JSON lines."""
        data = await self.read("GET", path)
        return (scrubbed_values(line, self._secrets) for line in json_lines(data))

    def clean(self, replies: Iterable[tuple[str, Reply]]) -> dict[str, Reply]:
        """Replies by the ids of their lines, without secrets."""
        return {line: scrubbed_reply(reply, self._secrets) for line, reply in replies}

    def says(self, call: ModelCall) -> dict[str, Any]:
        route = ways(call)[0] if call.form else None
        return {"sent": wire(call.settings, call.model), "route": route}

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _read(self, kind: type[T], data: bytes) -> T:
        try:
            return msgspec.convert(scrubbed_values(msgspec.json.decode(data), self._secrets), kind)
        except (ValueError, RecursionError) as error:
            raise self._trouble(f"the server's reply is not what it should be: {error}") from None

    def _trouble(self, detail: str) -> BatchTrouble:
        return BatchTrouble(scrubbed_reply(broken(detail, retry=True), self._secrets))
