"""Pending requests of one remote agent, used in a single event loop."""

import asyncio
import hashlib
import secrets
from collections import OrderedDict
from typing import Any, NamedTuple

import msgspec

from cheaptalk.models.calls import Reply
from cheaptalk.models.http.agent import AgentRequest

REMEMBERED = 10_000
"""Maximum number of closed requests that are remembered to recognise repeated answers."""


class OpenRequest(NamedTuple):
    """A request to a remote agent that has not been answered yet, with an increasing number."""

    serial: int
    content: AgentRequest
    reply: "asyncio.Future[Reply]"


class NotOpen(Exception):
    """Raised if an answer's request is already closed (``known``) or doesn't exist."""

    def __init__(self, why: str, *, known: bool) -> None:
        super().__init__(why)
        self.known = known


class PendingRequests:
    """Pending requests to one remote agent, by call id.

    Polling is idempotent: a request is listed until it is closed, even if an answer is lost. A
    request waits for the agent to connect since ``awaited``. ``strangers`` counts HTTP requests
    with a wrong token. ``notified`` is set when the agent has polled that the run is over.
    """

    def __init__(self) -> None:
        self.connected = asyncio.Event()
        self.notified = asyncio.Event()
        self.awaited: float | None = None
        self.strangers = 0
        self._open: dict[str, OpenRequest] = {}
        self._refused: dict[str, str] = {}
        self._closed: OrderedDict[str, str | None] = OrderedDict()
        self._bell = asyncio.Event()
        self._run = secrets.token_hex(4)
        self._last = 0

    def put(self, number: str, content: AgentRequest) -> OpenRequest:
        self._last += 1
        request = OpenRequest(self._last, content, asyncio.get_running_loop().create_future())
        self._open[number] = request
        self.ring()
        return request

    def close(self, number: str, answer: str | None = None) -> None:
        """Close an open request, and record the digest of its answer if one was accepted."""
        self._refused.pop(number, None)
        if self._open.pop(number, None) is not None:
            self._closed[number] = answer
            while len(self._closed) > REMEMBERED:
                self._closed.popitem(last=False)

    def refuse(self, why: str, number: str | None = None) -> None:
        """Record why an answer is invalid; the request stays open.

        If the answer contains no call id (``number`` is None), it may belong to any open request.
        """
        for open_number in self._open if number is None else self._open.keys() & {number}:
            self._refused[open_number] = why

    def refused(self, number: str) -> str | None:
        """Return the latest validation error of an open request; None if it has none."""
        return self._refused.get(number)

    def settle(self, reply: Reply) -> None:
        """Resolve all open requests with the same reply."""
        for request in self._open.values():
            if not request.reply.done():
                request.reply.set_result(reply)

    def ring(self) -> None:
        self._bell.set()
        self._bell = asyncio.Event()

    async def news(self) -> None:
        await self._bell.wait()

    def listed(self, after: str, limit: int) -> tuple[list[AgentRequest], str]:
        """Return open requests, oldest first, and the cursor for the next poll.

        An empty or foreign cursor starts at the beginning.
        """
        run, _, serial = after.partition("-")
        past = int(serial) if run == self._run and serial.isdecimal() else 0
        requests = [request for request in self._open.values() if request.serial > past][:limit]
        cursor = f"{self._run}-{requests[-1].serial if requests else past}"
        return [request.content for request in requests], cursor

    def take(self, number: str, answer: dict[str, Any], reply: Reply) -> None:
        """Accept the answer to a request; repeating the same answer has no effect.

        Raises NotOpen if the request is not open, or already has a different answer.
        """
        digest = hashlib.sha256(msgspec.json.encode(answer, order="deterministic")).hexdigest()
        poll, known = "poll for the current requests", number in self._closed
        request = self._open.get(number)
        if request is not None:
            self.close(number, digest)
            if not request.reply.done():
                request.reply.set_result(reply)
        elif not known:
            raise NotOpen(f'this remote agent has no request "{number:.100}": {poll}', known=False)
        elif self._closed[number] is None:
            why = f"request {number} is closed: it timed out, or the run has stopped"
            raise NotOpen(f"{why}; {poll}", known=True)
        elif self._closed[number] != digest:
            why = f"request {number} already has a different answer, which counts"
            raise NotOpen(f"{why}; {poll}", known=True)
