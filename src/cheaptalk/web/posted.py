"""Limits on requests, and parsing of posted forms within limits on rate, size and time."""

import asyncio
import ipaddress
import time
from collections.abc import Callable, Sequence
from email.parser import BytesParser
from email.policy import HTTP
from typing import NamedTuple
from urllib.parse import parse_qsl

from fastapi import HTTPException, Request

MAX_BUCKETS = 100_000


class Limit:
    """A rate limit per sender: requests per second in the long run, with bursts.

    >>> limit = Limit(2, 1, now=iter([0.0, 0.0, 0.0, 1.0]).__next__)
    >>> [limit.allows("ann") for _ in range(4)]
    [True, True, False, True]
    """

    def __init__(
        self, burst: float, rate: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.burst = burst
        self.rate = rate
        self.now = now
        self._buckets: dict[str, tuple[float, float]] = {}

    def allows(self, sender: str) -> bool:
        """Return whether a sender's request is within the limit; if so, count it."""
        now = self.now()
        tokens, then = self._buckets.get(sender, (self.burst, now))
        tokens = min(self.burst, tokens + (now - then) * self.rate)
        allowed = tokens >= 1
        self._buckets[sender] = (tokens - allowed, now)
        if len(self._buckets) > MAX_BUCKETS:
            self._buckets = {
                name: bucket
                for name, bucket in self._buckets.items()
                if bucket[0] + (now - bucket[1]) * self.rate < self.burst
            }
        return allowed


MAX_CLIENTS = 100_000


class LoginThrottle:
    """A limit on each client's failed attempts within a sliding time window in seconds.

    >>> throttle = LoginThrottle(2, 60, now=iter([0.0, 1.0, 2.0, 60.5]).__next__)
    >>> [throttle.wait("ann"), throttle.count("ann"), throttle.count("ann")]
    [0.0, None, None]
    >>> throttle.wait("ann")
    0.5
    """

    def __init__(self, maximum: int, window: float, now: Callable[[], float]) -> None:
        self.maximum = maximum
        self.window = window
        self.now = now
        self._times: dict[str, list[float]] = {}

    def wait(self, client: str) -> float:
        """Return the seconds until a client may try again; 0 if it may try now."""
        now = self.now()
        recent = [attempt for attempt in self._times.get(client, []) if attempt > now - self.window]
        return recent[-self.maximum] + self.window - now if len(recent) >= self.maximum else 0.0

    def count(self, client: str) -> None:
        now = self.now()
        recent = [attempt for attempt in self._times.get(client, []) if attempt > now - self.window]
        self._times[client] = [*recent[-self.maximum :], now]
        if len(self._times) > MAX_CLIENTS:
            self._times = {
                name: times for name, times in self._times.items() if times[-1] > now - self.window
            }

    def clear(self, client: str) -> None:
        self._times.pop(client, None)

    def undo(self, client: str) -> None:
        self._times.get(client, []).pop()


FORM = "application/x-www-form-urlencoded"
UPLOADS = "multipart/form-data"
MAX_BYTES = 64_000
"""Default maximum size of a form."""
MAX_FIELDS = 500
BODY_SECONDS = 60.0
"""Timeout for receiving a form."""


async def posted_form(request: Request, limit: Limit, client: str) -> dict[str, str]:
    """Return the fields of a posted form by name; the rate limit applies to the client.

    An HTTPException is raised if the form comes from another website, too often, is too long,
    cannot be parsed, or has a field with several values.
    """
    return single(await posted_pairs(request, limit, client))


async def posted_pairs(
    request: Request,
    limit: Limit,
    client: str,
    max_bytes: int = MAX_BYTES,
    max_fields: int = MAX_FIELDS,
) -> list[tuple[str, str]]:
    """Return a posted form's (name, value) pairs in order, subject to rate and size limits."""
    _, body = await _body(request, limit, client, (FORM,), max_bytes)
    return _pairs(body, max_fields)


def _pairs(body: bytes, max_fields: int) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            body.decode(), keep_blank_values=True, errors="strict", max_num_fields=max_fields
        )
    except ValueError:
        raise _unreadable() from None


class Upload(NamedTuple):
    """An uploaded file, with the name that it had on the sender's machine."""

    name: str
    content: bytes


async def posted_files(
    request: Request, limit: Limit, client: str, max_bytes: int
) -> tuple[list[tuple[str, str]], list[Upload]]:
    """Return the (name, value) pairs and the files of a posted form that may have uploads."""
    kind, body = await _body(request, limit, client, (FORM, UPLOADS), max_bytes)
    if kind == FORM:
        return _pairs(body, MAX_FIELDS), []
    header = f"Content-Type: {request.headers['Content-Type']}\r\n\r\n".encode()
    message = BytesParser(policy=HTTP).parsebytes(header + body)
    pairs, files = [], []
    for part in message.iter_parts():
        content = part.get_payload(decode=True)
        name, file = part.get_param("name", header="Content-Disposition"), part.get_filename()
        if not isinstance(content, bytes) or not isinstance(name, str):
            raise _unreadable()
        if file is None:
            pairs.append((name, content.decode(errors="replace")))
        elif file:
            files.append(Upload(file, content))
    return pairs, files


async def _body(
    request: Request, limit: Limit, client: str, expected: Sequence[str], max_bytes: int
) -> tuple[str, bytes]:
    """Return the type and the body of a posted form, subject to rate and size limits."""
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        raise HTTPException(403, "This form was sent from another website and was rejected.")
    if not limit.allows(client):
        raise HTTPException(429, "Too many requests. Wait a few seconds and try again.")
    kind = request.headers.get("Content-Type", FORM).partition(";")[0].strip().lower()
    if kind not in expected:
        raise HTTPException(415, "The form was not sent correctly. Go back and try again.")
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > max_bytes:
                    raise HTTPException(413, "Your text is too long. Go back and shorten it.")
    except TimeoutError:
        raise _unreadable() from None
    return kind, bytes(body)


def single(pairs: list[tuple[str, str]]) -> dict[str, str]:
    """Return form fields by name; raise an HTTPException if a field has several values."""
    named = dict(pairs)
    if len(set(pairs)) > len(named):
        raise _unreadable()
    return named


def _unreadable() -> HTTPException:
    return HTTPException(400, "This form could not be processed. Go back and try again.")


def asker(request: Request) -> str:
    """Return the client address or network from which a request comes."""
    return network_of(request.client.host if request.client else "")


def network_of(host: str) -> str:
    """Reduce an IPv6 address to its /64 network; leave an IPv4 address unchanged.

    >>> network_of("192.0.2.7"), network_of("2001:db8::7%eth0")
    ('192.0.2.7', '2001:db8::/64')
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.version == 6:
        return str(ipaddress.ip_network((host.partition("%")[0], 64), strict=False))
    return host
