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
def fair(asked: ct.Asked, *, share: Share = 0.5) -> ct.Action:
    """Offer a share of the sum; accept that share of what the sum is on average.

    Args:
        share: the share of the sum that the responder shall have, in [0, 1].
    """
    match asked.event:
        case OfferMade(amount=amount):
            pies = asked.briefing.pies
            return reply(amount >= share * sum(pies) / len(pies))
    return Offer(amount=round(share * asked.briefing.pie, 2), message="That is your share.")


@ct.strategy("proposer")
def poor(asked: ct.Asked) -> ct.Action:
    """Say that the sum is the least there may be, and offer half of that."""
    least = min(asked.briefing.pies)
    return Offer(amount=least / 2, message=f"There are only ${least:g}. Half of it is yours.")


@ct.strategy("proposer", "responder")
def random(asked: ct.Asked) -> ct.Action:
    """Offer any amount, each as likely; accept or reject, each as likely."""
    draw = asked.chance("move", asked.request)
    if isinstance(asked.event, Turn):
        return Offer(amount=draw.uniform(0, asked.briefing.pie), message="")
    return reply(draw.happens(0.5))
