"""Numbers by round of games in which all players decide at once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean

from cheaptalk.rules import Point, Result


def by_player(
    result: Result,
    rows: Iterable[Sequence[float | None]],
    together: Callable[[Sequence[float]], float] = fmean,
) -> Iterator[Point]:
    """Each player's number of each round, and what they make together.

    Args:
        result: a finished match.
        rows: one a round, a number for each player in order; None where it has none.
        together: what all numbers of a round make; their mean, unless said otherwise. None where
            nobody has one.
    """
    places = tuple(result.game.places)
    for number, row in enumerate(rows, 1):
        known = [float(value) for value in row if value is not None]
        yield Point(number, None, together(known) if known else None)
        for place, value in zip(places, row, strict=True):
            yield Point(number, place, None if value is None else float(value))


def gain_by_round(result: Result) -> Iterator[Point]:
    """What each player gets in the round; for all together, the mean."""
    return by_player(result, result.outcome.gains)
