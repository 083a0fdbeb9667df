"""Array functions of bargaining without messages; see :class:`.Bargaining`."""

from typing import Any

from cheaptalk.arrays.alternating import AlternatingOffers
from cheaptalk.arrays.games import Array, namespace
from cheaptalk.games.bargaining.events import Offer, Reply, SpokenOffer
from cheaptalk.games.bargaining.rules import Bargaining
from cheaptalk.games.extras import needed
from cheaptalk.rules import Action

np = needed("numpy")

ACCEPT = 1


class BargainingArrays(AlternatingOffers[Bargaining]):
    """Bargaining over a sum; an offer is Alice's number of equal parts."""

    answers = ("reject", "accept")

    @staticmethod
    def possible(rules: Bargaining) -> list[bool]:
        return [True, True]

    def paid(self, offer: Array, stage: Array, ended: Array) -> tuple[Array, Array]:
        xp = namespace(offer)
        factors = xp.asarray(
            [[discount**age for age in range(self.rounds)] for discount in self.rules.discounts]
        )
        alice = self.rules.money * offer / self.parts
        gains = (alice, self.rules.money - alice)
        return (
            xp.where(ended == ACCEPT, gains[0] * factors[0][stage], 0.0),
            xp.where(ended == ACCEPT, gains[1] * factors[1][stage], 0.0),
        )

    def answer(self, word: str) -> Action:
        return Reply.model_validate({"decision": word})

    def grid_offer(self, point: int) -> Action:
        alice = self.rules.money * point / self.parts
        gains = {"alice_gain": alice, "bob_gain": self.rules.money - alice}
        return SpokenOffer(**gains, message="") if self.rules.messages else Offer(**gains)

    def grid_point(self, offer: Any) -> int:
        point: int = round(offer.alice_gain / self.rules.money * self.parts)
        return point
