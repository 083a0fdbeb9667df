"""The theory of the pirate game: backward induction over the living pirates.

A pirate wants, in this order, to live, to get gold, and to see others go overboard (Stewart 1999;
GAMA-Bench section 2.3). A pirate who would go overboard after a failed plan accepts any plan; other
pirates accept a plan that gives at least one coin more than they would get later.
"""

from functools import cache
from typing import Literal, NamedTuple

Majority = Literal["half", "strict"]
"""The votes required for a plan: at least half of the living pirates, or more than half."""


class Fate(NamedTuple):
    """A pirate's result: whether the pirate lives, and the pirate's gold (0 if not)."""

    lives: bool
    gold: int


def votes_needed(living: int, majority: Majority) -> int:
    """Return the number of votes required for a plan, including the proposer's vote.

    >>> votes_needed(10, "half"), votes_needed(9, "half"), votes_needed(10, "strict")
    (5, 5, 6)
    """
    return (living + 1) // 2 if majority == "half" else living // 2 + 1


@cache
def fates(living: int, gold: int, majority: Majority) -> tuple[Fate, ...]:
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
def prices(living: int, gold: int, majority: Majority) -> tuple[int, ...]:
    """Return the fewest coins for which each voter accepts, the most senior voter first.

    >>> prices(4, 100, "half")
    (100, 1, 2)
    """
    return tuple(fate.gold + 1 if fate.lives else 0 for fate in fates(living - 1, gold, majority))


@cache
def optimal_plan(living: int, gold: int, majority: Majority) -> tuple[int, ...] | None:
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
    bought = set(cheapest[: votes_needed(living, majority) - 1])
    other_coins = [coins if rank in bought else 0 for rank, coins in enumerate(vote_prices)]
    remainder = gold - sum(other_coins)
    return None if remainder < 0 else (remainder, *other_coins)
