"""Playing in a provider's batches: all live matches go one call further with each.

Calls wait until no match can go on without a reply; then one batch goes out for each model. A
batch and its calls are in the store before it is submitted, its replies before anyone acts on them,
so that a run can be stopped or killed at any moment and its batches collected days later.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import msgspec

from cheaptalk.calls.budget import Halted
from cheaptalk.calls.standstill import Pace
from cheaptalk.models import Failure, ModelCall, ModelName, Reply
from cheaptalk.models.batch.protocol import BatchLine, BatchServer, Results, chunks
from cheaptalk.models.http.failures import EndpointTrouble
from cheaptalk.models.prices import Prices
from cheaptalk.models.structured_output import Known, offered, refuses, ways
from cheaptalk.models.usage import metered
from cheaptalk.records.ledger.batches import (
    Batch,
    Intent,
    collect,
    note_full,
    note_submitted,
    plan_batch,
)
from cheaptalk.records.ledger.ledger import Ledger
from cheaptalk.rules import counted

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


@dataclass
class Carrier:
    """Takes batches to their end.

    The routes are told of the ways of asking that servers refuse, and ``tell`` how far all batches
    are.

    Attributes:
        ply: batches' rounds so far in this run.
        halted: why batches are waited for no longer, once they are not.
    """

    _ledger: Ledger
    _options: Batching
    _connect: Callable[[ModelName], BatchServer]
    _prices: Prices
    _routes: Known
    _tell: Callable[[str], None]
    ply: int = field(default=0, init=False)
    halted: str | None = field(default=None, init=False)
    _servers: dict[str, BatchServer] = field(default_factory=dict, init=False)
    _states: dict[int, str] = field(default_factory=dict, init=False)
    _stopped: asyncio.Event = field(default_factory=asyncio.Event, init=False)

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
            lines = [BatchLine(f"{batch.tag}-{number}", call) for number, call in calls.items()]
            try:
                if batch.name is None:
                    name = await self._submit(server, batch, lines, fresh=fresh)
                    note = partial(note_submitted, batch=batch, name=name)
                    batch = await self._ledger.write(note)
                results = await self._collect(server, batch)
                lost = results.missing > 0
            except EndpointTrouble as trouble:
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
            found = results.replies.get(line.id)
            reply = self._finished(found or results.rest, call, server, batch)
            settled.append((number, "unresolved" if lost and not found else _state(reply), reply))
            replies[number] = reply
        await self._ledger.write(partial(collect, batch=batch, replies=settled))
        self._say(batch, None)
        return replies

    def _finished(self, reply: Reply, call: ModelCall, server: BatchServer, batch: Batch) -> Reply:
        """A reply with how it was asked for, how long it took and what it cost."""
        seconds = round(time.time() - batch.planned, 1)
        more = server.says(call) | {"batch": True, "seconds": seconds}
        reply = offered(metered(reply.model_copy(update=more), call), call)
        self._routes.note(call.model, reply.route, reply)
        return reply.model_copy(update={"dollars": self._prices.paid(call.model, reply)})

    async def _submit(
        self, server: BatchServer, batch: Batch, lines: Sequence[BatchLine], *, fresh: bool
    ) -> str:
        """Submit a batch once, however often it takes; what the provider calls it."""
        while True:
            try:
                self._say(batch, "being submitted")
                known = None if fresh else await server.find(batch.tag, lines, batch.planned)
                return known or await server.submit(batch.tag, lines)
            except EndpointTrouble as trouble:
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
            except EndpointTrouble as trouble:
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


SENDINGS = 5
"""How often a call is put into a batch before its failure is final."""


class WaitingCall(NamedTuple):
    """A call that waits for the next batch, or in one."""

    intent: Intent
    call: ModelCall
    size: int
    reply: "asyncio.Future[Reply]"


class Batches:
    """Collects calls, submits them together and hands out the replies.

    Args:
        carrier: takes each batch to its end.
        routes: the ways of asking that are left for each model.

    Attributes:
        in_order: reasons to halt for which calls that are paid for are still waited for.
    """

    def __init__(self, ledger: Ledger, pace: Pace, carrier: Carrier, routes: Known) -> None:
        self.in_order: set[str] = set()
        self._ledger = ledger
        self._pace = pace
        self._carrier = carrier
        self._routes = routes
        self._queue: list[WaitingCall] = []
        self._tasks: set[asyncio.Task[None]] = set()
        pace.when_still = self._submit_all

    async def close(self) -> None:
        """Stop looking at batches, and close all connections; open batches stay open."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._carrier.close()

    def stop(self, reason: str) -> None:
        """Wait for no batch any longer, unless the run is to halt in order."""
        if reason in self.in_order:
            return
        self._carrier.stop(reason)
        waiting, self._queue = self._queue, []
        for one in waiting:
            self._pass_on(one, Halted(reason))

    async def reply(self, intent: Intent, call: ModelCall) -> Reply:
        """What a batch brings for a call. It waits until no match can go on without a reply.

        Raises:
            Halted: the run does not wait for it; it stays in its batch, if it is in one.
        """
        if self._carrier.halted:
            raise Halted(self._carrier.halted)
        written = self._carrier.server(call.model).line(BatchLine("-" * 40, call))
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        size = len(msgspec.json.encode(written))
        self._queue.append(WaitingCall(intent, call, size, reply))
        self._pace.rest()
        return await reply

    def asking(self, call: ModelCall) -> ModelCall:
        """A call as it goes into a batch: by the next way, where its model refuses the first."""
        way = self._routes.left(call)[0]
        if call.form is None or way == ways(call)[0]:
            return call
        return call.model_copy(update={"form": call.form.model_copy(update={"route": way})})

    def again(self, call: ModelCall, reply: Reply) -> bool:
        """Whether a call goes into the next batch: it may succeed there, or by another way."""
        if refuses(reply, reply.route):
            return call.form is not None and call.form.route == "auto"
        return bool(reply.failure and reply.retry)

    async def recover(self, batches: Sequence[Batch]) -> None:
        """Collect the batches of earlier runs.

        Raises:
            Halted: some have not ended, and the run does not wait for them.
        """
        ends = await asyncio.gather(
            *(self._carrier.carry(batch, fresh=False) for batch in batches), return_exceptions=True
        )
        for end in ends:
            if isinstance(end, BaseException):
                raise end

    def _submit_all(self) -> None:
        """Submit everything that waits: one batch for each model, more if it is too much."""
        waiting, self._queue = self._queue, []
        if not waiting:
            return
        self._carrier.ply += 1
        by_model: dict[str, list[WaitingCall]] = {}
        for one in waiting:
            by_model.setdefault(one.call.model, []).append(one)
        for model, ours in by_model.items():
            for chunk in chunks((one, one.size) for one in ours):
                task = asyncio.create_task(self._ask(model, chunk))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _ask(self, model: str, waiting: Sequence[WaitingCall]) -> None:
        """Carry calls through one batch, and pass on what comes of each."""
        try:
            intents = [one.intent for one in waiting]
            plan = partial(
                plan_batch, model=model, tag=secrets.token_hex(8), intents=intents,
                study_id=self._ledger.study_id,
            )  # fmt: skip
            batch = await self._ledger.write(plan)
            replies = await self._carrier.carry(batch, fresh=True)
        except Exception as error:  # noqa: BLE001 - it is the error of each call that waits
            for one in waiting:
                self._pass_on(one, error)
        else:
            for one, call in zip(waiting, batch.calls, strict=True):
                self._pass_on(one, replies[call.number])

    def _pass_on(self, one: WaitingCall, reply: Reply | Exception) -> None:
        if one.reply.done():
            return
        self._pace.go()
        if isinstance(reply, Exception):
            one.reply.set_exception(reply)
        else:
            one.reply.set_result(reply)
