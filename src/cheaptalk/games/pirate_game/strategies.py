"""Scripted pirates."""

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field

from cheaptalk.games.pirate_game.events import Briefing, Plan, PlanMade, Turn, Vote
from cheaptalk.games.pirate_game.theory import Majority, optimal_plan, prices
from cheaptalk.games.tactics import Share
from cheaptalk.rules import Action, DecisionRequest, strategy

Coins = Annotated[int, Field(ge=0, strict=True)]
ACCEPT, REJECT = Vote(decision="accept"), Vote(decision="reject")


def offer_others(turn: Turn, *other_coins: int) -> Plan:
    """Return the plan that gives the other pirates these coins and the proposer the rest."""
    return Plan(
        proposal=dict(zip(turn.living, (turn.gold - sum(other_coins), *other_coins), strict=True))
    )


def alike(turn: Turn, coins: int) -> Plan:
    """Return the plan that gives all others these coins, or an equal part of the gold if less."""
    opponents = len(turn.living) - 1
    return offer_others(turn, *[min(coins, turn.gold // opponents)] * opponents)


def optimal(turn: Turn, majority: Majority) -> Plan:
    """Return the optimal plan; if no plan can pass, the gold is divided among the others."""
    plan = optimal_plan(len(turn.living), turn.gold, majority)
    return alike(turn, turn.gold) if plan is None else offer_others(turn, *plan[1:])


def vote(accept: bool) -> Vote:
    """Return the vote that accepts or rejects."""
    return ACCEPT if accept else REJECT


def steps_below(request: DecisionRequest, plan_made: PlanMade) -> int:
    """Return how many ranks this pirate is below the proposer."""
    return [seat for seat, _ in plan_made.plan].index(request.actor)


@strategy("player")
def equilibrium(request: DecisionRequest) -> Action:
    """Propose and vote by backward induction (Stewart 1999), under either majority."""
    me: Briefing = request.briefing
    if isinstance(request.event, Turn):
        return optimal(request.event, me.majority)
    plan_made: PlanMade = request.event
    price = prices(len(plan_made.plan), me.gold, me.majority)[steps_below(request, plan_made) - 1]
    return vote(plan_made.own >= price)


@strategy("player")
def textbook(request: DecisionRequest) -> Action:
    """Play what GAMA-Bench scores as correct (section 3.3), under any majority.

    That is the optimal plan if half of the votes suffice, and voting by a rule of thumb: for two
    coins or more, against none, and for one coin if one's rank has the same parity as the
    proposer's.
    """
    if isinstance(request.event, Turn):
        return optimal(request.event, "half")
    plan_made: PlanMade = request.event
    return vote(
        plan_made.own >= 2 or (plan_made.own == 1 and steps_below(request, plan_made) % 2 == 0)
    )


@strategy("player")
def equal_split(request: DecisionRequest) -> Action:
    """Offer each an equal share, accept that or more (the even split of ultimatum experiments).

    The proposer keeps the remainder (GAMA-Bench section 2.3 calls the game a multi-player ultimatum
    game).
    """
    if isinstance(request.event, Turn):
        return alike(request.event, request.event.gold // len(request.event.living))
    plan_made: PlanMade = request.event
    return vote(plan_made.own >= request.briefing.gold // len(plan_made.plan))


@strategy("player")
def fixed(
    request: DecisionRequest, *, offer: Coins = 1, decision: Literal["accept", "reject"] = "accept"
) -> Action:
    """Offer all others the same coins, and give the same vote on every plan.

    A fixed strategy as in GAMA-Bench, appendix G.

    Args:
        offer: coins for each of the others, or an equal part of the gold if less.
        decision: the vote.
    """
    if isinstance(request.event, Turn):
        return alike(request.event, offer)
    return vote(decision == "accept")


@strategy("player")
def random(request: DecisionRequest, *, acceptance: Share = 0.5) -> Action:
    """Divide the coins at random points; accept with a fixed probability.

    Args:
        acceptance: the probability of accepting a plan.
    """
    draw = request.chance("move", request.number)
    match request.event:
        case Turn(living=living, gold=gold) as turn:
            cuts = sorted(draw.integer(0, gold) for _ in living[1:])
            return offer_others(turn, *[end - start for start, end in pairwise((*cuts, gold))])
    return vote(draw.happens(acceptance))
