"""Bargaining: alternating offers over a sum of money that shrinks."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

import cheaptalk as ct
from cheaptalk.rules import alternative, between


class Offer(ct.Action):
    """A division of the money."""

    alice_gain: ct.Money
    bob_gain: ct.Money


class SpokenOffer(Offer):
    """A division of the money with a message."""

    message: ct.Message


class Reply(ct.Action):
    """The answer to an offer."""

    decision: Literal["accept", "reject"]


class Briefing(ct.Event):
    """Information that a player receives at the start of the match; unknown values are None."""

    seat: str
    rival: str
    money: float
    discount: float
    rival_discount: float | None
    rounds: int | None
    messages: bool


class Turn(ct.Event):
    """A request to propose a division; ``worth`` is the current worth of a dollar to the player."""

    stage: int
    money: float
    last: bool
    worth: float | None
    rival_worth: float | None


class OfferMade(ct.Event):
    """A division proposed by the rival."""

    stage: int
    proposer: str
    alice_gain: float
    bob_gain: float
    message: str | None
    last: bool
    worth: float | None
    rival_worth: float | None


class OfferRejected(ct.Event):
    """The rival's rejection of the player's offer."""

    stage: int


class Agreement(ct.Event):
    """The acceptance of an offer; ``payoff`` is the discounted worth of the player's share."""

    stage: int
    alice_gain: float
    bob_gain: float
    payoff: float


class NoAgreement(ct.Event):
    """The end of the match without an agreement; both payoffs are 0."""


Discount = Annotated[float, Field(gt=0, le=1)]
RIVALS = {"alice": "bob", "bob": "alice"}


class Division(ct.Outcome):
    """The stage of the agreement and the undiscounted gains; all None without an agreement."""

    stage: int | None = None
    alice_gain: float | None = None
    bob_gain: float | None = None


class Bargaining(ct.Game):
    """Alternating offers over a sum of money that shrinks (Rubinstein 1982; GLEE section 2.1).

    In odd stages Alice proposes a division and Bob accepts or rejects it; in even stages the roles
    are reversed. A share accepted in stage t is worth ``discount ** (t - 1)`` of its amount.
    Without an agreement both get nothing.
    """

    name = "bargaining"
    payoff_unit = "dollars"
    roles = ("alice", "bob")
    events = (Briefing, Turn, OfferMade, OfferRejected, Agreement, NoAgreement)
    actions = (Offer, SpokenOffer, Reply)
    outcome_type = Division

    money: float = Field(default=10_000, gt=0, le=1e12)
    """The sum to divide, in dollars."""
    discounts: tuple[Discount, Discount] = (0.9, 0.9)
    """The factor by which a dollar's worth shrinks per stage, for Alice and for Bob."""
    horizon: ct.rules.HorizonLike = ct.rules.Horizon.of(12)
    """The maximum number of rounds, and whether the players know it."""
    complete_information: bool = True
    """Whether each player knows the other's discount."""
    messages: bool = True
    """Whether a proposer can send a message with the offer."""
    reminders: bool = True
    """Whether players are reminded each turn of a dollar's current worth."""

    def play(self, instance: ct.Instance, chance: ct.Chance) -> ct.Play[Division]:
        for seat in self.roles:
            yield ct.Tell(seat, self._briefing(seat))
        offer_type = SpokenOffer if self.messages else Offer
        for stage in range(1, self.horizon.rounds + 1):
            proposer, responder = self.roles if stage % 2 else self.roles[::-1]
            last = stage == self.horizon.told
            turn = Turn(stage, self.money, last, *self._worth(proposer, stage))
            offer: Offer = yield ct.Ask(
                proposer, offer_type, turn, self._objection, self._divisions
            )
            gains = offer.alice_gain, offer.bob_gain
            message = offer.message if isinstance(offer, SpokenOffer) else None
            worth = self._worth(responder, stage)
            offer_made = OfferMade(stage, proposer, *gains, message, last, *worth)
            reply: Reply = yield ct.Ask(responder, Reply, offer_made)
            if reply.decision == "accept":
                division = Division.unchecked(stage=stage, alice_gain=gains[0], bob_gain=gains[1])
                for seat, payoff in self.payoffs(division).items():
                    yield ct.Tell(seat, Agreement(stage, *gains, payoff))
                return division
            yield ct.Tell(proposer, OfferRejected(stage))
        yield ct.Tell(self.roles, NoAgreement())
        return Division()

    def _briefing(self, seat: str) -> Briefing:
        rival = RIVALS[seat]
        rival_discount = self._discount(rival) if self.complete_information else None
        return Briefing(
            seat,
            rival,
            self.money,
            self._discount(seat),
            rival_discount,
            self.horizon.told,
            self.messages,
        )

    def _discount(self, seat: str) -> float:
        return self.discounts[self.roles.index(seat)]

    def _worth(self, seat: str, stage: int) -> tuple[float | None, float | None]:
        """Return a dollar's current worth to this seat and, if the seat knows it, to the rival."""
        if not self.reminders or stage == 1:
            return None, None
        worth, rival = (self._discount(name) ** (stage - 1) for name in (seat, RIVALS[seat]))
        return worth, rival if self.complete_information else None

    def _objection(self, offer: Offer) -> str | None:
        if offer.alice_gain < 0 or offer.bob_gain < 0:
            return "no part of a division can be negative"
        if abs(offer.alice_gain + offer.bob_gain - self.money) > 1e-9 * self.money:
            total = offer.alice_gain + offer.bob_gain
            return f"the two parts must add up to {self.money:,.15g}, not {total:,.15g}"
        return None

    def _divisions(self) -> list[ct.rules.Schema]:
        part = between(0, self.money)
        return [alternative(alice_gain=part, bob_gain=part, total=self.money)]

    def payoffs(self, outcome: Division) -> dict[str, float]:
        """Each player's dollars, discounted by the stage of agreement; 0 without an agreement."""
        if outcome.stage is None or outcome.alice_gain is None or outcome.bob_gain is None:
            return {"alice": 0.0, "bob": 0.0}
        age = outcome.stage - 1
        return {
            "alice": outcome.alice_gain * self.discounts[0] ** age,
            "bob": outcome.bob_gain * self.discounts[1] ** age,
        }

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        return dict.fromkeys(self.roles, (0.0, self.money))

    def secrets(self, instance: ct.Instance) -> Iterator[ct.rules.Secret]:
        if self.complete_information:
            return
        for index, owner in enumerate(self.roles):
            changed = list(self.discounts)
            changed[index] = 0.5 if changed[index] != 0.5 else 0.7
            game = self.model_copy(update={"discounts": tuple(changed)})
            yield ct.rules.Secret(frozenset({owner}), game, instance)
