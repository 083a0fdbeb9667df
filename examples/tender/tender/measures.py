"""Measures of the call for tenders, and an exact check of what firms say of their costs."""

import re

import cheaptalk as ct

from .rules import Bid

CLAIM = re.compile(r"[Mm]y cost is (\d+)")


def saving(result: ct.Result) -> float:
    """What the buyer keeps of what the building is worth to it, in thousand dollars."""
    return float(result.game.worth - result.outcome.price)


def profit(result: ct.Result) -> float:
    """What the firm that builds earns, in thousand dollars."""
    return float(result.outcome.price - result.outcome.cost)


def cheapest(result: ct.Result) -> float:
    """1 if a firm of the lowest cost builds, else 0."""
    return float(result.outcome.cost == min(result.deal.costs.values()))


MEASURES = (
    ct.Measure("saving", saving, role="buyer", unit="thousand dollars"),
    ct.Measure("profit", profit, role="firm", unit="thousand dollars"),
    ct.Measure("cheapest", cheapest, unit="share of matches", bounds=ct.SHARE),
)


def claims(result: ct.Result) -> dict[tuple[int, str], str]:
    """Whether what a firm says that it costs is true, by request and seat."""
    found = {}
    for request, seat, action in result.given():
        said = CLAIM.search((action.remark or "") if isinstance(action, Bid) else "")
        if said:
            true = int(said[1]) == result.deal.costs[seat]
            found[request, seat] = "true" if true else "false"
    return found


CHECKS = {"cost-claims": claims}
