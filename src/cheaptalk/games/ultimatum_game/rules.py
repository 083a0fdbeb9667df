"""The ultimatum game, with the strategy method: the responder states a minimum in advance."""

from typing import Literal

from pydantic import Field

import cheaptalk as ct
from cheaptalk.games.rounds import range_checks
from cheaptalk.rules import Whole


class Offer(ct.Action):
    """The points for the responder."""

    offer: Whole


class MinimumOffer(ct.Action):
    """The smallest offer that the responder accepts, stated before the offer is known."""

    minimum_offer: Whole


class Reply(ct.Action):
    """Accept or reject the offer."""

    decision: Literal["accept", "reject"]


class Briefing(ct.Event):
    """Information for a player at the start."""

    pie: int
    strategy_method: bool


class Turn(ct.Event):
    """A request for the proposer's offer, or for the responder's minimum."""

    pie: int


class OfferMade(ct.Event):
    """The offer that the responder accepts or rejects, without the strategy method."""

    pie: int
    offer: int


class Over(ct.Event):
    """The result of the game; ``minimum_offer`` is None without the strategy method."""

    pie: int
    offer: int
    minimum_offer: int | None
    accepted: bool
    payoff: float


class Division(ct.Outcome):
    """The offer, the responder's minimum under the strategy method, and whether it is accepted."""

    offer: int
    minimum_offer: int | None
    accepted: bool


class UltimatumGame(ct.Game):
    """A take-it-or-leave-it offer about a sum (Güth, Schmittberger and Schwarze 1982).

    The proposer offers the responder a part of the sum and keeps the rest. If the responder rejects
    the offer, both get nothing. With the strategy method (Selten 1967; Mitzkewitz and Nagel 1993),
    the responder states the smallest acceptable offer before the offer is known. Larger offers are
    accepted, smaller ones rejected.

    In a subgame-perfect equilibrium, the responder accepts every positive offer, and the proposer
    offers at most one point.
    """

    name = "ultimatum_game"
    payoff_unit = "points"
    roles = ("proposer", "responder")
    events = (Briefing, Turn, OfferMade, Over)
    actions = (Offer, MinimumOffer, Reply)
    outcome_type = Division

    pie: int = Field(default=100, ge=2, le=10**9, strict=True)
    """The sum to divide, in points."""
    strategy_method: bool = True
    """Whether the responder states the smallest acceptable offer in advance. If not, the responder
    accepts or rejects the offer itself."""

    def play(self, instance: ct.Instance, chance: ct.Chance) -> ct.Play[Division]:
        for seat in self.seats:
            yield ct.Tell(seat, Briefing(self.pie, self.strategy_method))
        limits = (0, self.pie)
        propose = ct.Ask("proposer", Offer, Turn(self.pie), *range_checks(Offer, limits))
        if self.strategy_method:
            checks = range_checks(MinimumOffer, limits)
            state = ct.Ask("responder", MinimumOffer, Turn(self.pie), *checks)
            answers = yield (propose, state)
            offer, minimum = answers["proposer"].offer, answers["responder"].minimum_offer
            accepted = offer >= minimum
        else:
            offer, minimum = (yield propose).offer, None
            reply: Reply = yield ct.Ask("responder", Reply, OfferMade(self.pie, offer))
            accepted = reply.decision == "accept"
        outcome = Division(offer=offer, minimum_offer=minimum, accepted=accepted)
        for seat, payoff in self.payoffs(outcome).items():
            yield ct.Tell(seat, Over(self.pie, offer, minimum, accepted, payoff))
        return outcome

    def payoffs(self, outcome: Division) -> dict[str, float]:
        """Return the points: the responder gets an accepted offer, and the proposer the rest."""
        responder = outcome.offer if outcome.accepted else 0
        proposer = self.pie - outcome.offer if outcome.accepted else 0
        return {"proposer": float(proposer), "responder": float(responder)}

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        return dict.fromkeys(self.roles, (0.0, float(self.pie)))
