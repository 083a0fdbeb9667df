"""Scripted strategies of item bargaining (Smithline et al. 2025, section 4.2 and appendix L).

The strategies compare undiscounted values, because all outcomes of a round, including outside
options, have the same discount.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from cheaptalk.games.item_bargaining.best_response import Responder, candidate_hands, offers_seen
from cheaptalk.games.item_bargaining.rules import (
    FIRST,
    Briefing,
    Bundle,
    Move,
    OfferMade,
    Opening,
    rest,
    worth,
)
from cheaptalk.games.tactics import Share
from cheaptalk.rules import DecisionRequest, Moment, Strategy, by_name, strategy

Family: TypeAlias = Literal["polynomial", "exponential"]

MANNERS: dict[Family, tuple[float, float, float]] = {
    "polynomial": (0.25, 1.0, 4.0),
    "exponential": (4.0, 0.725, 0.125),
}
"""The exponents of the conceder, linear and Boulware schedules."""


@lru_cache(maxsize=4096)
def aspired(discount: float, rounds: int, number: int, family: Family = "polynomial") -> float:
    """Return a round's aspiration level, from 0 for the outside option to 1 for the ceiling.

    s * (1 - x ** p), or s * (exp((1 - x) ** p) - 1) / (e - 1), where x runs from 0 in the first
    round to 1 in the last. Patient players start high and concede late: s is 0.15, 0.25 or 0.40
    with a conceder, linear or Boulware schedule, for discounts up to 0.92, up to 0.96 and above.

    Args:
        discount: the factor by which an outcome's value shrinks from round to round.
        rounds: the maximum number of rounds; with one round, the aspiration is 0.
        number: the round, from 1; after the last round, the aspiration is that of the last.
    """
    patience = (discount > 0.92) + (discount > 0.96)
    scale, power = (0.15, 0.25, 0.4)[patience], MANNERS[family][patience]
    remaining = 1 - (number - 1) / (rounds - 1) if number < rounds else 0.0
    if family == "polynomial":
        return scale * float(1 - (1 - remaining) ** power)
    return scale * math.expm1(remaining**power) / math.expm1(1) if remaining else 0.0


def nearest(quantities: Bundle, values: Bundle, reference: Bundle, target: float) -> Bundle | None:
    """Return the bundle nearest to a reference bundle that is worth at least the target.

    The bundle leaves the other player at least one item; None if there is no such bundle. It
    differs from the reference by the fewest units and, among such bundles, has the lowest value.

    The nearest bundle adds the fewest units that suffice. If these are all units, the bundle
    contains all items but one.
    """
    if reference == quantities:
        return drop_one_item(quantities, values, target)
    enough = worth(reference, values)
    if enough >= target:
        return reference
    missing = math.ceil(target) - enough
    order = sorted(range(len(values)), key=values.__getitem__, reverse=True)
    prices = [values[kind] for kind in order]
    available = [quantities[kind] - reference[kind] for kind in order]
    added = fewest(prices, available, missing)
    if added is None or added == sum(available):
        return drop_one_item(quantities, values, target)
    bundle = list(reference)
    for kind, units in zip(order, cheapest(prices, available, added, missing), strict=True):
        bundle[kind] += units
    return tuple(bundle)


def fewest(prices: Sequence[int], available: Sequence[int], missing: int) -> int | None:
    """Return the smallest number of units that supplies a missing value; None if none does.

    Args:
        prices: the value of a unit of each kind, in descending order.
        available: the available units of each kind.
    """
    added = 0
    for price, units in zip(prices, available, strict=True):
        if missing <= price * units:
            return added - -missing // price
        missing -= price * units
        added += units
    return None


def cheapest(
    prices: Sequence[int], available: Sequence[int], added: int, missing: int
) -> list[int]:
    """Return the ``added`` units of lowest total value that supply a missing value.

    The depth-first search prunes branches that can't suffice or improve. A solution must exist.
    """
    best = math.inf
    chosen: list[int] = []
    last = len(prices) - 1

    def search(kind: int, units: int, total: int, counts: list[int]) -> None:
        nonlocal best, chosen
        price = prices[kind]
        if total + units * price < missing or total + units * prices[last] >= best:
            return
        if kind == last:
            if units <= available[kind]:
                best, chosen = total + units * price, [*counts, units]
            return
        for count in range(min(units, available[kind]) + 1):
            search(kind + 1, units - count, total + count * price, [*counts, count])

    search(0, added, 0, [])
    return chosen


def drop_one_item(quantities: Bundle, values: Bundle, target: float) -> Bundle | None:
    """Return all items but the most valuable one that can be given up at this target, or None."""
    spare = worth(quantities, values) - target
    candidates = [kind for kind, count in enumerate(quantities) if count and values[kind] <= spare]
    if not candidates:
        return None
    dearest = max(candidates, key=values.__getitem__)
    return tuple([count - (kind == dearest) for kind, count in enumerate(quantities)])


def closest(quantities: Bundle, values: Bundle, target: float) -> Bundle | None:
    """Return the cheapest bundle that reaches the target; None if only all items together do.

    The search enumerates bundles without the kind with the highest quantity, and adds items of this
    kind to each bundle.
    """
    largest, partial_bundles = without_largest_kind(quantities)
    worths = [0]
    for kind, value in enumerate(values):
        if kind != largest:
            steps = range(0, quantities[kind] * value + 1, value)
            worths = [total + step for total in worths for step in steps]
    price, minimum, total_worth = values[largest], math.ceil(target), worth(quantities, values)
    enough = minimum - quantities[largest] * price  # the minimum value of the other kinds
    filled = [
        (total if total >= minimum else minimum + (total - minimum) % price)
        if total >= enough
        else total_worth
        for total in worths
    ]
    best = min(filled)
    if best >= total_worth:
        return None
    index = filled.index(best)
    bundle = list(partial_bundles[index])
    bundle[largest] = (best - worths[index]) // price
    return tuple(bundle)


@lru_cache(maxsize=64)
def without_largest_kind(quantities: Bundle) -> tuple[int, list[Bundle]]:
    """Return the kind with the highest quantity, and all bundles without that kind."""
    largest = quantities.index(max(quantities))
    sizes = [1 if kind == largest else count + 1 for kind, count in enumerate(quantities)]
    return largest, list(product(*map(range, sizes)))


ACCEPT = Move(action="ACCEPT")
WALK = Move(action="WALK")


@lru_cache(maxsize=4096)
def give(bundle: Bundle) -> Move:
    """Return the move that offers a bundle."""
    return Move(action="COUNTEROFFER", offer=bundle)


def uniform_offer(request: DecisionRequest) -> Move:
    """Offer a random bundle; all bundles are equally likely."""
    draw = request.chance("offer", request.number)
    return give(tuple([draw.integer(0, count) for count in request.briefing.quantities]))


@strategy("player")
def tough(
    request: DecisionRequest, *, item: Literal["least_valued", "first"] = "least_valued"
) -> Move:
    """Offer one item of the least valued kind, and never accept or walk away (section 4.2).

    Args:
        item: the kind offered: the least valued (the first among equals) or, as in a published
            runner, the first kind.
    """
    me: Briefing = request.briefing
    kinds = [kind for kind, count in enumerate(me.quantities) if count]
    kind_given = min(kinds, key=me.values.__getitem__) if item == "least_valued" else kinds[0]
    return give(tuple([int(kind == kind_given) for kind in range(len(me.quantities))]))


@strategy("player")
def soft(request: DecisionRequest) -> Move:
    """Accept any offer; if there is none, offer a random bundle (section 4.2)."""
    return ACCEPT if isinstance(request.event, OfferMade) else uniform_offer(request)


@strategy("player")
def walk(request: DecisionRequest) -> Move:  # noqa: ARG001 - uses no observation
    """Walk away immediately, so that both players get their outside options (section 4.2)."""
    return WALK


@strategy("player")
def random(request: DecisionRequest, *, acceptance: Share = 0.2, walking: Share = 0.1) -> Move:
    """Accept or walk away with fixed probabilities, otherwise offer a random bundle.

    Args:
        acceptance: the probability of accepting an offer.
        walking: the probability of walking away if no offer is accepted.
    """
    draw = request.chance("move", request.number)
    if draw.happens(acceptance) and isinstance(request.event, OfferMade):
        return ACCEPT
    return WALK if draw.happens(walking) else uniform_offer(request)


@strategy("player")
def aspire(
    request: DecisionRequest,
    *,
    family: Family = "polynomial",
    ceiling: Share = 0.85,
    slack: Annotated[float, Field(ge=0, le=1)] = 0.05,
    slack_in: Literal["points", "share"] = "points",
    mirror: Literal["keep", "offer"] = "keep",
) -> Move:
    """Lower the target value from round to round, and accept or demand this value (appendix L).

    The target decreases to the outside option, early in impatient games and late in patient games
    (:func:`~cheaptalk.games.item_bargaining.strategies.aspired`); player 1 is one round ahead. An
    offer worth the target is accepted. Otherwise the counteroffer keeps the bundle that is worth
    the target and nearest to a reference
    (:func:`~cheaptalk.games.item_bargaining.strategies.nearest`). If only all items are worth the
    target, walk away. The paper doesn't define the opening; here it keeps the cheapest bundle that
    is worth the target.

    Args:
        family: the form of the schedule.
        ceiling: the maximum aspiration, as a share of the range from outside option to total value.
        slack: the accepted shortfall from the target, but never below the outside option.
        slack_in: the unit of the slack: 0.05 points in the paper's formula, 5 % in its text.
        mirror: the reference: the items that the rival's offer keeps (the paper's formula), or the
            items that it offers (its explanation: to demand the smallest change).
    """
    me: Briefing = request.briefing
    event: Opening | OfferMade = request.event
    share = aspired(me.discount, me.rounds, event.round + (me.seat == FIRST), family)
    aspired_worth = me.outside + share * ceiling * (me.total - me.outside)
    shortfall = slack if slack_in == "points" else slack * aspired_worth
    target = max(me.outside, aspired_worth - shortfall)
    if isinstance(event, Opening):
        bundle = closest(me.quantities, me.values, target)
    elif worth(event.offer, me.values) >= target:
        return ACCEPT
    else:
        reference = event.offer if mirror == "offer" else event.kept
        bundle = nearest(me.quantities, me.values, reference, target)
    return WALK if bundle is None else give(rest(me.quantities, bundle))


KNOWN_RIVALS: dict[str, Strategy] = by_name([tough, soft, walk, aspire])


@strategy("player", searches=True)
def best_response(
    request: DecisionRequest,
    *,
    rival: Literal["tough", "soft", "walk", "aspire"] = "aspire",
    hands: Annotated[int, Field(ge=1, le=10_000)] = 16,
) -> Move:
    """Respond optimally to a known strategy of the rival, by searching to the end of the match.

    The rival is assumed to have one of the hands that are consistent with its offers, or any hand
    if no hand is. The response is exact in small pools, in which the rival has up to 500 possible
    hands; in larger pools, it is a response to a sample of hands. The time grows with hands,
    bundles and rounds. See :class:`~cheaptalk.games.item_bargaining.best_response.Responder`.

    Args:
        rival: the rival's strategy, with default settings.
        hands: the number of the rival's hands to sample in larger pools.
    """
    me: Briefing = request.briefing
    possible = candidate_hands(me, hands, request.chance("rival's hands"))
    responder = Responder(me, KNOWN_RIVALS[rival], possible)
    offer = request.event.offer if isinstance(request.event, OfferMade) else None
    offers = list(offers_seen([*request.heard, Moment(request.event)]))
    if rival == "soft":
        offers = []  # this strategy's only offer is random and reveals nothing about its hand
    _, move = responder.plan(request.event.round, offer, responder.consistent(offers))
    if isinstance(move, str):
        return ACCEPT if move == "accept" else WALK
    return give(move)
