"""Chip trading by turn: what has been gained so far, and what was proposed.

Turns count through the whole game, so that there are as many in a round as there are players.
"""

from collections.abc import Callable, Iterator

from cheaptalk.games.chip_trading.measures import (
    Proposed,
    bound,
    over_bound,
    proposed,
    surplus_by_turn,
)
from cheaptalk.games.chip_trading.trading import Trading
from cheaptalk.rules import COUNT, SHARE, Point, Result, Series


def gains(result: Result) -> Iterator[tuple[int, str | None, float]]:
    """What all have gained after each turn, and each player, in dollars."""
    outcome: Trading = result.outcome
    rows = zip(outcome.gains_by_turn(), surplus_by_turn(outcome), strict=True)
    for number, (cents, surplus) in enumerate(rows, 1):
        yield number, None, surplus
        for place, gained in cents.items():
            yield number, place, gained / 100


def gain(result: Result) -> Iterator[Point]:
    """What each player's chips have gained after the turn, in dollars; for all, the surplus.

    A path of values as in figures 4 and 10 is this and what the chips were worth at the start.
    """
    return (Point(*one) for one in gains(result))


def surplus_ratio(result: Result) -> Iterator[Point]:
    """The same over the bound of the surplus (figure 2); none where nothing can be gained."""
    most = bound(result)
    for number, place, dollars in gains(result):
        yield Point(number, place, over_bound(dollars, most))


def proposal_surplus(result: Result) -> Iterator[Point]:
    """What the proposal would gain its proposer, in dollars (table 5, figures 12 to 14)."""
    return _of_proposer(result, lambda one: one.surplus)


def proposal_ratio(result: Result) -> Iterator[Point]:
    """The proposal's chips given a chip wanted (table 5, figures 12 to 14)."""
    return _of_proposer(result, lambda one: one.ratio)


def accepted(result: Result) -> Iterator[Point]:
    """1 if the proposal leads to a trade, else 0; at the place of the proposer."""
    return _of_proposer(result, lambda one: float(one.accepted))


def _of_proposer(result: Result, of: Callable[[Proposed], float]) -> Iterator[Point]:
    outcome: Trading = result.outcome
    rows = zip(outcome.turns, proposed(outcome), strict=True)
    return (Point(number, turn.proposer, of(one)) for number, (turn, one) in enumerate(rows, 1))


SERIES = (
    Series("gain", gain, unit="dollars"),
    Series("surplus_ratio", surplus_ratio, unit="share of the bound"),
    Series("proposal_surplus", proposal_surplus, unit="dollars"),
    Series("proposal_ratio", proposal_ratio, unit="chips given a chip wanted", bounds=COUNT),
    Series("accepted", accepted, unit="share of proposals", bounds=SHARE),
)
