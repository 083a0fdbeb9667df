"""What one guest is asked, and what has become of each question. One event loop holds it."""

import asyncio
import hashlib
import secrets
from collections import OrderedDict
from typing import Any, NamedTuple

import msgspec

from cheaptalk.models.calls import Reply

REMEMBERED = 10_000
"""Questions that are closed and still known, so that an answer that comes again is known, too."""


class Question(NamedTuple):
    """A question that is open.

    Attributes:
        serial: later ones are greater.
        asked: what the guest is given.
        reply: what it brings.
    """

    serial: int
    asked: dict[str, Any]
    reply: "asyncio.Future[Reply]"


class NotOpen(Exception):
    """An answer to a question that is not open; ``known`` if it was open before."""

    def __init__(self, why: str, *, known: bool) -> None:
        super().__init__(why)
        self.known = known


class Questions:
    """The questions to one guest, by the numbers of their calls.

    To look changes nothing: a question is shown until it is closed, so that one whose answer went
    missing, with the guest or the connection, is simply shown again.

    Attributes:
        came: set once the guest has come.
        awaited: since when a question waits for a guest that has not come, by the clock.
        strangers: how many came in its name with another token.
        heard: set once it was told that it is over.
    """

    def __init__(self) -> None:
        self.came = asyncio.Event()
        self.heard = asyncio.Event()
        self.awaited: float | None = None
        self.strangers = 0
        self._open: dict[str, Question] = {}
        self._refused: dict[str, str] = {}
        self._closed: OrderedDict[str, str | None] = OrderedDict()
        self._bell = asyncio.Event()
        self._run = secrets.token_hex(4)
        self._last = 0

    def put(self, number: str, asked: dict[str, Any]) -> Question:
        """Open a question."""
        self._last += 1
        question = Question(self._last, asked, asyncio.get_running_loop().create_future())
        self._open[number] = question
        self.ring()
        return question

    def close(self, number: str, answer: str | None = None) -> None:
        """Close a question if it is open, with the digest of its answer if it has one."""
        self._refused.pop(number, None)
        if self._open.pop(number, None) is not None:
            self._closed[number] = answer
            while len(self._closed) > REMEMBERED:
                self._closed.popitem(last=False)

    def refuse(self, why: str, number: str | None = None) -> None:
        """Note why what the guest has sent is no answer to a question, which stays open.

        Args:
            number: of the question; None where what was sent names none, and may be meant for any.
        """
        for one in self._open if number is None else self._open.keys() & {number}:
            self._refused[one] = why

    def refused(self, number: str) -> str | None:
        """Why what was last sent to an open question was no answer; None where nothing was."""
        return self._refused.get(number)

    def settle(self, reply: Reply) -> None:
        """Bring all that are open this reply."""
        for question in self._open.values():
            if not question.reply.done():
                question.reply.set_result(reply)

    def ring(self) -> None:
        """Wake all that wait for news."""
        self._bell.set()
        self._bell = asyncio.Event()

    async def news(self) -> None:
        """Wait for the next ring."""
        await self._bell.wait()

    def shown(self, after: str, most: int) -> tuple[list[dict[str, Any]], str]:
        """Questions that are open, the oldest first, and the mark to look on after them.

        Args:
            after: a mark that was given before; one of another run, or none, begins anew.
            most: how many are shown.
        """
        run, _, serial = after.partition("-")
        past = int(serial) if run == self._run and serial.isdecimal() else 0
        found = [one for one in self._open.values() if one.serial > past][:most]
        return [one.asked for one in found], f"{self._run}-{found[-1].serial if found else past}"

    def take(self, number: str, said: dict[str, Any], reply: Reply) -> None:
        """Take the answer to a question; the same one once more changes nothing.

        Args:
            said: what was answered, by which the same answer is known.
            reply: what it comes to.

        Raises:
            NotOpen: the question is not open, or another answer was taken.
        """
        digest = hashlib.sha256(msgspec.json.encode(said, order="deterministic")).hexdigest()
        question = self._open.get(number)
        if question is not None:
            self.close(number, digest)
            if not question.reply.done():
                question.reply.set_result(reply)
        elif number not in self._closed:
            raise NotOpen(
                f'no question "{number:.100}" was asked of this guest here: look what is asked now',
                known=False,
            )
        elif self._closed[number] is None:
            raise NotOpen(
                f"the question {number} is closed: its time was up, or the run has stopped; look "
                "what is asked now",
                known=True,
            )
        elif self._closed[number] != digest:
            raise NotOpen(
                f"the question {number} was answered otherwise before, and that counts; look what "
                "is asked now",
                known=True,
            )
