"""Scripted pirates."""

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field

from cheaptalk.games.pirate_game.events import Briefing, Plan, PlanMade, Turn, Vote
from cheaptalk.games.pirate_game.theory import Majority, optimal_plan, prices
from cheaptalk.games.tactics import Share
from cheaptalk.rules import Action, Asked, strategy

Coins = Annotated[int, Field(ge=0, strict=True)]
ACCEPT, REJECT = Vote(decision="accept"), Vote(decision="reject")


def offer_others(turn: Turn, *others: int) -> Plan:
    """The plan that gives the other pirates these coins and the proposer the rest."""
    return Plan(proposal=dict(zip(turn.living, (turn.gold - sum(others), *others), strict=True)))


def alike(turn: Turn, coins: int) -> Plan:
    """The plan that gives each of the others these coins, or as many as there are for each."""
    others = len(turn.living) - 1
    return offer_others(turn, *[min(coins, turn.gold // others)] * others)


def optimal(turn: Turn, majority: Majority) -> Plan:
    """The plan by backward induction; where no plan can pass, the gold to the others alike."""
    plan = optimal_plan(len(turn.living), turn.gold, majority)
    return alike(turn, turn.gold) if plan is None else offer_others(turn, *plan[1:])


def vote(accept: bool) -> Vote:
    """The vote that accepts or rejects."""
    return ACCEPT if accept else REJECT


def steps_below(asked: Asked, made: PlanMade) -> int:
    """How many ranks this pirate stands below the proposer."""
    return [seat for seat, _ in made.plan].index(asked.seat)


@strategy("player")
def equilibrium(asked: Asked) -> Action:
    """Propose and vote by backward induction (Stewart 1999), under either majority."""
    me: Briefing = asked.briefing
    if isinstance(asked.event, Turn):
        return optimal(asked.event, me.majority)
    made: PlanMade = asked.event
    price = prices(len(made.plan), me.gold, me.majority)[steps_below(asked, made) - 1]
    return vote(made.own >= price)


@strategy("player")
def textbook(asked: Asked) -> Action:
    """Play what GAMA-Bench scores as right (section 3.3), whatever the majority.

    That is the optimal plan where half of the votes carry it, and voting by a rule of thumb: for
    two coins or more, against none, and for one coin if the proposer's rank is odd or even as
    one's own is.
    """
    if isinstance(asked.event, Turn):
        return optimal(asked.event, "half")
    made: PlanMade = asked.event
    return vote(made.own >= 2 or (made.own == 1 and steps_below(asked, made) % 2 == 0))


@strategy("player")
def equal_split(asked: Asked) -> Action:
    """Offer each an equal share, accept that or more (the even split of ultimatum experiments).

    Coins that cannot be shared equally stay with the proposer (GAMA-Bench section 2.3 calls the
    game a multi-player ultimatum game).
    """
    if isinstance(asked.event, Turn):
        return alike(asked.event, asked.event.gold // len(asked.event.living))
    made: PlanMade = asked.event
    return vote(made.own >= asked.briefing.gold // len(made.plan))


@strategy("player")
def fixed(
    asked: Asked, *, offer: Coins = 1, decision: Literal["accept", "reject"] = "accept"
) -> Action:
    """Offer each of the others the same coins, and vote the same on every plan.

    A fixed strategy as in GAMA-Bench, appendix G.

    Args:
        offer: coins for each of the others; where there are fewer, as many as there are for each.
        decision: the vote.
    """
    if isinstance(asked.event, Turn):
        return alike(asked.event, offer)
    return vote(decision == "accept")


@strategy("player")
def random(asked: Asked, *, acceptance: Share = 0.5) -> Action:
    """Cut the row of coins at random places; accept with a fixed probability.

    Args:
        acceptance: the probability of accepting a plan.
    """
    draw = asked.chance("move", asked.request)
    match asked.event:
        case Turn(living=living, gold=gold) as turn:
            cuts = sorted(draw.integer(0, gold) for _ in living[1:])
            return offer_others(turn, *[end - start for start, end in pairwise((*cuts, gold))])
    return vote(draw.happens(acceptance))
