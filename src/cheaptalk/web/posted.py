"""Forms that people post: read whole, within limits, or refused with a sentence."""

import asyncio
import ipaddress
from urllib.parse import parse_qsl

from fastapi import HTTPException, Request

from cheaptalk.web.rooms.limits import Limit

FORM = "application/x-www-form-urlencoded"
LONGEST = 64_000
"""Bytes of a form, unless more is asked for."""
MOST_FIELDS = 500
BODY_SECONDS = 60.0
"""Seconds within which a form must have arrived."""


async def posted_form(
    request: Request, limit: Limit, who: str, longest: int = LONGEST
) -> dict[str, str]:
    """A form's fields, each of one value.

    Args:
        limit: how often somebody may post.
        who: who posts, as the limit counts them.
        longest: bytes that the form may have.

    Raises:
        HTTPException: it comes from another site, too often, is too long or no form, or has a field
            of several values.
    """
    return single(await posted_pairs(request, limit, who, longest))


async def posted_pairs(
    request: Request, limit: Limit, who: str, longest: int = LONGEST, most: int = MOST_FIELDS
) -> list[tuple[str, str]]:
    """A form's fields in order, of which several may have one name; as for :func:`posted_form`.

    Args:
        most: how many there may be.
    """
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        raise HTTPException(403, "This form was sent from another page.")
    if not limit.allows(who):
        raise HTTPException(429, "That was too fast. Wait a few seconds, and try again.")
    kind = request.headers.get("Content-Type", FORM).partition(";")[0].strip().lower()
    if kind != FORM:
        raise HTTPException(415, "This was not sent as a form. Go back, and try again.")
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > longest:
                    raise HTTPException(413, "That is too long. Go back, and write less.")
    except TimeoutError:
        raise _unreadable() from None
    try:
        return parse_qsl(
            body.decode(), keep_blank_values=True, errors="strict", max_num_fields=most
        )
    except ValueError:
        raise _unreadable() from None


def single(pairs: list[tuple[str, str]]) -> dict[str, str]:
    """Fields by name.

    Raises:
        HTTPException: one has several values.
    """
    named = dict(pairs)
    if len(set(pairs)) > len(named):
        raise _unreadable()
    return named


def _unreadable() -> HTTPException:
    return HTTPException(400, "This form cannot be read. Go back, and try again.")


def asker(request: Request) -> str:
    """Return the address or network that a request comes from."""
    return network_of(request.client.host if request.client else "")


def network_of(host: str) -> str:
    """Return an IPv4 address, or the /64 network of an IPv6 address: a household has one of each.

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
