"""Scripted bargainers over items (section 4.2 and appendix L of the paper).

All of them reason in what a bundle is worth to them, undiscounted: what ends in the same round is
discounted alike, outside options included.
"""

from functools import lru_cache
from typing import Annotated, Literal

from pydantic import Field

from cheaptalk.games.item_bargaining.aspiration import Family, aspired, closest, nearest
from cheaptalk.games.item_bargaining.events import Briefing, Move, OfferMade, Opening
from cheaptalk.games.item_bargaining.pools import Bundle, rest, worth
from cheaptalk.games.item_bargaining.responding import Responder, offers_seen, some_hands
from cheaptalk.games.item_bargaining.rules import FIRST
from cheaptalk.games.tactics import Share
from cheaptalk.rules import Asked, Moment, Strategy, strategy

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
    in patient ones: :func:`~cheaptalk.games.item_bargaining.aspiration.aspired`. Player 1 is a
    round ahead in it. An offer worth the target is accepted. Otherwise the counteroffer keeps a
    bundle that is worth the target and is nearest to a reference:
    :func:`~cheaptalk.games.item_bargaining.aspiration.nearest`. Where only keeping everything
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


@strategy("player")
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
    :class:`~cheaptalk.games.item_bargaining.responding.Responder` does the work.

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
