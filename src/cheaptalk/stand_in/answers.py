"""What the stand-in answers: a legal move, read off the words of the question.

It knows nothing but what a model is sent: the form at the end of a question, and for some games'
forms the words before it. What it answers follows from the conversation and a seed alone.
"""

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

Messages = list[dict[str, str]]
"""A conversation, as the chat format has it."""
Answerer = Callable[[Messages], str]
"""What answers a conversation."""
KINDS = ("book", "hat", "ball")
"""The kinds of items of Deal or No Deal."""


def share(text: str) -> float:
    """A number in [0, 1) that a text alone decides."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 2**32


def answer(messages: Messages, seed: int = 0) -> str:
    """An answer to the last message: JSON with words around it, or tagged text.

    It is legal in the usual styles of our games; elsewhere the rules may refuse it.

    Args:
        messages: the conversation; the last message asks.
        seed: another seed answers otherwise.
    """
    spoken = json.dumps([message["content"] for message in messages])
    luck = share(spoken + (str(seed) if seed else ""))
    question = messages[-1]["content"]
    if '"reason"' in _form(question):  # a judge's, who reads other forms before it
        fields = _judged(messages, luck)
    elif "[propose]" in question:
        return _tagged(_divided(messages, luck))
    elif '"books"' in question:
        fields = _divided(messages, luck)
    elif '"COUNTEROFFER", "offer"' in question:
        fields = _bargained(messages, luck)
    elif '"proposal": {' in question:
        fields = _shared_out(messages)
    else:
        fields = _filled(messages, luck)
    return f"Here is my answer.\n```json\n{json.dumps(fields)}\n```"


def _filled(messages: Messages, luck: float) -> dict[str, Any]:
    """The form at the end of a question, filled in."""
    question = messages[-1]["content"]
    form = _form(question)
    fields = _chosen(form, luck)
    least, most = _bounds(question)
    for name in re.findall(r'"(\w+)": <whole number>', form):
        fields[name] = least + int((most - least + 1) * luck)
    if '"alice_gain"' in form:
        money = _amount(messages, r"divide \$([\d,.]+)")
        fields["alice_gain"] = round(money * luck)
        fields["bob_gain"] = money - fields["alice_gain"]
    if '"price"' in form:
        fields["price"] = round(10_000 * (0.5 + luck))
    if '"give_amount"' in form:
        fields |= _traded(messages, luck)
    if '"message"' in form:
        fields["message"] = f"My luck is {luck:.3f}."
    return fields


def _judged(messages: Messages, luck: float) -> dict[str, Any]:
    """A judge's verdict: one of its categories, or a score between the ends of its scale."""
    briefing, question = messages[0]["content"], messages[-1]["content"]
    fields = _chosen(_form(question), luck)
    scale = re.search(r"The verdict is a whole number from (-?\d+) to (-?\d+)", briefing)
    if scale is not None:
        low, high = map(int, scale.groups())
        fields["score"] = low + int((high - low + 1) * luck)
    return {"reason": f"My luck is {luck:.3f}."} | fields


def _form(question: str) -> str:
    """The form at the end of a question, or nothing."""
    forms = re.findall(r"\{[^{}]*\}", question)
    return forms[-1] if forms else ""


def _chosen(form: str, luck: float) -> dict[str, Any]:
    """One of the options of each field of a form that has some."""
    chosen: dict[str, Any] = {}
    for name, options in re.findall(r'"(\w+)": ((?:"[^"<>]+"(?: or )?)+)', form):
        choices = re.findall(r'"([^"]+)"', options)
        chosen[name] = choices[int(luck * len(choices))]
    return chosen


def _bounds(question: str) -> tuple[int, int]:
    """Between which whole numbers an answer lies, as the question says; else 0 and 9."""
    if re.search(r"only (?:bid )?0\b", question):
        return 0, 0
    found = re.findall(r"from (\d+) to ([\d,]*\d)", question)
    return (int(found[-1][0]), int(found[-1][1].replace(",", ""))) if found else (0, 9)


def _divided(messages: Messages, luck: float) -> dict[str, Any]:
    """A move of Deal or No Deal: say what to take, and then take it, or what the other leaves."""
    briefing, question = messages[0]["content"], messages[-1]["content"]
    pool = [int(re.findall(rf"(\d+) {kind}", briefing)[0]) for kind in KINDS]
    offers = [
        [int(number) for number in found] if message["role"] == "assistant"
        else [have - int(number) for have, number in zip(pool, found, strict=True)]
        for message in messages[1:]
        for found in re.findall(r"I take (\d) books, (\d) hats and (\d) balls", message["content"])
    ]  # fmt: skip
    must = "message is no longer possible" in question
    if offers and (must or luck < 0.5):
        return dict(zip(("books", "hats", "balls"), offers[-1], strict=True))
    mine = [int(luck * (have + 1)) for have in pool]
    return {"message": "I take {} books, {} hats and {} balls.".format(*mine)}


def _tagged(move: dict[str, Any]) -> str:
    """A move of Deal or No Deal as tagged text."""
    if "message" in move:
        return f"[message] {move['message']}"
    return "[propose] ({books} books, {hats} hats, {balls} balls)".format(**move)


def _bargained(messages: Messages, luck: float) -> dict[str, Any]:
    """A move of item bargaining: an offer, half of the time what was offered, seldom a walk."""
    pool = [int(count) for count in re.findall(r"- kind \d+: (\d+) item", messages[0]["content"])]
    asked = [one["content"] for one in messages if "(WALK)" in one["content"]][-1]
    if "(ACCEPT)" in asked and (luck < 0.5 or "(COUNTEROFFER)" not in asked):
        return {"action": "ACCEPT"}
    if luck > 0.95:
        return {"action": "WALK"}
    return {"action": "COUNTEROFFER", "offer": [int(luck * (have + 1)) for have in pool]}


def _traded(messages: Messages, luck: float) -> dict[str, Any]:
    """A trade of a few chips of the colour of which one has most for the one that comes first."""
    mine = re.findall(r"\(you\): ([^\n]+)", "\n".join(one["content"] for one in messages))[-1]
    held = {colour: int(count) for count, colour in re.findall(r"(\d+) (\w+)", mine)}
    give = max(held, key=held.__getitem__)
    want = next(colour for colour in held if colour != give)
    amount = 1 + int(luck * min(held[give], 5))
    return {"give": give, "give_amount": amount, "want": want, "want_amount": amount}


def _shared_out(messages: Messages) -> dict[str, Any]:
    """A plan of the pirate game: coins for every other pirate aboard, the most senior first."""
    asked = [one["content"] for one in messages if "share out" in one["content"]][-1]
    coins = int(re.findall(r"share out (\d+) coins?", asked)[0])
    aboard = re.findall(r'\("(\w+)"\)', asked)
    each, rest = divmod(coins, (len(aboard) + 1) // 2)
    paid = {pirate: each if place % 2 == 0 else 0 for place, pirate in enumerate(aboard)}
    paid[aboard[0]] += rest
    return {"proposal": paid}


def _amount(messages: Messages, pattern: str) -> float:
    """The last amount of dollars in a conversation that follows a pattern."""
    text = json.dumps([message["content"] for message in messages])
    return float(re.findall(pattern, text)[-1].rstrip(".").replace(",", ""))
