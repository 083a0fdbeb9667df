"""A misbehaving model server that keeps its own account.

Start it as a module from the root of the repository:

    python -m tests.attack.server --port 8123 --share 0.1

It answers like ``tests/model_server.py``, but to a share of the attempts it commits one of
:data:`~tests.attack.faults.FAULTS` instead. A hash of the call's number, which counts attempts,
selects them, so a retry has another chance. The faults take turns, so a few hundred attempts
include every fault.
``GET /account`` returns the outcome of every attempt and its billed tokens: those of every
reply that the server started to send, or was still working on when the caller timed out.
"""

import argparse
import asyncio
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from aiohttp import web

from cheaptalk.mock_server import Answerer, answer
from cheaptalk.models.http.transport import CALL_HEADER
from tests.attack.faults import FAULTS, Exchange, Sending
from tests.attack.wires import WIRES, Wire
from tests.model_server import make_app

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
    """Handle the requests of a server from :func:`~tests.model_server.make_app`.

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
        reply = wire.reply(body, self.answerer(wire.read(body)))
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
        return {number: [asdict(entry) for entry in all_] for number, all_ in self.sendings.items()}

    @property
    def done(self) -> Counter[str]:
        return Counter(sending.did for all_ in self.sendings.values() for sending in all_)


def make_hostile_app(hostile: Hostile, log: Path | None = None) -> web.Application:
    """Create an app that handles requests with ``hostile`` and shows its account."""

    async def show(request: web.Request) -> web.Response:
        return web.json_response(hostile.account)

    app = make_app(log, handler=hostile, paths=tuple(BY_PATH))
    app.router.add_get("/account", show)
    return app


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8123)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--late", type=float, default=3600.0)
    chosen = parser.parse_args()
    hostile = Hostile(chosen.share, delay=chosen.delay, late=chosen.late)
    served = make_hostile_app(hostile, chosen.log)
    web.run_app(served, host="127.0.0.1", port=chosen.port, print=None, handler_cancellation=True)
