"""Scripted investors and trustees, which can also play both roles."""

from cheaptalk.games.tactics import Share
from cheaptalk.games.trust_game.rules import Briefing, Investment, Received, Repayment
from cheaptalk.rules import Action, DecisionRequest, strategy


def equal_return(endowment: int, trustee_endowment: int, sent: int, received: int) -> int:
    """Return the repayment with which both payoffs of an exchange are as equal as possible.

    >>> equal_return(10, 10, sent=5, received=15)
    10
    """
    difference = trustee_endowment + received - (endowment - sent)
    return min(max(difference // 2, 0), received)


@strategy("investor", "trustee")
def equilibrium(request: DecisionRequest) -> Action:
    """Send nothing and return nothing (subgame-perfect equilibrium)."""
    if isinstance(request.event, Received):
        return Repayment(amount_returned=0)
    return Investment(amount_sent=0)


@strategy("investor", "trustee")
def fair(request: DecisionRequest) -> Action:
    """Send everything, and return what makes both payoffs of an exchange equal."""
    me: Briefing = request.briefing
    if isinstance(request.event, Received):
        sent, received = request.event.sent, request.event.received
        points = equal_return(me.endowment, me.trustee_endowment, sent, received)
        return Repayment(amount_returned=points)
    return Investment(amount_sent=me.endowment)


@strategy("investor", "trustee")
def reciprocal(
    request: DecisionRequest, *, trust: Share = 0.5, trustworthiness: Share = 0.4
) -> Action:
    """Send a share of the endowment, and return a share of the points received.

    Args:
        trust: the share of the endowment that the investor sends, in [0, 1].
        trustworthiness: the share of the multiplied points that the trustee returns, in [0, 1].
    """
    if isinstance(request.event, Received):
        return Repayment(amount_returned=round(trustworthiness * request.event.received))
    return Investment(amount_sent=round(trust * request.briefing.endowment))


@strategy("investor", "trustee")
def random(request: DecisionRequest) -> Action:
    """Send and return random amounts."""
    draw = request.chance("move", request.number)
    if isinstance(request.event, Received):
        return Repayment(amount_returned=draw.integer(0, request.event.received))
    return Investment(amount_sent=draw.integer(0, request.briefing.endowment))
