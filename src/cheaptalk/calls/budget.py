"""Budgets: limits on calls, tokens and dollars, checked before each model call."""

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
"""Assumed length of the first answer in tokens, excluding reasoning."""


@dataclass
class Sizes:
    """An estimator of the size of a model's next call, based on earlier calls.

    ``density`` is in input tokens per character: a default at first, then the observed maximum.
    ``answer`` is the longest answer in tokens; None before the first.
    """

    density: float = 1 / FEWEST_CHARACTERS
    answer: int | None = None

    def expected(self, call: ModelCall, *, unset: str = "none") -> Usage:
        """Return the maximum expected usage; ``unset`` is the model's default reasoning level."""
        limit = call.settings.max_tokens
        if self.answer is None:
            answer = limit or USUAL_ANSWER + reasoning_of(call.settings, unset=unset)[1]
        else:
            answer = max(limit or 0, self.answer)
        input_tokens = math.ceil(characters(call) * self.density)
        return Usage(input_tokens=input_tokens, output_tokens=answer)

    def note(self, call: ModelCall, usage: Usage) -> None:
        if usage.input_tokens:
            density = usage.input_tokens / max(characters(call), 1)
            self.density = density if self.answer is None else max(density, self.density)
            self.answer = max(self.answer or 0, usage.output_tokens)


class Cap(Value):
    """Spending limits; unset limits do not apply.

    Attributes:
        calls: maximum calls to models.
        tokens: maximum input plus output tokens.
        dollars: maximum cost, at the prices of :mod:`cheaptalk.models.prices`.
    """

    calls: Annotated[int, Field(ge=1)] | None = None
    tokens: Annotated[int, Field(ge=1)] | None = None
    dollars: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class Budget(Cap):
    """The budget of a study over all its runs; each check includes the calls in flight.

    Attributes:
        per_match: the budget of each match.
    """

    per_match: Cap = Cap()


NO_PRICES = Prices({})
NO_CAP: Cap = Cap()
DUST = 1e-9
"""Tolerance for floating-point errors, in dollars."""


class Halted(Exception):
    """Raised to stop a run early; the run can be resumed from the recorded data."""


class MatchSpent(Exception):
    """Raised when a match exhausts its own budget; a higher budget lets it resume."""


class CallSize(NamedTuple):
    """The estimated maximum tokens and cost of a call; ``guessed`` is true before any reply."""

    tokens: int
    dollars: float
    guessed: bool


SMALLEST = CallSize(1, 1e-8, guessed=True)


@dataclass(eq=False)
class Account:
    """The account of one budget, by its name in messages: limits, cost so far, and reservations.

    ``spent`` includes earlier runs. Amounts are held for calls in flight and for calls without a
    token count. An exceeded limit raises ``over``.
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
        """Reserve a call's maximum cost, waiting for calls in flight if a limit is near.

        A call of unknown size may be sent without other calls in flight, unless an earlier call had
        no token count. Raises ``over`` if the call would exceed a limit.
        """
        async with self._queue:
            while unit := self.exceeded(size := expected(), self.cap()):
                if not self.in_flight:
                    alone = size.guessed and not self.uncounted
                    if alone and not self.exceeded(SMALLEST, self.cap()):
                        break
                    raise self.over(self._refusal(unit, size))
                self._came_back.clear()
                await self._came_back.wait()
            self.in_flight += 1
            self.held_tokens += size.tokens
            self.held_dollars += size.dollars
            return size

    def release(self, size: CallSize, paid: Cost) -> None:
        """Record a call's cost, and release its reservation if the usage is known."""
        self.in_flight -= 1
        if not paid.unknown:
            self.held_tokens -= size.tokens
            self.held_dollars -= size.dollars
        self.spent += paid
        self.wake()

    @property
    def uncounted(self) -> bool:
        """Whether amounts remain reserved for calls whose token counts are unknown."""
        return not self.in_flight and self.held_tokens > 0

    def wake(self) -> None:
        self._came_back.set()

    def exceeded(self, size: CallSize, cap: Cap) -> str | None:
        """Return the unit of the first limit that a call would exceed, such as ``tokens``."""
        spent = self.spent
        if cap.calls is not None and spent.calls + self.in_flight >= cap.calls:
            return "calls"
        if cap.tokens is not None and spent.tokens + self.held_tokens + size.tokens > cap.tokens:
            return "tokens"
        needed = spent.dollars + self.held_dollars + size.dollars
        if cap.dollars is not None and needed > cap.dollars + DUST:
            return "dollars"
        return None

    def _refusal(self, unit: str, size: CallSize) -> str:
        limit, spent = amount_text(unit, getattr(self.cap(), unit)), self.spent
        if unit == "calls":
            return f"{self.name} of {limit} is exhausted"
        refusal = f"{self.name} of {limit} could be exceeded by the next call"
        if self.over is not Halted:  # the same reason for all matches
            return refusal
        used = money(spent.dollars) if unit == "dollars" else f"{spent.tokens:,}"
        held = self.held_dollars if unit == "dollars" else self.held_tokens
        unknown = amount_text(unit, held)
        lost = f", up to {unknown} more by calls without a token count" if self.uncounted else ""
        maximum = amount_text(unit, getattr(size, unit))
        return f"{refusal}, which may need {maximum} ({used} used{lost})"


class Reservation(NamedTuple):
    """The amounts reserved for a call in flight, by account."""

    call: ModelCall
    accounts: list[tuple[Account, CallSize]]


class BudgetTracker:
    """A tracker of the budgets of a study, a run and its matches, including calls in flight.

    The size of a call is estimated from its characters, earlier calls to the model, and
    ``max_tokens`` or the longest answer so far. Calls in provider batches cost less.

    ``short`` is set if the study's own budget refused a call, so that further runs would not help;
    :meth:`set` changes only the budget of this run. ``uncountable`` is set if a limit refused a
    call because earlier calls had no token count. ``used_up`` has the accounts of matches that
    exhausted their own budget.
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
        self.now = Account("this run's limit", lambda: self.run, Cost(), Halted)
        self.short = self.uncountable = False
        self.used_up: set[Account] = set()
        self._sizes: defaultdict[str, Sizes] = defaultdict(Sizes)
        self._silent: set[str] = set()

    @property
    def spent(self) -> Cost:
        """The study's cost over all runs."""
        return self.study.spent

    def set(self, budget: Budget) -> None:
        self.budget = budget
        self.study.wake()

    def tab(self) -> Account:
        """Return a new budget account for a match."""
        return Account("the match's budget", lambda: self.budget.per_match, Cost(), MatchSpent)

    def learn(self, replies: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> None:
        """Learn from earlier replies how large calls are and which models omit token counts."""
        for call, reply in replies:
            if not reply.get("cached"):
                usage = Usage.model_validate(reply.get("usage", {}))
                self._note(_recorded(call), usage, reply.get("text"))

    def hold(self, account: Account, calls: Iterable[Mapping[str, Any]]) -> None:
        """Reserve the maximum cost of earlier calls without a token count."""
        for call in calls:
            size = self._expected(_recorded(call))
            account.held_tokens += size.tokens
            account.held_dollars += size.dollars

    async def open(self, call: ModelCall, tab: Account) -> Reservation:
        """Reserve a call's maximum cost, waiting for calls in flight if a limit is near.

        Raises Halted if the call would exceed the study's or the run's budget or has an unknown
        cost, and MatchSpent if it would exceed the match's budget.
        """
        self._check_countable(call.model)
        reservation = Reservation(call, [])
        try:
            for account in (tab, self.study, self.now):
                size = await account.reserve(partial(self._expected, call))
                reservation.accounts.append((account, size))
        except BaseException as refusal:
            if isinstance(refusal, Halted) and account is self.study:
                exceeded = account.exceeded(self._expected(call), self._own)
                self.short = self.short or exceeded is not None
            if isinstance(refusal, Halted) and account is self.now:
                self.uncountable = self.uncountable or account.uncounted
            if isinstance(refusal, MatchSpent):
                self.used_up.add(tab)
            self._release(reservation, Cost())
            raise
        return reservation

    def _expected(self, call: ModelCall) -> CallSize:
        sizes, price = self._sizes[call.model], self.prices.of(call.model)
        usage = sizes.expected(call, unset="medium" if price and price.reasons else "none")
        dollars = price.dollars(usage, batch=self.batch) if price else 0.0
        return CallSize(usage.input_tokens + usage.output_tokens, dollars, sizes.answer is None)

    def close(self, reservation: Reservation, reply: Reply | None) -> None:
        """Record the cost of a completed call; pass None as ``reply`` if the call was cancelled."""
        parts = {"usage", "status", "cached", "unreached", "dollars"}
        data = None if reply is None else reply.model_dump(include=parts)
        if reply is not None:
            self._note(reservation.call, reply.usage, reply.text)
        self._release(reservation, cost_of(data))

    def _note(self, call: ModelCall, usage: Usage, text: str | None) -> None:
        self._sizes[call.model].note(call, usage)
        if text is not None and not usage.input_tokens:
            self._silent.add(call.model)

    def _release(self, reservation: Reservation, paid: Cost) -> None:
        for account, size in reservation.accounts:
            account.release(size, paid)

    def _check_countable(self, model: str) -> None:
        """Raise Halted if a model lacks a price or token counts that a limit requires."""
        caps = (self.budget, self.budget.per_match, self.run)
        price = self.prices.of(model)
        in_dollars = any(cap.dollars for cap in caps)
        if in_dollars and price is None:
            raise Halted(unpriced(model))
        costs = price is not None and not price.free
        if model in self._silent and any(_counts(cap, dollars=costs) for cap in caps):
            self.uncountable = True
            own_caps = (self._own, self._own.per_match)
            self.short = self.short or any(_counts(cap, dollars=costs) for cap in own_caps)
            raise Halted(f"{model} does not report token counts: limit calls instead")


def _recorded(call: Mapping[str, Any]) -> ModelCall:
    try:
        return ModelCall.model_validate(call)
    except ValidationError as error:
        raise DamagedStore("a recorded call", first_problem(error)) from error


def _counts(cap: Cap, *, dollars: bool) -> bool:
    return cap.tokens is not None or (dollars and cap.dollars is not None)


def study_budget_tracker(
    store: Store, study_id: int, budget: Budget, prices: Prices, run: Cap, *, batch: bool = False
) -> BudgetTracker:
    """Create the budget tracker of a stored study, including the cost of earlier runs."""
    earlier = spent(store, study_id)
    budget_tracker = BudgetTracker(budget, earlier, prices, run, batch=batch)
    budget_tracker.learn(latest_replies(store, study_id))
    if earlier.unknown:
        budget_tracker.hold(budget_tracker.study, uncounted(store, study_id))
    return budget_tracker


def unpriced(model: str) -> str:
    """Return the error message for a dollar budget when the model's price is unknown."""
    return (
        f"no price is known for {model}, so a budget in dollars cannot be enforced: add the price "
        "to a file (cheaptalk model prices --init prices.yaml), or limit calls or tokens"
    )


def amount_text(unit: str, amount: float) -> str:
    """Format an amount of ``calls``, ``tokens`` or ``dollars``.

    >>> amount_text("calls", 1), amount_text("dollars", 2.5)
    ('1 call', '$2.50')
    """
    return money(amount) if unit == "dollars" else counted(round(amount), unit[:-1])
