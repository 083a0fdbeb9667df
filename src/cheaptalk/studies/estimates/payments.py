"""A forecast of the payments to a study's participants while it is running."""

from math import sqrt
from statistics import fmean, stdev
from typing import NamedTuple

import sqlalchemy as sa

from cheaptalk.records import Store
from cheaptalk.records.people.payouts import balance_of, dollars_text
from cheaptalk.records.store import schema
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.rules import counted
from cheaptalk.studies.lookup import stored_study
from cheaptalk.studies.people.pay import participant_cents
from cheaptalk.studies.people.pay_rules import cents
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.studies.plans.designs import design_of
from cheaptalk.studies.plans.plan import plan

ENOUGH = 5
"""Minimum number of completions for a confidence interval of the mean payment."""
LEVEL = 0.95


class PaymentForecast(NamedTuple):
    """The payments to a study's participants so far, and in the future; amounts are in cents.

    Attributes:
        paid, owed: the amounts in payouts, and the earned amounts in no payout.
        completed: number of participants who completed a visit.
        open_places: number of completions until all places are taken; None without a maximum.
        mean: mean payment of participants who completed a visit; None if there are none.
        low, high: the bounds of its 95 % confidence interval, for at least 5 participants.
        committed: ``paid``, ``owed``, and the maximum that admitted participants can still earn;
            None without a maximum payment.
        maximum: the maximum of all payments if all places are taken by the admitted participants
            and by new ones who complete the study; None without a maximum.
        per_participant: the maximum payment for one participant in all visits, or None.
        budget: the study's budget, or None.
    """

    currency: str
    paid: int
    owed: int
    completed: int
    open_places: int | None
    mean: float | None
    low: float | None
    high: float | None
    committed: int | None
    maximum: int | None
    per_participant: int | None
    budget: int | None

    @property
    def expected(self) -> tuple[int, int, int] | None:
        """The expected sum of all payments for all places, and its bounds; None if unknown.

        Without a confidence interval, the bounds equal the expectation.
        """
        if self.mean is None or self.open_places is None:
            return None
        low = self.mean if self.low is None else self.low
        high = self.mean if self.high is None else self.high
        return (self._with_open(self.mean), self._with_open(low), self._with_open(high))

    def _with_open(self, mean: float) -> int:
        return self.paid + self.owed + round((self.open_places or 0) * mean)

    @property
    def exceeds_budget(self) -> bool:
        """Whether the payments could exceed the budget if one more participant is admitted."""
        if self.budget is None or self.committed is None or self.per_participant is None:
            return False
        if self.open_places == 0:
            return False
        return self.committed + self.per_participant > self.budget

    @property
    def is_scarce(self) -> bool:
        """Whether the budget is less than the expected payments for all places."""
        if self.budget is None or self.expected is None or self.open_places == 0:
            return False
        return self.expected[0] > self.budget

    @property
    def warning(self) -> str:
        """A sentence about a budget that does not suffice; empty if it does."""
        budget = f"the budget of {dollars_text(self.budget or 0)} {self.currency}"
        if self.exceeds_budget:
            return f"Recruitment is paused: another participant could exceed {budget}"
        return f"The expected payments for all places exceed {budget}" if self.is_scarce else ""

    @property
    def line(self) -> str:
        """The payments and the forecast as text."""
        parts = [f"{dollars_text(self.paid)} paid, {dollars_text(self.owed)} owed"]
        if self.open_places and self.expected is not None:
            mean, low, high = map(dollars_text, self.expected)
            range_text = f" ({low} to {high})" if self.low is not None else ""
            places = counted(self.open_places, "open place")
            parts.append(f"about {mean}{range_text} in total with {places}")
        if self.maximum is not None:
            parts.append(f"at most {dollars_text(self.maximum)}")
        return f"payments in {self.currency}: {', '.join(parts)}"


def forecast_payments(
    store: Store, study_id: int, protocol: Protocol, places: int | None, maximum: int | None
) -> PaymentForecast:
    """Forecast the payments to participants from those in the store.

    Args:
        places: maximum number of completions, or None.
        maximum: maximum payment for one participant in cents, or None.
    """
    people, payments = schema.participants.c, schema.payments.c
    earned = sa.func.coalesce(sa.func.sum(payments.cents), 0)
    query = (
        sa.select(people.ending, people.visit, earned)
        .join(schema.payments, payments.participant_id == people.id, isouter=True)
        .where(people.study_id == study_id)
        .group_by(people.id)
    )
    balance, visits = balance_of(store, study_id), protocol.limits.visits
    completers: list[int] = []
    active = remaining = 0
    for ending, visit, amount in store.rows(query):
        has_completed = visit > 1 or ending == "complete"
        may_return = ending == "complete" and visit < visits
        completers += [int(amount)] if has_completed else []
        active += ending is None and not has_completed
        if maximum is not None and (ending is None or may_return):
            remaining += max(0, maximum - int(amount))
    committed = None if maximum is None else balance.paid + balance.owed + remaining
    open_places = None if places is None else max(0, places - len(completers))
    liability = None
    if committed is not None and maximum is not None and open_places is not None:
        liability = committed + maximum * max(0, open_places - active)
    mean = fmean(completers) if completers else None
    low, high = _interval(completers)
    budget = None if protocol.pay.budget is None else cents(protocol.pay.budget)
    return PaymentForecast(
        protocol.pay.currency, balance.paid, balance.owed, len(completers), open_places, mean,
        low, high, committed, liability, maximum, budget,
    )  # fmt: skip


def _interval(amounts: list[int]) -> tuple[float | None, float | None]:
    """Return the bounds of the confidence interval of the mean."""
    if len(amounts) < ENOUGH:
        return None, None
    try:
        from scipy.special import stdtrit  # noqa: PLC0415 - an optional extra
    except ImportError:
        return None, None
    quantile = float(stdtrit(len(amounts) - 1, (1 + LEVEL) / 2))
    margin = quantile * stdev(amounts) / sqrt(len(amounts))
    return max(0.0, fmean(amounts) - margin), fmean(amounts) + margin


@reads
def payment_forecast(store: StoreLike, study: StudyLike) -> PaymentForecast | None:
    """Forecast the payments to a stored study's participants; None for other studies.

    Raises:
        StoreError: the store has no such study.
        StudyError: the installed version cannot read the study.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    if not store.study(study, counted=False).spec.get("people"):
        return None
    stored = stored_study(store, study)
    assert stored.people is not None
    planned = plan(stored)
    design = design_of(stored, planned.matches)
    places = stored.people.recruitment.places if design is None else design.places
    games = (block.configuration.game for block in planned.matches.blocks)
    maximum = participant_cents(stored.people, games)
    return forecast_payments(store, store.study_id(study), stored.people, places, maximum)
