"""What theory says about the price: pure functions that the strategies rest on."""

import math
from collections.abc import Sequence


def optimal_gain(gains: Sequence[float]) -> float:
    """The demand g that maximises g * P(G >= g), where G is one of the gains, each as likely.

    G is the whole surplus of a trade, so P(G >= g) is the chance that the other accepts. The
    best demand is one of the possible gains; of several the smallest is taken. It is 0 where no
    gain is positive.

    >>> optimal_gain([-20, 0, 20, 50])
    50
    >>> optimal_gain([30, 40, 50])
    30
    """
    demands = [0.0, *sorted(gain for gain in gains if gain > 0)]
    return max(demands, key=lambda demanded: demanded * sum(gain >= demanded for gain in gains))


def regret_minimising_gain(surplus: float, draw: float) -> float:
    """The demand at a place in [0, 1) of the distribution that minimises the greatest regret.

    A seller with cost c who knows only that the buyer's value v is at most h regrets
    max(v - c, 0) less what the price p brings: p - c if p <= v, else 0. Drawn with density
    1 / (p - c) on [c + (h - c) / e, h], the price leaves the same expected regret (h - c) / e at
    every v in that range, since (v - c) minus the integral of (p - c) / (p - c) from
    c + (h - c) / e to v does not depend on v, and less below it; no other distribution has a
    smaller maximum (Bergemann and Schlag 2008, 2011, here with a cost). Turned around, the
    gain p - c at place u is (h - c) * exp(u - 1).

    Args:
        surplus: h - c, the most that a trade can be worth, in dollars.
        draw: the place u in the distribution, uniform in [0, 1).

    >>> round(regret_minimising_gain(100, 0.0), 2), regret_minimising_gain(100, 1.0)
    (36.79, 100.0)
    """
    return surplus * math.exp(draw - 1)


def equilibrium_share(seat: str, rounds: int | None) -> float:
    """The share of the surplus that a seat gets in subgame-perfect equilibrium.

    Nothing is lost by waiting, so whoever names the price in the last stage can wait for it and
    take all: the other accepts anything that is no loss there (backward induction; Stahl 1972
    without discounting). With no known end every division can be an equilibrium, as waiting is
    free; 1/2 is the limit of Rubinstein's (1982) division as equal discounts approach 1.

    >>> equilibrium_share("alice", 1), equilibrium_share("alice", 10)
    (1.0, 0.0)
    """
    if rounds is None:
        return 0.5
    return float((seat == "alice") == (rounds % 2 == 1))
