"""Metrics of the diner's dilemma.

Per-round metrics describe orders and gains.
"""

from collections.abc import Iterator
from statistics import fmean

from cheaptalk.games.diners_dilemma.rules import DinersDilemma
from cheaptalk.games.diners_dilemma.strategies import efficient_dish
from cheaptalk.games.rounds import by_player, gain_by_round, gain_limits
from cheaptalk.rules import PERCENT, SHARE, Metric, Point, Result, Series


def cheap_share(result: Result) -> float:
    """The share of cheap dishes among all orders, in [0, 1] (GAMA-Bench section 3.2, score S5)."""
    return fmean(dish == "cheap" for row in result.outcome.choices for dish in row)


def last_round_cheap_share(result: Result) -> float:
    """The share of cheap dishes in the last round, in [0, 1]."""
    return fmean(dish == "cheap" for dish in result.outcome.choices[-1])


def gain(result: Result) -> float:
    """The mean gain of a player in a round: the utility of its dish minus its part of the bill."""
    return fmean(gained for row in result.outcome.gains for gained in row)


def efficiency(result: Result) -> float:
    """The share of orders of the dish that maximises the sum of payoffs, in [0, 1].

    The sum of payoffs increases linearly in this share, which is 1 if the dishes are equally good.
    """
    game: DinersDilemma = result.game
    best = efficient_dish(game.pleasure, game.price)
    if best is None:
        return 1.0
    return cheap_share(result) if best == "cheap" else 1 - cheap_share(result)


def score(result: Result) -> float:
    """The percentage of orders of the costly dish (GAMA-Bench appendix E, score S5)."""
    return (1 - cheap_share(result)) * 100


METRICS = (
    Metric("score", score, unit="0 to 100", bounds=PERCENT),
    Metric("cheap_share", cheap_share, unit="share of orders", bounds=SHARE),
    Metric("last_round_cheap_share", last_round_cheap_share, unit="share of orders", bounds=SHARE),
    Metric("gain", gain, unit="utility a round", limits=gain_limits),
    Metric("efficiency", efficiency, unit="share of the best", bounds=SHARE),
)


def cheap_share_by_round(result: Result) -> Iterator[Point]:
    """For each player, 1 for the cheap dish, else 0; for all players, the share of cheap dishes."""
    return by_player(result, ([dish == "cheap" for dish in row] for row in result.outcome.choices))


SERIES = (
    Series("cheap_share", cheap_share_by_round, unit="share of orders", bounds=SHARE),
    Series("gain", gain_by_round, unit="utility", payoff=True, limits=gain_limits),
)
