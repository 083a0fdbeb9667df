"""Playing in a provider's batches: all live matches go one ply further with each.

Calls wait until no match can go on without a reply. Then one batch goes out for each model.
"""

import asyncio
import secrets
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from cheaptalk.models import ModelCall, Reply
from cheaptalk.models.batch import Line, chunks
from cheaptalk.models.routes import Known, refuses, ways
from cheaptalk.records.batches import Batch, Intent, plan_batch
from cheaptalk.records.ledger import Ledger
from cheaptalk.studies.carrying import Carrier
from cheaptalk.studies.pacing import Pace
from cheaptalk.studies.purse import Halted

SENDINGS = 5
"""How often a call is put into a batch before its failure is final."""


class Waiting(NamedTuple):
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
        self._queue: list[Waiting] = []
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
        written = self._carrier.server(call.model).line(Line("-" * 40, call))
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        size = len(msgspec.json.encode(written))
        self._queue.append(Waiting(intent, call, size, reply))
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
        by_model: dict[str, list[Waiting]] = {}
        for one in waiting:
            by_model.setdefault(one.call.model, []).append(one)
        for model, ours in by_model.items():
            for chunk in chunks((one, one.size) for one in ours):
                task = asyncio.create_task(self._ask(model, chunk))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _ask(self, model: str, waiting: Sequence[Waiting]) -> None:
        """Carry calls through one batch, and pass on what comes of each."""
        try:
            intents = [one.intent for one in waiting]
            plan = partial(plan_batch, model=model, tag=secrets.token_hex(8), intents=intents)
            batch = await self._ledger.write(plan)
            replies = await self._carrier.carry(batch, fresh=True)
        except Exception as error:  # noqa: BLE001 - it is the error of each call that waits
            for one in waiting:
                self._pass_on(one, error)
        else:
            for one, call in zip(waiting, batch.calls, strict=True):
                self._pass_on(one, replies[call.number])

    def _pass_on(self, one: Waiting, said: Reply | Exception) -> None:
        if one.reply.done():
            return
        self._pace.go()
        if isinstance(said, Exception):
            one.reply.set_exception(said)
        else:
            one.reply.set_result(said)
