"""Persuasion by round: quality, recommendation and purchase."""

from collections.abc import Iterator

from cheaptalk.games.persuasion.rules import Trades
from cheaptalk.rules import SHARE, Point, Result, Series


def high(result: Result) -> Iterator[Point]:
    """1 if the round's product is of high quality, else 0."""
    outcome: Trades = result.outcome
    return _of(None, outcome.high)


def recommended(result: Result) -> Iterator[Point]:
    """1 if Alice recommends the round's product, else 0; no numbers where she writes text."""
    outcome: Trades = result.outcome
    return _of("alice", outcome.recommended or ())


def bought(result: Result) -> Iterator[Point]:
    """1 if Bob, or the round's buyer, buys the product, else 0."""
    outcome: Trades = result.outcome
    return _of("bob", outcome.bought)


def _of(place: str | None, rounds: tuple[bool, ...]) -> Iterator[Point]:
    return (Point(number, place, float(one)) for number, one in enumerate(rounds, 1))


SERIES = tuple(
    Series(one.__name__, one, unit="share of rounds", bounds=SHARE)
    for one in (high, recommended, bought)
)
