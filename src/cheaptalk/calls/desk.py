"""The path of a call: from the ledger if it was answered before, else over the wire.

A bought answer is in the ledger before anything acts on it, and an intent before each sending.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from cheaptalk.calls.batches import SENDINGS, Batches
from cheaptalk.calls.budget import Halted, Purse
from cheaptalk.calls.cache import CallCache
from cheaptalk.calls.standstill import Pace
from cheaptalk.models import Failure, ModelCall, Reply
from cheaptalk.models.flow_control import ALONE_DEADLINES, Lanes, Retries, trouble_of
from cheaptalk.models.guests import Guests
from cheaptalk.models.reply_ids import ReplyIds
from cheaptalk.players import AskPerson, Call, PersonCall, SeatSpec
from cheaptalk.records import Store
from cheaptalk.records.cache import Replicate, Request
from cheaptalk.records.costs import Cost
from cheaptalk.records.ledger.batches import Intent
from cheaptalk.records.ledger.ledger import CallKey, Ledger, PastCall, past_calls, sendings
from cheaptalk.records.ledger.spending import spent_on, uncounted_on
from cheaptalk.rules import ReplayMismatch
from cheaptalk.rules.errors import describe

LOG = logging.getLogger(__name__)

T = TypeVar("T")
C = TypeVar("C", bound=Call)


class Thought(NamedTuple, Generic[T]):
    """What came of thinking.

    Attributes:
        result: what the player thought of.
        calls: what the record keeps of each call, in order.
        keys: where the calls stand in the ledger.
        last: the reply to the last call; None where there was none.
    """

    result: T
    calls: list[dict[str, Any]]
    keys: list[CallKey]
    last: Reply | None


class Models(Protocol):
    """Whoever makes calls to models."""

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Make one call.

        Args:
            deadline: seconds after which it times out. The clock starts when the model starts to
                process the call, as far as its client can know: a client with a queue of its own
                leaves the time in the queue out.
        """


@dataclass
class Desk:
    """What live matches share: where calls go, what may be spent, and whether to stop.

    Make one where the event loop runs.

    Attributes:
        concurrency: matches that may be under way at once.
        halted: why the run is to stop, once it is.
        live: matches under way.
        begun: the matches that the ledger has calls of.
        cache: where replies bought before are, if anywhere.
        batches: where calls go that wait for a provider's batch; None where they go out at once.
        guests: have agents asked that come by themselves; told when it halts.
        reply_ids: find replies that answer two requests.
    """

    store: Store
    ledger: Ledger
    models: Models
    purse: Purse
    lanes: Lanes = field(default_factory=Lanes)
    concurrency: int = 1
    halted: str | None = None
    live: int = 0
    begun: set[str] = field(default_factory=set)
    cache: CallCache | None = None
    batches: Batches | None = None
    pace: Pace = field(default_factory=Pace)
    guests: Guests | None = None
    reply_ids: ReplyIds = field(default_factory=ReplyIds)

    def __post_init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        self._room = asyncio.Event()

    def halt(self, reason: str) -> None:
        """Let calls in flight come back, and make no more; from any thread."""
        self.halted = self.halted or reason
        with suppress(RuntimeError):  # the loop has ended, and with it the run
            self._loop.call_soon_threadsafe(self._wake)

    def check(self) -> None:
        """Go on, unless the run is to stop.

        Raises:
            Halted: it is.
        """
        if self.halted:
            raise Halted(self.halted)

    async def rest(self, seconds: float) -> None:
        """Wait for a while, or until the run is to stop."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), seconds)

    def retune(self, concurrency: int) -> None:
        """Play more or fewer matches at once; those under way go on."""
        self.concurrency = concurrency
        self._room.set()

    async def work_on(
        self, things: Iterable[T], work: Callable[[T], Coroutine[Any, Any, None]]
    ) -> None:
        """Work on things, as many at once as the desk allows, until they end or the run stops."""

        async def at_the_desk(thing: T) -> None:
            try:
                await work(thing)
            finally:
                self.live -= 1
                self._room.set()
                self.pace.rest()

        async with asyncio.TaskGroup() as group:
            for thing in things:
                while self.live >= self.concurrency and not self.halted:
                    self._room.clear()
                    await self._room.wait()
                if self.halted:
                    break
                self.live += 1
                self.pace.go()
                group.create_task(at_the_desk(thing))

    def _wake(self) -> None:
        self._stopped.set()
        self._room.set()
        self.lanes.stop()
        if self.guests is not None:
            self.guests.halt()
        if self.batches is not None and self.halted is not None:
            self.batches.stop(self.halted)


class Caller:
    """Makes the calls of one match.

    Args:
        match_id: what the ledger calls it.
        seed: tells calls apart that ask the same, for the cache.
        ask_person: asks the people at the table; None where there are none.
    """

    def __init__(
        self, match_id: str, desk: Desk, seed: str = "", ask_person: AskPerson | None = None
    ) -> None:
        self.match_id = match_id
        self.desk = desk
        self.seed = seed
        self.ask_person = ask_person
        self.past: dict[CallKey, PastCall] = {}
        self.sent: dict[CallKey, int] = {}
        spent: Cost | None = None
        if match_id in desk.begun:
            self.past = past_calls(desk.store, match_id)
            self.sent = sendings(desk.store, match_id)
            spent = spent_on(desk.store, match_id)
        self.tab = desk.purse.tab(spent)
        if spent is not None and spent.unknown:
            desk.purse.hold(self.tab, uncounted_on(desk.store, match_id))

    async def think(
        self,
        thinking: Generator[C, Reply, T],
        request: int,
        seat: str,
        spec: SeatSpec,
        attempts: int = 0,
    ) -> Thought[T]:
        """Let a player think to its end, making the calls it wants.

        Args:
            request, seat: the question that is thought about.
            spec: the player's settings.
            attempts: calls that were made about the question before, and are recorded.
        """
        calls: list[dict[str, Any]] = []
        keys: list[CallKey] = []
        reply: Reply | None = None
        while True:
            try:
                call = next(thinking) if reply is None else thinking.send(reply)
            except StopIteration as end:
                return Thought(end.value, calls, keys, reply)
            keys.append(CallKey(self.match_id, request, seat, attempts + len(calls)))
            reply, entry = await self.make(keys[-1], call, spec)
            calls.append(entry)

    async def make(self, key: CallKey, call: Call, spec: SeatSpec) -> tuple[Reply, dict[str, Any]]:
        """Make a call, or take its reply from the ledger; with what the record keeps of it."""
        data = call.model_dump(mode="json", exclude_none=True)
        past = self.past.pop(key, None)
        if past is not None:
            if not _same(past.call, data):
                raise ReplayMismatch(
                    f"match {key.match_id}: what {key.seat} was asked in request {key.request} "
                    "differs from what would be asked now (other words or settings)"
                )
            entry = {"call": data, "reply": past.reply, "sending": past.sending}
            return Reply.model_validate(past.reply), entry
        if isinstance(call, PersonCall):
            reply = await self._ask_person(key, call, data)
        else:
            reply = await self._look_up(key, call, data, spec.call_deadline())
        written = reply.model_dump(mode="json", exclude_none=True)
        sending = self.sent.pop(key, 0)
        LOG.info("call %s to %s: %s", "/".join(map(str, key)), data.get("model", "a person"),
                 _outcome(reply, sending))  # fmt: skip
        return reply, {"call": data, "reply": written, "sending": sending}

    async def _look_up(
        self, key: CallKey, call: ModelCall, data: dict[str, Any], deadline: float
    ) -> Reply:
        """Take a reply from the cache, at no cost and noted as such, or ask the model."""
        desk = self.desk
        ask = (
            partial(self._ask_model, key, call, data, deadline)
            if desk.batches is None
            else partial(self._ask_in_batch, desk.batches, key, call)
        )
        if desk.cache is None:
            return await ask()
        request = Request.of(data, Replicate(self.seed, key.request, key.seat, key.attempt))
        reply = await desk.cache.reply(request, key.match_id, desk.pace, ask)
        if reply.cached:
            self.sent[key] = sending = self.sent.get(key, 0) + 1
            number = await desk.ledger.intend(key, sending, data)
            await desk.ledger.settle(number, "answered", reply)
        return reply

    async def _ask_in_batch(self, batches: Batches, key: CallKey, call: ModelCall) -> Reply:
        """Have a call answered in a batch; in the next one where that may help."""
        desk = self.desk
        tried = 0
        while True:
            tried += 1
            desk.check()
            asking = batches.asking(call)
            data = asking.model_dump(mode="json", exclude_none=True)
            try:
                with desk.pace.resting():
                    held = await desk.purse.open(asking, self.tab)
            except Halted as spent:
                batches.in_order.add(str(spent))
                raise
            self.sent[key] = sending = self.sent.get(key, 0) + 1
            reply = None
            try:
                reply = await batches.reply(Intent(*key, sending, data), asking)
            finally:
                desk.purse.close(held, reply)
            if tried == SENDINGS or not batches.again(call, reply):
                return reply

    async def _ask_model(
        self, key: CallKey, call: ModelCall, data: dict[str, Any], deadline: float
    ) -> Reply:
        """Send a call until its reply is final; at once, without sending it, where that is vain."""
        desk = self.desk
        lane = desk.lanes[call.model]
        retries = Retries(lane)
        while True:
            desk.check()
            if lane.given_up and lane.wait() > 0:
                detail = lane.given_up.reason
                return Reply(failure=Failure.PROVIDER_ERROR, detail=detail)
            reply, wait = await self._send(key, call, data, deadline, retries)
            if lane.given_up and (lane.given_up.wrong or not desk.lanes.any_works()):
                desk.halt(lane.given_up.reason)
            if trouble_of(reply):
                desk.check()
            if wait is None:
                return reply
            await desk.rest(wait)

    async def _send(
        self,
        key: CallKey,
        call: ModelCall,
        data: dict[str, Any],
        deadline: float,
        retries: Retries,
    ) -> tuple[Reply, float | None]:
        """Send a call once: a place in its lane, the money, an intent, the reply in the ledger.

        What play acts on is settled as answered, a last timeout too; what is to be sent again, or
        ends the run of the match, as failed.

        Returns:
            The reply, and seconds until the call is sent again; None where the reply is final.
        """
        desk = self.desk
        reply = None
        place = await desk.lanes.enter(call.model, alone=retries.alone)
        seconds = deadline * ALONE_DEADLINES if place.alone else deadline
        try:
            desk.check()
            held = await desk.purse.open(call, self.tab)
            try:
                desk.check()
                self.sent[key] = sending = self.sent.get(key, 0) + 1
                number = await desk.ledger.intend(key, sending, data)
                number_there = "/".join(map(str, (*key, sending)))
                with_client = desk.models.call(call, number_there, seconds)
                received = await self._settled_if_broken(number, with_client)
                bought = desk.reply_ids.checked(call, received)
                dollars = desk.purse.prices.paid(call.model, bought)
                reply = bought.model_copy(update={"dollars": dollars})
                wait = retries.wait(reply, place)
                lost = wait is not None or reply.failure is Failure.PROVIDER_ERROR
                await desk.ledger.settle(number, "failed" if lost else "answered", reply)
            finally:
                desk.purse.close(held, reply)
        finally:
            desk.lanes.leave(place, reply)
        return reply, wait

    async def _settled_if_broken(self, number: int, asking: Awaitable[Reply]) -> Reply:
        """Settle a call whose client fails by a bug, of which its match then fails."""
        try:
            return await asking
        except Halted:
            raise
        except Exception as error:
            failure = Reply(failure=Failure.PROVIDER_ERROR, detail=describe(error))
            await self.desk.ledger.settle(number, "failed", failure)
            raise

    async def _ask_person(self, key: CallKey, call: PersonCall, data: dict[str, Any]) -> Reply:
        assert self.ask_person is not None
        self.desk.check()
        ledger = self.desk.ledger
        self.sent[key] = sending = self.sent.get(key, 0) + 1
        number = await ledger.intend(key, sending, data)
        try:
            reply = await self._settled_if_broken(number, self.ask_person(call))
        except Halted as left:
            gone = Reply(failure=Failure.TIMED_OUT, detail=f"left without an answer: {left}")
            await ledger.settle(number, "failed", gone)
            raise
        await ledger.settle(number, "answered", reply)
        return reply


def _outcome(reply: Reply, sending: int) -> str:
    """What has become of a call, in a line that holds nothing of what was said.

    >>> _outcome(Reply(text="deal", usage={"input_tokens": 90, "output_tokens": 5}, seconds=1), 2)
    'answered after 1.0 s, 90 + 5 tokens, at sending 2'
    """
    what = "answered" if reply.failure is None else f"{reply.failure} ({reply.detail})"
    if reply.cached:
        return f"{what} from the cache"
    tokens = f"{reply.usage.input_tokens:,} + {reply.usage.output_tokens:,} tokens"
    return f"{what} after {reply.seconds:.1f} s, {tokens}, at sending {sending}"


def _same(call: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two calls ask the same, by whatever way a batch asked for the answer's form."""

    def bare(one: dict[str, Any]) -> dict[str, Any]:
        return one | {"form": one.get("form", {}) | {"route": None}}

    return call == other or bare(call) == bare(other)
