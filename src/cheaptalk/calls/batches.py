"""Provider batches: submit the calls of all live matches together, and collect the replies.

Calls wait until no match can continue without a reply; then one batch per model is submitted. Each
batch is stored before it is submitted, and its replies before they are used. Therefore a run can be
killed at any time, and a later run can collect its batches.
"""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeVar

import msgspec

from cheaptalk.calls.budget import Halted
from cheaptalk.models import Failure, ModelCall, ModelName, Reply
from cheaptalk.models.batches import BatchLine, BatchServer, Results, chunks
from cheaptalk.models.http.failures import EndpointTrouble
from cheaptalk.models.prices import Prices
from cheaptalk.models.structured_output import RouteSupport, offered, refuses, ways
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

Q = TypeVar("Q")
A = TypeVar("A")

POLL = 30.0
"""Default polling interval of a batch in seconds."""
SENDINGS = 5
"""Maximum number of batches that contain the same call before its failure is final."""
READINGS = 5
"""Attempts to read incomplete results, after which the missing replies are marked unresolved."""
MAX_LISTED = 3
"""Maximum number of batches that a progress message lists individually."""
LOCKED_OUT = (401, 402, 403, 429)
"""HTTP statuses of a wrong key or an exhausted account: the batch stays open for a later run."""


class Pace:
    """A counter of active tasks, which calls ``when_still`` when no task is active.

    A match becomes active again before it receives a reply.
    """

    def __init__(self) -> None:
        self.moving = 0
        self.when_still: Callable[[], None] | None = None

    def go(self) -> None:
        self.moving += 1

    def rest(self) -> None:
        """Mark a task as waiting, and schedule ``when_still`` if no task is active."""
        self.moving -= 1
        if not self.moving and self.when_still is not None:
            asyncio.get_running_loop().call_soon(self._look)

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Mark a match as waiting while the context is open."""
        self.rest()
        try:
            yield
        finally:
            self.go()

    def answering(self, answer: Callable[[Q], Awaitable[A]]) -> Callable[[Q], Awaitable[A]]:
        """Wrap a match's answer function to keep the match active until all its answers wait."""
        thinking = 0

        async def counted(request: Q) -> A:
            nonlocal thinking
            if thinking:
                self.go()
            thinking += 1
            try:
                return await answer(request)
            finally:
                thinking -= 1
                if thinking:
                    self.rest()

        return counted

    def _look(self) -> None:
        if not self.moving and self.when_still is not None:
            self.when_still()


class Batching(NamedTuple):
    """Options of a run that sends its calls in provider batches.

    Unless ``wait`` is set, the run exits after submitting them. ``poll`` is in seconds.
    """

    wait: bool = True
    poll: float = POLL


class WaitingCall(NamedTuple):
    """A call that waits for the next batch or for the reply from a submitted batch."""

    intent: Intent
    call: ModelCall
    size: int
    reply: "asyncio.Future[Reply]"


@dataclass
class Batches:
    """Provider batches of a run, which collect the calls of matches and distribute the replies.

    After a halt for one of the reasons ``in_order``, the run still waits for submitted calls.
    """

    _ledger: Ledger
    _pace: Pace
    _options: Batching
    _connect: Callable[[ModelName], BatchServer]
    _prices: Prices
    _routes: RouteSupport
    _tell: Callable[[str], None]
    in_order: set[str] = field(default_factory=set, init=False)
    _ply: int = field(default=0, init=False)
    _halted: str | None = field(default=None, init=False)
    _queue: list[WaitingCall] = field(default_factory=list, init=False)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set, init=False)
    _servers: dict[str, BatchServer] = field(default_factory=dict, init=False)
    _states: dict[int, str] = field(default_factory=dict, init=False)
    _stopped: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def __post_init__(self) -> None:
        self._pace.when_still = self._submit_all

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for server in self._servers.values():
            await server.close()

    def stop(self, reason: str) -> None:
        """Stop waiting for batches, unless ``in_order`` contains the reason for the halt."""
        if reason in self.in_order:
            return
        self._halted = reason
        self._stopped.set()
        while self._queue:
            self._pass_on(self._queue.pop(0), Halted(reason))

    async def reply(self, intent: Intent, call: ModelCall) -> Reply:
        """Queue a call for the next batch, and return its reply when the batch has ended.

        A submitted call stays in its batch if the run stops waiting, which raises Halted.
        """
        if self._halted:
            raise Halted(self._halted)
        line = self._server(call.model).line(BatchLine("-" * 40, call))
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        size = len(msgspec.json.encode(line))
        self._queue.append(WaitingCall(intent, call, size, reply))
        self._pace.rest()
        return await reply

    def next_attempt(self, call: ModelCall) -> ModelCall:
        """Return the call with the strictest answer format that its model still supports."""
        route = self._routes.remaining(call)[0]
        if call.form is None or route == ways(call)[0]:
            return call
        return call.model_copy(update={"form": call.form.model_copy(update={"route": route})})

    def should_retry(self, call: ModelCall, reply: Reply) -> bool:
        """Return whether a call must be sent again in the next batch."""
        if refuses(reply, reply.route):
            return call.form is not None and call.form.route == "auto"
        return bool(reply.failure and reply.retry)

    async def recover(self, batches: Sequence[Batch]) -> None:
        """Collect earlier runs' batches; raise Halted if the run would have to wait but cannot."""
        carrying = (self._carry(batch, fresh=False) for batch in batches)
        for end in await asyncio.gather(*carrying, return_exceptions=True):
            if isinstance(end, BaseException):
                raise end

    def _submit_all(self) -> None:
        waiting, self._queue = self._queue, []
        self._ply += bool(waiting)
        by_model: dict[str, list[WaitingCall]] = {}
        for waiting_call in waiting:
            by_model.setdefault(waiting_call.call.model, []).append(waiting_call)
        for model, calls in by_model.items():
            for chunk in chunks((waiting_call, waiting_call.size) for waiting_call in calls):
                task = asyncio.create_task(self._ask(model, chunk))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _ask(self, model: str, waiting: Sequence[WaitingCall]) -> None:
        try:
            ledger, tag = self._ledger, secrets.token_hex(8)
            intents = [waiting_call.intent for waiting_call in waiting]
            batch = await ledger.write(
                lambda connection: plan_batch(connection, model, tag, intents, ledger.study_id)
            )
            replies = await self._carry(batch, fresh=True)
        except Exception as error:  # noqa: BLE001 - it is passed to each waiting call
            for waiting_call in waiting:
                self._pass_on(waiting_call, error)
        else:
            for waiting_call, call in zip(waiting, batch.calls, strict=True):
                self._pass_on(waiting_call, replies[call.number])

    def _pass_on(self, waiting_call: WaitingCall, reply: Reply | Exception) -> None:
        if waiting_call.reply.done():
            return
        self._pace.go()
        if isinstance(reply, Exception):
            waiting_call.reply.set_exception(reply)
        else:
            waiting_call.reply.set_result(reply)

    def _server(self, model: str) -> BatchServer:
        if model not in self._servers:
            self._servers[model] = self._connect(ModelName.parse(model))
        return self._servers[model]

    async def _carry(self, batch: Batch, *, fresh: bool) -> dict[int, Reply]:
        """Continue a batch from its stored state until it ends; return its replies by call number.

        A ``fresh`` batch is certainly not submitted yet. The batch stays open, and Halted is
        raised, if the run stops waiting or the provider rejects the key.
        """
        server = self._server(batch.model)
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
                self._say(batch, "waiting for capacity at the provider")
                await self._wait()
        replies, settled = {}, []
        for line, (number, call) in zip(lines, calls.items(), strict=True):
            received = results.replies.get(line.id)
            seconds = round(time.time() - batch.planned, 1)
            fields = server.says(call) | {"batch": True, "seconds": seconds}
            reply = (received or results.rest).model_copy(update=fields)
            reply = offered(metered(reply, call), call)
            self._routes.note(call.model, reply.route, reply)
            reply = reply.model_copy(update={"dollars": self._prices.paid(call.model, reply)})
            state = "unresolved" if lost and not received else _state(reply)
            settled.append((number, state, reply))
            replies[number] = reply
        await self._ledger.write(partial(collect, batch=batch, replies=settled))
        self._say(batch, None)
        return replies

    async def _submit(
        self, server: BatchServer, batch: Batch, lines: Sequence[BatchLine], *, fresh: bool
    ) -> str:
        """Submit a batch exactly once, retrying after failures, and return its id."""
        while True:
            try:
                self._say(batch, "being submitted")
                name = None if fresh else await server.find(batch.tag, lines, batch.planned)
                return name or await server.submit(batch.tag, lines)
            except EndpointTrouble as trouble:
                if not trouble.again:
                    raise
                self._say(batch, str(trouble))
            fresh = False
            await self._wait()

    async def _collect(self, server: BatchServer, batch: Batch) -> Results:
        """Wait until a batch has ended and fetch its results; retry if they are incomplete."""
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
                    self._say(batch, f"{counted(results.missing, 'reply')} not in the results")
            except EndpointTrouble as trouble:
                if not trouble.again:
                    raise
                self._say(batch, str(trouble))
            if not self._options.wait and not readings:
                raise Halted("calls are in a provider's batch; resume the run later")
            await self._wait()

    async def _wait(self) -> None:
        try:
            await asyncio.wait_for(self._stopped.wait(), self._options.poll)
        except TimeoutError:
            return
        raise Halted(self._halted)

    def _say(self, batch: Batch, state: str | None) -> None:
        """Update a batch's state (None after its end), and report the progress of all batches."""
        self._states.pop(batch.id, None)
        if state is not None:
            minutes = (time.time() - batch.planned) / 60
            self._states[batch.id] = f"{state} after {minutes:,.0f} min"
        states = [*self._states.values()][:MAX_LISTED]
        hidden = len(self._states) - len(states)
        batches = "; ".join([*states, f"{hidden} more batches"] if hidden else states)
        self._tell(f"ply {self._ply}: {batches}" if self._ply else batches)


def _state(reply: Reply) -> str:
    """Return a call's ledger state: ``answered`` if the match uses the reply, else ``failed``."""
    lost = reply.failure is Failure.PROVIDER_ERROR or (reply.failure and reply.retry)
    return "failed" if lost else "answered"
