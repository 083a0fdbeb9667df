"""Metrics of the El Farol bar.

R is the capacity, and a(j) is the share of players who went in round j; S is the mean over rounds
of abs(a(j) - R) (GAMA-Bench section 3.1, S2). Per-round metrics describe attendance and gains.
"""

from collections.abc import Iterator
from statistics import fmean

from cheaptalk.games.el_farol_bar.rules import ElFarolBar
from cheaptalk.games.rounds import by_player, gain_by_round, gain_limits
from cheaptalk.rules import PERCENT, SHARE, Metric, Point, Result, Series


def shares(result: Result) -> list[float]:
    """Return the share of players who went to the bar in each round."""
    return [row.count("go") / len(row) for row in result.outcome.choices]


def attendance(result: Result) -> float:
    """The mean share of players who went to the bar, in [0, 1]."""
    return fmean(shares(result))


def crowding(result: Result) -> float:
    """The share of rounds in which the bar was crowded, in [0, 1]."""
    return fmean(share > result.game.capacity for share in shares(result))


def gain(result: Result) -> float:
    """The mean gain of a player in a round, between the parameters ``crowded`` and ``fun``."""
    return fmean(fmean(row) for row in result.outcome.gains)


def score(result: Result) -> float:
    """How close the attendance is to the capacity, 0 to 100 (GAMA-Bench appendix E, score S2).

    (M - S) / M * 100, where M = max(R, 1 - R) is the maximum of S. GAMA-Bench scores only games
    with implicit feedback.
    """
    game: ElFarolBar = result.game
    raw = fmean(abs(share - game.capacity) for share in shares(result))
    greatest = max(game.capacity, 1 - game.capacity)
    return (greatest - raw) / greatest * 100


METRICS = (
    Metric("score", score, unit="0 to 100", bounds=PERCENT),
    Metric("attendance", attendance, unit="share of players", bounds=SHARE),
    Metric("crowding", crowding, unit="share of rounds", bounds=SHARE),
    Metric("gain", gain, unit="utility a round", limits=gain_limits),
)


def attendance_by_round(result: Result) -> Iterator[Point]:
    """For each player, 1 for going to the bar, else 0; for all players, the share who go."""
    return by_player(result, ([choice == "go" for choice in row] for row in result.outcome.choices))


SERIES = (
    Series("attendance", attendance_by_round, unit="share of players", bounds=SHARE),
    Series("gain", gain_by_round, unit="utility", payoff=True, limits=gain_limits),
)
