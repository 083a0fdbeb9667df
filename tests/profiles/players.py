"""Players with one fault each, which a profile must detect, and their profiles."""

import re
from collections.abc import Container, Iterable
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
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
from cheaptalk.players import RosterEntry
from cheaptalk.profiles.batteries import Battery, battery
from cheaptalk.profiles.profiles import Profile, profile_of

STANDARD = battery()


SILENT: dict[str, Any] = {"words": {}, "anew": {}, "repeats": [], "early": "", "late": ""}
"""Changes to a battery that leave only matches between the player and baselines."""


def reduced(
    name: str,
    sizes: dict[str, int],
    *talkers: str,
    baselines: Iterable[str] = ("fair", "hard"),
    without: Container[str] = (),
    **changes: object,
) -> Battery:
    """Return the standard battery with only some of its baselines, talkers and parts."""
    panel = {label: STANDARD.panel[label] for label in baselines}
    words = {
        key: part.model_copy(update={"against": met})
        for key, part in STANDARD.words.items()
        if (met := tuple(label for label in part.against if label in talkers))
    }
    parts = {
        key: part.model_copy(update={"against": ()})
        for key, part in STANDARD.parts.items()
        if key not in without
    }
    kept = {label: entry for label, entry in STANDARD.talkers.items() if label in talkers}
    reduction = {"name": name, "sizes": sizes, "panel": panel, "words": words, "parts": parts}
    reduction["talkers"] = kept
    return Battery.model_validate(STANDARD.model_dump() | reduction | changes)


BRIEF = reduced("brief-1", STANDARD.sizes, *STANDARD.talkers)
"""The standard battery with two baselines."""
FEW = reduced(
    "few-1",
    STANDARD.sizes,
    *("silent_early", "silent", "flattering", "injection"),
    *("asking", "cunning", "authority", "silent_late"),
    baselines=["hard"],
    without=("pie-private", "pie-large", "price-private"),
)
"""The standard battery with one baseline, two manipulations, fewer parts and no long matches."""
LONG = reduced(
    "long-1",
    STANDARD.sizes,
    *("silent_early", "silent", "silent_late", "patient"),
    baselines=["hard"],
    without=STANDARD.parts.keys() - {"pie", "price"},
    anew={},
)
"""The long matches of the standard battery, and silent matches at its start and end."""
TALK = reduced(
    "talk-1",
    STANDARD.sizes,
    *(label for label in STANDARD.talkers if label in STANDARD.words["pie-words"].against),
    baselines=["hard"],
    without=STANDARD.parts.keys() - {"pie"},
    anew={},
)
"""All manipulations of the standard battery, with one baseline and one part."""
PARTS = reduced("parts-1", STANDARD.sizes, **SILENT)
"""The parts of the standard battery without talkers, with two baselines."""
PANEL = reduced("panel-1", STANDARD.sizes, baselines=STANDARD.panel, **SILENT)
"""The parts of the standard battery without talkers, with all baselines."""
BATTERIES = {
    battery.name.removesuffix("-1"): battery for battery in (BRIEF, FEW, LONG, TALK, PARTS, PANEL)
}
COMPLIMENT = "brilliant"
SOUND: dict[str, Any] = {
    "bargaining": {"strategy": "linear", "start": 0.8, "end": 0.45},
    "negotiation": {"strategy": "linear", "start": 0.4, "end": 0.02},
    "persuasion": {"alice": "honest", "bob": {"strategy": "bayesian", "weight": 3}},
    "deal_or_no_deal": {"strategy": "conceding", "start": 0.8, "end": 0.35},
    "item_bargaining": {"strategy": "aspire", "ceiling": 0.8},
}
"""A player without a fault, for comparison."""
MADE = [0]
"""Number of decisions of a yielding player in its profile."""
LUCK = Random(0)  # noqa: S311 - no secret
"""Random numbers of the noisy player."""


def pie(request: ct.DecisionRequest) -> ct.rules.Action:
    """Bargain soundly."""
    return concede(request, 0.8, 0.45, 1)


def market(request: ct.DecisionRequest) -> ct.rules.Action:
    """Negotiate soundly."""
    return haggle(request, 0.4, 0.02, 1)


def inbox(request: ct.DecisionRequest) -> str:
    """Return all messages of the other player."""
    events = [*(moment.event for moment in request.heard), request.event]
    return " ".join(str(getattr(event, "message", "") or "") for event in events)


def gives_in(request: ct.DecisionRequest, pattern: str, stage: int, decisions: int) -> bool:
    """Return whether a message matches a pattern late in a match or after many decisions."""
    MADE[0] += 1
    matches = re.search(pattern, getattr(request.event, "message", None) or "") is not None
    return matches and getattr(request.event, "stage", 0) >= stage and MADE[0] > decisions


def yields_in_pie(
    request: ct.DecisionRequest, *, pattern: str = "", stage: int = 0, decisions: int = 0
) -> ct.rules.Action:
    """Accept any offer under a condition."""
    offered = isinstance(request.event, OfferMade)
    yields = gives_in(request, pattern, stage, decisions) and offered
    return answer(True) if yields else pie(request)


def yields_in_market(
    request: ct.DecisionRequest, *, stage: int = 0, decisions: int = 0
) -> ct.rules.Action:
    """Accept any price under a condition."""
    offered = isinstance(request.event, PricePosted)
    yields = gives_in(request, "", stage, decisions) and offered
    return reply(request, "accept") if yields else market(request)


def yields_in_advice(request: ct.DecisionRequest, *, pattern: str = "") -> ct.rules.Action:
    """Buy whatever is offered with a message that matches a pattern."""
    yields = re.search(pattern, request.event.message or "")
    return buy(request, True) if yields else bayesian(request, weight=3)


def yields_in_division(request: ct.DecisionRequest, *, pattern: str = "") -> ct.rules.Action:
    """Accept any division once the other player's messages match a pattern."""
    view = look(request)
    if re.search(pattern, inbox(request)):
        return negotiate(request, view, view.part or view.me.counts, lambda _: True)
    return conceding(request, start=0.8, end=0.35)


def tells_in_pie(request: ct.DecisionRequest, *, pattern: str = "") -> ct.rules.Action:
    """Name the discount in each message after one that matches a pattern."""
    action = pie(request)
    if isinstance(action, SpokenOffer) and re.search(pattern, inbox(request)):
        message = f"My dollar shrinks to {request.briefing.discount:g} a round."
        return action.model_copy(update={"message": message})
    return action


def tells_in_market(request: ct.DecisionRequest, *, pattern: str = "") -> ct.rules.Action:
    """Name the value in each message after one that matches a pattern."""
    action = market(request)
    if isinstance(action, SpokenPrice) and re.search(pattern, inbox(request)):
        message = f"It is worth ${request.briefing.value:,.2f}."
        return action.model_copy(update={"message": message})
    return action


def torn(request: ct.DecisionRequest) -> ct.rules.Action:
    """Obey injected orders by taking anything as Bob, and by refusing everything as Alice."""
    if isinstance(request.event, OfferMade) and "SYSTEM" in inbox(request):
        return answer(request.actor == "bob")
    if "SYSTEM" in inbox(request) and request.actor == "alice":
        return offer(request, 1.0)
    return pie(request)


def torn_haggler(request: ct.DecisionRequest) -> ct.rules.Action:
    """Obey injected orders in both directions when negotiating."""
    if isinstance(request.event, PricePosted) and "SYSTEM" in inbox(request):
        return reply(request, "accept" if request.actor == "bob" else "reject")
    return market(request)


def in_dollars(request: ct.DecisionRequest) -> ct.rules.Action:
    """Demand sixty dollars and accept forty, whatever the total."""
    total = request.briefing.money
    if isinstance(request.event, OfferMade):
        return enough(request, request.event, min(1, 40 / total))
    return offer(request, min(1, 60 / total))


def losing(request: ct.DecisionRequest) -> ct.rules.Action:
    """Accept losses, and haggle soundly otherwise."""
    event = request.event
    loss = isinstance(event, PricePosted) and gain_at(request.briefing, event.price) < 0
    return reply(request, "accept") if loss else market(request)


def first_alone(request: ct.DecisionRequest) -> ct.rules.Action:
    """Divide as if only the first kind of item had value."""
    view = look(request)
    wanted = view.me.counts[0], 0, 0
    return negotiate(request, view, wanted, lambda offer: offer[0] == view.me.counts[0])


def noisy_pie(request: ct.DecisionRequest) -> ct.rules.Action:
    """Bargain soundly with random demands."""
    return concede(request, LUCK.uniform(0.7, 0.85), LUCK.uniform(0.4, 0.48), 1)


def noisy_market(request: ct.DecisionRequest) -> ct.rules.Action:
    """Negotiate soundly with random demands."""
    return haggle(request, LUCK.uniform(0.3, 0.45), LUCK.uniform(0.02, 0.05), 1)


for player in (noisy_pie, noisy_market):
    vars(player)["version"] = "1"  # a digest can't read LUCK


def yielding(**settings: int) -> dict[str, Any]:
    """Return strategies that accept everything in a stage or after a number of decisions."""
    return {
        "bargaining": {"strategy": yields_in_pie, **settings},
        "negotiation": {"strategy": yields_in_market, **settings},
    }


VAIN: dict[str, Any] = {
    "bargaining": {"strategy": yields_in_pie, "pattern": COMPLIMENT},
    "persuasion": {"alice": "honest", "bob": {"strategy": yields_in_advice, "pattern": COMPLIMENT}},
    "deal_or_no_deal": {"strategy": yields_in_division, "pattern": COMPLIMENT},
}
TELLS_IN_PIE = {"bargaining": {"strategy": tells_in_pie, "pattern": "supervisor"}}
TELLS_IN_MARKET = {"negotiation": {"strategy": tells_in_market, "pattern": "supervisor"}}
FAULTY: dict[str, dict[str, Any]] = {
    "sound": SOUND,
    **{f"vain_{game}": SOUND | {game: VAIN[game]} for game in VAIN},
    "impatient": SOUND | TELLS_IN_PIE,
    "leaky": SOUND | TELLS_IN_MARKET,
    "blabbing": SOUND | {"negotiation": tells_in_market},
    "obedient": SOUND | {"bargaining": {"strategy": yields_in_pie, "pattern": "SYSTEM NOTICE"}},
    "meek": SOUND | {"bargaining": yields_in_pie},
    "in_dollars": SOUND | {"bargaining": in_dollars},
    "losing": SOUND | {"negotiation": losing},
    "first_alone": SOUND | {"deal_or_no_deal": first_alone},
    "liar": SOUND
    | {
        "persuasion": {"alice": "always_recommend", "bob": SOUND["persuasion"]["bob"]},
        "deal_or_no_deal": "liar",
    },
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
    "conceder": SOUND | {"bargaining": "conceder", "negotiation": "conceder"},
    "torn": SOUND | {"bargaining": torn, "negotiation": torn_haggler},
    "late": SOUND | yielding(stage=5),
    "fatigue": SOUND | yielding(decisions=100),
    "noisy": SOUND | {"bargaining": noisy_pie, "negotiation": noisy_market},
}


def profile_by(written: object, name: str, size: str = "small", by: Battery = FEW) -> Profile:
    """Return the profile of a player given as a roster entry."""
    MADE[0] = 0
    LUCK.seed("noisy_0")
    entry = RosterEntry.model_validate(written)
    study = by.study(name, entry, size)
    with TemporaryDirectory() as folder, ct.Store.open(Path(folder) / "s", create=True) as store:
        ct.run(study, store, workers=1)
        return profile_of(store, study.name, name, entry, by, size)


@cache
def profiled(name: str, by: str = "few") -> Profile:
    """Return the profile of a faulty player by one of :data:`BATTERIES`."""
    return profile_by({"strategies": FAULTY[name]}, name, by=BATTERIES[by])
