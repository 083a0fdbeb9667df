"""Negotiation without messages as an array game, which plays many matches at once."""

from typing import Any

from cheaptalk.arrays.alternating import AlternatingOffers
from cheaptalk.arrays.games import Array, namespace
from cheaptalk.games.extras import needed
from cheaptalk.games.negotiation.rules import Negotiation, Price, Reply, ReplyOrJohn, SpokenPrice
from cheaptalk.rules import Action

np = needed("numpy")

ACCEPT = 1
TOP = 2.0
"""Maximum price of the grid, as a multiple of the greater of the two values; higher prices are
clipped."""


class NegotiationArrays(AlternatingOffers[Negotiation]):
    """Negotiation of a price on a grid that begins at 0."""

    answers = ("reject", "accept", "john")

    def __init__(self, rules: Negotiation, parts: int = 100) -> None:
        super().__init__(rules, parts)
        self.replies = [True, True, rules.outside_option]
        self.values = (rules.value("alice"), rules.value("bob"))
        self.top = min(TOP * max(self.values), rules.scale * rules.price_limit)

    def paid(self, offer: Array, stage: Array, ended: Array) -> tuple[Array, Array]:
        xp = namespace(offer)
        price, (seller, buyer) = self.top * offer / self.parts, self.values
        return (
            xp.where(ended == ACCEPT, price - seller, 0.0),
            xp.where(ended == ACCEPT, buyer - price, 0.0),
        )

    def answer(self, word: str) -> Action:
        reply_type = ReplyOrJohn if self.rules.outside_option or word == "john" else Reply
        return reply_type.model_validate({"decision": word})

    def grid_offer(self, point: int) -> Action:
        price = self.top * point / self.parts
        return SpokenPrice(price=price, message="") if self.rules.messages else Price(price=price)

    def grid_point(self, offer: Any) -> int:
        point: int = round(offer.price / self.top * self.parts)
        return min(point, self.parts)
