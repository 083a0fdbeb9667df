"""The assessment of bargaining: a player's share of each offer, and its discount as a secret."""

from cheaptalk.games.alternating_offers import AlternatingOffers
from cheaptalk.games.bargaining.events import Offer
from cheaptalk.games.bargaining.rules import Bargaining
from cheaptalk.rules import Given, Instance, Result


class BargainingAssessment(AlternatingOffers):
    """The assessment of bargaining."""

    waiting_costs = True

    def discount(self, game: Bargaining, seat: str) -> float:
        return game.discounts[game.roles.index(seat)]

    def offered(self, result: Result, seat: str, answer: Given) -> float | None:
        if not isinstance(answer.action, Offer):
            return None
        return answer.action.alice_gain if seat == "alice" else answer.action.bob_gain

    def private_numbers(self, game: Bargaining, instance: Instance, seat: str) -> frozenset[float]:
        """Return a private discount, as a factor and as a percentage kept or lost."""
        if game.complete_information or not game.messages:
            return frozenset()
        discount = self.discount(game, seat)
        return frozenset((discount, 100 * discount, 100 * (1 - discount)))
