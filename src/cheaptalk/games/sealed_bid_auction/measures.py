"""Measures of the sealed-bid auction (GAMA-Bench section 3.2).

With v(i, j) the valuation and b(i, j) the bid of player i in round j, N players and K rounds.
Series by round give valuations, bids and gains.
"""

from collections.abc import Iterator
from math import inf
from statistics import fmean

from cheaptalk.games.rounds import by_player, gain_limits
from cheaptalk.games.sealed_bid_auction.rules import Bids, SealedBidAuction, Valuations
from cheaptalk.rules import COUNT, SHARE, Measure, Point, Result, Series


def _valued(result: Result) -> Iterator[tuple[int, int]]:
    """Every valuation with the bid made for it."""
    deal: Valuations = result.deal
    outcome: Bids = result.outcome
    for valuations, bids in zip(deal.valuations, outcome.choices, strict=True):
        yield from zip(valuations, bids, strict=True)


def score(result: Result) -> float | None:
    """How far bids lie below valuations: 100 / (N K) * sum of (v - b) / v (appendix E, S6).

    100 if all bid 0, 0 if all bid their valuations, below 0 where bids exceed them; equilibrium
    bids score about 100 / N. A valuation of 0, for which the formula is undefined, counts as 0 in
    the sum. None at the second price, for which the paper has no score.
    """
    if result.game.price == "second":
        return None
    return 100 * fmean((value - bid) / value if value else 0.0 for value, bid in _valued(result))


def published_score(result: Result) -> float | None:
    """As the published code has it: bids above the valuation count as 0."""
    if result.game.price == "second":
        return None
    return 100 * fmean(
        max(0.0, (value - bid) / value) if value else 0.0 for value, bid in _valued(result)
    )


def bid_share(result: Result) -> float | None:
    """The mean of b / v where v is above 0: 1 for truthful bids. None where all v are 0."""
    shares = [one for pair in _valued(result) if (one := share_bid(*pair)) is not None]
    return fmean(shares) if shares else None


def share_bid(value: int, bid: int) -> float | None:
    """A bid as a share of the valuation; None where that is 0."""
    return bid / value if value else None


def overbids(result: Result) -> float:
    """The share of bids above the valuation, in [0, 1]."""
    return fmean(bid > value for value, bid in _valued(result))


def efficiency(result: Result) -> float:
    """The share of rounds in which nobody valued the item more than the winner, in [0, 1]."""
    game: SealedBidAuction = result.game
    places = {seat: place for place, seat in enumerate(game.places)}
    rounds = zip(result.deal.valuations, result.outcome.winners, strict=True)
    return fmean(valuations[places[winner]] == max(valuations) for valuations, winner in rounds)


def revenue(result: Result) -> float:
    """What the winner paid in a round on average."""
    rank = 1 if result.game.price == "first" else 2
    return fmean(sorted(bids)[-rank] for bids in result.outcome.choices)


def gain(result: Result) -> float:
    """What the winner gained in a round on average: its valuation less what it paid."""
    return fmean(sum(gains) for gains in result.outcome.gains)


MEASURES = (
    Measure(
        "score",
        score,
        published_score,
        unit="100 at most",
        published_unit="0 to 100",
        bounds=(-inf, 100.0),
    ),
    Measure("bid_share", bid_share, unit="share of the valuation", bounds=COUNT),
    Measure("overbids", overbids, unit="share of bids", bounds=SHARE),
    Measure("efficiency", efficiency, unit="share of rounds", bounds=SHARE),
    Measure("revenue", revenue, unit="a round"),
    Measure("gain", gain, unit="a round", limits=gain_limits),
)


def valuation(result: Result) -> Iterator[Point]:
    """What the item is worth to each player; for all together, the most."""
    return by_player(result, result.deal.valuations, max)


def bid(result: Result) -> Iterator[Point]:
    """Each player's bid; for all together, the highest, which wins."""
    return by_player(result, result.outcome.choices, max)


def bid_share_by_round(result: Result) -> Iterator[Point]:
    """Each bid as a share of the valuation, none where that is 0; for all together, the mean."""
    rows = zip(result.deal.valuations, result.outcome.choices, strict=True)
    return by_player(result, ([*map(share_bid, values, bids)] for values, bids in rows))


def gain_by_round(result: Result) -> Iterator[Point]:
    """What each player gains: the winner its valuation less what it pays; for all, the sum."""
    return by_player(result, result.outcome.gains, sum)


SERIES = (
    Series("valuation", valuation, unit="a round", bounds=COUNT),
    Series("bid", bid, unit="a round", bounds=COUNT),
    Series("bid_share", bid_share_by_round, unit="share of the valuation", bounds=COUNT),
    Series("gain", gain_by_round, unit="a round"),
)
