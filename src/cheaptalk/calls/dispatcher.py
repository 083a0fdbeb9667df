"""The dispatcher of model calls: it replays recorded replies and sends all other calls.

An intent is recorded before each attempt, and a reply before it is used.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from cheaptalk.calls.batches import SENDINGS, Batches, Pace
from cheaptalk.calls.budget import BudgetTracker, Halted
from cheaptalk.calls.cache import CallCache
from cheaptalk.models import Failure, ModelCall, Reply
from cheaptalk.models.calls import Models as Models  # for the packages above
from cheaptalk.models.flow_control import ALONE_DEADLINES, RateLimiters, Retries, trouble_of
from cheaptalk.models.http.reply_ids import ReplyIds
from cheaptalk.models.remote_agents import RemoteAgents
from cheaptalk.players import AskPerson, Call, FunctionCall, PersonCall, SeatSpec
from cheaptalk.records import Store
from cheaptalk.records.cache import Replicate, Request
from cheaptalk.records.ledger.batches import Intent
from cheaptalk.records.ledger.ledger import CallKey, Ledger, PastCall, past_calls, sendings
from cheaptalk.records.ledger.spending import spent_on, uncounted_on
from cheaptalk.rules import ReplayMismatch
from cheaptalk.rules.errors import describe

LOG = logging.getLogger(__name__)

T = TypeVar("T")
C = TypeVar("C", bound=Call)


class Thought(NamedTuple, Generic[T]):
    """The result of a player's answer generator, with the data and keys of all its calls."""

    result: T
    calls: list[dict[str, Any]]
    keys: list[CallKey]
    last: Reply | None


@dataclass
class Dispatcher:
    """State that all live matches of a run share, such as clients, budgets and rate limiters.

    Create it inside the event loop. ``concurrency`` limits the concurrent matches, of which
    ``live`` are in progress. ``begun`` has the ids of matches with calls in the ledger. Calls are
    sent immediately without ``batches``.
    """

    store: Store
    ledger: Ledger
    models: Models
    budget_tracker: BudgetTracker
    limiters: RateLimiters = field(default_factory=RateLimiters)
    concurrency: int = 1
    halted: str | None = None
    live: int = 0
    begun: set[str] = field(default_factory=set)
    cache: CallCache | None = None
    batches: Batches | None = None
    pace: Pace = field(default_factory=Pace)
    remote_agents: RemoteAgents | None = None
    reply_ids: ReplyIds = field(default_factory=ReplyIds)

    def __post_init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        self._room = asyncio.Event()

    def halt(self, reason: str) -> None:
        """Stop sending calls and wait for calls in flight; callable from any thread."""
        self.halted = self.halted or reason
        with suppress(RuntimeError):  # the event loop and the run have ended
            self._loop.call_soon_threadsafe(self._wake)

    def check(self) -> None:
        """Raise :class:`.Halted` if the run is halted."""
        if self.halted:
            raise Halted(self.halted)

    async def rest(self, seconds: float) -> None:
        """Wait for some seconds, or until the run is halted."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), seconds)

    def retune(self, concurrency: int) -> None:
        """Change the maximum number of concurrent matches; matches in progress continue."""
        self.concurrency = concurrency
        self._room.set()

    async def work_on(
        self, items: Iterable[T], work: Callable[[T], Coroutine[Any, Any, None]]
    ) -> None:
        """Process items concurrently until all are processed or the run is halted."""

        async def work_and_release(item: T) -> None:
            try:
                await work(item)
            finally:
                self.live -= 1
                self._room.set()
                self.pace.rest()

        async with asyncio.TaskGroup() as group:
            for item in items:
                while self.live >= self.concurrency and not self.halted:
                    self._room.clear()
                    await self._room.wait()
                if self.halted:
                    break
                self.live += 1
                self.pace.go()
                group.create_task(work_and_release(item))

    def _wake(self) -> None:
        self._stopped.set()
        self._room.set()
        self.limiters.stop()
        if self.remote_agents is not None:
            self.remote_agents.halt()
        if self.batches is not None and self.halted is not None:
            self.batches.stop(self.halted)


class Caller:
    """A client that sends the calls of one match, and resumes them from the ledger.

    The match's seed distinguishes identical calls in the response cache.
    """

    def __init__(
        self,
        match_id: str,
        dispatcher: Dispatcher,
        seed: str = "",
        ask_person: AskPerson | None = None,
    ) -> None:
        self.match_id = match_id
        self.dispatcher = dispatcher
        self.seed = seed
        self.ask_person = ask_person
        self.past: dict[CallKey, PastCall] = {}
        self.sent: dict[CallKey, int] = {}
        self.tab = dispatcher.budget_tracker.tab()
        if match_id in dispatcher.begun:
            store = dispatcher.store
            self.past, self.sent = past_calls(store, match_id), sendings(store, match_id)
            self.tab.spent = spent_on(store, match_id)
            if self.tab.spent.unknown:
                dispatcher.budget_tracker.hold(self.tab, uncounted_on(store, match_id))

    async def think(
        self,
        thinking: Generator[C, Reply, T],
        request: int,
        actor: str,
        spec: SeatSpec,
        attempts: int = 0,
    ) -> Thought[T]:
        """Run a player's answer generator to its end, making the calls that it yields.

        The request has ``attempts`` earlier calls in the record.
        """
        calls: list[dict[str, Any]] = []
        keys: list[CallKey] = []
        reply: Reply | None = None
        while True:
            try:
                call = next(thinking) if reply is None else thinking.send(reply)
            except StopIteration as end:
                return Thought(end.value, calls, keys, reply)
            keys.append(CallKey(self.match_id, request, actor, attempts + len(calls)))
            reply, entry = await self.make(keys[-1], call, spec)
            calls.append(entry)

    async def make(self, key: CallKey, call: Call, spec: SeatSpec) -> tuple[Reply, dict[str, Any]]:
        """Send a call, or replay it from the ledger; return the reply and its record."""
        data = call.model_dump(mode="json", exclude_none=True)
        past = self.past.pop(key, None)
        if past is not None:
            if not _same_request(past.call, data):
                raise ReplayMismatch(
                    f"match {key.match_id}: the call for {key.actor} in request {key.request} "
                    "differs from the recorded one (other messages or settings)"
                )
            entry = {"call": data, "reply": past.reply, "sending": past.sending}
            return Reply.model_validate(past.reply), entry
        if isinstance(call, PersonCall):
            assert self.ask_person is not None
            reply = await self._ask_free(key, data, partial(self.ask_person, call))
        elif isinstance(call, FunctionCall):
            reply = await self._ask_free(key, data, call.ask)
        else:
            reply = await self._look_up(key, call, data, spec.call_deadline())
        reply_data = reply.model_dump(mode="json", exclude_none=True)
        sending = self.sent.pop(key, 0)
        number, recipient = (
            "/".join(map(str, key)),
            data.get("model") or data.get("function", "a person"),
        )
        LOG.info("call %s to %s: %s", number, recipient, _outcome(reply, sending))
        return reply, {"call": data, "reply": reply_data, "sending": sending}

    async def _look_up(
        self, key: CallKey, call: ModelCall, data: dict[str, Any], deadline: float
    ) -> Reply:
        """Return the cached reply to a call and record it without cost, or send the call."""
        dispatcher = self.dispatcher
        ask = (
            partial(self._ask_model, key, call, data, deadline)
            if dispatcher.batches is None
            else partial(self._ask_in_batch, dispatcher.batches, key, call)
        )
        if dispatcher.cache is None:
            return await ask()
        request = Request.of(data, Replicate(self.seed, key.request, key.actor, key.attempt))
        reply = await dispatcher.cache.reply(request, key.match_id, dispatcher.pace, ask)
        if reply.cached:
            self.sent[key] = sending = self.sent.get(key, 0) + 1
            number = await dispatcher.ledger.intend(key, sending, data)
            await dispatcher.ledger.settle(number, "answered", reply)
        return reply

    async def _ask_in_batch(self, batches: Batches, key: CallKey, call: ModelCall) -> Reply:
        """Send a call in successive batches until its reply is final."""
        dispatcher = self.dispatcher
        tried = 0
        while True:
            tried += 1
            dispatcher.check()
            batched_call = batches.next_attempt(call)
            data = batched_call.model_dump(mode="json", exclude_none=True)
            try:
                with dispatcher.pace.resting():
                    reservation = await dispatcher.budget_tracker.open(batched_call, self.tab)
            except Halted as spent:
                batches.in_order.add(str(spent))
                raise
            self.sent[key] = sending = self.sent.get(key, 0) + 1
            reply = None
            try:
                reply = await batches.reply(Intent(key, sending, data), batched_call)
            finally:
                dispatcher.budget_tracker.close(reservation, reply)
            if tried == SENDINGS or not batches.should_retry(call, reply):
                return reply

    async def _ask_model(
        self, key: CallKey, call: ModelCall, data: dict[str, Any], deadline: float
    ) -> Reply:
        """Send a call until its reply is final; fail at once if the circuit breaker is open."""
        dispatcher = self.dispatcher
        limiter = dispatcher.limiters[call.model]
        retries = Retries(limiter)
        while True:
            dispatcher.check()
            if limiter.given_up and limiter.wait() > 0:
                detail = limiter.given_up.reason
                return Reply(failure=Failure.PROVIDER_ERROR, detail=detail)
            reply, wait = await self._send(key, call, data, deadline, retries)
            if limiter.given_up and (limiter.given_up.wrong or not dispatcher.limiters.any_works()):
                dispatcher.halt(limiter.given_up.reason)
            if trouble_of(reply):
                dispatcher.check()
            if wait is None:
                return reply
            await dispatcher.rest(wait)

    async def _send(
        self, key: CallKey, call: ModelCall, data: dict[str, Any], deadline: float, retries: Retries
    ) -> tuple[Reply, float | None]:
        """Make one attempt at a call; return the reply and the delay before a retry, if any.

        Replies that play uses, including a final timeout, are settled as answered. Replies that are
        retried or that fail the match are settled as failed.
        """
        dispatcher = self.dispatcher
        reply = None
        admission = await dispatcher.limiters.enter(call.model, alone=retries.alone)
        seconds = deadline * ALONE_DEADLINES if admission.alone else deadline
        try:
            dispatcher.check()
            reservation = await dispatcher.budget_tracker.open(call, self.tab)
            try:
                dispatcher.check()
                self.sent[key] = sending = self.sent.get(key, 0) + 1
                number = await dispatcher.ledger.intend(key, sending, data)
                call_number = "/".join(map(str, (*key, sending)))
                pending = dispatcher.models.call(call, call_number, seconds)
                received = await self._settled_if_broken(number, pending)
                bought = dispatcher.reply_ids.checked(call, received)
                dollars = dispatcher.budget_tracker.prices.paid(call.model, bought)
                reply = bought.model_copy(update={"dollars": dollars})
                wait = retries.wait(reply, admission)
                lost = wait is not None or reply.failure is Failure.PROVIDER_ERROR
                await dispatcher.ledger.settle(number, "failed" if lost else "answered", reply)
            finally:
                dispatcher.budget_tracker.close(reservation, reply)
        finally:
            dispatcher.limiters.leave(admission, reply)
        return reply, wait

    async def _settled_if_broken(self, number: int, pending: Awaitable[Reply]) -> Reply:
        """Await a call, and record it as failed if its client raises an unexpected error."""
        try:
            return await pending
        except Halted:
            raise
        except Exception as error:
            failure = Reply(failure=Failure.PROVIDER_ERROR, detail=describe(error))
            await self.dispatcher.ledger.settle(number, "failed", failure)
            raise

    async def _ask_free(
        self, key: CallKey, data: dict[str, Any], ask: Callable[[], Awaitable[Reply]]
    ) -> Reply:
        """Ask a person or a Python function, without a budget, and record the reply."""
        self.dispatcher.check()
        ledger = self.dispatcher.ledger
        self.sent[key] = sending = self.sent.get(key, 0) + 1
        number = await ledger.intend(key, sending, data)
        try:
            reply = await self._settled_if_broken(number, ask())
        except Halted as halt:
            abandoned = Reply(failure=Failure.TIMED_OUT, detail=f"the run stopped first: {halt}")
            await ledger.settle(number, "failed", abandoned)
            raise
        await ledger.settle(number, "answered", reply)
        return reply


def _outcome(reply: Reply, sending: int) -> str:
    """Describe the result of a call for the log, without its content.

    >>> _outcome(Reply(text="deal", usage={"input_tokens": 90, "output_tokens": 5}, seconds=1), 2)
    'answered after 1.0 s, 90 + 5 tokens, attempt 2'
    """
    outcome = "answered" if reply.failure is None else f"{reply.failure} ({reply.detail})"
    if reply.cached:
        return f"{outcome} from the cache"
    tokens = f"{reply.usage.input_tokens:,} + {reply.usage.output_tokens:,} tokens"
    return f"{outcome} after {reply.seconds:.1f} s, {tokens}, attempt {sending}"


def _same_request(call: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two calls are equal apart from the answer format chosen for a batch."""

    def bare(data: dict[str, Any]) -> dict[str, Any]:
        return data | {"form": data.get("form", {}) | {"route": None}}

    return call == other or bare(call) == bare(other)
