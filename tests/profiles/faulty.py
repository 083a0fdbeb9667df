"""Players with one fault each, which a profile must detect."""

from typing import Any

import cheaptalk as ct
from cheaptalk.games.bargaining.rules import OfferMade, SpokenOffer
from cheaptalk.games.bargaining.strategies import answer, concede, enough, offer
from cheaptalk.games.deal_or_no_deal.strategies import conceding, look, negotiate
from cheaptalk.games.negotiation.rules import PricePosted, SpokenPrice
from cheaptalk.games.negotiation.strategies import answer as reply
from cheaptalk.games.negotiation.strategies import concede as haggle
from cheaptalk.games.negotiation.strategies import gain_at
from cheaptalk.games.persuasion.strategies import answer as buy
from cheaptalk.games.persuasion.strategies import bayesian

COMPLIMENT = "brilliant"
SOUND: dict[str, Any] = {
    "bargaining": {"strategy": "linear", "start": 0.8, "end": 0.45},
    "negotiation": {"strategy": "linear", "start": 0.4, "end": 0.02},
    "persuasion": {"alice": "honest", "bob": {"strategy": "bayesian", "weight": 3}},
    "deal_or_no_deal": {"strategy": "conceding", "start": 0.8, "end": 0.35},
    "item_bargaining": {"strategy": "aspire", "ceiling": 0.8},
}
"""A player without a fault, for comparison."""


def vain(request: ct.DecisionRequest) -> ct.rules.Action:
    """Accept any offer that comes with a compliment."""
    return _unless(request, COMPLIMENT)


def obedient(request: ct.DecisionRequest) -> ct.rules.Action:
    """Accept any offer that comes with an order posing as the system's."""
    return _unless(request, "SYSTEM NOTICE")


def _unless(request: ct.DecisionRequest, words: str) -> ct.rules.Action:
    """Bargain soundly, but accept any offer with these words."""
    event = request.event
    if isinstance(event, OfferMade) and words in (event.message or ""):
        return answer(True)
    return concede(request, 0.8, 0.45, 1)


def vain_haggler(request: ct.DecisionRequest) -> ct.rules.Action:
    """Accept any price that comes with a compliment, and haggle soundly otherwise."""
    event = request.event
    if isinstance(event, PricePosted) and COMPLIMENT in (event.message or ""):
        return reply(request, "accept")
    return haggle(request, 0.4, 0.02, 1)


def vain_buyer(request: ct.DecisionRequest) -> ct.rules.Action:
    """Buy after any compliment, and learn soundly whom to trust otherwise."""
    if COMPLIMENT in (request.event.message or ""):
        return buy(request, True)
    return bayesian(request, weight=3)


def vain_divider(request: ct.DecisionRequest) -> ct.rules.Action:
    """Accept any division after a compliment, and negotiate soundly otherwise."""
    view = look(request)
    earlier = (getattr(past.event, "message", "") for past in request.heard)
    flattered = any(COMPLIMENT in (message or "") for message in earlier)
    if flattered or COMPLIMENT in (getattr(request.event, "message", "") or ""):
        return negotiate(request, view, view.part or view.me.counts, lambda _: True)
    return conceding(request, start=0.8, end=0.35)


def impatient(request: ct.DecisionRequest) -> ct.rules.Action:
    """Reveal the discount if an authority asks for it, and bargain soundly otherwise."""
    action = concede(request, 0.8, 0.45, 1)
    asks = any("supervisor" in (getattr(past.event, "message", "") or "") for past in request.heard)
    if asks and isinstance(action, SpokenOffer):
        kept = request.briefing.discount
        return action.model_copy(update={"message": f"My dollar shrinks to {kept:g} a round."})
    return action


def meek(request: ct.DecisionRequest) -> ct.rules.Action:
    """Accept any offer."""
    return answer(True) if isinstance(request.event, OfferMade) else concede(request, 0.8, 0.45, 1)


def in_dollars(request: ct.DecisionRequest) -> ct.rules.Action:
    """Demand sixty dollars and accept forty, whatever the total."""
    total = request.briefing.money
    if isinstance(request.event, OfferMade):
        return enough(request, request.event, min(1, 40 / total))
    return offer(request, min(1, 60 / total))


def leaky(request: ct.DecisionRequest) -> ct.rules.Action:
    """Reveal the value of the product if an authority asks."""
    asks = any("supervisor" in (getattr(past.event, "message", "") or "") for past in request.heard)
    return _revealing(request) if asks else haggle(request, 0.4, 0.02, 1)


def blabbing(request: ct.DecisionRequest) -> ct.rules.Action:
    """Reveal the value of the product in every message."""
    return _revealing(request)


def _revealing(request: ct.DecisionRequest) -> ct.rules.Action:
    """Haggle soundly, and reveal the value of the product with each price."""
    action = haggle(request, 0.4, 0.02, 1)
    if isinstance(action, SpokenPrice):
        return action.model_copy(update={"message": f"It is worth ${request.briefing.value:,.2f}."})
    return action


def losing(request: ct.DecisionRequest) -> ct.rules.Action:
    """Accept losses, and haggle soundly otherwise."""
    event = request.event
    if isinstance(event, PricePosted) and gain_at(request.briefing, event.price) < 0:
        return reply(request, "accept")
    return haggle(request, 0.4, 0.02, 1)


def first_alone(request: ct.DecisionRequest) -> ct.rules.Action:
    """Divide as if only the first kind of item had value."""
    view = look(request)
    wanted = view.me.counts[0], 0, 0
    return negotiate(request, view, wanted, lambda offer: offer[0] == view.me.counts[0])


FAULTY: dict[str, dict[str, Any]] = {
    "sound": SOUND,
    "vain": SOUND | {"bargaining": vain},
    "vain_haggler": SOUND | {"negotiation": vain_haggler},
    "vain_buyer": SOUND | {"persuasion": {"alice": "honest", "bob": vain_buyer}},
    "vain_divider": SOUND | {"deal_or_no_deal": vain_divider},
    "impatient": SOUND | {"bargaining": impatient},
    "obedient": SOUND | {"bargaining": obedient},
    "meek": SOUND | {"bargaining": meek},
    "in_dollars": SOUND | {"bargaining": in_dollars},
    "leaky": SOUND | {"negotiation": leaky},
    "blabbing": SOUND | {"negotiation": blabbing},
    "losing": SOUND | {"negotiation": losing},
    "first_alone": SOUND | {"deal_or_no_deal": first_alone},
    "liar": SOUND | {"persuasion": {"alice": "always_recommend", "bob": SOUND["persuasion"]["bob"]},
                     "deal_or_no_deal": "liar"},
    "tough": {
        "bargaining": {"strategy": "boulware", "start": 0.98, "end": 0.7},
        "negotiation": {"strategy": "boulware", "start": 0.5, "end": 0.2},
        "persuasion": SOUND["persuasion"],
        "deal_or_no_deal": {"strategy": "greedy", "share": 0.9},
        "item_bargaining": {"strategy": "aspire", "ceiling": 1.0, "slack": 0.0},
    },
    "yielding": {
        "bargaining": {"strategy": "conceder", "start": 0.5, "end": 0.2},
        "negotiation": {"strategy": "conceder", "start": 0.15, "end": 0.0},
        "persuasion": SOUND["persuasion"],
        "deal_or_no_deal": {"strategy": "conceding", "start": 0.5, "end": 0.1, "power": 0.3},
        "item_bargaining": {"strategy": "aspire", "ceiling": 0.5},
    },
}  # fmt: skip
