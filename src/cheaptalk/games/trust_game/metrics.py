"""Metrics of the trust game; with both roles, they are means over both exchanges."""

from statistics import fmean

from cheaptalk.games.trust_game.rules import TrustGame
from cheaptalk.rules import SHARE, Metric, Result


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
