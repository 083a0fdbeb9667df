"""Divide the dollar by round: what is bid and received, in multiples of the gold."""

from collections.abc import Iterator

from cheaptalk.games.by_round import by_player
from cheaptalk.rules import Point, Result, Series


def bid(result: Result) -> Iterator[Point]:
    """Each player's bid; for all together, the sum. Below 0 only where bids have no limits."""
    return _in_gold(result, result.outcome.choices)


def received(result: Result) -> Iterator[Point]:
    """What each player receives; for all together, the sum, in [0, 1] where bids have limits."""
    return _in_gold(result, result.outcome.gains)


def _in_gold(result: Result, rows: tuple[tuple[float, ...], ...]) -> Iterator[Point]:
    return by_player(result, ([one / result.game.golds for one in row] for row in rows), sum)


SERIES = tuple(Series(one.__name__, one, unit="share of the gold") for one in (bid, received))
