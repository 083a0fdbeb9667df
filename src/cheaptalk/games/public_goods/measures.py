"""Measures of the public goods game.

With C(i, j) the contribution of player i in round j, T the tokens, N the players and R the factor;
S is the mean of C(i, j) over players and rounds (GAMA-Bench section 3.2, S4). Series by round say
what is given, and what players have after it.
"""

from collections.abc import Iterator
from statistics import fmean

from cheaptalk.games.public_goods.rules import PublicGoods
from cheaptalk.games.rounds import by_player, gain_by_round
from cheaptalk.rules import PERCENT, SHARE, Measure, Point, Result, Series


def contribution(result: Result) -> float:
    """The mean share of the tokens that was contributed."""
    game: PublicGoods = result.game
    return fmean(fmean(row) for row in result.outcome.choices) / game.tokens


def last_round(result: Result) -> float:
    """The mean share of the tokens that was contributed in the last round."""
    game: PublicGoods = result.game
    return fmean(result.outcome.choices[-1]) / game.tokens


def efficiency(result: Result) -> float:
    """The tokens that all have in the end, as a share of the most that they could have.

    The mean gain divided by max(1, R) * T: everything given where R > 1, nothing where not.
    """
    game: PublicGoods = result.game
    return fmean(fmean(row) for row in result.outcome.gains) / (max(1, game.factor) * game.tokens)


def score(result: Result) -> float:
    """How near all came to what is best for each alone, 0 to 100 (GAMA-Bench appendix E, S4).

    (T - S) / T * 100 where R / N <= 1, S / T * 100 where R / N > 1.
    """
    game: PublicGoods = result.game
    share = contribution(result)
    return (1 - share if game.factor <= game.players else share) * 100


def published_score(result: Result) -> float:
    """As GAMA-Bench's released code has it: (T - S) / T * 100 for every factor."""
    return (1 - contribution(result)) * 100


MEASURES = (
    Measure("score", score, published_score, unit="0 to 100", bounds=PERCENT),
    Measure("contribution", contribution, unit="share of the tokens", bounds=SHARE),
    Measure("last_round", last_round, unit="share of the tokens", bounds=SHARE),
    Measure("efficiency", efficiency, unit="share of the best", bounds=SHARE),
)


def contribution_by_round(result: Result) -> Iterator[Point]:
    """The share of its tokens that each player gives; for all together, the mean.

    In [0, 1] where contributions have limits.
    """
    tokens = result.game.tokens
    return by_player(result, ([one / tokens for one in row] for row in result.outcome.choices))


SERIES = (
    Series("contribution", contribution_by_round, unit="share of the tokens"),
    Series("gain", gain_by_round, unit="tokens"),
)
