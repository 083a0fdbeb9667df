"""The address at which visitors reach the server, and the host names that it accepts."""

import socket
from typing import NamedTuple
from urllib.parse import urlsplit

from cheaptalk.loopback import HOST
from cheaptalk.rules import CheaptalkError

ALL_INTERFACES = "0.0.0.0"  # noqa: S104 - access_note warns about it
LOCAL = (HOST, "localhost")
"""Host names of this machine."""
UNASSIGNED = ("192.0.2.1", 9)
"""A reserved documentation address; connecting a UDP socket to it sends nothing."""


class Address(NamedTuple):
    """The server's base URL, accepted ``Host`` headers, and whether it is behind a local proxy."""

    url: str
    hosts: tuple[str, ...]
    proxied: bool = False


ANYWHERE = Address("", ("*",))
"""Accepts any host name; links use the URL of the request."""


def public_address(url: str) -> Address:
    """Return the address of a server behind a proxy on this machine.

    Raises:
        CheaptalkError: the URL is invalid or has a path.

    >>> public_address("https://play.example.org/").hosts
    ('play.example.org', '127.0.0.1', 'localhost')
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        parts, host, port = urlsplit(""), "", None
    base = f"{parts.scheme}://{host}" + (f":{port}" if port else "")
    plain_host = host.replace("-", "").replace(".", "").isalnum() and host.isascii()
    if parts.scheme not in ("http", "https") or not plain_host or url.rstrip("/").lower() != base:
        raise CheaptalkError(
            f"{url} is not a valid base URL; expected a scheme and a host without a path, such as "
            "https://play.example.org"
        )
    return Address(base, (host, *LOCAL), proxied=True)


def own_address(listener: socket.socket) -> Address:
    """Return the local address of a server that runs without a proxy."""
    host, port = listener.getsockname()
    names = (host,) if host != ALL_INTERFACES else (network_host(), socket.gethostname().lower())
    hosts = tuple(dict.fromkeys((*names, *LOCAL)))
    return Address(f"http://{hosts[0]}:{port}", hosts)


def network_host() -> str:
    """Return this machine's network address, or the loopback address if it has no network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(UNASSIGNED)
        except OSError:
            return HOST
        host: str = probe.getsockname()[0]
        return host


def access_note(address: Address, host: str) -> str:
    """Return a sentence that says who can join; empty if only users of this machine can."""
    if address.proxied:
        return f"Anyone who can reach {address.url} can join and play."
    if host in LOCAL:
        return ""
    return (
        "Anyone on this network can join and play. The connection is not encrypted: others on the "
        "network can read all traffic, and can take over a player's seat with a link that they "
        "intercept."
    )
