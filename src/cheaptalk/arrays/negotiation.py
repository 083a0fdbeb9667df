"""Negotiation of a price as array functions, without words; see :class:`.Negotiation`."""

from typing import Any

from cheaptalk.arrays.alternating import AlternatingOffers
from cheaptalk.arrays.games import Array, namespace
from cheaptalk.games.extras import needed
from cheaptalk.games.negotiation.events import Price, Reply, ReplyOrJohn, SpokenPrice
from cheaptalk.games.negotiation.rules import Negotiation
from cheaptalk.rules import Action

np = needed("numpy")

ACCEPT = 1
TOP = 2.0
"""The highest price of the grid, in multiples of the greater of both values: no more is worth it to
anybody. A price that somebody else names above it is seen as this one."""


class NegotiationArrays(AlternatingOffers[Negotiation]):
    """Negotiation of a price, many matches at once; prices lie on a grid from 0."""

    answers = ("reject", "accept", "john")

    def __init__(self, rules: Negotiation, parts: int = 100) -> None:
        super().__init__(rules, parts)
        values = (rules.value("alice"), rules.value("bob"))
        self.values = values
        self.top = min(TOP * max(values), rules.scale * rules.price_limit)

    @staticmethod
    def possible(rules: Negotiation) -> list[bool]:
        return [True, True, rules.outside_option]

    def paid(self, offer: Array, stage: Array, ended: Array) -> tuple[Array, Array]:
        xp = namespace(offer)
        price, (seller, buyer) = self.top * offer / self.parts, self.values
        return (
            xp.where(ended == ACCEPT, price - seller, 0.0),
            xp.where(ended == ACCEPT, buyer - price, 0.0),
        )

    def answer_of(self, word: str) -> Action:
        to = ReplyOrJohn if self.rules.outside_option or word == "john" else Reply
        return to.model_validate({"decision": word})

    def offer_of(self, place: int) -> Action:
        price = self.top * place / self.parts
        return SpokenPrice(price=price, message="") if self.rules.messages else Price(price=price)

    def place_of(self, made: Any) -> int:
        place: int = round(made.price / self.top * self.parts)
        return min(place, self.parts)
