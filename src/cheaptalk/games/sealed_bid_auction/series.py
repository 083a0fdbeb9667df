"""The sealed-bid auction by round: valuations, bids and gains."""

from collections.abc import Iterator

from cheaptalk.games.by_round import by_player
from cheaptalk.games.sealed_bid_auction.measures import share_bid
from cheaptalk.rules import COUNT, Point, Result, Series


def valuation(result: Result) -> Iterator[Point]:
    """What the item is worth to each player; for all together, the most."""
    return by_player(result, result.deal.valuations, max)


def bid(result: Result) -> Iterator[Point]:
    """Each player's bid; for all together, the highest, which wins."""
    return by_player(result, result.outcome.choices, max)


def bid_share(result: Result) -> Iterator[Point]:
    """Each bid as a share of the valuation, none where that is 0; for all together, the mean."""
    rows = zip(result.deal.valuations, result.outcome.choices, strict=True)
    return by_player(result, ([*map(share_bid, values, bids)] for values, bids in rows))


def gain(result: Result) -> Iterator[Point]:
    """What each player gains: the winner its valuation less what it pays; for all, the sum."""
    return by_player(result, result.outcome.gains, sum)


SERIES = (
    Series("valuation", valuation, unit="a round", bounds=COUNT),
    Series("bid", bid, unit="a round", bounds=COUNT),
    Series("bid_share", bid_share, unit="share of the valuation", bounds=COUNT),
    Series("gain", gain, unit="a round"),
)
