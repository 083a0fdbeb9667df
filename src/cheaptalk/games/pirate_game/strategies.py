"""Scripted strategies of the pirate game, with backward induction over the living pirates.

A pirate wants, in this order, to live, to get gold, and to see others go overboard (Stewart 1999;
GAMA-Bench section 2.3). A pirate who would go overboard after a failed plan accepts any plan; other
pirates accept a plan that gives at least one coin more than they would get later.
"""

from functools import cache
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from cheaptalk.games.pirate_game import rules
from cheaptalk.games.tactics import Share
from cheaptalk.rules import Action, DecisionRequest, strategy


class Fate(NamedTuple):
    """A pirate's result: whether the pirate lives, and the pirate's gold (0 if not)."""

    lives: bool
    gold: int


@cache
def fates(living: int, gold: int, majority: rules.Majority) -> tuple[Fate, ...]:
    """Return each living pirate's result under optimal play, the most senior first.

    >>> fates(3, 100, "half")
    (Fate(lives=True, gold=99), Fate(lives=True, gold=0), Fate(lives=True, gold=1))
    """
    if not living:
        return ()
    plan = optimal_plan(living, gold, majority)
    if plan is None:
        return (Fate(False, 0), *fates(living - 1, gold, majority))
    return tuple(Fate(True, coins) for coins in plan)


@cache
def prices(living: int, gold: int, majority: rules.Majority) -> tuple[int, ...]:
    """Return the fewest coins for which each voter accepts, the most senior voter first.

    >>> prices(4, 100, "half")
    (100, 1, 2)
    """
    return tuple(fate.gold + 1 if fate.lives else 0 for fate in fates(living - 1, gold, majority))


@cache
def optimal_plan(living: int, gold: int, majority: rules.Majority) -> tuple[int, ...] | None:
    """Return the proposer's plan in subgame-perfect equilibrium; None if no plan can pass.

    The proposer, who is the first of the living pirates, buys the required votes at the lowest
    prices and keeps the rest. Among equal prices, it buys the votes of the more junior pirates.

    >>> optimal_plan(10, 100, "half")
    (96, 0, 1, 0, 1, 0, 1, 0, 1, 0)
    >>> optimal_plan(2, 100, "strict") is None
    True
    """
    vote_prices = prices(living, gold, majority)
    cheapest = sorted(range(len(vote_prices)), key=lambda rank: (vote_prices[rank], -rank))
    bought = set(cheapest[: rules.votes_needed(living, majority) - 1])
    other_coins = [coins if rank in bought else 0 for rank, coins in enumerate(vote_prices)]
    remainder = gold - sum(other_coins)
    return None if remainder < 0 else (remainder, *other_coins)


Coins = Annotated[int, Field(ge=0, strict=True)]
VOTES = {True: rules.Vote(decision="accept"), False: rules.Vote(decision="reject")}


def offer_others(turn: rules.Turn, *other_coins: int) -> rules.Plan:
    """Return the plan that gives other pirates ``other_coins``, and the proposer the rest."""
    coins = (turn.gold - sum(other_coins), *other_coins)
    return rules.Plan(proposal=dict(zip(turn.living, coins, strict=True)))


def alike(turn: rules.Turn, coins: int) -> rules.Plan:
    """Return the plan that gives all other pirates ``coins`` each, or an equal share if less."""
    opponents = len(turn.living) - 1
    return offer_others(turn, *[min(coins, turn.gold // opponents)] * opponents)


def optimal(turn: rules.Turn, majority: rules.Majority) -> rules.Plan:
    """Return the optimal plan or, if no plan can pass, a division among the other pirates."""
    plan = optimal_plan(len(turn.living), turn.gold, majority)
    return alike(turn, turn.gold) if plan is None else offer_others(turn, *plan[1:])


def steps_below(request: DecisionRequest, plan_made: rules.PlanMade) -> int:
    """Return the number of ranks between this pirate and the proposer."""
    return [seat for seat, _ in plan_made.plan].index(request.actor)


@strategy("player")
def equilibrium(request: DecisionRequest) -> Action:
    """Propose and vote by backward induction (Stewart 1999), for either majority rule."""
    me: rules.Briefing = request.briefing
    if isinstance(request.event, rules.Turn):
        return optimal(request.event, me.majority)
    plan_made: rules.PlanMade = request.event
    price = prices(len(plan_made.plan), me.gold, me.majority)[steps_below(request, plan_made) - 1]
    return VOTES[plan_made.own >= price]


@strategy("player")
def textbook(request: DecisionRequest) -> Action:
    """Make the plans and votes that GAMA-Bench rewards (section 3.3), under any majority rule.

    The strategy proposes the optimal plan for a majority of half. It accepts two coins or more,
    rejects 0 coins, and accepts one coin if its rank has the same parity as the proposer's rank.
    """
    if isinstance(request.event, rules.Turn):
        return optimal(request.event, "half")
    plan_made: rules.PlanMade = request.event
    same_parity = steps_below(request, plan_made) % 2 == 0
    return VOTES[plan_made.own >= 2 or (plan_made.own == 1 and same_parity)]


@strategy("player")
def equal_split(request: DecisionRequest) -> Action:
    """Offer each pirate an equal share, and accept an equal share or more (as in ultimatum games).

    The proposer keeps the remainder.
    """
    if isinstance(request.event, rules.Turn):
        return alike(request.event, request.event.gold // len(request.event.living))
    plan_made: rules.PlanMade = request.event
    return VOTES[plan_made.own >= request.briefing.gold // len(plan_made.plan)]


@strategy("player")
def fixed(
    request: DecisionRequest, *, offer: Coins = 1, decision: Literal["accept", "reject"] = "accept"
) -> Action:
    """Always offer the same number of coins and cast the same vote (GAMA-Bench appendix G).

    Args:
        offer: the coins for each other pirate, at most an equal part of the gold.
        decision: the vote on every plan.
    """
    if isinstance(request.event, rules.Turn):
        return alike(request.event, offer)
    return VOTES[decision == "accept"]


@strategy("player")
def random(request: DecisionRequest, *, acceptance: Share = 0.5) -> Action:
    """Divide the coins at random points, and accept plans with a fixed probability."""
    draw = request.chance("move", request.number)
    match request.event:
        case rules.Turn(living=living, gold=gold) as turn:
            cuts = sorted(draw.integer(0, gold) for _ in living[1:])
            return offer_others(turn, *[end - start for start, end in pairwise((*cuts, gold))])
    return VOTES[draw.happens(acceptance)]
