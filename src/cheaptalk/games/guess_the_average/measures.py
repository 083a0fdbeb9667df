"""Measures of guess the average.

With C(i, j) the number of player i in round j, MIN and MAX the range, D = MAX - MIN and R the
ratio; S is the mean of C(i, j) - MIN over all players and rounds (GAMA-Bench section 3.1, S1).
"""

from statistics import fmean

from cheaptalk.games.guess_the_average.rules import GuessTheAverage
from cheaptalk.rules import COUNT, Measure, Result


def mean_number(result: Result) -> float:
    """The mean of all numbers chosen, in [MIN, MAX]."""
    return fmean(fmean(row) for row in result.outcome.choices)


def first_round(result: Result) -> float:
    """The mean number of the first round, which experiments with people report (see humans)."""
    return fmean(result.outcome.choices[0])


def score(result: Result) -> float:
    """How near all came to the equilibrium, 0 to 100 (GAMA-Bench appendix E, S1).

    (D - S) / D * 100 for R < 1, S / D * 100 for R > 1, (1 - abs(2 * S - D) / D) * 100 for R = 1.
    """
    game: GuessTheAverage = result.game
    span = game.maximum - game.minimum
    raw = mean_number(result) - game.minimum
    if game.ratio == 1:
        return (1 - abs(2 * raw - span) / span) * 100
    return (span - raw if game.ratio < 1 else raw) / span * 100


def published_score(result: Result) -> float:
    """As GAMA-Bench's released code has it: (MAX - S) / D * 100 for R < 1, too much by MIN / D."""
    game: GuessTheAverage = result.game
    if game.ratio >= 1:
        return score(result)
    raw = mean_number(result) - game.minimum
    return (game.maximum - raw) / (game.maximum - game.minimum) * 100


MEASURES = (
    Measure("score", score, published_score, unit="0 to 100"),
    Measure("mean_number", mean_number, unit="number", bounds=COUNT),
    Measure("first_round", first_round, unit="number", bounds=COUNT),
)
