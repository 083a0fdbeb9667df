"""Providers' HTTP endpoints for batches and fine-tuning jobs."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Generic, TypeVar

import aiohttp
import msgspec
from msgspec import Struct

from cheaptalk.models.http.failures import EndpointTrouble, broken, hinted, refused
from cheaptalk.models.http.secrets import scrubbed_reply, scrubbed_values
from cheaptalk.models.http.transport import Connections, lost_connection, secrets_at
from cheaptalk.models.model_strings import ModelName

T = TypeVar("T")
L = TypeVar("L", bound="Listed")

PATIENCE = aiohttp.ClientTimeout(total=3600, connect=60, sock_read=300)
"""Timeouts of a request that may transfer hundreds of megabytes."""


class Listed(Struct):
    """A batch, job or file of a provider."""

    id: str


class Page(Struct, Generic[L]):
    """One page of a list, newest item first."""

    data: list[L]
    has_more: bool = False


class Endpoint(Connections):
    """A client for a provider's endpoint; methods raise :class:`EndpointTrouble` if requests fail.

    Error messages have one line and never contain the key.
    """

    def __init__(self, name: ModelName, headers: Mapping[str, str]) -> None:
        super().__init__(PATIENCE)
        self._name = name
        self._headers = {**headers, **name.key_header}
        self._secrets = secrets_at(name.url, name.key)

    async def get(self, kind: type[T], path: str, **query: str) -> T:
        """Get the JSON at a path, decoded as the given type."""
        return self._read(kind, await self.read("GET", path, params=query))

    async def post(self, kind: type[T], path: str, **options: Any) -> T:
        """Post a form (``data``) or JSON (``json``); return the response as the given type."""
        return self._read(kind, await self.read("POST", path, **options))

    async def upload(self, file: bytes, name: str, purpose: str) -> str:
        """Upload a JSON Lines file in OpenAI's format and return its id."""
        form = aiohttp.FormData({"purpose": purpose})
        form.add_field("file", file, filename=f"{name}.jsonl", content_type="application/jsonl")
        return (await self.post(Listed, "files", data=form)).id

    async def listed(self, page: type[Page[L]], path: str, after: str) -> AsyncIterator[L]:
        """Yield all items of a list; ``after`` is the name of the cursor parameter."""
        cursor: dict[str, str] = {}
        has_more = True
        while has_more:
            batch = await self.get(page, path, limit="100", **cursor)
            for item in batch.data:
                yield item
                cursor = {after: item.id}
            has_more = batch.has_more

    async def read(self, method: str, path: str, **options: Any) -> bytes:
        """Request a URL and return the response body, which may contain secrets."""
        url = self._name.endpoint(path)
        try:
            async with self.request(method, url, headers=self._headers, **options) as response:
                data: bytes = await response.read()
        except TimeoutError:
            raise self._trouble("the request timed out") from None
        except (aiohttp.ClientError, OSError) as error:
            raise EndpointTrouble(lost_connection(error, url)) from None
        if response.status == 200:
            return data
        reply = refused(response.status, response.headers, data, self._secrets)
        raise EndpointTrouble(hinted(scrubbed_reply(reply, self._secrets), self._name, url))

    def _read(self, kind: type[T], data: bytes) -> T:
        try:
            return msgspec.convert(scrubbed_values(msgspec.json.decode(data), self._secrets), kind)
        except (ValueError, RecursionError) as error:
            raise self._trouble(f"the server's response is malformed: {error}") from None

    def _trouble(self, detail: str) -> EndpointTrouble:
        return EndpointTrouble(scrubbed_reply(broken(detail, retry=True), self._secrets))
