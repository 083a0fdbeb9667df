"""Metrics of the divide-the-dollar game.

B(i, j) is the bid of player i in round j, and G is the gold; S is the mean over rounds of abs(sum
of B(i, j) over i - G) (GAMA-Bench section 3.1, S3). The score is max((G - S) / G * 100, 0).
Per-round metrics describe bids and receipts as multiples of the gold.
"""

from collections.abc import Iterator
from statistics import fmean

from cheaptalk.games.divide_the_dollar.rules import DivideTheDollar
from cheaptalk.games.rounds import by_player
from cheaptalk.rules import COUNT, PERCENT, SHARE, Metric, Point, Result, Series


def agreement(result: Result) -> float:
    """The share of rounds in which the bids did not exceed the gold, in [0, 1]."""
    return fmean(sum(row) <= result.game.golds for row in result.outcome.choices)


def total_bid_share(result: Result) -> float:
    """The mean total of all bids in a round, as a multiple of the gold."""
    return fmean(sum(row) / result.game.golds for row in result.outcome.choices)


def efficiency(result: Result) -> float:
    """The share of the gold that players received, in [0, 1]."""
    return fmean(sum(row) / result.game.golds for row in result.outcome.gains)


def score(result: Result) -> float:
    """How close the sum of bids is to the gold, 0 to 100 (GAMA-Bench appendix E, score S3)."""
    game: DivideTheDollar = result.game
    raw = fmean(abs(sum(row) - game.golds) for row in result.outcome.choices)
    return max((game.golds - raw) / game.golds * 100, 0.0)


METRICS = (
    Metric("score", score, unit="0 to 100", bounds=PERCENT),
    Metric("agreement", agreement, unit="share of rounds", bounds=SHARE),
    Metric("total_bid_share", total_bid_share, unit="multiples of the gold", bounds=COUNT),
    Metric("efficiency", efficiency, unit="share of the gold", bounds=SHARE),
)


def bid_share(result: Result) -> Iterator[Point]:
    """Bids and their sum as shares of the gold; negative only if bids have no limits."""
    return _in_gold(result, result.outcome.choices)


def received_share(result: Result) -> Iterator[Point]:
    """The players' receipts and their sum as shares of the gold; in [0, 1] if bids have limits."""
    return _in_gold(result, result.outcome.gains)


def _in_gold(result: Result, rows: tuple[tuple[float, ...], ...]) -> Iterator[Point]:
    return by_player(result, ([series / result.game.golds for series in row] for row in rows), sum)


SERIES = tuple(
    Series(series.__name__, series, unit="share of the gold")
    for series in (bid_share, received_share)
)
