"""Negotiation by stage: the prices named."""

from collections.abc import Iterator

from cheaptalk.games.negotiation.events import Price
from cheaptalk.rules import COUNT, Point, Result, Series


def offered_price(result: Result) -> Iterator[Point]:
    """The price that a player names, in multiples of the scale, by stage.

    Alice, who sells, concedes by naming less, and Bob by naming more.
    """
    for request, seat, action in result.given():
        if isinstance(action, Price):
            yield Point(request // 2 + 1, seat, action.price / result.game.scale)


SERIES = (Series("offered_price", offered_price, unit="multiples of the scale", bounds=COUNT),)
