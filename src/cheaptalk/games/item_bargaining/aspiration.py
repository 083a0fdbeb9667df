"""What the aspiring bargainer wants and proposes (paper's appendix L): pure functions.

Worths are in points and undiscounted. Everything is counted from one player's own side.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Literal, TypeAlias

from cheaptalk.games.item_bargaining.pools import Bundle, worth

Family: TypeAlias = Literal["polynomial", "exponential"]

MANNERS: dict[Family, tuple[float, float, float]] = {
    "polynomial": (0.25, 1.0, 4.0),
    "exponential": (4.0, 0.725, 0.125),
}
"""The exponents of the conceder, the linear and the Boulware schedule."""


@lru_cache(maxsize=4096)
def aspired(discount: float, rounds: int, number: int, family: Family = "polynomial") -> float:
    """The share of the range from outside option to ceiling that is aspired to in a round.

    s * (1 - x ** p), or s * (exp((1 - x) ** p) - 1) / (e - 1), where x runs from 0 in the
    first round to 1 in the last. The patient start high and concede late: s is 0.15, 0.25 or
    0.40 and the manner that of a conceder, linear or Boulware, for discounts up to 0.92, up to
    0.96 and above. In a match of one round nothing is aspired to beyond the outside option.

    Args:
        discount: what an outcome keeps of its worth from one round to the next.
        rounds: how many rounds there can be (N).
        number: the round, from 1; what lies beyond the last counts as the last.
        family: the form of the schedule.
    """
    patience = (discount > 0.92) + (discount > 0.96)
    scale, power = (0.15, 0.25, 0.4)[patience], MANNERS[family][patience]
    left = 1 - (number - 1) / (rounds - 1) if number < rounds else 0.0
    if family == "polynomial":
        return scale * float(1 - (1 - left) ** power)
    return scale * math.expm1(left**power) / math.expm1(1) if left else 0.0


def targets(
    outside: float,
    total: float,
    discount: float,
    rounds: int,
    *,
    ceiling: float = 0.85,
    family: Family = "polynomial",
) -> list[float]:
    """The worth aspired to in each round, from above the outside option down to it.

    theta_t = B + aspired share * ceiling * (U - B).

    Args:
        outside: what the outside option is worth (B).
        total: what all items together are worth (U).
        discount, rounds, family: see :func:`aspired`.
        ceiling: the share of U - B that would be the highest aspiration of all.

    >>> [round(one, 2) for one in targets(200, 600, 0.98, 3)]
    [336.0, 327.5, 200.0]
    """
    reach = ceiling * (total - outside)
    shares = (aspired(discount, rounds, number, family) for number in range(1, rounds + 1))
    return [outside + share * reach for share in shares]


def nearest(quantities: Bundle, values: Bundle, reference: Bundle, target: float) -> Bundle | None:
    """The bundle to keep that is nearest to a reference, worth the target, and not everything.

    Of all bundles that are worth at least the target and leave the other an item, the one with
    the fewest units more or less than the reference; of several the one that is worth least.
    None if there is no such bundle.

    Only units added to the reference raise its worth, so the nearest bundle adds the fewest
    that suffice. Where these are all there are, one item that the reference has is given up.
    """
    if reference == quantities:
        return all_but_one(quantities, values, target)
    enough = worth(reference, values)
    if enough >= target:
        return reference
    missing = math.ceil(target) - enough
    order = sorted(range(len(values)), key=values.__getitem__, reverse=True)
    prices = [values[kind] for kind in order]
    free = [quantities[kind] - reference[kind] for kind in order]
    added = fewest(prices, free, missing)
    if added is None or added == sum(free):
        return all_but_one(quantities, values, target)
    kept = list(reference)
    for kind, units in zip(order, cheapest(prices, free, added, missing), strict=True):
        kept[kind] += units
    return tuple(kept)


def fewest(prices: Sequence[int], free: Sequence[int], missing: int) -> int | None:
    """The fewest units that are worth what is missing; None if even all of them are not.

    Args:
        prices: what a unit of each kind is worth, the dearest kind first.
        free: the units that there are of each kind.
        missing: what they must be worth together.
    """
    added = 0
    for price, units in zip(prices, free, strict=True):
        if missing <= price * units:
            return added - -missing // price
        missing -= price * units
        added += units
    return None


def cheapest(prices: Sequence[int], free: Sequence[int], added: int, missing: int) -> list[int]:
    """So many units, worth at least what is missing, and together worth the least.

    A depth-first search that leaves out branches that cannot suffice or be better. The
    arguments are as for :func:`fewest`; there must be such units.
    """
    best = math.inf
    chosen: list[int] = []
    last = len(prices) - 1

    def search(kind: int, units: int, total: int, taken: list[int]) -> None:
        nonlocal best, chosen
        price = prices[kind]
        if total + units * price < missing or total + units * prices[last] >= best:
            return
        if kind == last:
            if units <= free[kind]:
                best, chosen = total + units * price, [*taken, units]
            return
        for count in range(min(units, free[kind]) + 1):
            search(kind + 1, units - count, total + count * price, [*taken, count])

    search(0, added, 0, [])
    return chosen


def all_but_one(quantities: Bundle, values: Bundle, target: float) -> Bundle | None:
    """All items but one, worth at least the target and the least; None if no such bundle is."""
    spare = worth(quantities, values) - target
    given = [kind for kind, count in enumerate(quantities) if count and values[kind] <= spare]
    if not given:
        return None
    dearest = max(given, key=values.__getitem__)
    return tuple([count - (kind == dearest) for kind, count in enumerate(quantities)])


def closest(quantities: Bundle, values: Bundle, target: float) -> Bundle | None:
    """The bundle to keep that is worth at least the target, the least, and not everything.

    None if there is none. Every bundle of the other kinds is filled up with items of the kind of
    which there are most.
    """
    most, others = without_most(quantities)
    worths = [0]
    for kind, value in enumerate(values):
        if kind != most:
            steps = range(0, quantities[kind] * value + 1, value)
            worths = [total + step for total in worths for step in steps]
    price, least, everything = values[most], math.ceil(target), worth(quantities, values)
    enough = least - quantities[most] * price  # what the other kinds must be worth at least
    filled = [
        (total if total >= least else least + (total - least) % price)
        if total >= enough
        else everything
        for total in worths
    ]
    best = min(filled)
    if best >= everything:
        return None
    place = filled.index(best)
    kept = list(others[place])
    kept[most] = (best - worths[place]) // price
    return tuple(kept)


@lru_cache(maxsize=64)
def without_most(quantities: Bundle) -> tuple[int, list[Bundle]]:
    """The kind of which there are most items, and all bundles without items of this kind."""
    most = quantities.index(max(quantities))
    sizes = [1 if kind == most else count + 1 for kind, count in enumerate(quantities)]
    return most, list(product(*map(range, sizes)))
