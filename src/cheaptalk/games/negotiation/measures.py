"""Measures of negotiation (GLEE section 2.2).

With p the price of the trade, M the scale, V_A and V_B what the product is worth to Alice and to
Bob, and p_f = (V_A + V_B) / 2 the fairest price. A series by stage gives the prices named.
"""

from collections.abc import Iterator
from math import inf

from cheaptalk.games.negotiation.events import Price
from cheaptalk.games.negotiation.rules import Negotiation, Sale
from cheaptalk.rules import COUNT, SHARE, Measure, Point, Result, Series


def agreement(result: Result) -> float:
    """1 if the product was sold, else 0."""
    return float(result.outcome.price is not None)


def alice_gain(result: Result) -> float:
    """The seller's payoff in multiples of the scale: (p - V_A) / M; 0 without a trade."""
    game: Negotiation = result.game
    return game.payoffs(result.outcome)["alice"] / game.scale


def bob_gain(result: Result) -> float:
    """The buyer's payoff in multiples of the scale: (V_B - p) / M; 0 without a trade."""
    game: Negotiation = result.game
    return game.payoffs(result.outcome)["bob"] / game.scale


def efficiency(result: Result) -> float:
    """1 if the product ends with whom it is worth more to, else 0 (GLEE section 2.2).

    That is 1 if V_A >= V_B and there is no trade, or V_A <= V_B and there is one; so it is 1
    either way when both values are the same.
    """
    game: Negotiation = result.game
    if game.seller_factor == game.buyer_factor:
        return 1.0
    return float((result.outcome.price is not None) == (game.seller_factor < game.buyer_factor))


def fairness(result: Result) -> float:
    """1 - 4 * ((p - p_f) / M) ** 2, at most 1; 1 without a trade (GLEE section 2.2).

    Not clipped: a price more than half the scale away from the fairest one makes it negative.
    """
    game: Negotiation = result.game
    outcome: Sale = result.outcome
    if outcome.price is None:
        return 1.0
    fairest = (game.seller_factor + game.buyer_factor) / 2
    return 1 - 4 * (outcome.price / game.scale - fairest) ** 2


def published_fairness(result: Result) -> float:
    """As GLEE's released analysis has it: clipped to [0, 1]."""
    return max(0.0, fairness(result))


def price(result: Result) -> float | None:
    """The price in multiples of the scale, p / M; None without a trade."""
    outcome: Sale = result.outcome
    return None if outcome.price is None else outcome.price / float(result.game.scale)


def rounds(result: Result) -> float:
    """The stage in which the negotiation ended."""
    return float(result.outcome.stage)


def _stages(game: Negotiation) -> tuple[float, float]:
    return 1.0, float(game.horizon.rounds)


MEASURES = (
    Measure("agreement", agreement, unit="share of matches", bounds=SHARE),
    Measure(
        "alice_gain",
        alice_gain,
        role="alice",
        unit="multiples of the scale",
    ),
    Measure(
        "bob_gain",
        bob_gain,
        role="bob",
        unit="multiples of the scale",
    ),
    Measure("efficiency", efficiency, unit="share of matches", bounds=SHARE),
    Measure(
        "fairness",
        fairness,
        published_fairness,
        unit="1 is even",
        bounds=(-inf, 1.0),
    ),
    Measure("price", price, unit="multiples of the scale", bounds=COUNT),
    Measure("rounds", rounds, unit="rounds", bounds=COUNT, limits=_stages),
)


def offered_price(result: Result) -> Iterator[Point]:
    """The price that a player names, in multiples of the scale, by stage.

    Alice, who sells, concedes by naming less, and Bob by naming more.
    """
    for request, seat, action in result.given():
        if isinstance(action, Price):
            yield Point(request // 2 + 1, seat, action.price / result.game.scale)


SERIES = (Series("offered_price", offered_price, unit="multiples of the scale", bounds=COUNT),)
