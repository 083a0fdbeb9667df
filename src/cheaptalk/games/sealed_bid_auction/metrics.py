"""Metrics of the sealed-bid auction (GAMA-Bench section 3.2).

v(i, j) is the valuation and b(i, j) is the bid of player i in round j; N is the number of players,
and K is the number of rounds. Per-round metrics describe valuations, bids and gains.
"""

from collections.abc import Iterator
from math import inf
from statistics import fmean

from cheaptalk.games.rounds import by_player, gain_limits
from cheaptalk.games.sealed_bid_auction.rules import Bids, SealedBidAuction, Valuations
from cheaptalk.rules import COUNT, SHARE, Metric, Point, Result, Series


def _valued(result: Result) -> Iterator[tuple[int, int]]:
    """Yield every valuation with its bid."""
    instance: Valuations = result.instance
    outcome: Bids = result.outcome
    for valuations, bids in zip(instance.valuations, outcome.choices, strict=True):
        yield from zip(valuations, bids, strict=True)


def score(result: Result) -> float | None:
    """The mean shading of bids, 100 * (v - b) / v for bid b and valuation v (appendix E, S6).

    The score is 100 if all players bid 0, 0 if all bid their valuations, and negative for higher
    bids; equilibrium bids score about 100 / N. For a valuation of 0, the term is 0. None in
    second-price auctions, for which the paper has no score.
    """
    if result.game.price == "second":
        return None
    return 100 * fmean((value - bid) / value if value else 0.0 for value, bid in _valued(result))


def published_score(result: Result) -> float | None:
    """The score in GAMA-Bench's released code, where overbids add 0 instead of a negative term."""
    if result.game.price == "second":
        return None
    pairs = _valued(result)
    return 100 * fmean(max(0.0, (value - bid) / value) if value else 0.0 for value, bid in pairs)


def bid_share(result: Result) -> float | None:
    """The mean ratio of bids to valuations above 0 (truthful bids: 1); None if there are none."""
    shares = [share for pair in _valued(result) if (share := share_bid(*pair)) is not None]
    return fmean(shares) if shares else None


def share_bid(value: int, bid: int) -> float | None:
    """Return a bid as a share of the valuation; None if the valuation is 0."""
    return bid / value if value else None


def overbids(result: Result) -> float:
    """The share of bids above the valuation, in [0, 1]."""
    return fmean(bid > value for value, bid in _valued(result))


def efficiency(result: Result) -> float:
    """The share of rounds in which the winner had the highest valuation, in [0, 1]."""
    game: SealedBidAuction = result.game
    indices = {seat: index for index, seat in enumerate(game.seats)}
    rounds = zip(result.instance.valuations, result.outcome.winners, strict=True)
    return fmean(valuations[indices[winner]] == max(valuations) for valuations, winner in rounds)


def revenue(result: Result) -> float:
    """The mean price that the winner paid per round."""
    rank = 1 if result.game.price == "first" else 2
    return fmean(sorted(bids)[-rank] for bids in result.outcome.choices)


def winner_gain(result: Result) -> float:
    """The winner's mean gain per round: its valuation minus its payment."""
    return fmean(sum(gains) for gains in result.outcome.gains)


METRICS = (
    Metric(
        "score", score, published_score, "100 at most", (-inf, 100.0), published_unit="0 to 100"
    ),
    Metric("bid_share", bid_share, unit="share of the valuation", bounds=COUNT),
    Metric("overbids", overbids, unit="share of bids", bounds=SHARE),
    Metric("efficiency", efficiency, unit="share of rounds", bounds=SHARE),
    Metric("revenue", revenue, unit="a round"),
    Metric("winner_gain", winner_gain, unit="a round", limits=gain_limits),
)


def valuation(result: Result) -> Iterator[Point]:
    """Each player's valuation, and the maximum valuation."""
    return by_player(result, result.instance.valuations, max)


def bid(result: Result) -> Iterator[Point]:
    """Each player's bid, and the highest bid, which wins."""
    return by_player(result, result.outcome.choices, max)


def bid_share_by_round(result: Result) -> Iterator[Point]:
    """Each bid as a share of the valuation (None if that is 0), and the mean of all players."""
    rows = zip(result.instance.valuations, result.outcome.choices, strict=True)
    return by_player(result, ([*map(share_bid, values, bids)] for values, bids in rows))


def gain_by_round(result: Result) -> Iterator[Point]:
    """Each player's gain (the winner's valuation minus its payment), and the sum of all gains."""
    return by_player(result, result.outcome.gains, sum)


SERIES = (
    Series("valuation", valuation, unit="a round", bounds=COUNT),
    Series("bid", bid, unit="a round", bounds=COUNT),
    Series("bid_share", bid_share_by_round, unit="share of the valuation", bounds=COUNT),
    Series("gain", gain_by_round, unit="a round", payoff=True),
)
