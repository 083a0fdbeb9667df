"""The diner's dilemma by round: what is ordered, and what it brings."""

from collections.abc import Iterator

from cheaptalk.games.by_round import by_player, gain
from cheaptalk.rules import SHARE, Point, Result, Series


def cheap(result: Result) -> Iterator[Point]:
    """1 if the player orders the cheap dish, else 0; for all together, the share of such orders."""
    return by_player(result, ([one == "cheap" for one in row] for row in result.outcome.choices))


SERIES = (
    Series("cheap", cheap, unit="share of orders", bounds=SHARE),
    Series("gain", gain, unit="utility"),
)
