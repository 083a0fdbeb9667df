"""Limits on connections and event streams, so that no single address can block the server."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from fastapi.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from cheaptalk.web.posted import network_of

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

HEADER_SECONDS = 10.0
"""Timeout in seconds for the complete header of a request."""
DESCRIPTORS = 65_536
"""Limit on open files to request from the system; each connection uses one."""
CLOSING = "closing"
"""Key of the event in a request's scope that is set when the server stops."""
STREAMS_OF_VISITOR = 8
"""Event streams per visitor: one per tab, plus streams that a page reload has not closed yet."""
STREAMS_OF_ADDRESS = 600
"""Event streams per address, which may be shared by a whole school."""
CONNECTIONS_OF_ADDRESS = 2_000
"""Connections per address; a browser opens up to six."""


class Streams:
    """A counter of open event streams with limits per visitor and per client address."""

    def __init__(
        self, of_visitor: int = STREAMS_OF_VISITOR, of_address: int = STREAMS_OF_ADDRESS
    ) -> None:
        self.caps = {"visitor": of_visitor, "address": of_address}
        self.open: Counter[tuple[str, str]] = Counter()

    def have_room(self, visitor: str, address: str) -> bool:
        return all(self.open[key] < self.caps[key[0]] for key in _keys(visitor, address))

    @contextmanager
    def counting(self, visitor: str, address: str) -> Iterator[None]:
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
    """An event stream that counts towards the limits, or returns HTTP status 429 at a limit.

    It ends when the server stops, so that the server can stop quickly.
    """

    def __init__(
        self, events: AsyncIterator[str], streams: Streams, visitor: str, address: str
    ) -> None:
        super().__init__(
            events, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"}
        )
        self.streams = streams
        self.keys = visitor, address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self.streams.have_room(*self.keys):
            refusal = Response(status_code=429, headers={"Connection": "close"})
            await refusal(scope, receive, send)
            return
        until_closing = partial(_receive, receive, scope.get(CLOSING) or asyncio.Event())
        with self.streams.counting(*self.keys):
            await super().__call__(scope, until_closing, send)
        await send({"type": "http.response.body", "body": b""})  # a disconnect cancels the stream


async def _receive(receive: Receive, closing: asyncio.Event) -> Message:
    """Return the next message, or a disconnect when the server stops."""
    received = asyncio.ensure_future(receive())
    closed = asyncio.ensure_future(closing.wait())
    try:
        await asyncio.wait({received, closed}, return_when=asyncio.FIRST_COMPLETED)
        return received.result() if received.done() else {"type": "http.disconnect"}
    finally:
        received.cancel()
        closed.cancel()


class Connections:
    """A factory of uvicorn protocols that limits connections per client address.

    The connections of a proxy are not limited.
    """

    def __init__(self, proxy: str = "", of_address: int = CONNECTIONS_OF_ADDRESS) -> None:
        self.proxy = proxy
        self.of_address = of_address
        self.open: Counter[str] = Counter()

    def __call__(self, **settings: Any) -> "HeaderTimeoutProtocol":
        """Create the protocol object for a new connection, as uvicorn expects."""
        return HeaderTimeoutProtocol(self, **settings)

    def admit(self, host: str) -> bool:
        """Count a new connection; return False if its address has reached the limit."""
        if host != self.proxy and self.open[host] >= self.of_address:
            return False
        self.open[host] += 1
        return True

    def release(self, host: str) -> None:
        self.open[host] -= 1
        if not self.open[host]:
            del self.open[host]


class HeaderTimeoutProtocol(AutoHTTPProtocol):  # type: ignore[valid-type, misc]
    """Uvicorn's HTTP protocol with a header timeout and a connection limit per client address.

    Uvicorn has no such timeout, and every connection uses one of the process's file descriptors.
    Connections that exceed their address's limit are closed unread.
    """

    seconds = HEADER_SECONDS

    def __init__(self, counter: Connections, **settings: Any) -> None:
        super().__init__(**settings)
        self.counter = counter
        self._host: str | None = None
        self._expiry: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        host = network_of((transport.get_extra_info("peername") or ("",))[0])
        if not self.counter.admit(host):
            transport.abort()
            return
        self._host = host
        super().connection_made(transport)
        self._await_header()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._host is None:
            return
        self.counter.release(self._host)
        self._cancel_timeout()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_answering():
            self._cancel_timeout()
        else:
            self._await_header()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _await_header(self) -> None:
        if self._expiry is None:
            self._expiry = self.loop.call_later(self.seconds, self._expire)

    def _cancel_timeout(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None

    def _expire(self) -> None:
        self._expiry = None
        if not self._is_answering():
            self.transport.abort()


def raise_descriptor_limit() -> None:
    """Raise the limit on open files to :data:`DESCRIPTORS`, or the system's maximum if lower."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
