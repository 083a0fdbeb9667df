"""Measures of divide the dollar.

With B(i, j) the bid of player i in round j and G the gold; S is the mean over rounds of
abs(sum of B(i, j) over i - G) (GAMA-Bench section 3.1, S3).
"""

from statistics import fmean

from cheaptalk.games.divide_the_dollar.rules import DivideTheDollar
from cheaptalk.rules import COUNT, PERCENT, SHARE, Measure, Result


def agreement(result: Result) -> float:
    """The share of rounds in which the bids fitted, in [0, 1]."""
    game: DivideTheDollar = result.game
    return fmean(sum(row) <= game.golds for row in result.outcome.choices)


def demand(result: Result) -> float:
    """The mean sum of all bids in multiples of the gold."""
    game: DivideTheDollar = result.game
    return fmean(sum(row) / game.golds for row in result.outcome.choices)


def efficiency(result: Result) -> float:
    """The share of the gold that was received, in [0, 1]."""
    game: DivideTheDollar = result.game
    return fmean(sum(row) / game.golds for row in result.outcome.gains)


def score(result: Result) -> float:
    """How near the sum of bids came to the gold, 0 to 100 (GAMA-Bench appendix E, S3).

    max((G - S) / G * 100, 0).
    """
    game: DivideTheDollar = result.game
    raw = fmean(abs(sum(row) - game.golds) for row in result.outcome.choices)
    return max((game.golds - raw) / game.golds * 100, 0.0)


MEASURES = (
    Measure("score", score, unit="0 to 100", bounds=PERCENT),
    Measure("agreement", agreement, unit="share of rounds", bounds=SHARE),
    Measure("demand", demand, unit="of the gold", bounds=COUNT),
    Measure("efficiency", efficiency, unit="share of the gold", bounds=SHARE),
)
