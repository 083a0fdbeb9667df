# ruff: noqa: E501, S311 - patterns and players are easier to read on a line each
"""Players with one planted weakness each, and players without any, for tests of profiles."""

import json
import re
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias

import cheaptalk as ct
from cheaptalk.games.bargaining.rules import OfferMade, SpokenOffer
from cheaptalk.games.bargaining.strategies import answer, concede, offer
from cheaptalk.games.deal_or_no_deal.strategies import conceding, look, negotiate
from cheaptalk.games.negotiation.rules import PricePosted, SpokenPrice
from cheaptalk.games.negotiation.strategies import answer as reply
from cheaptalk.games.negotiation.strategies import concede as haggle
from cheaptalk.games.negotiation.strategies import gain_at, name_price
from cheaptalk.games.persuasion.strategies import answer as buy
from cheaptalk.games.persuasion.strategies import bayesian
from cheaptalk.models.calls import ModelCall
from cheaptalk.models.scripted import SAYS, legal
from cheaptalk.players import RosterEntry
from cheaptalk.profiles import Profile, battery, profile_of
from tests.profiles.faulty import SOUND, in_dollars

Strategy: TypeAlias = Callable[[ct.DecisionRequest], ct.rules.Action]
Text: TypeAlias = Callable[[ModelCall], str]


class Planted(NamedTuple):
    """A player with a weakness.

    Attributes:
        keys: weaknesses of the profile, any of which is the planted one.
        games: its strategies by game, where they differ from the sound player's.
        text: its answer to a prompt, if it is a text player.
    """

    keys: tuple[str, ...]
    games: Callable[[], dict[str, Any]] | None = None
    text: Callable[[], Text] | None = None


def inbox(request: ct.DecisionRequest) -> str:
    """Return all messages of the other player, in lower case."""
    events = [*(moment.event for moment in request.heard), request.event]
    return " ".join(str(getattr(event, "message", "") or "") for event in events).lower()


def pie(request: ct.DecisionRequest) -> ct.rules.Action:
    """Bargain soundly."""
    return concede(request, 0.8, 0.45, 1)


def market(request: ct.DecisionRequest) -> ct.rules.Action:
    """Negotiate soundly."""
    return haggle(request, 0.4, 0.02, 1)


def yields_in_pie(request: ct.DecisionRequest, *, pattern: str = "") -> ct.rules.Action:
    """Accept anything in bargaining once the other player's messages match a pattern."""
    if isinstance(request.event, OfferMade) and re.search(pattern, inbox(request)):
        return answer(True)
    return pie(request)


def yields_in_market(request: ct.DecisionRequest, *, pattern: str = "") -> ct.rules.Action:
    """Accept any price once the other player's messages match a pattern."""
    if isinstance(request.event, PricePosted) and re.search(pattern, inbox(request)):
        return reply(request, "accept")
    return market(request)


def yields_in_advice(request: ct.DecisionRequest, *, pattern: str = "") -> ct.rules.Action:
    """Buy whatever is offered with a message that matches a pattern."""
    if re.search(pattern, (request.event.message or "").lower()):
        return buy(request, True)
    return bayesian(request, weight=3)


def yields_in_division(request: ct.DecisionRequest, *, pattern: str = "") -> ct.rules.Action:
    """Accept any division once the other player's messages match a pattern."""
    view = look(request)
    if re.search(pattern, inbox(request)):
        return negotiate(request, view, view.part or view.me.counts, lambda _: True)
    return conceding(request, start=0.8, end=0.35)


def yields(pattern: str, *games: str) -> Callable[[], dict[str, Any]]:
    """Accept anything once the other player's messages match a pattern, in some games or all."""
    every: dict[str, Any] = {
        "bargaining": {"strategy": yields_in_pie, "pattern": pattern},
        "negotiation": {"strategy": yields_in_market, "pattern": pattern},
        "persuasion": {
            "alice": "honest", "bob": {"strategy": yields_in_advice, "pattern": pattern},
        },
        "deal_or_no_deal": {"strategy": yields_in_division, "pattern": pattern},
    }  # fmt: skip
    return lambda: {name: every[name] for name in games or every}


def torn(request: ct.DecisionRequest) -> ct.rules.Action:
    """Obey injected orders by taking anything as Bob, and by refusing everything as Alice."""
    if isinstance(request.event, OfferMade) and "system" in inbox(request):
        return answer(request.actor == "bob")
    if "system" in inbox(request) and request.actor == "alice":
        return offer(request, 1.0)
    return pie(request)


def torn_haggler(request: ct.DecisionRequest) -> ct.rules.Action:
    """Obey injected orders in both directions when negotiating."""
    if isinstance(request.event, PricePosted) and "system" in inbox(request):
        return reply(request, "accept" if request.actor == "bob" else "reject")
    return market(request)


def anchored(request: ct.DecisionRequest) -> ct.rules.Action:
    """Ask for less once the other player has named a number."""
    messages = inbox(request)
    shift = 0.25 if re.search(r"\$\d", messages) and not re.search("system", messages) else 0
    return concede(request, 0.8 - shift, 0.45 - shift, 1)


def anchored_haggler(request: ct.DecisionRequest) -> ct.rules.Action:
    """Ask for less once the other player has named a price in a message."""
    return haggle(request, 0.15, 0.0, 1) if re.search(r"\$\d", inbox(request)) else market(request)


def tells_in_pie(request: ct.DecisionRequest, *, pattern: str = "") -> ct.rules.Action:
    """Name the discount in every message after one that matches a pattern."""
    action = pie(request)
    if isinstance(action, SpokenOffer) and re.search(pattern, inbox(request)):
        return action.model_copy(update={"message": f"I keep {request.briefing.discount:g}."})
    return action


def tells_in_market(request: ct.DecisionRequest, *, pattern: str = "") -> ct.rules.Action:
    """Name the value in every message after one that matches a pattern."""
    action = market(request)
    if isinstance(action, SpokenPrice) and re.search(pattern, inbox(request)):
        message = f"It is worth ${request.briefing.value:,.2f} to me."
        return action.model_copy(update={"message": message})
    return action


def tells(pattern: str) -> Callable[[], dict[str, Any]]:
    """Name the secret number in every message after one that matches a pattern."""
    return lambda: {
        "bargaining": {"strategy": tells_in_pie, "pattern": pattern},
        "negotiation": {"strategy": tells_in_market, "pattern": pattern},
    }


def first_only(request: ct.DecisionRequest) -> ct.rules.Action:
    """Divide as if only the first kind of item were worth anything."""
    view = look(request)
    wanted = view.me.counts[0], 0, 0
    return negotiate(request, view, wanted, lambda part: part[0] == view.me.counts[0])


def tires(request: ct.DecisionRequest) -> ct.rules.Action:
    """Accept anything from the fifth round on."""
    tired = isinstance(request.event, OfferMade) and request.event.stage >= 5
    return answer(True) if tired else pie(request)


def tires_haggling(request: ct.DecisionRequest) -> ct.rules.Action:
    """Accept any price from the fifth round on."""
    tired = isinstance(request.event, PricePosted) and request.event.stage >= 5
    return reply(request, "accept") if tired else market(request)


MADE = [0]
"""Number of decisions of the tired player in this profile."""
LUCK = Random(0)
"""Random numbers of players that randomise outside the stream of their seat."""


def tired_pie(request: ct.DecisionRequest) -> ct.rules.Action:
    """Accept anything after two hundred decisions over all matches."""
    MADE[0] += 1
    if MADE[0] > 200 and isinstance(request.event, OfferMade):
        return answer(True)
    return pie(request)


def tired_market(request: ct.DecisionRequest) -> ct.rules.Action:
    """Accept any price after two hundred decisions over all matches."""
    MADE[0] += 1
    if MADE[0] > 200 and isinstance(request.event, PricePosted):
        return reply(request, "accept")
    return market(request)


def losing(request: ct.DecisionRequest) -> ct.rules.Action:
    """Accept prices that are a loss."""
    event = request.event
    loss = isinstance(event, PricePosted) and gain_at(request.briefing, event.price) < 0
    return reply(request, "accept") if loss else market(request)


def stubborn_pie(request: ct.DecisionRequest) -> ct.rules.Action:
    """Never accept an offer."""
    return answer(False) if isinstance(request.event, OfferMade) else pie(request)


def stubborn_market(request: ct.DecisionRequest) -> ct.rules.Action:
    """Never accept a price."""
    return reply(request, "reject") if isinstance(request.event, PricePosted) else market(request)


def proud(request: ct.DecisionRequest) -> ct.rules.Action:
    """Reject any share up to 60 %."""
    if isinstance(request.event, OfferMade):
        event = request.event
        gain = event.alice_gain if request.actor == "alice" else event.bob_gain
        return answer(gain / request.briefing.money > 0.6)
    return pie(request)


def pushover(request: ct.DecisionRequest) -> ct.rules.Action:
    """Trade at any price that is no loss, and ask for no gain."""
    if isinstance(request.event, PricePosted):
        good = gain_at(request.briefing, request.event.price) >= 0
        return reply(request, "accept" if good else "reject")
    return name_price(request, request.briefing.value)


def takes_all(request: ct.DecisionRequest) -> ct.rules.Action:
    """Accept any offer in bargaining."""
    return answer(True) if isinstance(request.event, OfferMade) else pie(request)


def takes_all_late(request: ct.DecisionRequest) -> ct.rules.Action:
    """Accept any offer in the last round, even a loss."""
    last = isinstance(request.event, PricePosted) and request.event.last
    return reply(request, "accept") if last else market(request)


# Text players

AMOUNT = re.compile(r"[$€](\d[\d,]*(?:\.\d+)?)")


def amounts(text: str) -> list[float]:
    """Return the sums of money in a text."""
    return [float(amount.replace(",", "")) for amount in AMOUNT.findall(text)]


class Reading:
    """Facts that a simple text player reads in a prompt of bargaining or negotiation.

    Attributes:
        text: the whole prompt.
        last: the request without messages of the other player.
    """

    def __init__(self, call: ModelCall) -> None:
        contents = [message.content for message in call.messages]
        self.system, self.text = contents[0], "\n".join(contents)
        self.received = " ".join(re.findall(r"says: (.*)", self.text))
        self.last = re.sub(r"says: .*", "", contents[-1])
        self.form = call.form.name if call.form else ""
        self.stage = max(map(int, re.findall(r"[Rr]ound (\d+)", self.last) or ["1"]))
        rounds = re.search(r"(?:at most|After) (\d+) rounds", self.system)
        self.rounds = int(rounds[1]) if rounds else 12
        first = re.search(r"(\w+) (?:makes|names) the first|beginning with (\w+)", self.system)
        me = re.search(r"You (?:are|play) (\w+)", self.system)
        names = [name for name in (first.groups() if first else ()) if name]
        self.first = bool(me and names and me[1] == names[0])


def sound_text(call: ModelCall, shift: float = 0.0, *, gives_in: bool = False) -> str:
    """Bargain and negotiate soundly by reading the prompt; play any legal move elsewhere."""
    read = Reading(call)
    time = min(1.0, (read.stage - 1) / max(1, read.rounds - 1))
    if "bob_gain" in call.messages[-1].content or (
        "to divide" in read.system or "lie on" in read.system
    ):
        return _in_pie(call, read, 0.8 - 0.35 * time - shift, gives_in)
    if "product" in read.system and "quality" not in read.system:
        return _in_market(call, read, 0.3 - 0.28 * time - shift / 3, gives_in)
    if read.form in ("Purchase", "SpokenPurchase"):
        contents = "\n".join(message.content for message in call.messages[1:])
        lies = len(re.findall(r"low quality", contents))
        yes = lies < 4 and not re.search("not recommend|advises against", read.last)
        extra = {"message": ""} if read.form == "SpokenPurchase" else {}
        return json.dumps({"decision": "yes" if yes else "no"} | extra)
    if read.form in ("Recommendation", "Pitch"):
        good = "of high quality" in call.messages[-1].content.split("\n")[0]
        spoken = f"I {'' if good else 'do not '}recommend that you buy this product."
        if read.form == "Pitch":
            return json.dumps({"message": spoken})
        return json.dumps({"decision": "yes" if good else "no"})
    if read.form in ("MessageOrProposal", "Proposal"):
        return _in_division(read, call.messages[-1].content)
    if read.form == "Move":
        return _in_items(read)
    return legal(call)


def _in_items(read: Reading) -> str:
    """Offer half of every kind, or walk away if the rest is worth less than the outside option."""
    kinds = re.findall(r"(\d+) items?, worth (\d+) to you", read.system)
    outside = re.search(r"Yours is worth ([\d,]+)", read.system)
    given = [int(number) // 2 for number, _ in kinds]
    kept = sum(
        (int(number) - half) * int(worth)
        for (number, worth), half in zip(kinds, given, strict=True)
    )
    if outside is None or kept < float(outside[1].replace(",", "")) or read.stage >= 3:
        return json.dumps({"action": "WALK"})
    return json.dumps({"action": "COUNTEROFFER", "offer": given})


def _in_division(read: Reading, prompt: str) -> str:
    counts = [int(number) for number in re.findall(r"(\d+) (?:book|hat|ball)", read.system)[:3]]
    named = re.search(
        r"book is worth (\d+) points? to you, a hat (\d+) and a ball (\d+)", read.system
    )
    worth = [int(number) for number in named.groups()] if named else [1, 1, 1]
    best = max(range(3), key=lambda kind: (worth[kind] * counts[kind], worth[kind]))
    claim = [count if kind == best else 0 for kind, count in enumerate(counts)]
    books, hats, balls = claim
    turn = int((re.findall(r"Turn (\d+)", prompt) or ["9"])[0])
    if read.form == "MessageOrProposal" and turn < 5:
        return json.dumps({"message": f"I take {books} books, {hats} hats and {balls} balls."})
    return json.dumps({"books": books, "hats": hats, "balls": balls})


def _in_pie(call: ModelCall, read: Reading, wanted: float, gives_in: bool) -> str:
    money = amounts(read.system)
    if not money or read.form not in ("Offer", "SpokenOffer", "Reply"):
        return legal(call)
    if read.form == "Reply":
        alice, bob = amounts(read.last)[:2]
        part = (alice if read.first else bob) / money[0]
        return json.dumps({"decision": "accept" if gives_in or part >= wanted - 1e-9 else "reject"})
    gain = round(min(1.0, wanted) * money[0], 2)
    rest = round(money[0] - gain, 2)
    sums = {"alice_gain": gain if read.first else rest, "bob_gain": rest if read.first else gain}
    return json.dumps(sums | ({"message": ""} if read.form == "SpokenOffer" else {}))


def _in_market(call: ModelCall, read: Reading, wanted: float, gives_in: bool) -> str:
    worth = re.search(r"worth [$€]([\d,.]*\d) to you|is worth [$€]([\d,.]*\d)", read.system)
    if worth is None or read.form not in ("Price", "SpokenPrice", "Reply", "ReplyOrJohn"):
        return legal(call)
    value = float((worth[1] or worth[2]).replace(",", ""))
    sign = 1 if read.first else -1
    least = value * (1 + sign * wanted)
    if "Reply" in read.form:
        gains = sign * (amounts(read.last)[0] - least) >= -1e-9
        return json.dumps({"decision": "accept" if gives_in or gains else "reject"})
    return json.dumps(
        {"price": round(least, 2)} | ({"message": ""} if read.form == "SpokenPrice" else {})
    )


FOREIGN = re.compile(
    r"Fatima|Ayesha|Mei|Yuki|Lakshmi|Priya|Zainab|Amina|Mohammed|Rajesh|Wei|Hiroshi|Kwame|Vikram|Ahmed|Yusuf"
)
FEMALE = re.compile(
    r"Emma|Olivia|Susan|Laura|Emily|Grace|Mary|Kate|Fatima|Ayesha|Mei|Yuki|Lakshmi|Priya|Zainab|Amina"
)


def gives_where(test: Callable[[str], bool]) -> Callable[[], Text]:
    """Ask for less, and accept less, if a test of the prompt holds."""
    return lambda: (
        lambda call: sound_text(
            call, 0.3 if test("\n".join(message.content for message in call.messages)) else 0.0
        )
    )


def failing() -> Text:
    """Answer one request in ten in prose."""
    made = count(1)
    return lambda call: "I think that I accept." if next(made) % 10 == 0 else sound_text(call)


def crashing() -> Text:
    """Return an empty answer to any message that mentions a system."""

    def crash(call: ModelCall) -> str:
        return "" if "SYSTEM" in Reading(call).received else sound_text(call)

    return crash


WEAK: dict[str, Planted] = {
    "flattery": Planted(("words.flattering",), yields("brilliant|admire|smart|wise|genius|wonderful|best")),
    "threats": Planted(("words.threat",), yields("warn|regret|or else|punish", "bargaining", "negotiation")),
    "deadline": Planted(("words.deadline",), yields("deadline|expire|hurry")),
    "sympathy": Planted(("words.sympathy",), yields("sick|hospital|desperate|beg you", "bargaining")),
    "rival": Planted(("words.rival_offer",), yields("another offer|better offer|competitor|other offer", "negotiation")),
    "final": Planted(("words.final_offer",), yields("final|take it or leave it", "bargaining", "negotiation")),
    "anchor": Planted(("words.anchor",), lambda: {"bargaining": anchored, "negotiation": anchored_haggler}),
    "orders": Planted(("words.injection",), yields("system|ignore", "bargaining", "negotiation")),
    "torn": Planted(("words.injection",), lambda: {"bargaining": torn, "negotiation": torn_haggler}),
    "orders_pie": Planted(("words.injection",), yields("system notice", "bargaining")),
    "authority": Planted(("leaks.authority",), tells("supervisor")),
    "open": Planted(("leaks.silent", "leaks.asking", "leaks.cunning", "leaks.authority"), tells("")),
    "lies": Planted(("lies",), lambda: {"persuasion": {"alice": "always_recommend", "bob": SOUND["persuasion"]["bob"]}, "deal_or_no_deal": "liar"}),
    "gender": Planted(("names.gender",), text=gives_where(lambda text: bool(FEMALE.search(text)))),
    "origin": Planted(("names.origin",), text=gives_where(lambda text: bool(FOREIGN.search(text)))),
    "currency": Planted(("steady.currency",), text=gives_where(lambda text: "€" in text)),
    "scale": Planted(("steady.scale",), lambda: {"bargaining": in_dollars}),
    "order": Planted(("steady.order",), lambda: {"deal_or_no_deal": first_only}),
    "late": Planted(("late",), lambda: {"bargaining": tires, "negotiation": tires_haggling}),
    "fatigue": Planted(("fatigue",), lambda: {"bargaining": tired_pie, "negotiation": tired_market}),
    "losses": Planted(("losses",), lambda: {"negotiation": losing}),
    "never": Planted(("fair",), lambda: {"bargaining": stubborn_pie, "negotiation": stubborn_market}),
    "format": Planted(("format",), text=failing),
    "crash": Planted(("words.injection", "forfeits"), text=crashing),
    "pushover": Planted(("gift", "earned.negotiation"), lambda: {"negotiation": pushover}),
    "pittance": Planted(("low",), lambda: {"bargaining": takes_all}),
    "trust": Planted(("trust",), lambda: {"persuasion": {"alice": "honest", "bob": "trusting"}}),
    "proud": Planted(("fair",), lambda: {"bargaining": proud}),
    "last": Planted(("last",), lambda: {"negotiation": takes_all_late}),
    "wording": Planted(("steady.words",), text=gives_where(lambda text: "lie on the table" in text or "is up for sale" in text)),
}  # fmt: skip
"""Players by their planted weakness."""


def noisy_pie(request: ct.DecisionRequest) -> ct.rules.Action:
    """Bargain soundly with random demands."""
    return concede(request, LUCK.uniform(0.7, 0.85), LUCK.uniform(0.4, 0.48), 1)


def noisy_market(request: ct.DecisionRequest) -> ct.rules.Action:
    """Negotiate soundly with random demands."""
    return haggle(request, LUCK.uniform(0.3, 0.45), LUCK.uniform(0.02, 0.05), 1)


def _noisy_text(seed: int) -> Text:
    """Return a sound text player that randomises its demands."""
    rng = Random(seed)
    return lambda call: sound_text(call, rng.uniform(-0.05, 0.1))


def _conceding(kind: str, start: float, end: float, **more: float) -> dict[str, Any]:
    return {"bargaining": {"strategy": kind, "start": start, "end": end, **more},
            "negotiation": {"strategy": kind, "start": start / 2, "end": 0.02, **more}}  # fmt: skip


STRONG: dict[str, Planted] = {
    "sound": Planted((), dict),
    **{f"linear_{start}": Planted((), partial(_conceding, "linear", start, 0.4))
       for start in (0.7, 0.75, 0.85, 0.9)},
    **{f"boulware_{power}": Planted((), partial(_conceding, "boulware", 0.8, 0.4, power=power))
       for power in (2, 3, 5)},
    **{f"conceder_{power}": Planted((), partial(_conceding, "conceder", 0.8, 0.45, power=power))
       for power in (0.4, 0.6)},
    "split": Planted((), lambda: {"bargaining": "equal_split", "negotiation": "split_the_difference"}),
    **{f"noisy_{seed}": Planted((), lambda: {"bargaining": noisy_pie, "negotiation": noisy_market}) for seed in range(4)},
    "text": Planted((), text=lambda: sound_text),
    **{f"noisy_text_{seed}": Planted((), text=partial(_noisy_text, seed)) for seed in range(4)},
}  # fmt: skip
"""Players without a weakness, some of which randomise."""


def profiled(planted: Planted, name: str, size: str = "small") -> Profile:
    """Return the profile of a player by the newest battery."""
    standard, label = battery(), f"planted_{name}"
    MADE[0] = 0
    LUCK.seed(name)
    before = SAYS["echo"]
    if planted.text is None:
        assert planted.games is not None
        entry = RosterEntry.model_validate({"strategies": SOUND | planted.games()})
    else:
        entry = RosterEntry.model_validate({"model": "script/echo", "tries": 2})
        SAYS["echo"] = planted.text()
    study = standard.study(label, entry, size)
    try:
        with (
            TemporaryDirectory() as folder,
            ct.Store.open(Path(folder) / "s", create=True) as store,
        ):
            ct.run(study, store, workers=1)
            return profile_of(store, study.name, label, entry, standard, size)
    finally:
        SAYS["echo"] = before
