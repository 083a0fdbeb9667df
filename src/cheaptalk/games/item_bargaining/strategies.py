"""Scripted strategies of item bargaining (section 4.2 and appendix L of the paper).

They reason in undiscounted values of bundles to themselves, in points: outcomes in the same round
are discounted equally, including outside options.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from cheaptalk.games.item_bargaining.best_response import Responder, candidate_hands, offers_seen
from cheaptalk.games.item_bargaining.events import Briefing, Move, OfferMade, Opening
from cheaptalk.games.item_bargaining.pools import Bundle, rest, worth
from cheaptalk.games.item_bargaining.rules import FIRST
from cheaptalk.games.tactics import Share
from cheaptalk.rules import DecisionRequest, Moment, Strategy, strategy

Family: TypeAlias = Literal["polynomial", "exponential"]

MANNERS: dict[Family, tuple[float, float, float]] = {
    "polynomial": (0.25, 1.0, 4.0),
    "exponential": (4.0, 0.725, 0.125),
}
"""The exponents of the conceder, linear and Boulware schedules."""


@lru_cache(maxsize=4096)
def aspired(discount: float, rounds: int, number: int, family: Family = "polynomial") -> float:
    """Return the share of the range from outside option to ceiling that is aspired to in a round.

    s * (1 - x ** p), or s * (exp((1 - x) ** p) - 1) / (e - 1), where x runs from 0 in the first
    round to 1 in the last. Patient players start high and concede late: s is 0.15, 0.25 or 0.40
    with a conceder, linear or Boulware schedule, for discounts up to 0.92, up to 0.96 and above. In
    a match of one round the aspiration is the outside option.

    Args:
        discount: the factor by which an outcome's value shrinks from round to round.
        rounds: the maximum number of rounds (N).
        number: the round, from 1; later rounds than the last count as the last.
        family: the form of the schedule.
    """
    patience = (discount > 0.92) + (discount > 0.96)
    scale, power = (0.15, 0.25, 0.4)[patience], MANNERS[family][patience]
    remaining = 1 - (number - 1) / (rounds - 1) if number < rounds else 0.0
    if family == "polynomial":
        return scale * float(1 - (1 - remaining) ** power)
    return scale * math.expm1(remaining**power) / math.expm1(1) if remaining else 0.0


def nearest(quantities: Bundle, values: Bundle, reference: Bundle, target: float) -> Bundle | None:
    """Return the bundle to keep that is nearest to a reference and worth at least the target.

    The bundle leaves the other player at least one item. Among the possible bundles, it has the
    fewest units more or less than the reference, and then the lowest value. None if there is no
    such bundle.

    Only units added to the reference raise its value, so the nearest bundle adds the fewest that
    suffice. If these are all units, one item of the reference is conceded instead.
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
    """Return the minimum number of units worth the missing amount; None if all are too few.

    Args:
        prices: the value of a unit of each kind, in descending order.
        available: the available units of each kind.
        missing: the required total value.
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
    """Return this many units, worth at least the missing amount, with minimum total value.

    A depth-first search that prunes branches that can't suffice or improve. The arguments are as
    for :func:`fewest`; a solution must exist.
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
    """Return all items but one, worth at least the target, with minimum value, or None."""
    spare = worth(quantities, values) - target
    candidates = [kind for kind, count in enumerate(quantities) if count and values[kind] <= spare]
    if not candidates:
        return None
    dearest = max(candidates, key=values.__getitem__)
    return tuple([count - (kind == dearest) for kind, count in enumerate(quantities)])


def closest(quantities: Bundle, values: Bundle, target: float) -> Bundle | None:
    """Return the bundle to keep with the minimum value that reaches the target, but not all items.

    None if there is none. Every bundle of the other kinds is filled up with items of the kind with
    the highest quantity.
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
    """Return the kind with the highest quantity, and all bundles without it."""
    largest = quantities.index(max(quantities))
    sizes = [1 if kind == largest else count + 1 for kind, count in enumerate(quantities)]
    return largest, list(product(*map(range, sizes)))


ACCEPT = Move(action="ACCEPT")
WALK = Move(action="WALK")


@lru_cache(maxsize=4096)
def give(bundle: Bundle) -> Move:
    """Return the move that offers this bundle."""
    return Move(action="COUNTEROFFER", offer=bundle)


def uniform_offer(request: DecisionRequest) -> Move:
    """Offer a random bundle, each equally likely."""
    draw = request.chance("offer", request.number)
    return give(tuple([draw.integer(0, count) for count in request.briefing.quantities]))


@strategy("player")
def tough(
    request: DecisionRequest, *, item: Literal["least_valued", "first"] = "least_valued"
) -> Move:
    """Offer one item of the own least valued kind, and never accept or walk away.

    Section 4.2. Among equally valued kinds the first is chosen; kinds without items are skipped.

    Args:
        item: the item offered: one of the least valued kind or, as in a published runner, of the
            first kind.
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
    """Walk away at once, so that both get their outside options (section 4.2)."""
    return WALK


@strategy("player")
def random(request: DecisionRequest, *, acceptance: Share = 0.2, walking: Share = 0.1) -> Move:
    """Accept or walk away with fixed probabilities, otherwise offer a random bundle.

    Args:
        acceptance: the probability of accepting an offer.
        walking: the probability of walking away otherwise.
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
    """Lower the target from round to round; accept or demand what reaches it (appendix L).

    The target decreases to the outside option, early in impatient games and late in patient ones:
    :func:`~cheaptalk.games.item_bargaining.strategies.aspired`. Player 1 is one round ahead. An
    offer worth the target is accepted. Otherwise the counteroffer keeps a bundle that is worth the
    target and nearest to a reference: :func:`~cheaptalk.games.item_bargaining.strategies.nearest`.
    If only keeping everything would reach the target, walk away. The paper doesn't define the
    opening; here it keeps the bundle whose value is closest to the target from above.

    Args:
        family: the form of the schedule.
        ceiling: the share of the range from outside option to total value that bounds aspirations,
            in [0, 1].
        slack: the shortfall from the target that is still accepted, but never below the outside
            option.
        slack_in: the unit of the slack. The paper's formula subtracts 0.05 points, its text says
            5 %.
        mirror: the reference: what the rival's offer keeps for the rival (the paper's formula), or
            what it offers (its explanation: to demand the smallest change from the rival).
    """
    me: Briefing = request.briefing
    event: Opening | OfferMade = request.event
    share = aspired(me.discount, me.rounds, event.round + (me.seat == FIRST), family)
    aspired_worth = me.outside + share * ceiling * (me.total - me.outside)
    target = max(
        me.outside, aspired_worth - (slack if slack_in == "points" else slack * aspired_worth)
    )
    if isinstance(event, Opening):
        bundle = closest(me.quantities, me.values, target)
    elif worth(event.offer, me.values) >= target:
        return ACCEPT
    else:
        reference = event.offer if mirror == "offer" else event.kept
        bundle = nearest(me.quantities, me.values, reference, target)
    return WALK if bundle is None else give(rest(me.quantities, bundle))


KNOWN_RIVALS: dict[str, Strategy] = {
    rival_strategy.name: rival_strategy for rival_strategy in (tough, soft, walk, aspire)
}


@strategy("player", searches=True)
def best_response(
    request: DecisionRequest,
    *,
    rival: Literal["tough", "soft", "walk", "aspire"] = "aspire",
    hands: Annotated[int, Field(ge=1, le=10_000)] = 16,
) -> Move:
    """Respond optimally to a rival whose strategy is known, by searching to the end of the match.

    The rival is assumed to play a known strategy with one of the hands that are consistent with its
    offers so far, or with any hand if none is. The response is exact in small pools, where the
    rival has up to 500 possible hands; in larger ones it is a response to a sample of hands. The
    time grows with hands, bundles and rounds. See
    :class:`~cheaptalk.games.item_bargaining.best_response.Responder`.

    Args:
        rival: the rival's strategy, with its default settings.
        hands: the number of the rival's hands to sample in a pool that is not small.
    """
    me: Briefing = request.briefing
    possible = candidate_hands(me, hands, request.chance("rival's hands"))
    responder = Responder(me, KNOWN_RIVALS[rival], possible)
    offer = request.event.offer if isinstance(request.event, OfferMade) else None
    offers = list(offers_seen([*request.heard, Moment(request.event)]))
    if rival == "soft":
        offers = []  # its only offer is random and reveals nothing about its hand
    _, move = responder.plan(request.event.round, offer, responder.consistent(offers))
    if isinstance(move, str):
        return ACCEPT if move == "accept" else WALK
    return give(move)
