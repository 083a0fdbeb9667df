"""Measures of the diner's dilemma.

With D(i, j) = 1 where player i ordered the cheap dish in round j, else 0, N players and K rounds.
Series by round say what is ordered, and what it brings.
"""

from collections.abc import Iterator
from statistics import fmean

from cheaptalk.games.diners_dilemma.rules import DinersDilemma
from cheaptalk.games.diners_dilemma.theory import efficient_dish
from cheaptalk.games.rounds import by_player, gain_by_round, gain_limits
from cheaptalk.rules import PERCENT, SHARE, Measure, Point, Result, Series


def cheap(result: Result) -> float:
    """The share of cheap dishes, in [0, 1]: 1 / (N K) * sum of D(i, j) (section 3.2, S5)."""
    return fmean(dish == "cheap" for row in result.outcome.choices for dish in row)


def last_round(result: Result) -> float:
    """The share of cheap dishes in the last round, in [0, 1]."""
    return fmean(dish == "cheap" for dish in result.outcome.choices[-1])


def gain(result: Result) -> float:
    """The mean of a player's gain in a round: the utility of its dish less its part of the bill."""
    return fmean(gained for row in result.outcome.gains for gained in row)


def efficiency(result: Result) -> float:
    """The share of orders of the dish that is best for all together, in [0, 1].

    The sum of all payoffs grows in proportion, from the least to the most that there can be. 1
    where both dishes are as good.
    """
    game: DinersDilemma = result.game
    best = efficient_dish(game.pleasure, game.price)
    if best is None:
        return 1.0
    return cheap(result) if best == "cheap" else 1 - cheap(result)


def score(result: Result) -> float:
    """How often the costly dish was ordered, 0 to 100: (1 - S5) * 100 (GAMA-Bench appendix E, S5).

    In a dilemma that is how near all came to equilibrium.
    """
    return (1 - cheap(result)) * 100


MEASURES = (
    Measure("score", score, unit="0 to 100", bounds=PERCENT),
    Measure("cheap", cheap, unit="share of orders", bounds=SHARE),
    Measure("last_round", last_round, unit="share of orders", bounds=SHARE),
    Measure("gain", gain, unit="utility a round", limits=gain_limits),
    Measure("efficiency", efficiency, unit="share of the best", bounds=SHARE),
)


def cheap_by_round(result: Result) -> Iterator[Point]:
    """1 if the player orders the cheap dish, else 0; for all together, the share of such orders."""
    return by_player(result, ([one == "cheap" for one in row] for row in result.outcome.choices))


SERIES = (
    Series("cheap", cheap_by_round, unit="share of orders", bounds=SHARE),
    Series("gain", gain_by_round, unit="utility"),
)
