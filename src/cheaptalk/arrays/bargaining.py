"""Bargaining without messages as an array game, which plays many matches at once."""

from typing import Any

from cheaptalk.arrays.alternating import AlternatingOffers
from cheaptalk.arrays.games import Array, namespace
from cheaptalk.games.bargaining.rules import Bargaining, Offer, Reply, SpokenOffer
from cheaptalk.games.extras import needed
from cheaptalk.rules import Action

np = needed("numpy")

ACCEPT = 1


class BargainingArrays(AlternatingOffers[Bargaining]):
    """Bargaining in which an offer is the number of equal parts of the sum that Alice receives."""

    answers = ("reject", "accept")

    def paid(self, offer: Array, stage: Array, ended: Array) -> tuple[Array, Array]:
        xp = namespace(offer)
        alice = self.rules.money * offer / self.parts
        payoffs = []
        for discount, gain in zip(
            self.rules.discounts, (alice, self.rules.money - alice), strict=True
        ):
            factors = xp.asarray([discount**age for age in range(self.rounds)])
            payoffs.append(xp.where(ended == ACCEPT, gain * factors[stage], 0.0))
        return payoffs[0], payoffs[1]

    def answer(self, word: str) -> Action:
        return Reply.model_validate({"decision": word})

    def grid_offer(self, point: int) -> Action:
        alice = self.rules.money * point / self.parts
        gains = {"alice_gain": alice, "bob_gain": self.rules.money - alice}
        return SpokenOffer(**gains, message="") if self.rules.messages else Offer(**gains)

    def grid_point(self, offer: Any) -> int:
        point: int = round(offer.alice_gain / self.rules.money * self.parts)
        return point
