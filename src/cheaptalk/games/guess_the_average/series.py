"""Guess the average by round: the numbers, and how near they come to the target.

The target is the ratio times the mean of a round's numbers.
"""

from collections.abc import Iterator
from statistics import fmean

from cheaptalk.games.by_round import by_player, gain
from cheaptalk.rules import COUNT, SHARE, Point, Result, Series


def number(result: Result) -> Iterator[Point]:
    """The number that each player chooses; for all together, the mean."""
    return by_player(result, result.outcome.choices)


def distance(result: Result) -> Iterator[Point]:
    """How far each number is from the target; for all together, the winner's distance."""
    ratio = float(result.game.ratio)
    rows = ([abs(one - ratio * fmean(row)) for one in row] for row in result.outcome.choices)
    return by_player(result, rows, min)


def won(result: Result) -> Iterator[Point]:
    """Each player's share of the round's win, in [0, 1]; for all together, the mean."""
    return gain(result)


SERIES = (
    Series("number", number, unit="number", bounds=COUNT),
    Series("distance", distance, unit="number", bounds=COUNT),
    Series("won", won, unit="share of the win", bounds=SHARE),
)
