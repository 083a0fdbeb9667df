"""Scripted proposers and responders."""

from typing import Annotated

import cheaptalk as ct
from pydantic import Field

from .rules import Offer, OfferMade, Reply, Turn

Share = Annotated[float, Field(ge=0, le=1)]


def reply(accepts: bool) -> Reply:
    """Accept or reject."""
    return Reply(decision="accept" if accepts else "reject")


@ct.strategy("proposer", "responder")
def fair(request: ct.DecisionRequest, *, share: Share = 0.5) -> ct.Action:
    """Offer a share of the sum; accept that share of the expected sum.

    Args:
        share: the share of the sum for the responder, in [0, 1].
    """
    match request.event:
        case OfferMade(amount=amount):
            pies = request.briefing.pies
            return reply(amount >= share * sum(pies) / len(pies))
    return Offer(amount=round(share * request.briefing.pie, 2), message="That is your share.")


@ct.strategy("proposer")
def poor(request: ct.DecisionRequest) -> ct.Action:
    """Claim that the sum is the minimum, and offer half of it."""
    minimum = min(request.briefing.pies)
    return Offer(amount=minimum / 2, message=f"There are only ${minimum:g}. Half of it is yours.")


@ct.strategy("proposer", "responder")
def random(request: ct.DecisionRequest) -> ct.Action:
    """Offer a uniformly random amount; accept or reject with equal probability."""
    draw = request.chance("move", request.number)
    if isinstance(request.event, Turn):
        return Offer(amount=draw.uniform(0, request.briefing.pie), message="")
    return reply(draw.happens(0.5))
