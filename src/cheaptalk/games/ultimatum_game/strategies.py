"""Scripted proposers and responders."""

from cheaptalk.games.tactics import Share
from cheaptalk.games.ultimatum_game.rules import MinimumOffer, Offer, OfferMade, Reply
from cheaptalk.rules import Action, DecisionRequest, strategy


def decide(request: DecisionRequest, offer: int, minimum: int) -> Action:
    """Offer points as the proposer, or accept offers from a minimum on as the responder."""
    if isinstance(request.event, OfferMade):
        return Reply(decision="accept" if request.event.offer >= minimum else "reject")
    if request.actor == "proposer":
        return Offer(offer=offer)
    return MinimumOffer(minimum_offer=minimum)


@strategy("proposer", "responder")
def equilibrium(request: DecisionRequest) -> Action:
    """Offer one point, and accept every positive offer (subgame-perfect equilibrium)."""
    return decide(request, 1, 1)


@strategy("proposer", "responder")
def fair(request: DecisionRequest, *, share: Share = 0.5) -> Action:
    """Offer a share of the sum, and accept no smaller share.

    Args:
        share: the share of the sum for the responder, in [0, 1].
    """
    points = round(share * request.briefing.pie)
    return decide(request, points, points)


@strategy("proposer", "responder")
def fixed(request: DecisionRequest, *, offer: Share = 0.4, minimum: Share = 0.2) -> Action:
    """Offer and demand fixed shares of the sum.

    Args:
        offer: the share that the proposer offers, in [0, 1].
        minimum: the smallest share that the responder accepts, in [0, 1].
    """
    pie = request.briefing.pie
    return decide(request, round(offer * pie), round(minimum * pie))


@strategy("proposer", "responder")
def random(request: DecisionRequest) -> Action:
    """Offer a random amount, and accept offers from a random minimum on."""
    draw = request.chance("move", request.number)
    points = draw.integer(0, request.briefing.pie)
    return decide(request, points, points)
