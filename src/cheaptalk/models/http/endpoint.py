"""A provider's endpoints beside those for chats, over HTTP: batches, and jobs of fine-tuning."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Generic, TypeVar

import aiohttp
import msgspec
from msgspec import Struct

from cheaptalk.models.http.failures import EndpointTrouble, broken, hinted, refused
from cheaptalk.models.http.reach import connector
from cheaptalk.models.http.secrets import scrubbed_reply, scrubbed_values
from cheaptalk.models.http.transport import lost_connection, proxy_of, secrets_at
from cheaptalk.models.model_strings import ModelName

T = TypeVar("T")
L = TypeVar("L", bound="Listed")

PATIENCE = aiohttp.ClientTimeout(total=3600, connect=60, sock_read=300)
"""Seconds for one request, of which the largest takes up or brings down hundreds of megabytes."""


class Listed(Struct):
    """A batch or a job as its provider lists it."""

    id: str


class Page(Struct, Generic[L]):
    """A page of a list, the newest first."""

    data: list[L]
    has_more: bool = False


class File(Struct):
    """A file that went up."""

    id: str


class Endpoint:
    """Requests to a provider; errors are one line that never holds the key.

    Every method raises :class:`EndpointTrouble`.
    """

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

    async def upload(self, file: bytes, name: str, purpose: str) -> str:
        """Send up a file of JSON lines as OpenAI takes it; what the provider calls it."""
        form = aiohttp.FormData({"purpose": purpose})
        form.add_field("file", file, filename=f"{name}.jsonl", content_type="application/jsonl")
        return (await self.post(File, "files", data=form)).id

    async def listed(self, page: type[Page[L]], path: str, after: str) -> AsyncIterator[L]:
        """All there are, the newest first, page by page; ``after`` names where the next begins."""
        place: dict[str, str] = {}
        more = True
        while more:
            found = await self.get(page, path, limit="100", **place)
            for one in found.data:
                yield one
                place = {after: one.id}
            more = found.has_more

    async def read(self, method: str, path: str, **what: Any) -> bytes:
        """The bytes that come back, which may still hold secrets."""
        url = self._name.endpoint(path)
        if self._session is None:
            self._session = aiohttp.ClientSession(connector=connector(), timeout=PATIENCE)
        try:
            async with self._session.request(
                method, url, headers=self._headers, proxy=proxy_of(url), allow_redirects=False,
                **what,
            ) as response:  # fmt: skip
                data = await response.read()
        except TimeoutError:
            raise self._trouble("no answer in time") from None
        except (aiohttp.ClientError, OSError) as error:
            raise EndpointTrouble(lost_connection(error, url)) from None
        if response.status == 200:
            return data
        said = refused(response.status, response.headers, data, self._secrets)
        raise EndpointTrouble(hinted(scrubbed_reply(said, self._secrets), self._name, url))

    async def close(self) -> None:
        """Close the connection."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _read(self, kind: type[T], data: bytes) -> T:
        try:
            return msgspec.convert(scrubbed_values(msgspec.json.decode(data), self._secrets), kind)
        except (ValueError, RecursionError) as error:
            raise self._trouble(f"the server's reply is not what it should be: {error}") from None

    def _trouble(self, detail: str) -> EndpointTrouble:
        return EndpointTrouble(scrubbed_reply(broken(detail, retry=True), self._secrets))
