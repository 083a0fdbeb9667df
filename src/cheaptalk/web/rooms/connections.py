"""Connections: limits that keep one address from holding up everybody else's pages."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

from fastapi.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from cheaptalk.web.posted import network_of

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

HEADER_SECONDS = 10.0
"""Seconds within which a connection must send a request's whole header."""
DESCRIPTORS = 65_536
"""Open files that a server asks the system for: each connection takes one."""
STREAMS_OF_VISITOR = 8
"""Event streams of one visitor: a tab has one, and one may be left from before a reload."""
STREAMS_OF_ADDRESS = 600
"""Event streams of one address: a whole school may be behind it."""
CONNECTIONS_OF_ADDRESS = 2_000
"""Connections of one address: a browser opens up to six."""


class Streams:
    """Counts event streams by visitor and by address.

    Args:
        of_visitor, of_address: how many streams each may have.
    """

    def __init__(
        self, of_visitor: int = STREAMS_OF_VISITOR, of_address: int = STREAMS_OF_ADDRESS
    ) -> None:
        self.caps = {"visitor": of_visitor, "address": of_address}
        self.open: Counter[tuple[str, str]] = Counter()

    def have_room(self, visitor: str, address: str) -> bool:
        """Whether one more stream is within the caps."""
        return all(self.open[key] < self.caps[key[0]] for key in _keys(visitor, address))

    @contextmanager
    def counting(self, visitor: str, address: str) -> Iterator[None]:
        """Count a stream until it ends."""
        keys = _keys(visitor, address)
        self.open.update(keys)
        try:
            yield
        finally:
            self.open.subtract(keys)
            for key in keys:
                if not self.open[key]:
                    del self.open[key]


def _keys(visitor: str, address: str) -> tuple[tuple[str, str], ...]:
    return ("visitor", visitor), ("address", address)


class CountedStream(StreamingResponse):
    """A stream of events that counts while it lasts, and is refused with 429 beyond the caps."""

    def __init__(
        self, events: AsyncIterator[str], streams: Streams, visitor: str, address: str
    ) -> None:
        super().__init__(
            events, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"}
        )
        self.streams = streams
        self.whose = visitor, address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the browser goes."""
        if not self.streams.have_room(*self.whose):
            refusal = Response(status_code=429, headers={"Connection": "close"})
            await refusal(scope, receive, send)
            return
        with self.streams.counting(*self.whose):
            await super().__call__(scope, receive, send)


class Connections:
    """Counts a server's connections by address, and creates the protocol of each.

    Args:
        proxy: the host of a proxy, through which all visitors connect; it has no cap.
        of_address: how many connections every other address may have.
    """

    def __init__(self, proxy: str = "", of_address: int = CONNECTIONS_OF_ADDRESS) -> None:
        self.proxy = proxy
        self.of_address = of_address
        self.open: Counter[str] = Counter()

    def __call__(self, **settings: Any) -> "ImpatientProtocol":
        """Create the protocol of a connection, as uvicorn asks for it."""
        return ImpatientProtocol(self, **settings)

    def admit(self, host: str) -> bool:
        """Count a connection, unless its address has as many as it may have."""
        if host != self.proxy and self.open[host] >= self.of_address:
            return False
        self.open[host] += 1
        return True

    def release(self, host: str) -> None:
        """Count a connection no longer."""
        self.open[host] -= 1
        if not self.open[host]:
            del self.open[host]


class ImpatientProtocol(AutoHTTPProtocol):  # type: ignore[valid-type, misc]
    """Uvicorn's protocol, which closes connections whose request does not arrive in time.

    Uvicorn itself waits for ever for the rest of a header, and each such connection takes one of
    the process's descriptors. Connections beyond the cap of their address are closed before they
    are read.
    """

    seconds = HEADER_SECONDS

    def __init__(self, counted: Connections, **settings: Any) -> None:
        super().__init__(**settings)
        self.counted = counted
        self._host: str | None = None
        self._expiry: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request."""
        host = network_of((transport.get_extra_info("peername") or ("",))[0])
        if not self.counted.admit(host):
            transport.abort()
            return
        self._host = host
        super().connection_made(transport)
        self._await_header()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        if self._host is None:
            return
        self.counted.release(self._host)
        self._forget()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what has arrived; a request that is whole is no longer waited for."""
        super().data_received(data)
        if self._is_answering():
            self._forget()
        else:
            self._await_header()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _await_header(self) -> None:
        if self._expiry is None:
            self._expiry = self.loop.call_later(self.seconds, self._expire)

    def _forget(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None

    def _expire(self) -> None:
        self._expiry = None
        if not self._is_answering():
            self.transport.abort()


def raise_descriptor_limit() -> None:
    """Ask for as many open files as the system allows, up to :data:`DESCRIPTORS`."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
