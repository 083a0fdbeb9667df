"""Metrics of the trust game; with both roles, they are means over both exchanges."""

from collections.abc import Iterator
from statistics import fmean

from cheaptalk.games.trust_game.rules import TrustGame
from cheaptalk.rules import SHARE, Metric, Point, Result, Series


def trust(result: Result) -> float:
    """The points sent as a share of the investor's endowment."""
    game: TrustGame = result.game
    return fmean(exchange.sent for exchange in result.outcome.exchanges) / game.endowment


def trustworthiness(result: Result) -> float | None:
    """The points returned as a share of the multiplied points; None if nothing was sent."""
    game: TrustGame = result.game
    shares = [
        exchange.returned / (game.multiplier * exchange.sent)
        for exchange in result.outcome.exchanges
        if exchange.sent
    ]
    return fmean(shares) if shares else None


def return_ratio(result: Result) -> float | None:
    """The points returned per point sent, above 1 if trust pays; None if nothing was sent."""
    share = trustworthiness(result)
    return None if share is None else share * result.game.multiplier


def efficiency(result: Result) -> float:
    """The total payoff as a share of its maximum, at which everything is sent."""
    game: TrustGame = result.game
    best = game.trustee_endowment + game.multiplier * game.endowment
    return sum(game.payoffs(result.outcome).values()) / (best * len(result.outcome.exchanges))


METRICS = (
    Metric("trust", trust, unit="share of the endowment", bounds=SHARE),
    Metric("trustworthiness", trustworthiness, unit="share of the points received", bounds=SHARE),
    Metric(
        "return_ratio",
        return_ratio,
        unit="points per point sent",
        limits=lambda game: (0, game.multiplier),
    ),
    Metric("efficiency", efficiency, unit="share of the best", bounds=SHARE),
)

INVESTORS = ("investor", "trustee")
"""The investors' seats, in the order of the exchanges."""


def sent_by_seat(result: Result) -> Iterator[Point]:
    """The points that each investor sends, as a share of the endowment."""
    for seat, exchange in zip(INVESTORS, result.outcome.exchanges, strict=False):
        yield Point(1, seat, exchange.sent / result.game.endowment)


def returned_by_seat(result: Result) -> Iterator[Point]:
    """The points that each trustee returns, as a share of the multiplied points."""
    for seat, exchange in zip(reversed(INVESTORS), result.outcome.exchanges, strict=False):
        if exchange.sent:
            yield Point(1, seat, exchange.returned / (result.game.multiplier * exchange.sent))


SERIES = (
    Series("trust", sent_by_seat, unit="share of the endowment", bounds=SHARE),
    Series("trustworthiness", returned_by_seat, unit="share of the points received", bounds=SHARE),
)
