"""An ultimatum game about a sum that only the proposer knows."""

from collections.abc import Iterator
from typing import Annotated, Literal

import cheaptalk as ct
from pydantic import Field

Sum = Annotated[float, Field(gt=0, le=1e12)]


class Offer(ct.Action):
    """The amount for the responder, with a message."""

    amount: ct.Money
    message: ct.Message


class Reply(ct.Action):
    """Accept or reject the offer."""

    decision: Literal["accept", "reject"]


class Briefing(ct.Event):
    """An actor's initial information; ``pie`` is None for the responder."""

    pies: tuple[float, ...]
    pie: float | None


class Turn(ct.Event):
    """It is the proposer's turn."""


class OfferMade(ct.Event):
    """The responder observes the offer."""

    amount: float
    message: str


class Over(ct.Event):
    """The game is over; the actor gets this payoff."""

    accepted: bool
    payoff: float


class Hidden(ct.Instance):
    """The sum to divide, in dollars."""

    pie: float


class Division(ct.Outcome):
    """The sum, the offered amount, and whether the offer was accepted."""

    pie: float
    amount: float
    accepted: bool


class Ultimatum(ct.Game):
    """A single take-it-or-leave-it offer about a sum that only the proposer knows.

    The proposer offers an amount and sends a message with it. If the responder accepts, the
    proposer keeps the rest; if not, both get nothing (Gueth, Schmittberger and Schwarze 1982;
    with a sum that the responder does not know, Mitzkewitz and Nagel 1993).
    """

    name = "ultimatum"
    payoff_unit = "dollars"
    roles = ("proposer", "responder")
    events = (Briefing, Turn, OfferMade, Over)
    actions = (Offer, Reply)
    instance_type = Hidden
    outcome_type = Division

    pies: tuple[Sum, ...] = Field(default=(10, 20, 40), min_length=1)
    """The possible sums, in dollars, each equally likely."""

    def draw_instance(self, chance: ct.Chance) -> Hidden:
        return Hidden(pie=chance("pie").pick(self.pies))

    def play(self, instance: Hidden, chance: ct.Chance) -> ct.Play[Division]:
        def objection(offer: Offer) -> str | None:
            legal = 0 <= offer.amount <= instance.pie
            return None if legal else f"the amount must lie between 0 and {instance.pie:,.15g}"

        def offers() -> list[ct.rules.Schema]:
            return [ct.rules.alternative(amount=ct.rules.between(0, instance.pie))]

        yield ct.Tell("proposer", Briefing(self.pies, instance.pie))
        yield ct.Tell("responder", Briefing(self.pies, None))
        offer: Offer = yield ct.Ask("proposer", Offer, Turn(), objection, offers)
        reply: Reply = yield ct.Ask("responder", Reply, OfferMade(offer.amount, offer.message))
        accepted = reply.decision == "accept"
        outcome = Division(pie=instance.pie, amount=offer.amount, accepted=accepted)
        for seat, payoff in self.payoffs(outcome).items():
            yield ct.Tell(seat, Over(accepted, payoff))
        return outcome

    def payoffs(self, outcome: Division) -> dict[str, float]:
        """Return dollars: the proposer gets the rest, the responder the amount; 0 if rejected."""
        if not outcome.accepted:
            return {"proposer": 0.0, "responder": 0.0}
        return {"proposer": outcome.pie - outcome.amount, "responder": outcome.amount}

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        return dict.fromkeys(self.roles, (0.0, max(self.pies)))

    def secrets(self, instance: Hidden) -> Iterator[ct.rules.Secret]:
        """Yield another sum, which only the proposer knows."""
        yield ct.rules.Secret(frozenset({"proposer"}), self, Hidden(pie=2 * instance.pie))
