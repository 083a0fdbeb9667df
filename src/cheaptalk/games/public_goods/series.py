"""The public goods game by round: what is given, and what players have after it."""

from collections.abc import Iterator

from cheaptalk.games.by_round import by_player, gain
from cheaptalk.rules import Point, Result, Series


def contribution(result: Result) -> Iterator[Point]:
    """The share of its tokens that each player gives; for all together, the mean.

    In [0, 1] where contributions have limits.
    """
    tokens = result.game.tokens
    return by_player(result, ([one / tokens for one in row] for row in result.outcome.choices))


SERIES = (
    Series("contribution", contribution, unit="share of the tokens"),
    Series("gain", gain, unit="tokens"),
)
