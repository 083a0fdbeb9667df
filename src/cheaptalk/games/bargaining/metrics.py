"""Metrics of bargaining, in which amounts are shares of the money (GLEE section 2.1).

Metrics by stage describe the proposed divisions, as undiscounted shares of the money.
"""

from collections.abc import Iterator

from cheaptalk.games.alternating_offers import AlternatingOffers, round_limits
from cheaptalk.games.bargaining.rules import Bargaining, Division, Offer
from cheaptalk.rules import COUNT, SHARE, Given, Instance, Metric, Point, Result, Series


def self_gain_alice(result: Result) -> float:
    """Alice's share of the money times her discount ** (stage - 1); 0 without an agreement."""
    return float(result.game.payoffs(result.outcome)["alice"] / result.game.money)


def self_gain_bob(result: Result) -> float:
    """Bob's share of the money times his discount ** (stage - 1); 0 without an agreement."""
    return float(result.game.payoffs(result.outcome)["bob"] / result.game.money)


def agreement(result: Result) -> float:
    """1 if an offer was accepted, else 0."""
    return float(result.outcome.stage is not None)


def efficiency(result: Result) -> float:
    """The sum of discounted shares of the money; 0 without an agreement (GLEE section 2.1)."""
    return self_gain_alice(result) + self_gain_bob(result)


def fairness(result: Result) -> float:
    """1 - 4 * (Alice's undiscounted share of the money - 1/2) ** 2; 1 without an agreement.

    Source: GLEE section 2.1.
    """
    game: Bargaining = result.game
    outcome: Division = result.outcome
    if outcome.alice_gain is None:
        return 1.0
    return 1 - 4 * (outcome.alice_gain / game.money - 0.5) ** 2


def rounds_played(result: Result) -> float:
    """The stage of the agreement, or the last stage if there is no agreement."""
    stage: int | None = result.outcome.stage
    return float(stage if stage is not None else result.game.horizon.rounds)


def published_self_gain_bob(result: Result) -> float:
    """Bob's self-gain in GLEE's code: his discount ** (last stage - 1) without an agreement."""
    game: Bargaining = result.game
    if result.outcome.stage is None:
        return game.discounts[1] ** (game.horizon.rounds - 1)
    return self_gain_bob(result)


def published_efficiency(result: Result) -> float:
    """Efficiency in GLEE's released code: the sum of both self-gains in that code."""
    return self_gain_alice(result) + published_self_gain_bob(result)


def published_fairness(result: Result) -> float:
    """Fairness as in GLEE's released code: 0 without an agreement."""
    return 0.0 if result.outcome.stage is None else fairness(result)


MONEY = "share of the money"
METRICS = (
    Metric("agreement", agreement, unit="share of matches", bounds=SHARE),
    Metric("self_gain_alice", self_gain_alice, None, MONEY, SHARE, role="alice"),
    Metric("self_gain_bob", self_gain_bob, published_self_gain_bob, MONEY, SHARE, role="bob"),
    Metric("efficiency", efficiency, published_efficiency, MONEY, SHARE),
    Metric("fairness", fairness, published_fairness, unit="1 for an even split", bounds=SHARE),
    Metric("rounds_played", rounds_played, unit="rounds", bounds=COUNT, limits=round_limits),
)


def demand(result: Result) -> Iterator[Point]:
    """The share of the money that the proposer would keep, by stage, in [0, 1]."""
    for request, seat, action in result.moves(Offer):
        demanded = action.alice_gain if seat == "alice" else action.bob_gain
        yield Point(request // 2 + 1, seat, demanded / result.game.money)


def share_alice(result: Result) -> Iterator[Point]:
    """The share of the money that a proposal gives to Alice, by stage, in [0, 1]."""
    for request, seat, action in result.moves(Offer):
        yield Point(request // 2 + 1, seat, action.alice_gain / result.game.money)


SERIES = (
    Series("demand", demand, unit=MONEY, bounds=SHARE),
    Series("share_alice", share_alice, unit=MONEY, bounds=SHARE),
)


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
