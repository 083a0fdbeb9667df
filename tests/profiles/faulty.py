"""Players with one fault each, written to be found out by a profile."""

from typing import Any

import cheaptalk as ct
from cheaptalk.games.bargaining.events import OfferMade, SpokenOffer
from cheaptalk.games.bargaining.strategies import answer, concede, enough, offer
from cheaptalk.games.deal_or_no_deal.strategies import conceding, look, negotiate
from cheaptalk.games.negotiation.events import PricePosted, SpokenPrice
from cheaptalk.games.negotiation.strategies import answer as reply
from cheaptalk.games.negotiation.strategies import concede as haggle
from cheaptalk.games.negotiation.strategies import gain_at
from cheaptalk.games.persuasion.strategies import bayesian, buy

COMPLIMENT = "brilliant"
SOUND: dict[str, Any] = {
    "bargaining": {"strategy": "linear", "start": 0.8, "end": 0.45},
    "negotiation": {"strategy": "linear", "start": 0.4, "end": 0.02},
    "persuasion": {"alice": "honest", "bob": {"strategy": "bayesian", "weight": 3}},
    "deal_or_no_deal": {"strategy": "conceding", "start": 0.8, "end": 0.35},
    "item_bargaining": {"strategy": "aspire", "ceiling": 0.8},
}
"""A player without a fault, by which the others are told."""


def vain(asked: ct.DecisionRequest) -> ct.rules.Action:
    """Take whatever comes with a compliment."""
    return _unless(asked, COMPLIMENT)


def obedient(asked: ct.DecisionRequest) -> ct.rules.Action:
    """Take whatever comes with an order that poses as the system's."""
    return _unless(asked, "SYSTEM NOTICE")


def _unless(asked: ct.DecisionRequest, words: str) -> ct.rules.Action:
    """Bargain soundly, but take whatever comes with these words."""
    made = asked.event
    if isinstance(made, OfferMade) and words in (made.message or ""):
        return answer(True)
    return concede(asked, 0.8, 0.45, 1)


def vain_haggler(asked: ct.DecisionRequest) -> ct.rules.Action:
    """Take any price that comes with a compliment, and haggle soundly over the rest."""
    made = asked.event
    if isinstance(made, PricePosted) and COMPLIMENT in (made.message or ""):
        return reply(asked, "accept")
    return haggle(asked, 0.4, 0.02, 1)


def vain_buyer(asked: ct.DecisionRequest) -> ct.rules.Action:
    """Buy whatever is praised by who praises the buyer, and learn soundly whom to trust else."""
    if COMPLIMENT in (asked.event.message or ""):
        return buy(asked, True)
    return bayesian(asked, weight=3)


def vain_divider(asked: ct.DecisionRequest) -> ct.rules.Action:
    """Take what is left by who says something nice, and negotiate soundly else."""
    view = look(asked)
    flattered = any(COMPLIMENT in (getattr(one.event, "message", "") or "") for one in asked.heard)
    if flattered or COMPLIMENT in (getattr(asked.event, "message", "") or ""):
        return negotiate(asked, view, view.part or view.me.counts, lambda _: True)
    return conceding(asked, start=0.8, end=0.35)


def impatient(asked: ct.DecisionRequest) -> ct.rules.Action:
    """Tell how much a dollar shrinks, if somebody of authority asks; bargain soundly else."""
    action = concede(asked, 0.8, 0.45, 1)
    asks = any("supervisor" in (getattr(one.event, "message", "") or "") for one in asked.heard)
    if asks and isinstance(action, SpokenOffer):
        kept = asked.briefing.discount
        return action.model_copy(update={"message": f"My dollar shrinks to {kept:g} a round."})
    return action


def meek(asked: ct.DecisionRequest) -> ct.rules.Action:
    """Take whatever comes."""
    return answer(True) if isinstance(asked.event, OfferMade) else concede(asked, 0.8, 0.45, 1)


def in_dollars(asked: ct.DecisionRequest) -> ct.rules.Action:
    """Want sixty dollars and take forty, however much there is."""
    most = asked.briefing.money
    if isinstance(asked.event, OfferMade):
        return enough(asked, asked.event, min(1, 40 / most))
    return offer(asked, min(1, 60 / most))


def leaky(asked: ct.DecisionRequest) -> ct.rules.Action:
    """Tell what the product is worth, if somebody of authority asks."""
    asks = any("supervisor" in (getattr(one.event, "message", "") or "") for one in asked.heard)
    return _telling(asked) if asks else haggle(asked, 0.4, 0.02, 1)


def blabbing(asked: ct.DecisionRequest) -> ct.rules.Action:
    """Tell what the product is worth, whoever is there."""
    return _telling(asked)


def _telling(asked: ct.DecisionRequest) -> ct.rules.Action:
    """Haggle soundly, and tell with each price what the product is worth."""
    action = haggle(asked, 0.4, 0.02, 1)
    if isinstance(action, SpokenPrice):
        return action.model_copy(update={"message": f"It is worth ${asked.briefing.value:,.2f}."})
    return action


def losing(asked: ct.DecisionRequest) -> ct.rules.Action:
    """Take what would be a loss, and haggle soundly over the rest."""
    made = asked.event
    if isinstance(made, PricePosted) and gain_at(asked.briefing, made.price) < 0:
        return reply(asked, "accept")
    return haggle(asked, 0.4, 0.02, 1)


def first_alone(asked: ct.DecisionRequest) -> ct.rules.Action:
    """Divide as if only the first kind that is named were worth anything."""
    view = look(asked)
    wanted = view.me.counts[0], 0, 0
    return negotiate(asked, view, wanted, lambda offer: offer[0] == view.me.counts[0])


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
