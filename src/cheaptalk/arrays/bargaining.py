"""Bargaining over a sum as array functions, without words; see :class:`.Bargaining`."""

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
    """Bargaining over a sum, many matches at once; an offer is what Alice gets, in whole parts."""

    answers = ("reject", "accept")

    @staticmethod
    def possible(rules: Bargaining) -> list[bool]:
        return [True, True]

    def paid(self, offer: Array, stage: Array, ended: Array) -> tuple[Array, Array]:
        xp = namespace(offer)
        kept = xp.asarray(
            [[one**age for age in range(self.rounds)] for one in self.rules.discounts]
        )
        alice = self.rules.money * offer / self.parts
        gains = (alice, self.rules.money - alice)
        return (
            xp.where(ended == ACCEPT, gains[0] * kept[0][stage], 0.0),
            xp.where(ended == ACCEPT, gains[1] * kept[1][stage], 0.0),
        )

    def answer_of(self, word: str) -> Action:
        return Reply.model_validate({"decision": word})

    def offer_of(self, place: int) -> Action:
        alice = self.rules.money * place / self.parts
        gains = {"alice_gain": alice, "bob_gain": self.rules.money - alice}
        return SpokenOffer(**gains, message="") if self.rules.messages else Offer(**gains)

    def place_of(self, made: Any) -> int:
        place: int = round(made.alice_gain / self.rules.money * self.parts)
        return place
