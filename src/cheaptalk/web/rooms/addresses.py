"""Addresses: where people find the rooms, and which names of the server are its own."""

import socket
from typing import NamedTuple
from urllib.parse import urlsplit

from cheaptalk.loopback import HOST
from cheaptalk.rules import CheaptalkError

EVERYWHERE = "0.0.0.0"  # noqa: S104 - what it means is said before anybody can come
LOCAL = (HOST, "localhost")
"""Names by which this machine calls itself."""
ELSEWHERE = ("192.0.2.1", 9)
"""An address that nobody has; looking for the way there sends nothing."""


class Address(NamedTuple):
    """Where people find the rooms.

    Attributes:
        url: how their links begin; no slash stands at its end.
        hosts: the names of the server that requests may have.
        proxied: whether a proxy on this machine says who asks, and whether by https.
    """

    url: str
    hosts: tuple[str, ...]
    proxied: bool = False


ANYWHERE = Address("", ("*",))
"""Rooms that are asked by any name, and whose links lead to where they stand."""


def public_address(url: str) -> Address:
    """The address of rooms behind a proxy on this machine.

    >>> public_address("https://play.example.org/").hosts
    ('play.example.org', '127.0.0.1', 'localhost')

    Raises:
        CheaptalkError: the URL is none, or leads below the beginning of a site.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        parts, host, port = urlsplit(""), "", None
    whole = f"{parts.scheme}://{host}" + (f":{port}" if port else "")
    plain_host = host.replace("-", "").replace(".", "").isalnum() and host.isascii()
    if parts.scheme not in ("http", "https") or not plain_host or url.rstrip("/").lower() != whole:
        raise CheaptalkError(f"{url} is no address of rooms; write it as https://play.example.org")
    return Address(whole, (host, *LOCAL), proxied=True)


def own_address(there: socket.socket) -> Address:
    """The address of rooms that people reach without a proxy: on this machine or in its network."""
    host, port = there.getsockname()
    names = (host,) if host != EVERYWHERE else (network_host(), socket.gethostname().lower())
    hosts = tuple(dict.fromkeys((*names, *LOCAL)))
    return Address(f"http://{hosts[0]}:{port}", hosts)


def network_host() -> str:
    """The address of this machine in its network; its own where it is in none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        try:
            way.connect(ELSEWHERE)
        except OSError:
            return HOST
        host: str = way.getsockname()[0]
        return host


def who_can_join(address: Address, host: str) -> str:
    """Who can come to the tables, in a sentence, where that is not only this machine's people."""
    if address.proxied:
        return f"Everybody who can reach {address.url} can sit down and play."
    if host in LOCAL:
        return ""
    return (
        "Everybody in this network can sit down and play. Nothing is encrypted: whoever can "
        "listen in this network reads along, and can take others' places by their links."
    )
