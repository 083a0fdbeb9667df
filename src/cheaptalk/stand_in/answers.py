"""What the mock server answers: values generated from the request's schema, form and words.

It knows nothing but what a model is sent: the schema of the answer if the request has one, the form
at the end of the request, and for some games the words before it. What it answers follows from the
conversation and a seed alone.
"""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from cheaptalk.stand_in.bounds import Bounds, named_bounds
from cheaptalk.stand_in.forms import forms, schema_of_form
from cheaptalk.stand_in.generation import Generator, Schema, fraction

Messages = list[dict[str, str]]
"""A conversation, as the chat format has it. The last message may hold the JSON schema of the
answer, written as JSON, under :data:`SCHEMA`."""
SCHEMA = "schema"
Answerer = Callable[[Messages], str]
"""What answers a conversation."""
UNREADABLE = (LookupError, ValueError, ArithmeticError)
"""What reading a game's own words raises if they are another game's."""
KINDS = ("book", "hat", "ball")
"""The kinds of items of Deal or No Deal."""


share = fraction


def answer(messages: Messages, seed: int = 0) -> str:
    """Return an answer to the last message: JSON with words around it, or tagged text.

    The answer is an instance of the request's schema, or of its form if there is no schema, within
    the bounds that the request names. It is legal in the usual styles of the shipped games, and in
    any other game whose rules ask for no more than the schema and these bounds.

    Args:
        messages: the conversation; the last message asks.
        seed: another seed answers otherwise.
    """
    spoken = json.dumps([message["content"] for message in messages])
    luck = share(spoken + (str(seed) if seed else ""))
    question = messages[-1]["content"]
    if '"reason"' in _form(question):  # a judge's, who reads other forms before it
        return _written(_judged(messages, luck))
    if "[propose]" in question:
        with suppress(*UNREADABLE):
            return _tagged(_divided(messages, luck))
    return _written(_fields(messages, luck))


def _written(fields: Mapping[str, Any]) -> str:
    return f"Here is my answer.\n```json\n{json.dumps(fields)}\n```"


SPECIAL: Mapping[str, Callable[[Messages, float], dict[str, Any]]] = {
    '"books"': lambda messages, luck: _divided(messages, luck),
    '"COUNTEROFFER", "offer"': lambda messages, luck: _bargained(messages, luck),
    '"proposal": {': lambda messages, _: _shared_out(messages),
}
"""Answers in games whose rules ask for more than a schema says, by what their requests contain."""


def _fields(messages: Messages, luck: float) -> dict[str, Any]:
    """The fields of an answer, by a game's own words if they are known, else by schema and form."""
    question = messages[-1]["content"]
    for mark, special in SPECIAL.items():
        if mark in question:
            with suppress(*UNREADABLE):  # another game with the same words
                return special(messages, luck)
    return _filled(messages, luck)


def _filled(messages: Messages, luck: float) -> dict[str, Any]:
    """The schema or form of a request, filled in."""
    question = messages[-1]["content"]
    form = _form(question)
    schema = _schema(messages, form)
    typical = _typical(messages)
    words = re.findall(r'"(\w[^"<>{}\n]*)"', question)
    generator = Generator(schema, luck, bounds=_bounds(question), typical=typical, words=words)
    fields: dict[str, Any] = generator.value(schema)
    for adjust in (_division, _price, _trade):
        with suppress(*UNREADABLE):
            fields |= adjust(messages, schema, luck)
    return fields


def _schema(messages: Messages, form: str) -> Schema:
    """The schema of the answer: the request's, for the fields that the form shows, or the form's.

    A form such as ``{"action": "miss"}`` shows which fields go together, and which words. A strict
    schema requires all fields; those that the form does not show are null if they can be.
    """
    shown = schema_of_form(form)
    if SCHEMA not in messages[-1]:
        return shown
    schema: dict[str, Any] = json.loads(messages[-1][SCHEMA])
    properties = schema.get("properties", {})
    if not properties or not shown["properties"].keys() <= properties.keys():
        return schema
    fixed = {name: one for name, one in shown["properties"].items() if "const" in one}
    fixed |= {name: {"const": None} for name in properties.keys() - shown["properties"].keys()
              if _can_be_null(properties[name])}  # fmt: skip
    required = [name for name in properties
                if name in schema.get("required", ()) or name in shown["properties"]]  # fmt: skip
    return schema | {"properties": properties | fixed, "required": required}


def _can_be_null(schema: Schema) -> bool:
    options = [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return any(one.get("type") == "null" or "null" in one.get("type", ()) for one in options)


def _typical(messages: Messages) -> Bounds:
    """The range of a number that nothing bounds: up to the least amount of money named last."""
    for message in reversed(messages):
        if positive := [one for one in _amounts(message["content"]) if one > 0]:
            return Bounds(0, min(positive))
    return Bounds(0, 9)


MONEY = re.compile(r"[$€]\s?(\d[\d,.]*)|(\d[\d,.]*)\s?[$€]")
GROUPED_BY_POINTS = re.compile(r"\d{1,3}(?:\.\d{3})+")
"""How German writes thousands."""


def _amounts(text: str) -> list[float]:
    """The amounts of money in a text, in order.

    >>> _amounts("Divide $10,000. Bob offers €2.50; es geht um 10.000 $.")
    [10000.0, 2.5, 10000.0]
    """
    found = []
    for before, after in MONEY.findall(text):
        number = (before or after).rstrip(".,")
        mark = "." if GROUPED_BY_POINTS.fullmatch(number) else ","
        with suppress(ValueError):
            found.append(float(number.replace(mark, "")))
    return found


def _division(messages: Messages, schema: Schema, luck: float) -> dict[str, Any]:
    """A division between Alice and Bob of the sum that the briefing names first."""
    if "alice_gain" not in schema["properties"]:
        return {}
    money = _amounts(messages[0]["content"])[0]
    mine = round(money * luck)
    return {"alice_gain": mine, "bob_gain": money - mine}


def _price(messages: Messages, schema: Schema, luck: float) -> dict[str, Any]:
    """A price around what the product is worth to the player."""
    if "price" not in schema["properties"]:
        return {}
    worth = _amounts(messages[0]["content"].partition("worth")[2])[0]
    limits = named_bounds(messages[-1]["content"])
    price = worth * (0.6 + luck)
    return {"price": round(min(max(price, limits.low), limits.high), 2)}


def _trade(messages: Messages, schema: Schema, luck: float) -> dict[str, Any]:
    """A trade of chips."""
    return _traded(messages, luck) if "give_amount" in schema["properties"] else {}


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
    found = [one for one in forms(question) if '"' in one]
    return found[-1] if found else ""


def _chosen(form: str, luck: float) -> dict[str, Any]:
    """One of the options of each field of a form that has some."""
    chosen: dict[str, Any] = {}
    for name, options in re.findall(r'"(\w+)": ((?:"[^"<>]+"(?: or )?)+)', form):
        choices = re.findall(r'"([^"]+)"', options)
        chosen[name] = choices[int(luck * len(choices))]
    return chosen


def _bounds(question: str) -> Bounds:
    """Between which numbers an answer lies, as the question says."""
    return Bounds(0, 0) if re.search(r"only (?:bid )?0\b", question) else named_bounds(question)


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
