"""Taking one batch from where it stands to its end: submitted once, waited for, collected.

A batch and its calls are in the store before it is submitted, its replies before anyone acts on
them, so that a run can be stopped or killed at any moment and collected days later.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from cheaptalk.models import Failure, ModelCall, ModelName, Reply
from cheaptalk.models.batch import BatchServer, BatchTrouble, Line, Results
from cheaptalk.models.prices import Prices
from cheaptalk.models.routes import Known
from cheaptalk.records.batches import Batch, collect, note_full, note_submitted
from cheaptalk.records.ledger import Ledger
from cheaptalk.rules import counted
from cheaptalk.studies.purse import Halted

POLL = 30.0
"""Seconds between two looks at a batch."""
READINGS = 5
"""How often results are read in which replies are missing, before these are given up."""
SHOWN = 3
"""Batches whose state is told one by one."""
LOCKED_OUT = (401, 402, 403, 429)
"""Statuses that mean, where waiting does not help, a wrong key or no money: the batch stays open
for a run with both."""


class Batching(NamedTuple):
    """How a run in batches waits.

    Attributes:
        wait: whether to wait for batches to end, or to submit them and go.
        poll: seconds between two looks at a batch.
    """

    wait: bool = True
    poll: float = POLL


class Carrier:
    """Takes batches to their end.

    Args:
        routes: told of the ways of asking that servers refuse.
        tell: told how far all batches are.

    Attributes:
        ply: batches' rounds so far in this run.
        halted: why batches are waited for no longer, once they are not.
    """

    def __init__(
        self,
        ledger: Ledger,
        options: Batching,
        connect: Callable[[ModelName], BatchServer],
        prices: Prices,
        routes: Known,
        tell: Callable[[str], None],
    ) -> None:
        self.ply = 0
        self.halted: str | None = None
        self._ledger = ledger
        self._options = options
        self._connect = connect
        self._prices = prices
        self._routes = routes
        self._tell = tell
        self._servers: dict[str, BatchServer] = {}
        self._states: dict[int, str] = {}
        self._stopped = asyncio.Event()

    async def close(self) -> None:
        """Close all connections; open batches stay open."""
        for server in self._servers.values():
            await server.close()

    def stop(self, reason: str) -> None:
        """Wait for no batch any longer."""
        self.halted = reason
        self._stopped.set()

    def server(self, model: str) -> BatchServer:
        """The batch endpoint of a model."""
        if model not in self._servers:
            self._servers[model] = self._connect(ModelName.parse(model))
        return self._servers[model]

    async def carry(self, batch: Batch, *, fresh: bool) -> dict[int, Reply]:
        """Take a batch from where it stands to its end: the replies by the calls' numbers.

        Args:
            fresh: whether nobody can have submitted it yet.

        Raises:
            Halted: it is not waited for any longer, or the key is wrong; it stays open.
        """
        server = self.server(batch.model)
        calls = {call.number: ModelCall.model_validate(call.call) for call in batch.calls}
        results, lost, full = Results({}, Reply()), False, True
        while full:
            lines = [Line(f"{batch.tag}-{number}", call) for number, call in calls.items()]
            try:
                if batch.name is None:
                    name = await self._submit(server, batch, lines, fresh=fresh)
                    note = partial(note_submitted, batch=batch, name=name)
                    batch = await self._ledger.write(note)
                results = await self._collect(server, batch)
                lost = results.missing > 0
            except BatchTrouble as trouble:
                if trouble.status in LOCKED_OUT:
                    raise Halted(f"{batch.model}: {trouble}") from None
                failure = Reply(failure=Failure.PROVIDER_ERROR, detail=str(trouble))
                results, lost = Results({}, failure), batch.name is not None
            full = results.full
            if full:
                note = partial(note_full, batch=batch, tag=secrets.token_hex(8))
                batch, fresh = await self._ledger.write(note), True
                self._say(batch, "waiting for room at the provider's")
                await self._rest()
        replies, settled = {}, []
        for line, (number, call) in zip(lines, calls.items(), strict=True):
            said = results.replies.get(line.id)
            reply = self._finished(said or results.rest, call, server, batch)
            settled.append((number, "unresolved" if lost and not said else _state(reply), reply))
            replies[number] = reply
        await self._ledger.write(partial(collect, batch=batch, replies=settled))
        self._say(batch, None)
        return replies

    def _finished(self, said: Reply, call: ModelCall, server: BatchServer, batch: Batch) -> Reply:
        """A reply with how it was asked for, how long it took and what it cost."""
        seconds = round(time.time() - batch.planned, 1)
        more = server.says(call) | {"batch": True, "seconds": seconds}
        reply = said.model_copy(update=more)
        self._routes.note(call.model, reply.route, reply)
        return reply.model_copy(update={"dollars": self._prices.paid(call.model, reply)})

    async def _submit(
        self, server: BatchServer, batch: Batch, lines: Sequence[Line], *, fresh: bool
    ) -> str:
        """Submit a batch once, however often it takes; what the provider calls it."""
        while True:
            try:
                self._say(batch, "being submitted")
                known = None if fresh else await server.find(batch.tag, lines, batch.planned)
                return known or await server.submit(batch.tag, lines)
            except BatchTrouble as trouble:
                if not trouble.again:
                    raise
                self._say(batch, str(trouble))
            fresh = False
            await self._rest()

    async def _collect(self, server: BatchServer, batch: Batch) -> Results:
        """Wait until a batch has ended, and fetch what came of it.

        Results that hold fewer replies than there are, as of a transfer cut short, are read again.
        """
        assert batch.name is not None
        readings = 0
        while True:
            try:
                look = await server.look(batch.name)
                self._say(batch, f"{look.state} {look.done:,} of {len(batch.calls):,}")
                if look.ended:
                    results = await server.results(batch.name)
                    readings += 1
                    if not results.missing or readings == READINGS:
                        return results
                    self._say(batch, f"its results lack {counted(results.missing, 'reply')}")
            except BatchTrouble as trouble:
                if not trouble.again:
                    raise
                self._say(batch, str(trouble))
            if not self._options.wait and not readings:
                raise Halted("calls are in a provider's batch; come back later")
            await self._rest()

    async def _rest(self) -> None:
        """Wait for the time of the next look.

        Raises:
            Halted: the run waits no longer.
        """
        try:
            await asyncio.wait_for(self._stopped.wait(), self._options.poll)
        except TimeoutError:
            return
        raise Halted(self.halted)

    def _say(self, batch: Batch, state: str | None) -> None:
        """Tell how far all batches are; None for one that is done with."""
        self._states.pop(batch.id, None)
        if state is not None:
            minutes = (time.time() - batch.planned) / 60
            self._states[batch.id] = f"{state} after {minutes:,.0f} min"
        shown = [*self._states.values()][:SHOWN]
        more = len(self._states) - len(shown)
        batches = "; ".join([*shown, f"{more} more batches"] if more else shown)
        self._tell(f"ply {self.ply}: {batches}" if self.ply else batches)


def _state(reply: Reply) -> str:
    """What the ledger says of a call: play acts on it, or it is to be sent again or given up."""
    lost = reply.failure is Failure.PROVIDER_ERROR or (reply.failure and reply.retry)
    return "failed" if lost else "answered"
