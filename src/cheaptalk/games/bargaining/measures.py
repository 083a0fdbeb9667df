"""Measures of bargaining (GLEE section 2.1), each in [0, 1] and in shares of the money.

With t the stage of agreement, q Alice's undiscounted share and d_A, d_B the discounts. Series by
stage say how the money is to be divided, in shares of it, not discounted.
"""

from collections.abc import Iterator

from cheaptalk.games.bargaining.events import Offer
from cheaptalk.games.bargaining.rules import Bargaining, Division
from cheaptalk.rules import COUNT, SHARE, Measure, Point, Result, Series


def alice_gain(result: Result) -> float:
    """Alice's discounted share of the money: q * d_A ** (t - 1); 0 without an agreement."""
    game: Bargaining = result.game
    return game.payoffs(result.outcome)["alice"] / game.money


def bob_gain(result: Result) -> float:
    """Bob's discounted share of the money: (1 - q) * d_B ** (t - 1); 0 without an agreement."""
    game: Bargaining = result.game
    return game.payoffs(result.outcome)["bob"] / game.money


def agreement(result: Result) -> float:
    """1 if an offer was accepted, else 0."""
    return float(result.outcome.stage is not None)


def efficiency(result: Result) -> float:
    """The sum of both discounted shares; 0 without an agreement (GLEE section 2.1)."""
    return alice_gain(result) + bob_gain(result)


def fairness(result: Result) -> float:
    """1 - 4 * (q - 1/2) ** 2; 1 without an agreement (GLEE section 2.1)."""
    game: Bargaining = result.game
    outcome: Division = result.outcome
    if outcome.alice_gain is None:
        return 1.0
    return 1 - 4 * (outcome.alice_gain / game.money - 0.5) ** 2


def rounds(result: Result) -> float:
    """The stage of agreement, or the last stage without one."""
    stage: int | None = result.outcome.stage
    return float(stage if stage is not None else result.game.horizon.rounds)


def published_bob_gain(result: Result) -> float:
    """As GLEE's released code has it: without an agreement Bob is given d_B ** (T - 1)."""
    game: Bargaining = result.game
    if result.outcome.stage is None:
        return game.discounts[1] ** (game.horizon.rounds - 1)
    return bob_gain(result)


def published_efficiency(result: Result) -> float:
    """As GLEE's released code has it: the sum of the gains it computes."""
    return alice_gain(result) + published_bob_gain(result)


def published_fairness(result: Result) -> float:
    """As GLEE's released code has it: 0 without an agreement."""
    return 0.0 if result.outcome.stage is None else fairness(result)


def _stages(game: Bargaining) -> tuple[float, float]:
    return 1.0, float(game.horizon.rounds)


MEASURES = (
    Measure("agreement", agreement, unit="share of matches", bounds=SHARE),
    Measure("alice_gain", alice_gain, role="alice", unit="share of the money", bounds=SHARE),
    Measure(
        "bob_gain",
        bob_gain,
        published_bob_gain,
        role="bob",
        unit="share of the money",
        bounds=SHARE,
    ),
    Measure(
        "efficiency", efficiency, published_efficiency, unit="share of the money", bounds=SHARE
    ),
    Measure("fairness", fairness, published_fairness, unit="1 is even", bounds=SHARE),
    Measure("rounds", rounds, unit="rounds", bounds=COUNT, limits=_stages),
)


def demand(result: Result) -> Iterator[Point]:
    """The share of the money that a proposer keeps for itself, by stage, in [0, 1]."""
    for request, seat, action in result.given():
        if isinstance(action, Offer):
            kept = action.alice_gain if seat == "alice" else action.bob_gain
            yield Point(request // 2 + 1, seat, kept / result.game.money)


def alice_share(result: Result) -> Iterator[Point]:
    """The share of the money that is offered to Alice, or that she proposes to keep, in [0, 1].

    At the place of whose proposal it is, by stage.
    """
    for request, seat, action in result.given():
        if isinstance(action, Offer):
            yield Point(request // 2 + 1, seat, action.alice_gain / result.game.money)


SERIES = (
    Series("demand", demand, unit="share of the money", bounds=SHARE),
    Series("alice_share", alice_share, unit="share of the money", bounds=SHARE),
)
