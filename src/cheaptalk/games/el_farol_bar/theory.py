"""What theory says about going to the bar: pure functions that strategies and tests rest on."""

import math
from functools import cache

STEPS = 60
"""Halvings of the interval in which a root lies; more do not change a float."""


@cache
def room(players: int, capacity: float) -> int:
    """The greatest number of players that is not more than this share of them.

    In every pure equilibrium exactly so many go, and any of them can be the ones: a further one
    would find the bar crowded.

    >>> room(10, 0.6), room(10, 0), room(3, 0.5)
    (6, 0, 1)
    """
    return sum(went / players <= capacity for went in range(1, players + 1))


def probability_of_at_most(count: int, trials: int, probability: float) -> float:
    """P(X <= count) for a binomial X."""
    return math.fsum(
        math.comb(trials, hits) * probability**hits * (1 - probability) ** (trials - hits)
        for hits in range(count + 1)
    )


@cache
def symmetric_equilibrium(
    players: int, capacity: float, fun: float, crowded: float, home: float
) -> float:
    """The probability of going at which nobody minds either way, when all go with it.

    With m = room(N, R), the p that solves
    crowded + (fun - crowded) * P(X <= m - 1) = home, where X ~ Binomial(N - 1, p) counts the
    others who go; found by bisection, as the left side falls in p. It is 0 where nobody has room
    and 1 where everybody has. GAMA-Bench (section 2.1) takes R itself for it, which is near.

    >>> round(symmetric_equilibrium(10, 0.6, 10, 0, 5), 4)
    0.6069
    """
    places = room(players, capacity)
    if places in (0, players):
        return float(places > 0)
    indifferent = (home - crowded) / (fun - crowded)
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        if probability_of_at_most(places - 1, players - 1, middle) > indifferent:
            low = middle
        else:
            high = middle
    return (low + high) / 2
