"""Metrics of the ultimatum game."""

from collections.abc import Iterator

from cheaptalk.rules import SHARE, Metric, Point, Result, Series


def offer_share(result: Result) -> float:
    """The offer as a share of the sum, accepted or not."""
    return float(result.outcome.offer / result.game.pie)


def minimum_share(result: Result) -> float | None:
    """The smallest acceptable offer as a share of the sum; None without the strategy method."""
    minimum = result.outcome.minimum_offer
    return None if minimum is None else float(minimum / result.game.pie)


def acceptance(result: Result) -> float:
    """1 if the offer is accepted, else 0."""
    return float(result.outcome.accepted)


def efficiency(result: Result) -> float:
    """The total payoff as a share of the sum, which is 1 if the offer is accepted, else 0."""
    payoffs = result.game.payoffs(result.outcome)
    return float(sum(payoffs.values()) / result.game.pie)


METRICS = (
    Metric("offer_share", offer_share, unit="share of the sum", bounds=SHARE),
    Metric("minimum_share", minimum_share, unit="share of the sum", bounds=SHARE),
    Metric("acceptance", acceptance, unit="share of matches", bounds=SHARE),
    Metric("efficiency", efficiency, unit="share of the best", bounds=SHARE),
)


def offered(result: Result) -> Iterator[Point]:
    """The proposer's offer as a share of the sum."""
    yield Point(1, "proposer", offer_share(result))


def required(result: Result) -> Iterator[Point]:
    """The responder's smallest acceptable offer as a share of the sum, with the strategy method."""
    yield Point(1, "responder", minimum_share(result))


SERIES = (
    Series("offer_share", offered, unit="share of the sum", bounds=SHARE),
    Series("minimum_share", required, unit="share of the sum", bounds=SHARE),
)
