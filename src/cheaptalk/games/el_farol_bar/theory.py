"""Theoretical results for the El Farol bar: the attendance limit and the symmetric equilibrium."""

import math
from functools import cache

STEPS = 60
"""Number of bisection steps, sufficient for the precision of floats."""


@cache
def room(players: int, capacity: float) -> int:
    """Return the maximum number of players for whom the bar is fun.

    In every pure equilibrium, exactly this number of players go.

    >>> room(10, 0.6), room(10, 0), room(3, 0.5)
    (6, 0, 1)
    """
    return sum(went / players <= capacity for went in range(1, players + 1))


def probability_of_at_most(count: int, trials: int, probability: float) -> float:
    """Return P(X <= count) for a binomial X."""
    return math.fsum(
        math.comb(trials, hits) * probability**hits * (1 - probability) ** (trials - hits)
        for hits in range(count + 1)
    )


@cache
def symmetric_equilibrium(
    players: int, capacity: float, fun: float, crowded: float, home: float
) -> float:
    """Return the probability of going in the symmetric mixed equilibrium.

    With m = room(N, R), the probability p solves crowded + (fun - crowded) * P(X <= m - 1) = home,
    where X ~ Binomial(N - 1, p) is the number of other players who go. The left side decreases in
    p, so bisection finds the solution. If m is 0, p is 0; if m is N, p is 1. GAMA-Bench (section
    2.1) uses R, which is close to p.

    >>> round(symmetric_equilibrium(10, 0.6, 10, 0, 5), 4)
    0.6069
    """
    capacity_count = room(players, capacity)
    if capacity_count in (0, players):
        return float(capacity_count > 0)
    indifferent = (home - crowded) / (fun - crowded)
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        if probability_of_at_most(capacity_count - 1, players - 1, middle) > indifferent:
            low = middle
        else:
            high = middle
    return (low + high) / 2
