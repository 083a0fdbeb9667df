"""The pay rules of a human study: fees, bonuses, paid tasks, random payment and limits."""

from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, field_validator, model_validator

from cheaptalk.records.store.schema import Ending
from cheaptalk.rules import Game, Value
from cheaptalk.rules.errors import LocatedError
from cheaptalk.studies.people.conditions import has_parameters
from cheaptalk.studies.people.page_texts.texts import ADJUSTABLE

EARNING: tuple[Ending, ...] = ("complete", "partner_left", "technical", "timed_out", "withdrawn")
"""Endings after which participants keep their earnings from the visit's games and tasks."""
SHOWN_UP: tuple[Ending, ...] = (*EARNING, "quota_full")
"""Endings after which participants receive the show-up fee, if they gave consent."""
CENT = Decimal("0.01")
Amount: TypeAlias = Annotated[float, Field(ge=0)]
"""An amount in the study's currency."""
Number: TypeAlias = Literal["all"] | Annotated[int, Field(ge=1, le=10_000)]
"""A number of randomly drawn games or rounds, or all of them."""


def cents(dollars: float | Decimal) -> int:
    """Convert an amount to whole cents, rounding half up.

    >>> cents(0.125), cents(0.1), cents(1.005), cents(-0.004)
    (13, 10, 101, 0)
    """
    return int(Decimal(str(dollars)).quantize(CENT, ROUND_HALF_UP) * 100)


class Bonus(Value):
    """A rule that converts a game's result to money; the first matching rule applies.

    Attributes:
        game: name of the game; None for all games.
        treatment: names of treatments of the design; by default, all.
        when: parameter values that the game must have.
        rate: exchange rate: dollars per unit of payoff or, if set, of ``metric``.
        metric: a metric of the game, such as ``surplus_ratio`` or ``self_gain_{seat}``; ``{seat}``
            is replaced with the participant's seat.
        min: minimum in dollars; by default 0, or no minimum with ``offset_losses``.
        max: maximum in dollars; None for no maximum.
        at_zero: dollars for a result of zero or less; by default ``min``.
    """

    game: str | None = None
    treatment: list[str] = Field(default_factory=list)
    when: dict[str, Any] = Field(default_factory=dict)
    rate: float
    metric: str | None = None
    min: Amount | None = None
    max: Amount | None = None
    at_zero: Amount | None = None

    @field_validator("treatment", mode="before")
    @classmethod
    def _listed(cls, data: Any) -> Any:
        return data if isinstance(data, list) else [data]

    def fits(self, game: Game, treatment: str) -> bool:
        """Return whether the bonus rule applies to a game in a treatment."""
        return (
            self.game in (None, game.name)
            and (not self.treatment or treatment in self.treatment)
            and has_parameters(game, self.when)
        )

    def of(self, earned: float, *, losses: bool = False) -> int:
        """Return the bonus for a payoff or metric value, in cents.

        ``losses`` is whether the bonus may be negative.

        >>> Bonus(rate=0.013).of(35), Bonus(rate=1, max=0.3).of(2), Bonus(rate=1, at_zero=1).of(0)
        (46, 30, 100)
        >>> Bonus(rate=0.1).of(-5), Bonus(rate=0.1).of(-5, losses=True)
        (0, -50)
        """
        if earned <= 0 and self.at_zero is not None:
            return cents(self.at_zero)
        dollars = Decimal(str(self.rate)) * Decimal(str(earned))  # in floats 0.013 * 35 < 0.455
        if self.min is not None or not losses:
            dollars = max(dollars, Decimal(str(self.min or 0)))
        return cents(dollars if self.max is None else min(dollars, Decimal(str(self.max))))


class Tasks(Value):
    """Payment for correct answers, each counted in the first attempt.

    Attributes:
        steps: names of the steps with paid answers, such as ``quiz`` or ``comprehension``.
        amount: payment for each correct answer.
        max: maximum for all correct answers of a visit; by default, no maximum.
    """

    steps: list[str] = Field(default_factory=list)
    amount: Annotated[Amount, Field(title="Payment per correct answer")] = 0
    max: Amount | None = Field(None, title="Maximum per visit")

    @model_validator(mode="after")
    def _is_complete(self) -> "Tasks":
        if self.amount and not self.steps:
            raise LocatedError("list the steps with paid answers, such as [quiz]", "steps")
        if self.steps and not self.amount:
            raise LocatedError("set the payment for each correct answer, such as 0.10", "amount")
        return self

    def of(self, correct: int) -> int:
        """Return the payment for a number of correct answers, in cents.

        >>> Tasks(steps=["quiz"], amount=0.25, max=1).of(3)
        75
        """
        total = correct * cents(self.amount)
        return total if self.max is None else min(total, cents(self.max))


class Pay(Value):
    """Payments to participants, in dollars or another currency with cents.

    Attributes:
        currency: the currency code, such as USD.
        points: whether amounts in games are shown as points instead of money; the ``rate`` of a
            bonus converts them.
        show_up: payment for each visit to participants who gave consent, even if their visit ends
            early, unless they were screened out, failed an attention check or were removed.
        base: payment for completing a visit.
        game: payment for each completed game.
        bonus: rules for performance-based payments.
        tasks: payment for correct answers to questions.
        aborted: payment for a game that another player forfeited; by default, ``game`` and the
            bonus.
        paid_games: number of randomly drawn games of a visit that are paid.
        paid_rounds: number of randomly drawn rounds that determine a game's payoff, for games whose
            rounds have payoffs.
        offset_losses: whether negative bonuses reduce the payments for other games of the visit;
            the sum over games is never negative.
        max: maximum of one participant's bonuses over all visits, including all payments except
            ``base`` and ``show_up``; by default, no maximum.
        max_total: maximum of all of one participant's payments over all visits; by default, none.
        min_total: minimum of all payments for a completed visit.
        ended: additional payments by ending; ``timed_out`` is paid to participants who waited in
            vain for others.
        budget: maximum of all participants' payments; before they could exceed it, recruitment
            pauses. By default, no maximum.
    """

    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")] = "USD"
    points: bool = Field(False, title="Show amounts in games as points")
    show_up: Annotated[Amount, Field(title="Show-up fee")] = 0
    base: Annotated[Amount, Field(title="Base payment")] = 0
    game: Annotated[Amount, Field(title="Payment per game")] = 0
    bonus: list[Bonus] = Field(default_factory=list)
    tasks: Annotated[Tasks, Field(title="Paid tasks")] = Tasks()
    aborted: Amount | None = None
    paid_games: Number = "all"
    paid_rounds: Number = "all"
    offset_losses: bool = False
    max: Amount | None = Field(None, title="Maximum bonus")
    max_total: Amount | None = Field(None, title="Maximum total")
    min_total: Annotated[Amount, Field(title="Minimum total")] = 0
    ended: dict[Ending, Amount] = Field(default_factory=dict)
    budget: Annotated[Amount | None, ADJUSTABLE] = None

    @model_validator(mode="before")
    @classmethod
    def _has_no_old_name(cls, data: Any) -> Any:
        if isinstance(data, dict) and "one_game" in data:
            raise LocatedError("one_game was replaced by paid_games; write paid_games: 1")
        return data

    @model_validator(mode="after")
    def _has_consistent_limits(self) -> "Pay":
        if self.max_total is not None:
            fixed = max(self.show_up + self.base, self.min_total)
            if cents(self.max_total) < cents(fixed):
                raise LocatedError(
                    f"must be at least {fixed:.2f}, the fixed payments and the minimum of a "
                    f"completed visit, not {self.max_total:.2f}",
                    "max_total",
                )
        return self

    @property
    def anything(self) -> bool:
        fixed = self.show_up or self.base or self.game or self.min_total
        return bool(fixed or self.bonus or self.tasks.amount or any(self.ended.values()))

    @property
    def drawn(self) -> bool:
        """Whether games or rounds are drawn at random, so that payments are known at the end."""
        return self.paid_games != "all" or self.paid_rounds != "all"
