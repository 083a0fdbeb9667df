"""One question over HTTP: whatever a server does comes back as a reply.

A server that streams though nobody asked it to is understood as well.
"""

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

from cheaptalk.models.calls import Failure, Reply
from cheaptalk.models.http.decoding import decoded, joined
from cheaptalk.models.http.failures import (
    PAGE,
    broken,
    malformed,
    refused,
    web_page,
    worth_retrying,
)
from cheaptalk.models.http.reach import REFUSED, connector, refusal
from cheaptalk.models.http.secrets import (
    of_proxy,
    scrubbed,
    scrubbed_reply,
    scrubbed_values,
)

CALL_HEADER = "X-Cheaptalk-Call"
"""The header that carries a call's number, so that a server's log can be held against ours."""
LONGEST = 8 * 2**20
"""Bytes of the longest reply that is read."""
NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"})
"""What TLS makes of a server's answer that is none of TLS."""
WRITE_HTTPS = "if it speaks https, write https:// in the URL"


class Wire:
    """Connections to all servers: as many at once as calls are made, each for one call."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

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
        """Post JSON and read the JSON that comes back.

        Args:
            key: a secret that no reply repeats, whatever the server says; nor does one repeat a
                proxy's password.
            deadline: seconds until the call counts as timed out, from sending to the last byte.
            read: makes a reply of what the server said; may raise ValueError.
            longest: bytes of the longest reply that is read.
        """
        started = time.monotonic()
        proxy = proxy_of(url)
        secrets = secrets_at(url, key)
        if why := refusal(url, proxy):
            return broken(f"this model cannot be called: {why}", retry=False, unreached=True)
        try:
            async with asyncio.timeout(deadline):
                sending = self._pool().post(
                    url, json=body, headers=headers, proxy=proxy, allow_redirects=False
                )
                async with sending as response:
                    reply = await _said(response, secrets, read, longest)
        except TimeoutError:
            detail = f"no answer within {deadline:g} seconds"
            reply = Reply(failure=Failure.TIMED_OUT, detail=detail, retry=True)
        except (aiohttp.ClientError, OSError) as error:
            reply = lost_connection(error, url)
        reply = scrubbed_reply(reply, secrets)
        return reply.model_copy(update={"seconds": round(time.monotonic() - started, 4)})

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _pool(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=connector(),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
            )
        return self._session


def secrets_at(url: str, key: str | None) -> tuple[str, ...]:
    """What no reply from a URL may repeat: the key that is sent, and a proxy's password."""
    return (*((key,) if key else ()), *of_proxy(proxy_of(url)))


async def _said(
    response: aiohttp.ClientResponse,
    secrets: tuple[str, ...],
    read: Callable[[Any], Reply],
    longest: int,
) -> Reply:
    """What a response says, without secrets."""
    found = bytearray()
    while part := await response.content.readany():
        found += part
        if len(found) > longest:
            return broken(f"the reply is longer than {longest:,} bytes", retry=True)
    data = bytes(found)
    if response.status == 200 and PAGE.match(text := data.decode(errors="replace")):
        said = f"the server answers with {web_page(scrubbed(text, secrets))}"
        return broken(said, retry=True, status=response.status)
    if not 200 <= response.status < 300:
        return refused(response.status, response.headers, data, secrets)
    try:
        stream = response.content_type == "text/event-stream"
        whole = joined(data) if stream else decoded(data)
        return read(scrubbed_values(whole, secrets))
    except (ValueError, RecursionError) as error:
        return malformed(error, data, secrets)


@lru_cache(maxsize=64)
def proxy_of(url: str) -> str | None:
    """The proxy that the environment names for a URL."""
    parts = urlsplit(url)
    if proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)


LOST: tuple[tuple[type[Exception], str], ...] = (
    (aiohttp.ServerDisconnectedError, "the server closed it without an answer"),
    (aiohttp.ClientPayloadError, "the reply breaks off, or cannot be unpacked"),
    (aiohttp.ClientResponseError, "the server's reply is no HTTP"),
    (aiohttp.InvalidURL, "the URL cannot be read"),
)
"""What is said of a connection that broke, by the error."""


def lost_connection(error: Exception, url: str) -> Reply:
    """What is said of a connection that was never made, or broke, in our words and the system's.

    Never in the error's own: they may hold what a server said, or a proxy's password.

    Args:
        url: where the call was sent.
    """
    if isinstance(error, aiohttp.ClientHttpProxyError):
        said = (
            f"the proxy refuses to connect (status {error.status}): check the user and the "
            "password in the environment's HTTPS_PROXY or HTTP_PROXY"
        )
        retry = worth_retrying(error.status, None)
        return broken(said, retry=retry, status=error.status, unreached=True)
    if isinstance(error, aiohttp.ClientConnectorError):
        return _unreached(error)
    known = next((words for kind, words in LOST if isinstance(error, kind)), None)
    number = error.errno if isinstance(error, OSError) else None
    words = known or _system_words(number) or type(error).__name__
    if known and url.startswith("http://"):
        words += f"; {WRITE_HTTPS}"
    return broken(f"connection failed: {words}", retry=True)


def _unreached(error: aiohttp.ClientConnectorError) -> Reply:
    """What is said where no server could be talked to, with what to do."""
    cause = error.__cause__
    who = "proxy" if isinstance(error, aiohttp.ClientProxyConnectionError) else "server"
    place = f"{error.host}:{error.port}"
    if REFUSED in str(error.os_error):
        return broken(f"{place} cannot be called: {REFUSED}", retry=False, unreached=True)
    retry = not isinstance(cause, ssl.SSLError)
    if isinstance(cause, ssl.SSLCertVerificationError):
        said = (
            f"the certificate of {place} is not trusted ({cause.verify_message}): name its "
            "authority's file in SSL_CERT_FILE, or write the name that it is made out to"
        )
    elif isinstance(cause, ssl.SSLError) and cause.reason in NO_TLS:
        said = f"the {who} at {place} speaks no https: write http:// in the URL"
    elif isinstance(cause, ssl.SSLError):
        said, retry = f"no {who} answers at {place} ({cause.strerror or cause.reason})", True
    elif isinstance(error, aiohttp.ClientConnectorDNSError):
        said = f'no {who} has the name "{error.host}" ({error.strerror}): check URL and network'
    else:
        why = _system_words(error.errno) or error.strerror or "no connection"
        said = f"no {who} answers at {place} ({why}): is it running, and is that its port?"
    return broken(said, retry=retry, unreached=True)


def _system_words(number: int | None) -> str | None:
    return os.strerror(number) if number and number > 0 else None
