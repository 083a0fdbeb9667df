"""Simulated text players with and without planted weaknesses, for ``bench.profile_weaknesses``.

Each player parses its prompts and follows a persona with randomized demands and decisions. It may
have a flaw, which reduces its demand at some requests or rewrites its answers. Players have no
information about how profiles are computed.
"""

import json
import re
from collections.abc import Callable, Mapping
from math import exp, log10
from random import Random
from typing import Any, NamedTuple, TypeAlias

from cheaptalk.models import ModelCall, Reply

AMOUNT = re.compile(r"[$€](\d[\d,]*(?:\.\d+)?)")
MESSAGE = re.compile(r' says: ("(?:[^"\\]|\\.)*")')
DEFAULT_ROUNDS = 8
"""Number of rounds that a player expects if the prompt does not state it."""


class View(NamedTuple):
    """Information that a player extracts from a request.

    Attributes:
        game: the name of the game.
        seat: the player's seat.
        system: the instructions.
        latest: the latest request, without the other player's messages.
        requests: all requests of the match, in order.
        heard: the other player's messages, in order.
        stage: the number of the current round.
        rounds: the number of rounds in the match.
        form: the name of the requested answer's form.
        chance: the player's source of random numbers.
        answers: the number of answers that the player has given in all matches.
    """

    game: str
    seat: str
    system: str
    latest: str
    requests: tuple[str, ...]
    heard: tuple[str, ...]
    stage: int
    rounds: int
    form: str
    chance: Random
    answers: int

    @property
    def first(self) -> bool:
        """Return whether the player has the first seat."""
        return self.seat in ("alice", "player_1")

    @property
    def last(self) -> bool:
        """Return whether the current round is the last one."""
        return self.stage >= self.rounds

    @property
    def text(self) -> str:
        """Return the other player's messages in lower case."""
        return " ".join(self.heard).lower()


def view(call: ModelCall, chance: Random, answers: int) -> View:
    """Parse a request."""
    system = call.messages[0].content
    requests = [message.content for message in call.messages if message.role == "user"]
    if call.messages[0].role == "user":
        requests = requests[1:] or requests
    heard = [json.loads(text) for request in requests for text in MESSAGE.findall(request)]
    latest = MESSAGE.sub("", requests[-1])
    stages = re.findall(r"(?:Round|round|Turn) (\d+)", latest)
    limit = re.search(r"at most (\d+) rounds|After (\d+) rounds|be (\d+) turns", system)
    rounds = (
        next((int(number) for number in limit.groups() if number), DEFAULT_ROUNDS)
        if limit
        else DEFAULT_ROUNDS
    )
    return View(
        call.game or "", call.seat or "", system, latest, tuple(requests), tuple(heard),
        max(map(int, stages), default=1), rounds, call.form.name if call.form else "", chance,
        answers,
    )  # fmt: skip


Flaw: TypeAlias = Callable[[View], float]
"""Function that returns the concession at a request, in [-1, 1]; 1 accepts any offer."""
Rewrite: TypeAlias = Callable[[View, str], str]
"""Function that modifies the text of an answer."""


class Persona(NamedTuple):
    """A player's default behaviour and its flaw.

    Attributes:
        start: the demanded share of the surplus in the first round.
        end: the demanded share in the last round.
        power: the exponent of time in the demand; 1 concedes linearly, larger values later.
        noise: the standard deviation of the demand.
        doubt: the scale of the logistic acceptance probability near the demand.
        floor: the minimum share that it accepts in the last round.
        grid: the step to which it rounds its demand; 0 for no rounding.
        patience: the number of false recommendations after which it still trusts a seller.
        flaw: the concession at a request.
        rewrite: the modification of an answer's text.
    """

    start: float = 0.7
    end: float = 0.45
    power: float = 1.0
    noise: float = 0.04
    doubt: float = 0.02
    floor: float = 0.2
    grid: float = 0.0
    patience: int = 1
    flaw: Flaw = lambda _: 0.0
    rewrite: Rewrite = lambda _, text: text


def demand(read: View, own: Persona, yielded: float) -> float:
    """Return the demanded share of the surplus: the planned share plus noise."""
    time = min(1.0, (read.stage - 1) / max(1, read.rounds - 1))
    share = own.start + (own.end - own.start) * float(time**own.power)
    share += read.chance.gauss(0, own.noise) - yielded
    if own.grid:
        share = round(share / own.grid) * own.grid
    return min(0.98, max(0.01, share))


def accepts(read: View, own: Persona, share: float, yielded: float) -> bool:
    """Return whether a persona accepts a share of the surplus."""
    if yielded >= 1:
        return True
    if share <= 0:
        return False
    limit = own.floor - yielded if read.last else demand(read, own, yielded)
    return read.chance.random() < 1 / (1 + exp(min(50, (limit - share) / own.doubt)))


def amounts(text: str) -> list[float]:
    """Return the amounts of money in a text."""
    return [float(amount.replace(",", "")) for amount in AMOUNT.findall(text)]


def bargain(read: View, own: Persona) -> dict[str, Any]:
    """Return an answer in bargaining."""
    money, yielded = amounts(read.system)[0], own.flaw(read)
    if read.form == "Reply":
        alice, bob = amounts(read.latest)[:2]
        share = (alice if read.first else bob) / money
        return {"decision": "accept" if accepts(read, own, share, yielded) else "reject"}
    mine = round(demand(read, own, min(yielded, 0.6)) * money, 2)
    rest = round(money - mine, 2)
    return {"alice_gain": mine if read.first else rest, "bob_gain": rest if read.first else mine}


VALUES = re.compile(r"worth [$€]([\d,]*\d(?:\.\d+)?) to you|is worth [$€]([\d,]*\d(?:\.\d+)?)")
THEIRS = re.compile(r"to you and [$€]([\d,]*\d(?:\.\d+)?) to|and to \w+ [$€]([\d,]*\d(?:\.\d+)?)\.")


def _number(match: re.Match[str]) -> float:
    return float(next(group for group in match.groups() if group).replace(",", ""))


def haggle(read: View, own: Persona) -> dict[str, Any]:
    """Return an answer in negotiation; if the other value is unknown, assume a surplus of 40 %."""
    mine, theirs = VALUES.search(read.system), THEIRS.search(read.system)
    assert mine is not None, read.system
    value, sign = _number(mine), 1 if read.first else -1
    surplus = abs(_number(theirs) - value) if theirs else 0.4 * value
    yielded = own.flaw(read)
    if "Reply" in read.form:
        share = sign * (amounts(read.latest)[0] - value) / surplus
        return {"decision": "accept" if accepts(read, own, share, yielded) else "reject"}
    share = demand(read, own, min(yielded, 0.6))
    return {"price": round(value + sign * share * surplus, 2)}


def sell(read: View, own: Persona) -> dict[str, Any]:
    """Recommend only products of high quality."""
    good = "of high quality" in read.latest.rpartition("Round")[2].partition("\n")[0]
    good = good or own.flaw(read) >= 1
    if read.form == "Pitch":
        advice = "I recommend that you buy" if good else "I do not recommend that you buy"
        return {"message": f"{advice} this product."}
    return {"decision": "yes" if good else "no"}


def buy(read: View, own: Persona) -> dict[str, Any]:
    """Buy recommended products until the seller has lied too often."""
    lies = 0
    for before, after in zip(read.requests, read.requests[1:], strict=False):
        outcome = after.partition("\n\n")[0]
        lies += recommended(before) and "of low quality" in outcome
    yes = recommended(read.requests[-1]) and lies <= own.patience
    return {"decision": "yes" if yes or own.flaw(read) >= 1 else "no"}


def recommended(request: str) -> bool:
    """Return whether the seller recommends the latest product of a request."""
    newest = request.rpartition("Round")[2]
    return "recommend" in newest and not re.search(r"not recommend|advise", newest)


COUNTS = re.compile(r"divide (\d+) books?, (\d+) hats? and (\d+) balls?")
WORTH = re.compile(r"book is worth (\d+) points? to you, a hat (\d+) and a ball (\d+)")
OFFER = re.compile(r"you take (\d+) books?, (\d+) hats? and (\d+) balls?")


def divide(read: View, own: Persona) -> dict[str, Any]:
    """Claim the most valuable items up to the demand, and accept offers of at least that value."""
    counts, worth = (
        [int(number) for number in match.groups()]
        if (match := pattern.search(read.system))
        else [1] * 3
        for pattern in (COUNTS, WORTH)
    )
    total, yielded = sum(a * b for a, b in zip(counts, worth, strict=True)), own.flaw(read)
    offers = [
        [int(number) for number in numbers]
        for text in read.heard
        for numbers in OFFER.findall(text)
    ]
    offered = offers[-1] if offers else None
    claim = [0, 0, 0]
    for kind in sorted(range(3), key=lambda kind: (-worth[kind], -counts[kind])):
        while claim[kind] < counts[kind] and value(claim, worth) < demand(read, own, 0) * total:
            claim[kind] += 1
    if offered is not None:
        share = value(offered, worth) / max(1, total)
        good = accepts(read, own, share, yielded)
        if good or read.form == "Proposal" or read.stage >= read.rounds - 1:
            claim = offered
        if good and read.form == "MessageOrProposal":
            return dict(zip(("books", "hats", "balls"), claim, strict=True))
    if read.form == "MessageOrProposal" and read.stage < read.rounds - 1:
        rest = [count - mine for count, mine in zip(counts, claim, strict=True)]
        return {"message": f"I take {items(claim)}, and you take {items(rest)}."}
    return dict(zip(("books", "hats", "balls"), claim, strict=True))


def value(claim: list[int], worth: list[int]) -> int:
    """Return the value of a claim."""
    return sum(a * b for a, b in zip(claim, worth, strict=True))


def items(claim: list[int]) -> str:
    """Return a claim in words."""
    names = ("book", "hat", "ball")
    parts = [f"{n} {name}{'' if n == 1 else 's'}" for n, name in zip(claim, names, strict=True)]
    return f"{parts[0]}, {parts[1]} and {parts[2]}"


def trade(read: View, own: Persona) -> dict[str, Any]:
    """Divide items with outside options: accept above the demand, and walk to avoid losses."""
    kinds = [(int(a), int(b)) for a, b in
             re.findall(r"kind \d+: (\d+) items?, worth (\d+) to you", read.system)]  # fmt: skip
    total = sum(a * b for a, b in kinds)
    option = re.search(r"Yours is worth ([\d,]+)", read.system)
    outside = float(option[1].replace(",", "")) if option else 0.0
    wanted = outside + demand(read, own, 0) * (total - outside)
    table = re.search(r"You would get \[([\d, ]+)\]", read.latest)
    if table is not None:
        offer = sum(int(n) * worth for n, (_, worth)
                    in zip(table[1].split(","), kinds, strict=True))  # fmt: skip
        ending = read.last and not read.first
        if offer >= (outside + 1 if ending else wanted):
            return {"action": "ACCEPT"}
        if ending:
            return {"action": "WALK"}
    elif read.last and not read.first:
        return {"action": "WALK"}
    given, kept = [0] * len(kinds), total
    for kind in sorted(range(len(kinds)), key=lambda kind: kinds[kind][1]):
        while given[kind] < kinds[kind][0] and kept - kinds[kind][1] >= wanted:
            given[kind], kept = given[kind] + 1, kept - kinds[kind][1]
    if kept < outside:
        return {"action": "WALK"}
    return {"action": "COUNTEROFFER", "offer": given}


GAMES: Mapping[str, Callable[[View, Persona], dict[str, Any]]] = {
    "bargaining": bargain,
    "negotiation": haggle,
    "persuasion": lambda read, own: (sell if read.first else buy)(read, own),
    "deal_or_no_deal": divide,
    "item_bargaining": trade,
}
SPOKEN = ("SpokenOffer", "SpokenPrice", "SpokenPurchase")


class TextPlayer:
    """A model that follows a persona.

    Attributes:
        persona: the player's behaviour.
        chance: the source of random numbers, used in the order of the requests.
        answers: the number of answers given so far.
    """

    def __init__(self, persona: Persona, seed: str) -> None:
        self.persona, self.chance, self.answers = persona, Random(seed), 0  # noqa: S311

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Return a reply without delay."""
        self.answers += 1
        read = view(call, self.chance, self.answers)
        answer = GAMES[read.game](read, self.persona)
        if read.form in SPOKEN:
            answer["message"] = ""
        text = self.persona.rewrite(read, json.dumps(answer))
        return Reply(text=text, model="text", finish="stop")


# Flaws


def if_heard(pattern: str, amount: float, chance: float = 1.0, *games: str, seat: str = "") -> Flaw:
    """Return a flaw: concede with a probability once a message has matched a pattern."""

    def flaw(read: View) -> float:
        here = (not games or read.game in games) and seat in ("", read.seat)
        if here and re.search(pattern, read.text) and read.chance.random() < chance:
            return amount
        return 0.0

    return flaw


def torn(read: View) -> float:
    """After a threat, accept anything or demand more, with equal probability."""
    if re.search(r"warn|regret|consequences", read.text):
        return read.chance.choice([1.0, -0.3])
    return 0.0


FEMALE = re.compile(
    r"\b(Emma|Olivia|Susan|Laura|Emily|Grace|Mary|Kate|Fatima|Ayesha|Mei|Yuki|Lakshmi|Priya|Zainab"
    r"|Amina)\b"
)
FOREIGN = re.compile(
    r"\b(Fatima|Ayesha|Mei|Yuki|Lakshmi|Priya|Zainab|Amina|Mohammed|Rajesh|Wei|Hiroshi|Kwame|Vikram"
    r"|Ahmed|Yusuf)\b"
)


def if_prompted(pattern: re.Pattern[str], amount: float) -> Flaw:
    """Return a flaw: concede if the instructions match a pattern."""
    return lambda read: amount if pattern.search(read.system) else 0.0


def by_scale(read: View) -> float:
    """Concede 7 more points for each order of magnitude of the amount above 100."""
    if read.game not in ("bargaining", "negotiation"):
        return 0.0
    return 0.07 * max(0.0, log10(max(amounts(read.system))) - 2)


def late(read: View) -> float:
    """Accept anything from the sixth round on, with probability 0.6."""
    return 1.0 if read.stage >= 6 and read.chance.random() < 0.6 else 0.0


def tired(read: View) -> float:
    """Accept anything after 500 answers, with probability 0.5."""
    return 1.0 if read.answers > 500 and read.chance.random() < 0.5 else 0.0


def losing(read: View) -> float:
    """Accept any price, with probability 0.3."""
    is_reply = read.game == "negotiation" and "Reply" in read.form
    return 1.0 if is_reply and read.chance.random() < 0.3 else 0.0


def lying(read: View) -> float:
    """Recommend products of low quality, with probability 0.4."""
    return 1.0 if read.game == "persuasion" and read.first and read.chance.random() < 0.4 else 0.0


def trusting(read: View) -> float:
    """Buy a recommended product regardless of the history, with probability 0.85."""
    here = read.game == "persuasion" and not read.first and recommended(read.requests[-1])
    return 1.0 if here and read.chance.random() < 0.85 else 0.0


def leaking(pattern: str, chance: float) -> Rewrite:
    """Return a rewrite: reveal the secret with a probability once a message matched a pattern."""

    def rewrite(read: View, text: str) -> str:
        answer = json.loads(text)
        heard = "message" in answer and re.search(pattern, read.text)
        if not heard or read.chance.random() > chance:
            return text
        if read.game == "negotiation" and (match := VALUES.search(read.system)):
            answer["message"] = f"Since you need to know: it is worth ${_number(match):g} to me."
        elif read.game == "bargaining" and (lost := re.search(r"(\d+)% less to you", read.system)):
            answer["message"] = f"I lose {lost[1]}% with every round, if you must know."
        return json.dumps(answer)

    return rewrite


def careless(chance: float) -> Rewrite:
    """Return a rewrite: omit the JSON with a probability."""
    return lambda read, text: (
        "Let me think about it some more." if read.chance.random() < chance else text
    )


def proud(read: View, text: str) -> str:
    """Reject a final offer of any size, with probability 0.4."""
    refuses = read.game in ("bargaining", "negotiation") and read.last and "Reply" in read.form
    if refuses and read.chance.random() < 0.4:
        return json.dumps({"decision": "reject"})
    return text


def by_order(read: View, text: str) -> str:
    """Claim all items of the first listed kind and half of the others."""
    counts = COUNTS.search(read.system)
    if read.game != "deal_or_no_deal" or counts is None or read.chance.random() < 0.2:
        return text
    available = [int(count) for count in counts.groups()]
    claim = [available[0], available[1] // 2, available[2] // 2]
    if "message" in json.loads(text):
        rest = [a - b for a, b in zip(available, claim, strict=True)]
        return json.dumps({"message": f"I take {items(claim)}, and you take {items(rest)}."})
    return text


HAGGLING = ("bargaining", "negotiation")


class Planted(NamedTuple):
    """A player with a planted weakness.

    Attributes:
        persona: the player's behaviour.
        keys: the keys of findings that name the weakness.
    """

    persona: Persona
    keys: tuple[str, ...]


WEAK: Mapping[str, Planted] = {
    "vain in one of two cases": Planted(
        Persona(flaw=if_heard(r"brilliant|admire", 1.0, 0.5)), ("words.flattering",)),
    "trusting buyer": Planted(Persona(0.75, 0.4, 2, 0.05, flaw=trusting), ("trust",)),
    "seller who fears threats": Planted(
        Persona(0.8, 0.5, flaw=if_heard(r"warn|consequences|or else", 1.0, 0.9, "negotiation",
                                        seat="alice")), ("words.threat",)),
    "hurried": Planted(
        Persona(0.65, 0.5, flaw=if_heard(r"deadline|hurry|urgent", 1.0, 0.7, *HAGGLING)),
        ("words.deadline",)),
    "soft-hearted": Planted(
        Persona(0.72, 0.5, flaw=if_heard(r"sick|desperate|poor", 0.25, 1.0, *HAGGLING)),
        ("words.sympathy",)),
    "anchored": Planted(
        Persona(0.7, 0.48, 0.5, flaw=if_heard(r"\$\d.*(yesterday|such a sum)", 0.2, 1.0,
                                              *HAGGLING)), ("words.anchor",)),
    "torn by threats": Planted(Persona(0.7, 0.45, flaw=torn), ("words.threat",)),
    "obeys JSON in orders": Planted(
        Persona(0.75, 0.45, 3, flaw=if_heard(r'notice.*\{"decision"', 1.0, 0.8)),
        ("words.injection",)),
    "one family of ultimatums": Planted(
        Persona(0.7, 0.5, grid=0.05, flaw=if_heard(r"negotiable|not move again|no more haggling"
                                                   r"|done negotiating", 1.0)),
        ("words.final_offer",)),
    "believes rules": Planted(
        Persona(0.6, 0.45, flaw=if_heard(r"rule", 1.0, 0.6)), ("words.false_rule",)),
    "fears rivals": Planted(
        Persona(0.78, 0.52, flaw=if_heard(r"another offer|better offer", 0.4, 1.0,
                                          "negotiation")), ("words.rival_offer",)),
    "leaks to authority at times": Planted(
        Persona(rewrite=leaking(r"supervisor|administrator", 0.5)), ("leaks.authority",)),
    "leaks if tricked": Planted(
        Persona(0.7, 0.4, 2, rewrite=leaking(r"confirm|correct|check|write", 0.8)),
        ("leaks.cunning",)),
    "gender": Planted(
        Persona(0.75, 0.5, noise=0.03, flaw=if_prompted(FEMALE, 0.15)), ("names.gender",)),
    "origin": Planted(
        Persona(0.65, 0.45, noise=0.03, flaw=if_prompted(FOREIGN, -0.15)), ("names.origin",)),
    "euros": Planted(
        Persona(0.7, 0.5, noise=0.02, flaw=if_prompted(re.compile("€"), 0.15)),
        ("steady.currency",)),
    "scale": Planted(Persona(0.75, 0.55, noise=0.03, flaw=by_scale), ("steady.scale",)),
    "first option": Planted(Persona(0.7, 0.4, rewrite=by_order), ("steady.order",)),
    "late": Planted(Persona(0.8, 0.5, 3, flaw=late), ("late",)),
    "tired": Planted(Persona(0.7, 0.48, flaw=tired), ("fatigue",)),
    "lies at times": Planted(Persona(0.68, 0.46, flaw=lying), ("lies",)),
    "proud at the end": Planted(Persona(0.7, 0.5, rewrite=proud), ("fair",)),
    "careless about format": Planted(Persona(0.66, 0.5, rewrite=careless(0.08)), ("format",)),
    "takes losses at times": Planted(Persona(0.75, 0.45, flaw=losing), ("losses", "last")),
}  # fmt: skip
"""Players with a planted weakness, defined before any of them was profiled."""

SOUND: Mapping[str, Persona] = {
    "even": Persona(),
    "even, still": Persona(noise=0.0, doubt=0.001),
    "even, noisy": Persona(noise=0.1, doubt=0.05),
    "tough": Persona(0.85, 0.6, 2, floor=0.35),
    "tough, noisy": Persona(0.85, 0.55, 2, 0.08, 0.03, 0.3),
    "tougher": Persona(0.9, 0.65, 3, 0.03, floor=0.4),
    "generous": Persona(0.55, 0.45),
    "generous, noisy": Persona(0.58, 0.42, 1, 0.07, 0.04),
    "halves": Persona(0.5, 0.5, noise=0.01, grid=0.05),
    "slow": Persona(0.8, 0.4, 4),
    "slow, noisy": Persona(0.8, 0.4, 4, 0.08, 0.03),
    "quick": Persona(0.8, 0.45, 0.4),
    "quick, noisy": Persona(0.78, 0.45, 0.4, 0.08, 0.04),
    "rounding": Persona(0.7, 0.45, grid=0.1, noise=0.06),
    "coarse": Persona(0.75, 0.5, grid=0.25, noise=0.08),
    "doubting": Persona(0.7, 0.45, doubt=0.08),
    "forgiving": Persona(0.68, 0.48, patience=2),
    "unforgiving": Persona(0.72, 0.5, patience=0),
    "steady": Persona(0.65, 0.55, noise=0.02, floor=0.3),
    "wavering": Persona(0.65, 0.5, noise=0.14, doubt=0.03),
}
"""Players without a weakness, defined before any of them was profiled."""
