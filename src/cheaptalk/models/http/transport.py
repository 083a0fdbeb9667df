"""HTTP transport for model calls; all failures are returned as replies."""

import asyncio
import os
import ssl
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from cheaptalk.models.calls import Reply
from cheaptalk.models.http.decoding import decoded
from cheaptalk.models.http.failures import (
    PAGE,
    broken,
    malformed,
    refused,
    timed_out,
    web_page,
    worth_retrying,
)
from cheaptalk.models.http.openai import joined
from cheaptalk.models.http.reach import REFUSED, connector, refusal
from cheaptalk.models.http.secrets import of_proxy, scrubbed, scrubbed_reply, scrubbed_values

CALL_HEADER = "X-Cheaptalk-Call"
"""Header with the call's id, for comparison with a server's log."""
SCHEMA_HEADER = "X-Cheaptalk-Schema"
"""Header with the JSON schema of an answer that only the prompt describes; only for servers on this
machine, such as the mock server."""
LONGEST = 8 * 2**20
"""Maximum size of a response in bytes."""
NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"})
"""TLS errors of servers that do not support TLS."""
WRITE_HTTPS = "if it uses https, write https:// in the URL"


class Connections:
    """HTTP requests with a new connection each; opened on first use in an event loop."""

    def __init__(self, timeout: aiohttp.ClientTimeout) -> None:
        self._timeout = timeout
        self._session: aiohttp.ClientSession | None = None

    def request(self, method: str, url: str, **options: Any) -> Any:
        """Return the context manager of a response, through the environment's proxy."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=connector(), cookie_jar=aiohttp.DummyCookieJar(), timeout=self._timeout
            )
        proxy = proxy_of(url)
        return self._session.request(method, url, proxy=proxy, allow_redirects=False, **options)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


class HttpTransport(Connections):
    """A client for HTTP requests to any server."""

    def __init__(self) -> None:
        super().__init__(aiohttp.ClientTimeout(total=None))

    async def post(
        self,
        url: str,
        headers: Mapping[str, str],
        body: Mapping[str, Any],
        key: str | None,
        deadline: float,
        read: Callable[[Any], Reply],
        longest: int = LONGEST,
    ) -> Reply:
        """Post JSON and parse the JSON response, which may be streamed.

        The key and proxy passwords are removed from replies. ``deadline`` is the timeout in
        seconds, from sending to the last byte, and ``longest`` the maximum size of the response in
        bytes. ``read`` may raise a ValueError.
        """
        started = time.monotonic()
        secrets = secrets_at(url, key)
        if why := refusal(url, proxy_of(url)):
            return broken(f"this model cannot be called: {why}", retry=False, unreached=True)
        try:
            async with (
                asyncio.timeout(deadline),
                self.request("POST", url, json=body, headers=headers) as response,
            ):
                reply = await _read_response(response, secrets, read, longest)
        except TimeoutError:
            reply = timed_out(deadline)
        except (aiohttp.ClientError, OSError) as error:
            reply = lost_connection(error, url)
        reply = scrubbed_reply(reply, secrets)
        return reply.model_copy(update={"seconds": round(time.monotonic() - started, 4)})


def secrets_at(url: str, key: str | None) -> tuple[str, ...]:
    """Return the secrets to remove from responses: the key and the proxy's credentials."""
    return (*((key,) if key else ()), *of_proxy(proxy_of(url)))


async def _read_response(
    response: aiohttp.ClientResponse,
    secrets: tuple[str, ...],
    read: Callable[[Any], Reply],
    longest: int,
) -> Reply:
    received = bytearray()
    while part := await response.content.readany():
        received += part
        if len(received) > longest:
            return broken(f"the response is longer than {longest:,} bytes", retry=True)
    data = bytes(received)
    if response.status == 200 and PAGE.match(text := data.decode(errors="replace")):
        message = f"the server answers with {web_page(scrubbed(text, secrets))}"
        return broken(message, retry=True, status=response.status)
    if not 200 <= response.status < 300:
        return refused(response.status, response.headers, data, secrets)
    try:
        stream = response.content_type == "text/event-stream"
        decoded_body = joined(data) if stream else decoded(data)
        return read(scrubbed_values(decoded_body, secrets))
    except (ValueError, RecursionError) as error:
        return malformed(error, data, secrets)


@lru_cache(maxsize=64)
def proxy_of(url: str) -> str | None:
    """Return the proxy that the environment sets for a URL."""
    parts = urlsplit(url)
    if proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)


LOST: tuple[tuple[type[Exception], str], ...] = (
    (aiohttp.ServerDisconnectedError, "the server closed the connection without a response"),
    (aiohttp.ClientPayloadError, "the response is incomplete or cannot be decompressed"),
    (aiohttp.ClientResponseError, "the server's response is not HTTP"),
    (aiohttp.InvalidURL, "the URL is invalid"),
)
"""Error messages of broken connections, by exception."""


def lost_connection(error: Exception, url: str) -> Reply:
    """Return a failure reply that explains a failed connection.

    The exception's own text may contain server output or a proxy's password, so the message does
    not include it.
    """
    if isinstance(error, aiohttp.ClientHttpProxyError):
        message = (
            f"the proxy refused to connect (status {error.status}): check the user and the "
            "password in the environment's HTTPS_PROXY or HTTP_PROXY"
        )
        retry = worth_retrying(error.status, None)
        return broken(message, retry=retry, status=error.status, unreached=True)
    if isinstance(error, aiohttp.ClientConnectorError):
        return _unreached(error)
    explanation = next((words for kind, words in LOST if isinstance(error, kind)), None)
    number = error.errno if isinstance(error, OSError) else None
    words = explanation or _system_words(number) or type(error).__name__
    if explanation and url.startswith("http://"):
        words += f"; {WRITE_HTTPS}"
    return broken(f"connection failed: {words}", retry=True)


def _unreached(error: aiohttp.ClientConnectorError) -> Reply:
    """Return a failure reply for an unreachable server or proxy, with a suggestion."""
    cause = error.__cause__
    target = "proxy" if isinstance(error, aiohttp.ClientProxyConnectionError) else "server"
    address = f"{error.host}:{error.port}"
    if REFUSED in str(error.os_error):
        return broken(f"{address} cannot be called: {REFUSED}", retry=False, unreached=True)
    retry = not isinstance(cause, ssl.SSLError)
    if isinstance(cause, ssl.SSLCertVerificationError):
        message = (
            f"the certificate of {address} is not trusted ({cause.verify_message}): set its "
            "authority's file in SSL_CERT_FILE, or use the host name in the certificate"
        )
    elif isinstance(cause, ssl.SSLError) and cause.reason in NO_TLS:
        message = f"the {target} at {address} does not use https: write http:// in the URL"
    elif isinstance(cause, ssl.SSLError):
        message = f"no {target} answers at {address} ({cause.strerror or cause.reason})"
        retry = True
    elif isinstance(error, aiohttp.ClientConnectorDNSError):
        why = f"({error.strerror}): check URL and network"
        message = f'the {target} "{error.host}" was not found {why}'
    else:
        why = _system_words(error.errno) or error.strerror or "no connection"
        message = (
            f"no {target} answers at {address} ({why}): check that it is running and that "
            "the port is correct"
        )
    return broken(message, retry=retry, unreached=True)


def _system_words(number: int | None) -> str | None:
    return os.strerror(number) if number and number > 0 else None
