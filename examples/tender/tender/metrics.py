"""Metrics of the tender, and an exact check of the firms' claims about their costs."""

import re

import cheaptalk as ct

from .rules import Bid

CLAIM = re.compile(r"[Mm]y cost is (\d+)")


def saving(result: ct.Result) -> float:
    """Return the buyer's payoff, in thousand dollars."""
    return float(result.game.worth - result.outcome.price)


def profit(result: ct.Result) -> float:
    """Return the winner's payoff, in thousand dollars."""
    return float(result.outcome.price - result.outcome.cost)


def cheapest(result: ct.Result) -> float:
    """Return 1 if a firm with the lowest cost wins, else 0."""
    return float(result.outcome.cost == min(result.instance.costs.values()))


METRICS = (
    ct.Metric("saving", saving, role="buyer", unit="thousand dollars"),
    ct.Metric("profit", profit, role="firm", unit="thousand dollars"),
    ct.Metric("cheapest", cheapest, unit="share of matches", bounds=ct.rules.SHARE),
)


def claims(result: ct.Result) -> dict[tuple[int, str], str]:
    """Return whether each claim about a cost is true, by request and seat."""
    labels = {}
    for request, seat, action in result.given():
        claim = CLAIM.search((action.remark or "") if isinstance(action, Bid) else "")
        if claim:
            true = int(claim[1]) == result.instance.costs[seat]
            labels[request, seat] = "true" if true else "false"
    return labels


CHECKS = {"cost-claims": claims}
