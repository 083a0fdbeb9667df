"""Bargaining by stage: how the money is to be divided, in shares of it, not discounted."""

from collections.abc import Iterator

from cheaptalk.games.bargaining.events import Offer
from cheaptalk.rules import SHARE, Point, Result, Series


def demand(result: Result) -> Iterator[Point]:
    """The share of the money that a proposer keeps for itself, by stage, in [0, 1]."""
    for request, seat, action in result.given():
        if isinstance(action, Offer):
            kept = action.alice_gain if seat == "alice" else action.bob_gain
            yield Point(request // 2 + 1, seat, kept / result.game.money)


def alice_share(result: Result) -> Iterator[Point]:
    """The share of the money that is offered to Alice, or that she proposes to keep, in [0, 1].

    At the place of whose proposal it is, by stage.
    """
    for request, seat, action in result.given():
        if isinstance(action, Offer):
            yield Point(request // 2 + 1, seat, action.alice_gain / result.game.money)


SERIES = (
    Series("demand", demand, unit="share of the money", bounds=SHARE),
    Series("alice_share", alice_share, unit="share of the money", bounds=SHARE),
)
