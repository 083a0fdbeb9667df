"""The assessment of negotiation: a player's gain at each price, and its value as a secret."""

from cheaptalk.games.alternating_offers import AlternatingOffers
from cheaptalk.games.negotiation.events import Price
from cheaptalk.games.negotiation.rules import Negotiation
from cheaptalk.rules import Given, Instance, Result


class NegotiationAssessment(AlternatingOffers):
    """The assessment of negotiation."""

    def attainable(self, game: Negotiation, instance: Instance, seat: str) -> float:
        """Return the entire gain from trade."""
        return game.value("bob") - game.value("alice")

    def offered(self, result: Result, seat: str, answer: Given) -> float | None:
        if not isinstance(answer.action, Price):
            return None
        price, value = answer.action.price, float(result.game.value(seat))
        return price - value if seat == "alice" else value - price

    def private_numbers(self, game: Negotiation, instance: Instance, seat: str) -> frozenset[float]:
        """Return the product's private value to a seat."""
        hidden = game.messages and not game.complete_information
        return frozenset({game.value(seat)} if hidden else ())
