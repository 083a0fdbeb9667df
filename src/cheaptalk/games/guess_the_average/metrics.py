"""Metrics of the guess-the-average game.

C(i, j) is the number of player i in round j, MIN and MAX are the range, D = MAX - MIN, and R is the
ratio; S is the mean of C(i, j) - MIN over all players and rounds (GAMA-Bench section 3.1, S1).
Per-round metrics describe the numbers and their distances from the target, which is R times the
mean of a round's numbers.
"""

from collections.abc import Iterator
from statistics import fmean

from cheaptalk.games.guess_the_average.rules import GuessTheAverage
from cheaptalk.games.rounds import by_player, gain_by_round
from cheaptalk.rules import COUNT, SHARE, Metric, Point, Result, Series


def mean_number(result: Result) -> float:
    """The mean of all numbers chosen, in [MIN, MAX]."""
    return fmean(fmean(row) for row in result.outcome.choices)


def first_round(result: Result) -> float:
    """The mean of the numbers chosen in the first round, as reported in experiments with humans."""
    return fmean(result.outcome.choices[0])


def score(result: Result) -> float:
    """How close the choices are to the equilibrium, 0 to 100 (GAMA-Bench appendix E, score S1).

    (D - S) / D * 100 for R < 1, S / D * 100 for R > 1, (1 - abs(2 * S - D) / D) * 100 for R = 1.
    """
    game: GuessTheAverage = result.game
    span = game.maximum - game.minimum
    raw = mean_number(result) - game.minimum
    if game.ratio == 1:
        return (1 - abs(2 * raw - span) / span) * 100
    return (span - raw if game.ratio < 1 else raw) / span * 100


def published_score(result: Result) -> float:
    """The score in GAMA-Bench's released code, which is (MAX - S) / D * 100 for ratios below 1."""
    game: GuessTheAverage = result.game
    if game.ratio >= 1:
        return score(result)
    raw = mean_number(result) - game.minimum
    return (game.maximum - raw) / (game.maximum - game.minimum) * 100


METRICS = (
    Metric(
        "score", score, published_score, "0 to 100", published_unit="0 to 100 * MAX / (MAX - MIN)"
    ),
    Metric("mean_number", mean_number, unit="number", bounds=COUNT),
    Metric("first_round", first_round, unit="number", bounds=COUNT),
)


def number(result: Result) -> Iterator[Point]:
    """The number that each player chose, and the mean of all players."""
    return by_player(result, result.outcome.choices)


def distance(result: Result) -> Iterator[Point]:
    """The distance of each number from the target, and the winner's distance."""
    ratio = float(result.game.ratio)
    rows = ([abs(chosen - ratio * fmean(row)) for chosen in row] for row in result.outcome.choices)
    return by_player(result, rows, min)


def won(result: Result) -> Iterator[Point]:
    """The share of the round's win that each player receives, in [0, 1], and the mean share."""
    return gain_by_round(result)


SERIES = (
    Series("number", number, unit="number", bounds=COUNT),
    Series("distance", distance, unit="number", bounds=COUNT),
    Series("won", won, unit="share of the win", bounds=SHARE),
)
