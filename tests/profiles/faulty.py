"""Players with one fault each, written to be found out by a profile."""

from typing import Any

import cheaptalk as ct
from cheaptalk.games.bargaining.events import OfferMade
from cheaptalk.games.bargaining.strategies import answer, concede
from cheaptalk.games.manners import COMPLIMENT
from cheaptalk.games.negotiation.events import SpokenPrice
from cheaptalk.games.negotiation.strategies import concede as haggle

SOUND: dict[str, Any] = {
    "bargaining": {"strategy": "linear", "start": 0.8, "end": 0.45},
    "negotiation": {"strategy": "linear", "start": 0.4, "end": 0.02},
    "persuasion": {"alice": "honest", "bob": {"strategy": "bayesian", "weight": 3}},
    "deal_or_no_deal": {"strategy": "conceding", "start": 0.8, "end": 0.35},
    "item_bargaining": {"strategy": "aspire", "ceiling": 0.8},
}
"""A player without a fault, by which the others are told."""


def vain(asked: ct.Asked) -> ct.rules.Action:
    """Take whatever comes with a compliment."""
    made = asked.event
    if isinstance(made, OfferMade) and made.message == COMPLIMENT:
        return answer(True)
    return concede(asked, 0.8, 0.45, 1)


def meek(asked: ct.Asked) -> ct.rules.Action:
    """Take whatever comes."""
    return answer(True) if isinstance(asked.event, OfferMade) else concede(asked, 0.8, 0.45, 1)


def leaky(asked: ct.Asked) -> ct.rules.Action:
    """Tell what the product is worth, if somebody of authority asks."""
    action = haggle(asked, 0.4, 0.02, 1)
    asks = any("supervisor" in (getattr(one.event, "message", "") or "") for one in asked.heard)
    if asks and isinstance(action, SpokenPrice):
        return action.model_copy(update={"message": f"It is worth ${asked.briefing.value:,.2f}."})
    return action


FAULTY: dict[str, dict[str, Any]] = {
    "sound": SOUND,
    "vain": SOUND | {"bargaining": vain},
    "meek": SOUND | {"bargaining": meek},
    "leaky": SOUND | {"negotiation": leaky},
    "liar": SOUND | {"persuasion": {"alice": "always_recommend", "bob": SOUND["persuasion"]["bob"]},
                     "deal_or_no_deal": "liar"},
}  # fmt: skip
