"""Metrics of the public goods game.

C(i, j) is the contribution of player i in round j, T is the number of tokens, N is the number of
players, and R is the factor; S is the mean of C(i, j) over players and rounds (GAMA-Bench section
3.2, S4). Per-round metrics describe contributions and gains.
"""

from collections.abc import Iterator
from statistics import fmean

from cheaptalk.games.public_goods.rules import PublicGoods
from cheaptalk.games.rounds import by_player, gain_by_round, gain_limits
from cheaptalk.rules import PERCENT, SHARE, Metric, Point, Result, Series


def contribution(result: Result) -> float:
    """The mean share of the tokens that players contributed."""
    game: PublicGoods = result.game
    return fmean(fmean(row) for row in result.outcome.choices) / game.tokens


def last_round_contribution(result: Result) -> float:
    """The mean share of the tokens that players contributed in the last round."""
    game: PublicGoods = result.game
    return fmean(result.outcome.choices[-1]) / game.tokens


def efficiency(result: Result) -> float:
    """The mean gain of all players as a share of its maximum, max(1, R) * T."""
    game: PublicGoods = result.game
    return fmean(fmean(row) for row in result.outcome.gains) / (max(1, game.factor) * game.tokens)


def score(result: Result) -> float:
    """How close contributions are to the dominant choice, 0 to 100 (GAMA-Bench appendix E, S4).

    (T - S) / T * 100 if R / N <= 1, S / T * 100 if R / N > 1.
    """
    game: PublicGoods = result.game
    share = contribution(result)
    return (1 - share if game.factor <= game.players else share) * 100


def published_score(result: Result) -> float:
    """The score in GAMA-Bench's released code, which is (T - S) / T * 100 for every factor."""
    return (1 - contribution(result)) * 100


METRICS = (
    Metric("score", score, published_score, unit="0 to 100", bounds=PERCENT),
    Metric("contribution", contribution, unit="share of the tokens", bounds=SHARE),
    Metric(
        "last_round_contribution",
        last_round_contribution,
        unit="share of the tokens",
        bounds=SHARE,
    ),
    Metric("efficiency", efficiency, unit="share of the best", bounds=SHARE),
)


def contribution_by_round(result: Result) -> Iterator[Point]:
    """The share of its tokens that each player contributes, and the mean of all players."""
    tokens = result.game.tokens
    return by_player(result, ([given / tokens for given in row] for row in result.outcome.choices))


SERIES = (
    Series("contribution", contribution_by_round, unit="share of the tokens"),
    Series("gain", gain_by_round, unit="tokens", payoff=True, limits=gain_limits),
)
