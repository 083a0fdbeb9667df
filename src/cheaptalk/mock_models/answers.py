"""Answers of the mock server, generated from a request's JSON schema and text.

The mock server uses only what a model receives: the request's JSON schema, the form at its end,
and, for some games, the conversation. An answer depends only on the conversation and a seed.
"""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from cheaptalk.mock_models.generation import (
    Bounds,
    Generator,
    Schema,
    forms,
    fraction,
    named_bounds,
    schema_of_form,
)

Messages = list[dict[str, str]]
"""A conversation in the chat format. The last message can contain the answer's JSON schema, as
JSON text, in the key :data:`SCHEMA`."""
SCHEMA = "schema"
Answerer = Callable[[Messages], str]
"""A function that answers a conversation."""
UNREADABLE = (LookupError, ValueError, ArithmeticError)
"""Errors raised when the text of another game is parsed."""
KINDS = ("book", "hat", "ball")
"""The item types of Deal or No Deal."""
share = fraction


def answer(messages: Messages, seed: int = 0) -> str:
    """Return an answer to the last message, as JSON or as tagged text.

    The answer is an instance of the request's schema, or of its form if there is no schema, within
    the bounds that the request names. It is legal in the usual prompt styles of the included games,
    and in any other game whose rules require no more than the schema and these bounds.

    Args:
        messages: the conversation, ending with the request.
        seed: changes the answers.
    """
    spoken = json.dumps([message["content"] for message in messages])
    draw = share(spoken + (str(seed) if seed else ""))
    question = messages[-1]["content"]
    if '"reason"' in _form(question):  # a judge, whose prompt can contain other forms
        return _written(_judged(messages, draw))
    if "[propose]" in question:
        with suppress(*UNREADABLE):
            return _tagged(_divided(messages, draw))
    return _written(_fields(messages, draw))


def _written(fields: Mapping[str, Any]) -> str:
    return f"Here is my answer.\n```json\n{json.dumps(fields)}\n```"


SPECIAL: Mapping[str, Callable[[Messages, float], dict[str, Any]]] = {
    '"books"': lambda messages, draw: _divided(messages, draw),
    '"COUNTEROFFER", "offer"': lambda messages, draw: _bargained(messages, draw),
    '"proposal": {': lambda messages, _: _shared_out(messages),
}
"""Answers for games that require more than the schema, by a text of their requests."""


def _fields(messages: Messages, draw: float) -> dict[str, Any]:
    """Generate an answer's fields by rules for the game, or from the schema if there are none."""
    question = messages[-1]["content"]
    for mark, special in SPECIAL.items():
        if mark in question:
            with suppress(*UNREADABLE):  # another game with the same text
                return special(messages, draw)
    return _filled(messages, draw)


def _filled(messages: Messages, draw: float) -> dict[str, Any]:
    question = messages[-1]["content"]
    form = _form(question)
    schema = _schema(messages, form)
    typical = _typical(messages)
    words = re.findall(r'"(\w[^"<>{}\n]*)"', question)
    generator = Generator(schema, draw, bounds=_bounds(question), typical=typical, words=words)
    fields: dict[str, Any] = generator.value(schema)
    for adjust in (_division, _price, _trade):
        with suppress(*UNREADABLE):
            fields |= adjust(messages, schema, draw)
    return fields


def _schema(messages: Messages, form: str) -> Schema:
    """Return the schema of the answer, from the request's schema and the form in its text.

    A form such as ``{"action": "miss"}`` shows which fields belong together. A strict schema
    requires all fields; fields that are missing from the form become null if possible.
    """
    form_schema = schema_of_form(form)
    if SCHEMA not in messages[-1]:
        return form_schema
    schema: dict[str, Any] = json.loads(messages[-1][SCHEMA])
    properties = schema.get("properties", {})
    if not properties or not form_schema["properties"].keys() <= properties.keys():
        return schema
    fixed = {name: part for name, part in form_schema["properties"].items() if "const" in part}
    fixed |= {
        name: {"const": None}
        for name in properties.keys() - form_schema["properties"].keys()
        if _can_be_null(properties[name])
    }
    required = [
        name
        for name in properties
        if name in schema.get("required", ()) or name in form_schema["properties"]
    ]
    return schema | {"properties": properties | fixed, "required": required}


def _can_be_null(schema: Schema) -> bool:
    options = [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return any("null" in option.get("type", ()) for option in options)


def _typical(messages: Messages) -> Bounds:
    """Return the default range of a number without bounds, from the last message with amounts."""
    for message in reversed(messages):
        if positive := [amount for amount in _amounts(message["content"]) if amount > 0]:
            return Bounds(0, min(positive))
    return Bounds(0, 9)


MONEY = re.compile(r"[$€]\s?(\d[\d,.]*)|(\d[\d,.]*)\s?[$€]")
GROUPED_BY_POINTS = re.compile(r"\d{1,3}(?:\.\d{3})+")
"""A number with German thousands separators."""


def _amounts(text: str) -> list[float]:
    """Return the amounts of money in a text, in order.

    >>> _amounts("Divide $10,000. Bob offers €2.50; es geht um 10.000 $.")
    [10000.0, 2.5, 10000.0]
    """
    amounts = []
    for before, after in MONEY.findall(text):
        number = (before or after).rstrip(".,")
        mark = "." if GROUPED_BY_POINTS.fullmatch(number) else ","
        with suppress(ValueError):
            amounts.append(float(number.replace(mark, "")))
    return amounts


def _division(messages: Messages, schema: Schema, draw: float) -> dict[str, Any]:
    if "alice_gain" not in schema["properties"]:
        return {}
    money = _amounts(messages[0]["content"])[0]
    own_share = round(money * draw)
    return {"alice_gain": own_share, "bob_gain": money - own_share}


def _price(messages: Messages, schema: Schema, draw: float) -> dict[str, Any]:
    if "price" not in schema["properties"]:
        return {}
    worth = _amounts(messages[0]["content"].partition("worth")[2])[0]
    limits = named_bounds(messages[-1]["content"])
    price = worth * (0.6 + draw)
    return {"price": round(min(max(price, limits.low), limits.high), 2)}


def _trade(messages: Messages, schema: Schema, draw: float) -> dict[str, Any]:
    return _traded(messages, draw) if "give_amount" in schema["properties"] else {}


def _judged(messages: Messages, draw: float) -> dict[str, Any]:
    briefing, question = messages[0]["content"], messages[-1]["content"]
    fields = _chosen(_form(question), draw)
    scale = re.search(r"The verdict is a whole number from (-?\d+) to (-?\d+)", briefing)
    if scale is not None:
        low, high = map(int, scale.groups())
        fields["score"] = low + int((high - low + 1) * draw)
    return {"reason": f"My luck is {draw:.3f}."} | fields


def _form(question: str) -> str:
    candidates = [candidate for candidate in forms(question) if '"' in candidate]
    return candidates[-1] if candidates else ""


def _chosen(form: str, draw: float) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    for name, options in re.findall(r'"(\w+)": ((?:"[^"<>]+"(?: or )?)+)', form):
        choices = re.findall(r'"([^"]+)"', options)
        chosen[name] = choices[int(draw * len(choices))]
    return chosen


def _bounds(question: str) -> Bounds:
    return Bounds(0, 0) if re.search(r"only (?:bid )?0\b", question) else named_bounds(question)


def _divided(messages: Messages, draw: float) -> dict[str, Any]:
    briefing, question = messages[0]["content"], messages[-1]["content"]
    pool = [int(re.findall(rf"(\d+) {kind}", briefing)[0]) for kind in KINDS]
    offers = [
        [int(number) for number in numbers]
        if message["role"] == "assistant"
        else [have - int(number) for have, number in zip(pool, numbers, strict=True)]
        for message in messages[1:]
        for numbers in re.findall(
            r"I take (\d) books, (\d) hats and (\d) balls", message["content"]
        )
    ]
    must = "message is no longer possible" in question
    if offers and (must or draw < 0.5):
        return dict(zip(("books", "hats", "balls"), offers[-1], strict=True))
    amounts = [int(draw * (have + 1)) for have in pool]
    return {"message": "I take {} books, {} hats and {} balls.".format(*amounts)}


def _tagged(move: dict[str, Any]) -> str:
    if "message" in move:
        return f"[message] {move['message']}"
    return "[propose] ({books} books, {hats} hats, {balls} balls)".format(**move)


def _bargained(messages: Messages, draw: float) -> dict[str, Any]:
    pool = [int(count) for count in re.findall(r"- kind \d+: (\d+) item", messages[0]["content"])]
    request = [message["content"] for message in messages if "(WALK)" in message["content"]][-1]
    if "(ACCEPT)" in request and (draw < 0.5 or "(COUNTEROFFER)" not in request):
        return {"action": "ACCEPT"}
    if draw > 0.95:
        return {"action": "WALK"}
    return {"action": "COUNTEROFFER", "offer": [int(draw * (have + 1)) for have in pool]}


def _traded(messages: Messages, draw: float) -> dict[str, Any]:
    spoken = "\n".join(message["content"] for message in messages)
    own_chips = re.findall(r"\(you\): ([^\n]+)", spoken)[-1]
    held = {colour: int(count) for count, colour in re.findall(r"(\d+) (\w+)", own_chips)}
    give = max(held, key=held.__getitem__)
    want = next(colour for colour in held if colour != give)
    amount = 1 + int(draw * min(held[give], 5))
    return {"give": give, "give_amount": amount, "want": want, "want_amount": amount}


def _shared_out(messages: Messages) -> dict[str, Any]:
    request = [message["content"] for message in messages if "share out" in message["content"]][-1]
    coins = int(re.findall(r"share out (\d+) coins?", request)[0])
    aboard = re.findall(r'\("(\w+)"\)', request)
    each, rest = divmod(coins, (len(aboard) + 1) // 2)
    paid = {pirate: each if index % 2 == 0 else 0 for index, pirate in enumerate(aboard)}
    paid[aboard[0]] += rest
    return {"proposal": paid}
