"""Money: what may be spent, what was, and what calls in flight may take.

How many tokens a call takes is guessed before any has come back, then read off those that have.
"""

import asyncio
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, NamedTuple

from pydantic import Field, ValidationError

from cheaptalk.models import ModelCall, Reply, Usage
from cheaptalk.models.prices import Prices
from cheaptalk.models.usage import FEWEST_CHARACTERS, characters, reasoning_of
from cheaptalk.records import Store
from cheaptalk.records.costs import Cost, cost_of
from cheaptalk.records.ledger.spending import latest_replies, spent, uncounted
from cheaptalk.records.store.backend import DamagedStore
from cheaptalk.rules import Value, counted
from cheaptalk.rules.errors import first_problem
from cheaptalk.text import money

USUAL_ANSWER = 400
"""Tokens of an answer before any has come back, reasoning aside."""


@dataclass
class Sizes:
    """What calls to one model have taken so far.

    Attributes:
        density: tokens of a character of the question: a guess at first, then the most that came
            back.
        answer: tokens of the longest answer; None before any has come back.
    """

    density: float = 1 / FEWEST_CHARACTERS
    answer: int | None = None

    def expected(self, call: ModelCall, *, unset: str = "none") -> Usage:
        """What a call is going to take, at the most, as far as one can tell.

        Args:
            unset: how much the model reasons where it is not told.
        """
        most = call.settings.max_tokens
        if self.answer is None:
            answer = most or USUAL_ANSWER + reasoning_of(call.settings, unset=unset)[1]
        else:
            answer = max(most or 0, self.answer)
        asked = math.ceil(characters(call) * self.density)
        return Usage(input_tokens=asked, output_tokens=answer)

    def note(self, call: ModelCall, usage: Usage) -> None:
        """Learn from a call that came back."""
        if usage.input_tokens:
            density = usage.input_tokens / max(characters(call), 1)
            self.density = density if self.answer is None else max(density, self.density)
            self.answer = max(self.answer or 0, usage.output_tokens)


class Cap(Value):
    """What may be spent; what is not set is not limited.

    Attributes:
        calls: calls to models.
        tokens: input and output tokens together.
        dollars: at the prices of :mod:`cheaptalk.models.prices`.
    """

    calls: Annotated[int, Field(ge=1)] | None = None
    tokens: Annotated[int, Field(ge=1)] | None = None
    dollars: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class Budget(Cap):
    """What a study may spend in all its runs; checked before each call, calls in flight counted.

    Attributes:
        per_match: what each of its matches may spend.
    """

    per_match: Cap = Cap()


NO_PRICES = Prices({})
NO_CAP: Cap = Cap()
DUST = 1e-9
"""Dollars that rounding may add up to."""


class Halted(Exception):
    """The run stops before its end; what is recorded stays, and a resume goes on."""


class MatchSpent(Exception):
    """A match may spend no more: it ends as failed, and goes on when its cap is raised."""


class CallSize(NamedTuple):
    """What a call may take; ``guessed`` where nothing has come back of its model yet."""

    tokens: int
    dollars: float
    guessed: bool


SMALLEST = CallSize(1, 1e-8, guessed=True)


@dataclass(eq=False)
class Account:
    """What may be spent in one scope, what was, and what calls in flight may take.

    Attributes:
        name: of the cap, for people.
        cap: what the cap is now.
        spent: so far, before this run too.
        over: what is raised when no more may be spent.
        in_flight: calls under way.
        held_tokens, held_dollars: what these may take, and those that came back without a count may
            have taken.
    """

    name: str
    cap: Callable[[], Cap]
    spent: Cost
    over: type[Exception]
    in_flight: int = 0
    held_tokens: int = 0
    held_dollars: float = 0.0
    _queue: asyncio.Lock = field(default_factory=asyncio.Lock)
    _came_back: asyncio.Event = field(default_factory=asyncio.Event)

    async def reserve(self, expected: Callable[[], CallSize]) -> CallSize:
        """Hold what a call may take; wait for those in flight where they decide whether it can.

        What nobody knows the size of may go out alone, unless some before never told theirs.

        Args:
            expected: what the call may take, as far as one can tell now.

        Raises:
            Halted, MatchSpent: it cannot.
        """
        async with self._queue:
            while unit := self.exceeded(size := expected(), self.cap()):
                if not self.in_flight:
                    alone = size.guessed and not self.uncounted
                    if alone and not self.exceeded(SMALLEST, self.cap()):
                        break
                    raise self.over(self._refusal(unit))
                self._came_back.clear()
                await self._came_back.wait()
            self.in_flight += 1
            self.held_tokens += size.tokens
            self.held_dollars += size.dollars
            return size

    def release(self, size: CallSize, paid: Cost) -> None:
        """Let go what was held, unless nobody knows what was taken, and book what was paid."""
        self.in_flight -= 1
        if not paid.unknown:
            self.held_tokens -= size.tokens
            self.held_dollars -= size.dollars
        self.spent += paid
        self.wake()

    @property
    def uncounted(self) -> bool:
        """Whether something is held for calls that came back without a count."""
        return not self.in_flight and self.held_tokens > 0

    def wake(self) -> None:
        """Have those who wait look again."""
        self._came_back.set()

    def exceeded(self, size: CallSize, cap: Cap) -> str | None:
        """The unit in which a call like this would exceed a cap."""
        spent = self.spent
        if cap.calls is not None and spent.calls + self.in_flight >= cap.calls:
            return "calls"
        if cap.tokens is not None and spent.tokens + self.held_tokens + size.tokens > cap.tokens:
            return "tokens"
        needed = spent.dollars + self.held_dollars + size.dollars
        if cap.dollars is not None and needed > cap.dollars + DUST:
            return "dollars"
        return None

    def _refusal(self, unit: str) -> str:
        most, spent = amount_text(unit, getattr(self.cap(), unit)), self.spent
        if unit == "calls":
            return f"{self.name} of {most} is used up"
        if self.over is not Halted:  # one reason for all matches
            return f"{self.name} of {most} would be exceeded"
        used = money(spent.dollars) if unit == "dollars" else f"{spent.tokens:,}"
        held = self.held_dollars if unit == "dollars" else self.held_tokens
        more = amount_text(unit, held)
        lost = f", up to {more} more by calls that brought no count" if self.uncounted else ""
        return f"{self.name} of {most} would be exceeded ({used} used{lost})"


class Held(NamedTuple):
    """What is held for a call in flight, and in which accounts."""

    call: ModelCall
    accounts: list[tuple[Account, CallSize]]


class Purse:
    """What a study may still spend: checked before each call, calls in flight counted.

    A call is taken to need its prompt's tokens, by its characters and what came back of the model
    before, and an answer of ``max_tokens`` or as long as the longest so far.

    Args:
        budget: of the study, over all its runs.
        spent: by the study before this run.
        prices: what models cost.
        run: what this run may spend.
        batch: whether calls go out in batches, which are cheaper.

    Attributes:
        short: whether a call was refused that the study's own budget does not allow, which no
            further run will change; what :meth:`set` changed holds for this run alone.
        uncountable: whether a call was refused by a cap that calls without a count use up: another
            run under such a cap only buys more of them.
        used_up: the accounts of matches that were refused a call by their own cap.
    """

    def __init__(
        self,
        budget: Budget,
        spent: Cost,
        prices: Prices = NO_PRICES,
        run: Cap = NO_CAP,
        *,
        batch: bool = False,
    ) -> None:
        self.batch = batch
        self.budget = self._own = budget
        self.run = run
        self.prices = prices
        self.study = Account("the budget", lambda: self.budget, spent, Halted)
        self.now = Account("the cap on this run", lambda: self.run, Cost(), Halted)
        self.short = self.uncountable = False
        self.used_up: set[Account] = set()
        self._sizes: defaultdict[str, Sizes] = defaultdict(Sizes)
        self._silent: set[str] = set()

    @property
    def spent(self) -> Cost:
        """What the study has spent, over all its runs."""
        return self.study.spent

    def set(self, budget: Budget) -> None:
        """Replace the study's budget for this run; calls that wait for money look again."""
        self.budget = budget
        self.study.wake()

    def tab(self, spent: Cost | None = None) -> Account:
        """The account of one match, with what it spent before."""
        cap = "the match's budget"
        return Account(cap, lambda: self.budget.per_match, spent or Cost(), MatchSpent)

    def learn(self, replies: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> None:
        """Judge the size of calls by replies of earlier runs, and know who counts no tokens."""
        for call, reply in replies:
            if not reply.get("cached"):
                usage = Usage.model_validate(reply.get("usage", {}))
                self._note(_recorded(call), usage, reply.get("text"))

    def hold(self, account: Account, calls: Iterable[Mapping[str, Any]]) -> None:
        """Hold what calls of earlier runs may have taken of which no count came back."""
        for call in calls:
            size = self._expected(_recorded(call))
            account.held_tokens += size.tokens
            account.held_dollars += size.dollars

    async def open(self, call: ModelCall, tab: Account) -> Held:
        """Hold what a call may take; wait for those in flight where they decide whether it can.

        Raises:
            Halted: it would exceed the study's budget or the run's cap, or nobody could tell.
            MatchSpent: it would exceed the match's.
        """
        self._check_countable(call.model)
        held = Held(call, [])
        try:
            for account in (tab, self.study, self.now):
                size = await account.reserve(partial(self._expected, call))
                held.accounts.append((account, size))
        except BaseException as refusal:
            if isinstance(refusal, Halted) and account is self.study:
                own = account.exceeded(self._expected(call), self._own)
                self.short = self.short or own is not None
            if isinstance(refusal, Halted) and account is self.now:
                self.uncountable = self.uncountable or account.uncounted
            if isinstance(refusal, MatchSpent):
                self.used_up.add(tab)
            self._release(held, Cost())
            raise
        return held

    def _expected(self, call: ModelCall) -> CallSize:
        sizes, price = self._sizes[call.model], self.prices.of(call.model)
        usage = sizes.expected(call, unset="medium" if price and price.reasons else "none")
        dollars = price.dollars(usage, batch=self.batch) if price else 0.0
        return CallSize(usage.input_tokens + usage.output_tokens, dollars, sizes.answer is None)

    def close(self, held: Held, reply: Reply | None) -> None:
        """Book a call that came back; None where it did not."""
        parts = {"usage", "status", "cached", "unreached", "dollars"}
        written = None if reply is None else reply.model_dump(include=parts)
        if reply is not None:
            self._note(held.call, reply.usage, reply.text)
        self._release(held, cost_of(written))

    def _note(self, call: ModelCall, usage: Usage, text: str | None) -> None:
        """Learn from a reply how large calls to its model are."""
        self._sizes[call.model].note(call, usage)
        if text is not None and not usage.input_tokens:
            self._silent.add(call.model)

    def _release(self, held: Held, paid: Cost) -> None:
        for account, size in held.accounts:
            account.release(size, paid)

    def _check_countable(self, model: str) -> None:
        """Refuse a call that a cap could not count.

        Raises:
            Halted: its price is not known, or its server does not tell the tokens.
        """
        caps = (self.budget, self.budget.per_match, self.run)
        price = self.prices.of(model)
        in_dollars = any(cap.dollars for cap in caps)
        if in_dollars and price is None:
            raise Halted(unpriced(model))
        costs = price is not None and not price.free
        if model in self._silent and any(_counts(cap, dollars=costs) for cap in caps):
            self.uncountable = True
            own = (self._own, self._own.per_match)
            self.short = self.short or any(_counts(cap, dollars=costs) for cap in own)
            raise Halted(f"{model} does not say how many tokens a call takes: cap calls instead")


def _recorded(call: Mapping[str, Any]) -> ModelCall:
    """A call as a store keeps it.

    Raises:
        DamagedStore: it is none.
    """
    try:
        return ModelCall.model_validate(call)
    except ValidationError as error:
        raise DamagedStore("a recorded call", first_problem(error)) from error


def _counts(cap: Cap, *, dollars: bool) -> bool:
    """Whether a cap needs tokens counted, for their own sake or for dollars."""
    return cap.tokens is not None or (dollars and cap.dollars is not None)


def study_purse(
    store: Store, study_id: int, budget: Budget, prices: Prices, run: Cap, *, batch: bool = False
) -> Purse:
    """The purse of a study in a store: what it spent, or may have, in earlier runs is taken off."""
    before = spent(store, study_id)
    purse = Purse(budget, before, prices, run, batch=batch)
    purse.learn(latest_replies(store, study_id))
    if before.unknown:
        purse.hold(purse.study, uncounted(store, study_id))
    return purse


def unpriced(model: str) -> str:
    """Why a budget in dollars does not go with a model, and what to do."""
    return (
        f"no price is known for {model}, so a budget in dollars cannot hold: add the price to a "
        "file (cheaptalk prices --init prices.yaml), or cap calls or tokens"
    )


def amount_text(unit: str, amount: float) -> str:
    """So much of a unit: ``calls``, ``tokens`` or ``dollars``.

    >>> amount_text("calls", 1), amount_text("dollars", 2.5)
    ('1 call', '$2.50')
    """
    return money(amount) if unit == "dollars" else counted(round(amount), unit[:-1])
