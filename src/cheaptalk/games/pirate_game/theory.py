"""What rational pirates do: backward induction over who is left.

A pirate wants, in this order, to live, to have gold, and to see others go overboard (Stewart
1999; GAMA-Bench section 2.3). So it accepts a plan only for more than rejecting brings: for
nothing where the plans to come would cost its life, else for one coin more than it would have
then.
"""

from functools import cache
from typing import Literal, NamedTuple

Majority = Literal["half", "strict"]
"""What carries a plan: the votes of at least half of the living, or of more than half."""


class Fate(NamedTuple):
    """What becomes of a pirate; ``gold`` is 0 where it does not live."""

    lives: bool
    gold: int


def votes_needed(living: int, majority: Majority) -> int:
    """The votes that carry a plan, the proposer's among them.

    >>> votes_needed(10, "half"), votes_needed(9, "half"), votes_needed(10, "strict")
    (5, 5, 6)
    """
    return (living + 1) // 2 if majority == "half" else living // 2 + 1


@cache
def fates(living: int, gold: int, majority: Majority) -> tuple[Fate, ...]:
    """What becomes of each living pirate, the most senior first, if all play optimally.

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
    """The coins for which each voter accepts, the most senior first; the proposer is left out.

    >>> prices(4, 100, "half")
    (100, 1, 2)
    """
    later = fates(living - 1, gold, majority)
    return tuple(fate.gold + 1 if fate.lives else 0 for fate in later)


@cache
def optimal_plan(living: int, gold: int, majority: Majority) -> tuple[int, ...] | None:
    """The proposer's plan in subgame-perfect equilibrium; None where no plan can pass.

    The proposer buys the votes that it needs where they are cheapest and keeps the rest. Tie
    rule: of votes at one price it buys those of the more junior pirates. Ties come up under a
    strict majority and where the gold runs short.

    Args:
        living: how many pirates are left, from 1; the first of them proposes.
        gold: the coins to share out.
        majority: what carries a plan.

    >>> optimal_plan(10, 100, "half")
    (96, 0, 1, 0, 1, 0, 1, 0, 1, 0)
    >>> optimal_plan(2, 100, "strict") is None
    True
    """
    asked = prices(living, gold, majority)
    cheapest = sorted(range(len(asked)), key=lambda rank: (asked[rank], -rank))
    bought = set(cheapest[: votes_needed(living, majority) - 1])
    others = [coins if rank in bought else 0 for rank, coins in enumerate(asked)]
    kept = gold - sum(others)
    return None if kept < 0 else (kept, *others)
