"""Metrics of negotiation (GLEE section 2.2).

p is the price of the trade, M is the scale, V_A and V_B are the product's values to Alice and Bob,
and p_f = (V_A + V_B) / 2 is the fairest price. A metric by stage describes the prices.
"""

from collections.abc import Iterator
from math import inf

from cheaptalk.games.alternating_offers import AlternatingOffers, round_limits
from cheaptalk.games.negotiation.rules import Negotiation, Price, Sale
from cheaptalk.rules import COUNT, SHARE, Given, Instance, Metric, Point, Result, Series


def agreement(result: Result) -> float:
    """1 if the product was sold, else 0."""
    return float(result.outcome.price is not None)


def self_gain_alice(result: Result) -> float:
    """The seller's gain, price minus value, as a multiple of the scale M; 0 without a trade."""
    return float(result.game.payoffs(result.outcome)["alice"] / result.game.scale)


def self_gain_bob(result: Result) -> float:
    """The buyer's gain, value minus price, as a multiple of the scale M; 0 without a trade."""
    return float(result.game.payoffs(result.outcome)["bob"] / result.game.scale)


def efficiency(result: Result) -> float:
    """1 if the player with the higher value ends up with the product, else 0 (GLEE section 2.2).

    If both values are equal, efficiency is always 1.
    """
    game: Negotiation = result.game
    if game.seller_factor == game.buyer_factor:
        return 1.0
    return float((result.outcome.price is not None) == (game.seller_factor < game.buyer_factor))


def fairness(result: Result) -> float:
    """Fairness of the price, 1 - 4 * ((p - p_f) / M) ** 2; 1 without a trade (GLEE section 2.2).

    Fairness is negative if the price differs from the fairest price by more than half the scale.
    """
    game: Negotiation = result.game
    outcome: Sale = result.outcome
    if outcome.price is None:
        return 1.0
    fairest = (game.seller_factor + game.buyer_factor) / 2
    return 1 - 4 * (outcome.price / game.scale - fairest) ** 2


def published_fairness(result: Result) -> float:
    """Fairness in GLEE's released analysis, which clips it to [0, 1]."""
    return max(0.0, fairness(result))


def price_factor(result: Result) -> float | None:
    """The price of the trade as a multiple of the scale M; None without a trade."""
    outcome: Sale = result.outcome
    return None if outcome.price is None else outcome.price / float(result.game.scale)


def rounds_played(result: Result) -> float:
    """The stage in which the negotiation ended."""
    return float(result.outcome.stage)


METRICS = (
    Metric("agreement", agreement, unit="share of matches", bounds=SHARE),
    Metric("self_gain_alice", self_gain_alice, role="alice", unit="multiples of the scale"),
    Metric("self_gain_bob", self_gain_bob, role="bob", unit="multiples of the scale"),
    Metric("efficiency", efficiency, unit="share of matches", bounds=SHARE),
    Metric("fairness", fairness, published_fairness, "1 at the fairest price", (-inf, 1.0)),
    Metric("price_factor", price_factor, unit="multiples of the scale", bounds=COUNT),
    Metric("rounds_played", rounds_played, unit="rounds", bounds=COUNT, limits=round_limits),
)


def offered_price_factor(result: Result) -> Iterator[Point]:
    """Each price that a player names, as a multiple of the scale M, by stage."""
    for request, seat, action in result.moves(Price):
        yield Point(request // 2 + 1, seat, action.price / result.game.scale)


SERIES = (
    Series(
        "offered_price_factor", offered_price_factor, unit="multiples of the scale", bounds=COUNT
    ),
)


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
