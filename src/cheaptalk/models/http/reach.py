"""Restriction of model calls to public hosts.

Researchers who use a shared server enter models' URLs, which must not lead to services that only
the server can reach. Each address is checked when the connection is made. Therefore a host name
cannot bypass the check by resolving to a private address, or to different addresses in two
look-ups. Calls follow no redirects.
"""

import errno
import ipaddress
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import aiohttp

PUBLIC_ONLY = "CHEAPTALK_PUBLIC_MODELS_ONLY"
"""Environment variable that restricts a process and its children to public hosts."""
NAT64 = ipaddress.ip_network("64:ff9b::/96")
REFUSED = (
    "the host has a private address, but this laboratory calls only public ones; the operator can "
    "allow it with: cheaptalk serve --allow-private-hosts"
)


@contextmanager
def public_models_only() -> Iterator[None]:
    """Restrict model calls of this process and its children to public hosts."""
    previous = os.environ.get(PUBLIC_ONLY)
    os.environ[PUBLIC_ONLY] = "1"
    try:
        yield
    finally:
        if previous is None:
            del os.environ[PUBLIC_ONLY]
        else:
            os.environ[PUBLIC_ONLY] = previous


def restricted() -> bool:
    """Return whether this process restricts model calls to public hosts."""
    return bool(os.environ.get(PUBLIC_ONLY))


def is_public(host: str) -> bool:
    """Return whether an IP address, or the IPv4 address that it maps, is public.

    >>> addresses = ("1.1.1.1", "127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1")
    >>> [is_public(address) for address in addresses]
    [True, False, False, False]
    """
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return address.is_global and not address.is_multicast


def connector() -> aiohttp.TCPConnector:
    """Return a connector that closes each connection after its response.

    A restricted process connects only to public hosts. Connections are not reused, because HTTP/1.1
    responses carry no number: on a reused connection, a response that a server or proxy sends twice
    would become the answer to the next request.

    A new connection costs 0.3 ms of CPU time over TCP and 1.6 ms over TLS, below 0.4 % of a call of
    500 ms. It delays the call by one round trip over TCP and two over TLS 1.3: by 4 % at 10 ms, and
    20 % at 50 ms (``python -m bench.connections``). The delay lowers a run's throughput only if its
    concurrency is the bottleneck.
    """
    sockets = _public_socket if restricted() else None
    return aiohttp.TCPConnector(
        limit=0, ttl_dns_cache=300, force_close=True, socket_factory=sockets
    )


def refusal(url: str, proxy: str | None) -> str | None:
    """Return why a URL must not be requested through a proxy; None if it may be.

    A proxy resolves host names, so only literal addresses can be checked here. A proxy in front of
    a shared server must refuse private hosts.
    """
    if proxy is None or not restricted():
        return None
    host = (urlsplit(url).hostname or "").rstrip(".")
    local = host == "localhost" or host.endswith(".localhost")
    literal = _literal(host)
    return REFUSED if local or (literal is not None and not is_public(literal)) else None


def _literal(host: str) -> str | None:
    """Return a numeric host as an IP address; None for a host name.

    >>> _literal("127.1"), _literal("0x7f000001"), _literal("1.example.org")
    ('127.0.0.1', '127.0.0.1', None)
    """
    with suppress(OSError):
        return host if ":" in host else socket.inet_ntoa(socket.inet_aton(host))
    return None


def _public_socket(info: Any) -> socket.socket:
    """Open the socket of a connection, unless it leads to a private address."""
    family, kind, protocol, _, address = info
    if not is_public(address[0]) and address[:2] not in _proxies():
        raise PermissionError(errno.EPERM, REFUSED)
    return socket.socket(family, kind, protocol)


def _proxies() -> Iterator[tuple[str, int]]:
    """Yield the addresses of the proxies in the environment."""
    for scheme in ("http", "https"):
        parts = urlsplit(getproxies().get(scheme, ""))
        if not parts.hostname:
            continue
        try:
            addresses = socket.getaddrinfo(
                parts.hostname, parts.port or 80, type=socket.SOCK_STREAM
            )
        except OSError:
            continue
        yield from ((str(entry[4][0]), int(entry[4][1])) for entry in addresses)
