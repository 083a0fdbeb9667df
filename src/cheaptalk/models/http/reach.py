"""Restrict the hosts to which calls to models may connect.

A served laboratory lets researchers enter models' URLs, which must not lead to services that only
the server can reach. Each address is checked as the connection is made, so that neither a name that
resolves to a private address nor one that changes between two look-ups gets around the check; calls
follow no redirects.
"""

import errno
import ipaddress
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import aiohttp

PUBLIC_ONLY = "CHEAPTALK_PUBLIC_MODELS_ONLY"
"""The environment variable that restricts a process, and those that it starts, to public hosts."""
NAT64 = ipaddress.ip_network("64:ff9b::/96")
REFUSED = (
    "it has a private address, and this laboratory calls only public ones; the operator of the "
    "server can allow it with: cheaptalk serve --allow-private-hosts"
)


class PrivateAddress(PermissionError):
    """A connection to an address that is not public."""

    def __init__(self) -> None:
        super().__init__(errno.EPERM, REFUSED)


@contextmanager
def public_models_only() -> Iterator[None]:
    """Restrict calls of this process, and of those that it starts, to public hosts."""
    previous = os.environ.get(PUBLIC_ONLY)
    os.environ[PUBLIC_ONLY] = "1"
    try:
        yield
    finally:
        if previous is None:
            del os.environ[PUBLIC_ONLY]
        else:
            os.environ[PUBLIC_ONLY] = previous


def restricted(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether calls may reach only public hosts."""
    return bool(environment.get(PUBLIC_ONLY))


def is_public(host: str) -> bool:
    """Whether an IP address is public.

    IPv6 addresses that map IPv4 addresses are public if these are.

    >>> [is_public(one) for one in ("1.1.1.1", "127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1")]
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

    It leads to public hosts only if this process is restricted. On a connection that is kept alive,
    a response that a server or proxy sends twice would become the answer to the next request:
    HTTP/1.1 cannot tell, since responses carry no number.

    A new connection costs 0.3 ms of CPU time over TCP and 1.6 ms over TLS, below 0.4 % of a call of
    500 ms, and delays the call by one round trip over TCP and two over TLS 1.3: 4 % at 10 ms, 20 %
    at 50 ms (``python -m bench.connections``). The delay lowers the throughput of a run only if its
    concurrency is the bottleneck. Connections that are opened ahead of their only call would avoid
    it without reuse.
    """
    return aiohttp.TCPConnector(
        limit=0, ttl_dns_cache=300, force_close=True,
        socket_factory=_public_socket if restricted() else None,
    )  # fmt: skip


def refusal(url: str, proxy: str | None) -> str | None:
    """Why a URL may not be called through a proxy; None if it may.

    A proxy resolves names by itself, so that only addresses can be checked here: a proxy in front
    of a laboratory must refuse private hosts.
    """
    if proxy is None or not restricted():
        return None
    host = (urlsplit(url).hostname or "").rstrip(".")
    local = host == "localhost" or host.endswith(".localhost")
    literal = _literal(host)
    return REFUSED if local or (literal is not None and not is_public(literal)) else None


def _literal(host: str) -> str | None:
    """Return the address that a host is written as; None of a name.

    >>> _literal("127.1"), _literal("0x7f000001"), _literal("1.example.org")
    ('127.0.0.1', '127.0.0.1', None)
    """
    if ":" in host:
        return host
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return None


def _public_socket(info: Any) -> socket.socket:
    """Open the socket of a connection.

    Raises:
        PrivateAddress: it would lead to an address that is not public, nor that of a proxy.
    """
    family, kind, protocol, _, address = info
    if not is_public(address[0]) and (address[0], address[1]) not in _proxies():
        raise PrivateAddress
    return socket.socket(family, kind, protocol)


def _proxies() -> Iterator[tuple[str, int]]:
    """Return the addresses of the proxies that the environment names."""
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
