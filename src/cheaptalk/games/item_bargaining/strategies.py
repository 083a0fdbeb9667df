"""Scripted bargainers over items (section 4.2 and appendix L of the paper).

All of them reason in what a bundle is worth to them, in points and undiscounted: what ends in the
same round is discounted alike, outside options included. Everything is counted from one player's
own side.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from cheaptalk.games.item_bargaining.best_response import Responder, offers_seen, some_hands
from cheaptalk.games.item_bargaining.events import Briefing, Move, OfferMade, Opening
from cheaptalk.games.item_bargaining.pools import Bundle, rest, worth
from cheaptalk.games.item_bargaining.rules import FIRST
from cheaptalk.games.tactics import Share
from cheaptalk.rules import Asked, Moment, Strategy, strategy

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


ACCEPT = Move(action="ACCEPT")
WALK = Move(action="WALK")


@lru_cache(maxsize=4096)
def give(bundle: Bundle) -> Move:
    """The move that offers the other this bundle."""
    return Move(action="COUNTEROFFER", offer=bundle)


def uniform_offer(asked: Asked) -> Move:
    """Offer a bundle, each as likely."""
    draw = asked.chance("offer", asked.request)
    return give(tuple([draw.integer(0, count) for count in asked.briefing.quantities]))


@strategy("player")
def tough(asked: Asked, *, item: Literal["least_valued", "first"] = "least_valued") -> Move:
    """Offer one item, of the kind that is worth least to oneself, and never accept or walk away.

    Section 4.2. Of kinds that are worth the same the first is taken, and no kind without items.

    Args:
        item: the item offered: one of the least valued kind, or as a published runner has it, of
            the first kind.
    """
    me: Briefing = asked.briefing
    kinds = [kind for kind, count in enumerate(me.quantities) if count]
    given = min(kinds, key=me.values.__getitem__) if item == "least_valued" else kinds[0]
    return give(tuple([int(kind == given) for kind in range(len(me.quantities))]))


@strategy("player")
def soft(asked: Asked) -> Move:
    """Accept any offer; where there is none, offer a bundle, each as likely (section 4.2)."""
    return ACCEPT if isinstance(asked.event, OfferMade) else uniform_offer(asked)


@strategy("player")
def walk(asked: Asked) -> Move:  # noqa: ARG001 - it looks at nothing
    """Walk away at once, so that both get their outside options (section 4.2)."""
    return WALK


@strategy("player")
def random(asked: Asked, *, acceptance: Share = 0.2, walking: Share = 0.1) -> Move:
    """Do anything legal: accept or walk away with fixed probabilities, or offer any bundle.

    Args:
        acceptance: the probability of accepting an offer.
        walking: the probability of walking away otherwise.
    """
    draw = asked.chance("move", asked.request)
    if draw.happens(acceptance) and isinstance(asked.event, OfferMade):
        return ACCEPT
    return WALK if draw.happens(walking) else uniform_offer(asked)


@strategy("player")
def aspire(
    asked: Asked,
    *,
    family: Family = "polynomial",
    ceiling: Share = 0.85,
    slack: Annotated[float, Field(ge=0, le=1)] = 0.05,
    slack_in: Literal["points", "share"] = "points",
    mirror: Literal["keep", "offer"] = "keep",
) -> Move:
    """Aspire to less round by round; accept what is enough, else ask for enough (appendix L).

    The target comes down from above the outside option to it, early in impatient games and late
    in patient ones: :func:`~cheaptalk.games.item_bargaining.strategies.aspired`. Player 1 is a
    round ahead in it. An offer worth the target is accepted. Otherwise the counteroffer keeps a
    bundle that is worth the target and is nearest to a reference:
    :func:`~cheaptalk.games.item_bargaining.strategies.nearest`. Where only keeping everything
    would be worth the target, walk away. The paper leaves the opening open; here it keeps the
    bundle whose worth comes closest to the target from above.

    Args:
        family: the form of the schedule.
        ceiling: the share of what all items are worth above the outside option that bounds
            aspirations, in [0, 1].
        slack: by how much less than the target is enough, but never less than the outside
            option.
        slack_in: what the slack is counted in. The paper's formula subtracts 0.05 points, its
            text speaks of 5 %.
        mirror: the reference: what the rival's offer keeps for the rival (the paper's formula), or
            what it offers (its explanation: to ask the rival for the least change).
    """
    me: Briefing = asked.briefing
    event: Opening | OfferMade = asked.event
    share = aspired(me.discount, me.rounds, event.round + (me.seat == FIRST), family)
    wanted = me.outside + share * ceiling * (me.total - me.outside)
    target = max(me.outside, wanted - (slack if slack_in == "points" else slack * wanted))
    if isinstance(event, Opening):
        kept = closest(me.quantities, me.values, target)
    elif worth(event.offer, me.values) >= target:
        return ACCEPT
    else:
        reference = event.offer if mirror == "offer" else event.kept
        kept = nearest(me.quantities, me.values, reference, target)
    return WALK if kept is None else give(rest(me.quantities, kept))


KNOWN: dict[str, Strategy] = {one.name: one for one in (tough, soft, walk, aspire)}


@strategy("player", searches=True)
def best_response(
    asked: Asked,
    *,
    rival: Literal["tough", "soft", "walk", "aspire"] = "aspire",
    hands: Annotated[int, Field(ge=1, le=10_000)] = 16,
) -> Move:
    """Respond best to a rival whose strategy is known, by looking ahead to the end of the match.

    The rival is taken to play a known strategy with one of the hands that its offers so far
    allow; where they allow none, with any. Exact in small pools, where the rival has up to 500
    possible hands; in larger ones a response to a sample of them, which takes time that grows
    with hands, bundles and rounds.
    :class:`~cheaptalk.games.item_bargaining.best_response.Responder` does the work.

    Args:
        rival: the rival's strategy, with its default settings.
        hands: how many of the rival's hands to look at in a pool that is not small.
    """
    me: Briefing = asked.briefing
    possible = some_hands(me, hands, asked.chance("rival's hands"))
    responder = Responder(me, KNOWN[rival], possible)
    offer = asked.event.offer if isinstance(asked.event, OfferMade) else None
    seen = list(offers_seen([*asked.heard, Moment(asked.event)]))
    if rival == "soft":
        seen = []  # its only offer is drawn at random and says nothing of its hand
    _, move = responder.plan(asked.event.round, offer, responder.consistent(seen))
    if isinstance(move, str):
        return ACCEPT if move == "accept" else WALK
    return give(move)
