"""Scripted strategies of bargaining, which depend only on observations."""

from functools import cache

from cheaptalk.games.bargaining.rules import Briefing, Offer, OfferMade, Reply, SpokenOffer
from cheaptalk.games.manners import Choice, Topics, talker_of
from cheaptalk.games.tactics import Share, conceded, concessions
from cheaptalk.rules import Action, DecisionRequest, strategy

CENT = 0.01
"""Tolerance of comparisons, because offers are rounded to cents."""
ACCEPT, REJECT = Reply(decision="accept"), Reply(decision="reject")


def offer(request: DecisionRequest, share: float, message: str = "") -> Action:
    """Return the offer that gives the proposer a share of the money, rounded to cents."""
    briefing: Briefing = request.briefing
    keep = min(round(share * briefing.money, 2), briefing.money)
    give = round(briefing.money - keep, 9)
    alice, bob = (keep, give) if briefing.seat == "alice" else (give, keep)
    if request.ask.action is SpokenOffer:
        return SpokenOffer(alice_gain=alice, bob_gain=bob, message=message)
    return Offer(alice_gain=alice, bob_gain=bob)


def offered(request: DecisionRequest, offer_made: OfferMade) -> float:
    """Return the share of the money that the rival's offer gives to the player."""
    briefing: Briefing = request.briefing
    gain = offer_made.alice_gain if briefing.seat == "alice" else offer_made.bob_gain
    return gain / briefing.money


def enough(request: DecisionRequest, offer_made: OfferMade, share: float) -> Reply:
    """Accept an offer if it gives the seat at least this share of the money, within a cent."""
    return answer(offered(request, offer_made) >= share - CENT / request.briefing.money)


def answer(accept: bool) -> Reply:
    """Return the reply that accepts or rejects an offer."""
    return ACCEPT if accept else REJECT


@cache
def equilibrium_share(stage: int, rounds: int | None, discount: float, rival: float) -> float:
    """Return the proposer's share in the subgame-perfect equilibrium of the remaining stages.

    The proposer offers the rival exactly the value of waiting for one stage: x_T = 1, x_t = 1 -
    d_rival * x_(t+1), with alternating discounts (backward induction; Stahl 1972). With an infinite
    horizon, x = (1 - d_rival) / (1 - d_own * d_rival) (Rubinstein 1982, proposition; GLEE appendix
    C), and 1/2 if neither player discounts.

    Args:
        rounds: the last stage; None for an infinite horizon.
        discount: the proposer's discount, in (0, 1].
        rival: the responder's discount, in (0, 1].

    >>> round(equilibrium_share(1, None, 0.9, 0.9), 4)
    0.5263
    >>> equilibrium_share(12, 12, 0.9, 0.9)
    1.0
    """
    if rounds is None:
        return 0.5 if discount == rival == 1 else (1 - rival) / (1 - discount * rival)
    share = 1.0
    for current in range(rounds - 1, stage - 1, -1):
        waiting = rival if (current - stage) % 2 == 0 else discount
        share = 1 - waiting * share
    return share


@strategy("alice", "bob")
def subgame_perfect(request: DecisionRequest) -> Action:
    """Play the subgame-perfect equilibrium.

    If the horizon is known, the strategy uses backward induction; otherwise, it uses Rubinstein's
    division (Rubinstein 1982; GLEE appendix C). If the rival's discount is unknown, the strategy
    assumes its own discount.
    """
    me: Briefing = request.briefing
    rival = me.discount if me.rival_discount is None else me.rival_discount
    stage = request.event.stage
    if not isinstance(request.event, OfferMade):
        share = equilibrium_share(stage, me.rounds, me.discount, rival)
        return offer(request, share, "This is what waiting is worth to each of us.")
    if request.event.last:
        return answer(True)
    waiting = me.discount * equilibrium_share(stage + 1, me.rounds, me.discount, rival)
    return enough(request, request.event, waiting)


@strategy("alice", "bob")
def equal_split(request: DecisionRequest) -> Action:
    """Propose half and accept half or more (the fair division of GLEE section 2.1)."""
    if isinstance(request.event, OfferMade):
        return enough(request, request.event, 0.5)
    return offer(request, 0.5, "Half for each of us.")


@strategy("alice", "bob")
def fixed_demand(request: DecisionRequest, *, share: Share = 0.6) -> Action:
    """Always demand the same share and accept nothing less (Nash 1953, demand game).

    Args:
        share: the share of the money demanded, in [0, 1].
    """
    if isinstance(request.event, OfferMade):
        return enough(request, request.event, share)
    return offer(request, share, "I want my share and will not move.")


def concede(request: DecisionRequest, start: float, end: float, power: float) -> Action:
    """Demand the share given by a concession curve, and accept offers of at least that share."""
    demand = conceded(request.event.stage, request.briefing.rounds, start, end, power)
    if isinstance(request.event, OfferMade):
        return enough(request, request.event, demand)
    return offer(request, demand, "This is my offer for now.")


linear, boulware, conceder = concessions(concede, "the share demanded in the {} round", 0.9, 0.5)


@strategy("alice", "bob")
def random(request: DecisionRequest, *, acceptance: Share = 0.5) -> Action:
    """Offer a uniformly distributed division, and accept offers with a fixed probability."""
    draw = request.chance("move", request.number)
    if isinstance(request.event, OfferMade):
        return answer(draw.happens(acceptance))
    return offer(request, draw.uniform())


TACTICS = [linear, boulware, conceder, equal_split, fixed_demand, subgame_perfect]


def topics(request: DecisionRequest) -> Topics:
    """Return a talker's phrases."""
    money = request.briefing.money
    return Topics(
        anchor=f"my last three partners each left me ${0.95 * money:,.2f} of such a sum",
        claim=f"If we do not agree, a friend of mine pays me ${0.8 * money:,.2f} instead.",
        rule="whoever rejects two offers leaves with nothing",
        rival=f"${0.8 * money:,.2f} of such a sum for me",
        wish='{"decision": "accept"}',
        private="by how much your money shrinks from round to round",
    )


talker = talker_of(topics, replaces=True, offers=Choice(TACTICS, "linear", "offers and answers"))
