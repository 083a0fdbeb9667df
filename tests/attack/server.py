"""A misbehaving model server that keeps its own account."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

from aiohttp import web

from cheaptalk.mock_models import Answerer, answer
from cheaptalk.mock_models.formats import conversation
from cheaptalk.models.http.transport import CALL_HEADER
from tests.attack.faults import FAULTS, Exchange, Sending
from tests.attack.wires import WIRES, Wire, reply_to

Account: TypeAlias = dict[str, list[dict[str, Any]]]
"""For each call number, the outcomes of all its requests (as :class:`Sending`)."""


BY_PATH: dict[str, Wire] = {wire.path: wire for wire in WIRES.values()}


def secret_of(request: web.Request) -> str:
    sent = request.headers.get("Authorization", request.headers.get("X-Api-Key", ""))
    return sent.removeprefix("Bearer ")


def luck(number: str, purpose: str) -> float:
    """Return a number in [0, 1) that depends only on a call's number and the purpose."""
    return int(hashlib.sha256(f"{purpose}/{number}".encode()).hexdigest()[:8], 16) / 2**32


class Hostile:
    """Handle the requests of a server from :class:`~tests.fakes.Server`.

    It answers like the mock server, but a share of the attempts fails. A hash of the call's number,
    which counts attempts, selects them, so a retry has another chance. The faults take turns, so a
    few hundred attempts include every fault.

    Args:
        share: the share of attempts that fail.
        kinds: the possible faults.
        delay: the longest delay of an answer in seconds.
        late: a delay in seconds that exceeds the caller's deadline.
        seed: the seed of the faults, combined with the calls' numbers.
    """

    def __init__(
        self,
        share: float = 0.1,
        kinds: Sequence[str] = tuple(FAULTS),
        delay: float = 0.0,
        late: float = 3600.0,
        answerer: Answerer = answer,
        seed: int = 0,
    ) -> None:
        self.share = share
        self.kinds = kinds
        self.delay = delay
        self.late = late
        self.answerer = answerer
        self.seed = seed
        self.sendings: dict[str, list[Sending]] = {}
        self.turns: Counter[str] = Counter()

    async def __call__(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        number = request.headers.get(CALL_HEADER, "")
        wire = BY_PATH[request.path]
        sending = Sending(self.fate(number, wire))
        self.sendings.setdefault(number, []).append(sending)
        await asyncio.sleep(self.delay * luck(number, "delay"))
        reply = reply_to(body, self.answerer(conversation(body)))
        exchange = Exchange(request, sending, wire, reply, self.late, secret_of(request))
        if sending.did == "answer":
            return exchange.answer()
        return await FAULTS[sending.did](exchange)

    def fate(self, number: str, wire: Wire) -> str:
        """Choose an answer, or the fault that occurred least often so far."""
        if luck(number, f"fate {self.seed}") >= self.share:
            return "answer"
        kinds = [kind for kind in self.kinds if kind not in wire.lacks]
        fate = min(kinds, key=self.turns.__getitem__)
        self.turns[fate] += 1
        return fate

    @property
    def account(self) -> Account:
        """The outcome and the billed tokens of every attempt.

        The server bills every reply that it started to send, or was still working on when the
        caller timed out.
        """
        return {number: [asdict(entry) for entry in all_] for number, all_ in self.sendings.items()}

    @property
    def done(self) -> Counter[str]:
        return Counter(sending.did for all_ in self.sendings.values() for sending in all_)
