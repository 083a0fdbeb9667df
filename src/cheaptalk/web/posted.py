"""Parsing of posted forms within limits on rate, size and time."""

import asyncio
import ipaddress
from urllib.parse import parse_qsl

from fastapi import HTTPException, Request

from cheaptalk.web.rooms.limits import Limit

FORM = "application/x-www-form-urlencoded"
MAX_BYTES = 64_000
"""Default maximum size of a form."""
MAX_FIELDS = 500
BODY_SECONDS = 60.0
"""Timeout for receiving a form."""


async def posted_form(
    request: Request, limit: Limit, client: str, max_bytes: int = MAX_BYTES
) -> dict[str, str]:
    """Return the fields of a posted form by name.

    Args:
        limit: the rate limit for posts.
        client: identifies the sender for the rate limit.
        max_bytes: maximum size of the form.

    Raises:
        HTTPException: the form comes from another website, too often, is too long, cannot be
            parsed, or has a field with several values.
    """
    return single(await posted_pairs(request, limit, client, max_bytes))


async def posted_pairs(
    request: Request,
    limit: Limit,
    client: str,
    max_bytes: int = MAX_BYTES,
    max_fields: int = MAX_FIELDS,
) -> list[tuple[str, str]]:
    """Return a posted form's (name, value) pairs in order, subject to rate and size limits."""
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        raise HTTPException(403, "This form was sent from another website and was rejected.")
    if not limit.allows(client):
        raise HTTPException(429, "Too many requests. Wait a few seconds and try again.")
    kind = request.headers.get("Content-Type", FORM).partition(";")[0].strip().lower()
    if kind != FORM:
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
    try:
        return parse_qsl(
            body.decode(), keep_blank_values=True, errors="strict", max_num_fields=max_fields
        )
    except ValueError:
        raise _unreadable() from None


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
