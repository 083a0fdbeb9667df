"""The El Farol bar by round: who goes, and what it brings."""

from collections.abc import Iterator

from cheaptalk.games.by_round import by_player, gain
from cheaptalk.rules import SHARE, Point, Result, Series


def attendance(result: Result) -> Iterator[Point]:
    """1 if the player goes to the bar, else 0; for all together, the share of players who go."""
    return by_player(result, ([one == "go" for one in row] for row in result.outcome.choices))


SERIES = (
    Series("attendance", attendance, unit="share of players", bounds=SHARE),
    Series("gain", gain, unit="utility"),
)
