"""Take it or leave it, about a sum that only one of the two knows."""

from collections.abc import Iterator
from typing import Annotated, Literal

import cheaptalk as ct
from pydantic import Field

Sum = Annotated[float, Field(gt=0, le=1e12)]


class Offer(ct.Action):
    """What the responder shall get, with a message."""

    amount: ct.Money
    message: ct.Message


class Reply(ct.Action):
    """Take it or leave it."""

    decision: Literal["accept", "reject"]


class Briefing(ct.Event):
    """What a seat knows at the start; ``pie`` is None for the responder."""

    pies: tuple[float, ...]
    pie: float | None


class Turn(ct.Event):
    """It is the proposer's turn."""


class OfferMade(ct.Event):
    """The responder hears the offer."""

    amount: float
    message: str


class Over(ct.Event):
    """The game is over for this seat, which gets this payoff."""

    accepted: bool
    payoff: float


class Hidden(ct.Deal):
    """The sum there is to divide, in dollars."""

    pie: float


class Division(ct.Outcome):
    """The sum, what was offered of it, and whether the offer was accepted."""

    pie: float
    amount: float
    accepted: bool


class Ultimatum(ct.Game):
    """One offer, take it or leave it, where only the proposer knows the sum.

    The proposer offers an amount and sends a message with it. If the responder accepts, the
    proposer keeps the rest; if not, both get nothing (Gueth, Schmittberger and Schwarze 1982;
    with a sum that the responder does not know, Mitzkewitz and Nagel 1993).
    """

    name = "ultimatum"
    payoff_unit = "dollars"
    roles = ("proposer", "responder")
    events = (Briefing, Turn, OfferMade, Over)
    actions = (Offer, Reply)
    deal_type = Hidden
    outcome_type = Division

    pies: tuple[Sum, ...] = Field(default=(10, 20, 40), min_length=1)
    """The sums that there may be to divide, in dollars, each equally likely."""

    def deal(self, chance: ct.Chance) -> Hidden:
        return Hidden(pie=chance("pie").pick(self.pies))

    def play(self, deal: Hidden, chance: ct.Chance) -> ct.Play[Division]:
        def objection(offer: Offer) -> str | None:
            legal = 0 <= offer.amount <= deal.pie
            return None if legal else f"the amount must lie between 0 and {deal.pie:,.15g}"

        yield ct.Tell("proposer", Briefing(self.pies, deal.pie))
        yield ct.Tell("responder", Briefing(self.pies, None))
        offer: Offer = yield ct.Ask("proposer", Offer, Turn(), objection)
        reply: Reply = yield ct.Ask("responder", Reply, OfferMade(offer.amount, offer.message))
        accepted = reply.decision == "accept"
        outcome = Division(pie=deal.pie, amount=offer.amount, accepted=accepted)
        for seat, payoff in self.payoffs(outcome).items():
            yield ct.Tell(seat, Over(accepted, payoff))
        return outcome

    def payoffs(self, outcome: Division) -> dict[str, float]:
        """Dollars: the rest to the proposer, the amount to the responder; 0 and 0 if rejected."""
        if not outcome.accepted:
            return {"proposer": 0.0, "responder": 0.0}
        return {"proposer": outcome.pie - outcome.amount, "responder": outcome.amount}

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        return dict.fromkeys(self.roles, (0.0, max(self.pies)))

    def secrets(self, deal: Hidden) -> Iterator[ct.Secret]:
        """The sum, which the proposer alone knows."""
        yield ct.Secret(frozenset({"proposer"}), self, Hidden(pie=2 * deal.pie))
