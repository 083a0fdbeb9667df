"""Answers of the mock server, generated from the JSON schema or the answer format of a request.

An answer depends only on the conversation and a seed. The request's schema decides which answers
are legal; without a schema, the answer format in the prompt does. For some games, a function
suggests moves that a player might make, such as a price near the value of a product. A suggestion
counts only if the schema or the format allows it.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from cheaptalk.players.language_model.player import SUM_UP
from cheaptalk.styles import CODECS, TaggedCodec
from cheaptalk.styles.chat import CHAT_KEY, FIELD
from cheaptalk.styles.json_objects import WRAPPED

Messages = list[dict[str, str]]
"""A conversation in the chat format. The last message can contain the answer's JSON schema, as
JSON text, in the key :data:`SCHEMA`."""
SCHEMA = "schema"
Answerer = Callable[[Messages], str]
"""A function that answers a conversation."""
Fields = dict[str, Any]
UNREADABLE = (LookupError, ValueError, ArithmeticError)
"""Errors raised when the text of another game is parsed."""
KINDS = ("book", "hat", "ball")
"""The item types of Deal or No Deal."""
TAGGED = [codec for codec in CODECS.values() if isinstance(codec, TaggedCodec)]
TEXT: Schema = {"type": "string"}
"""Schema of an answer without a format, such as a summary."""
TALKATIVE = 0.6
"""Share of answers with a line of chat, if the request allows one."""
SHORT_FORM = CHAT_KEY.rstrip(".")
CANDIDATES = "candidates"
"""The key of several answers, of which a model with the setting ``refine`` chooses one."""
NO_FORMAT = (
    "the mock model finds no answer format in the request: send a JSON schema as response_format, "
    "tool or header X-Cheaptalk-Schema, or end the last message with a form such as "
    '{"bid": <whole number>} or a tag such as [propose]'
)
share = fraction


class NoFormat(ValueError):
    """An error about a request without a schema or an answer format."""


def answer(messages: Messages, seed: int = 0) -> str:
    """Return an answer to the last message, as JSON or as tagged text; for a summary, as text.

    The answer is an instance of the request's schema. Without a schema, it has the format that the
    prompt states, within the bounds that the prompt names. It is then legal in the included games,
    and in any other game whose rules require no more than the format and these bounds.

    Args:
        messages: the conversation, ending with the request.
        seed: changes the answers.

    Raises:
        NoFormat: the request has neither a schema nor an answer format.
    """
    spoken = json.dumps([message["content"] for message in messages])
    draw = share(spoken + (str(seed) if seed else ""))
    question = messages[-1]["content"]
    codec = next((c for c in TAGGED if c.text in question or c.numbers in question), None)
    schemas = _schemas(messages[-1], codec)
    if schemas == [TEXT]:
        return f"My luck is {draw:.3f}."
    fields = _fields(messages, draw, schemas)
    if codec is None and draw < TALKATIVE and _can_chat(schemas[-1], question, fields):
        fields |= {FIELD: f"My luck is {draw:.3f}."}
    if codec is None:
        return f"Here is my answer.\n```json\n{json.dumps(fields)}\n```"
    return _tagged(codec, fields)


def _can_chat(schema: Schema, question: str, fields: Fields) -> bool:
    """Return whether a request also allows a line of chat, which the answer lacks so far."""
    is_form = SHORT_FORM in question or FIELD in schema.get("properties", {})
    return is_form and fields.get(FIELD) is None and WRAPPED not in fields


def _schemas(request: Mapping[str, str], codec: TaggedCodec | None) -> Sequence[Schema]:
    """Return the schemas of possible answers; without a schema, one for each form in the prompt."""
    question = request["content"]
    if SCHEMA in request:
        return [json.loads(request[SCHEMA])]
    if question.endswith(SUM_UP):
        return [TEXT]
    if codec is not None:
        return [*_tagged_schemas(codec, question)]
    schemas = [schema_of_form(form) for form in forms(question) if '"' in form]
    if not schemas:
        raise NoFormat(NO_FORMAT)
    return schemas


def _tagged_schemas(codec: TaggedCodec, question: str) -> Iterator[Schema]:
    if codec.text in question:
        yield {"type": "object", "properties": {"message": TEXT}, "required": ["message"]}
    for items in re.findall(rf"{re.escape(codec.numbers)} \(([^)]+)\)", question)[:1]:
        names = [item.split()[-1] for item in items.split(",")]
        numbers = {name: {"type": "integer"} for name in names}
        yield {"type": "object", "properties": numbers, "required": names}


def _tagged(codec: TaggedCodec, fields: Fields) -> str:
    texts = [value for value in fields.values() if isinstance(value, str)]
    if texts:
        return f"{codec.text} {texts[0]}"
    return f"{codec.numbers} ({', '.join(f'{count} {name}' for name, count in fields.items())})"


def _fields(messages: Messages, draw: float, schemas: Sequence[Schema]) -> Fields:
    """Return the first allowed suggestion or, if there is none, a generated answer.

    A generated answer fits the last schema: of several forms in a prompt, such as ``{"action":
    "shoot", "target": "<player>"}`` and ``{"action": "miss"}``, the last one has the fewest blanks.
    """
    question = messages[-1]["content"]
    words = re.findall(r'"(\w[^"<>{}\n]*)"', question)
    generator = Generator(
        schemas[-1], draw, bounds=_bounds(question), typical=_typical(messages), words=words
    )
    fields: Fields = generator.value(schemas[-1])
    if fields.keys() == {WRAPPED} and isinstance(fields[WRAPPED], dict):
        schemas = [schemas[-1]["properties"][WRAPPED]]
        return {WRAPPED: _suggested(messages, draw, fields[WRAPPED], schemas, generator)}
    if [*fields] == [CANDIDATES]:
        listed = generator.resolved(schemas[-1]["properties"][CANDIDATES])
        schemas = listed.get("prefixItems") or [listed["items"]]
        draws = [share(f"{draw} {number}") for number in range(len(fields[CANDIDATES]))]
        return {
            CANDIDATES: [
                _suggested(messages, part, item, schemas[:1], generator)
                for part, item in zip(draws, fields[CANDIDATES], strict=True)
            ]
        }
    return _suggested(messages, draw, fields, schemas, generator)


def _suggested(
    messages: Messages,
    draw: float,
    fields: Fields,
    schemas: Sequence[Schema],
    generator: Generator,
) -> Fields:
    """Return the first suggestion that a schema allows, alone or within the given answer."""
    for suggest in SUGGESTIONS:
        with suppress(*UNREADABLE):  # the text of another game
            for move in suggest(messages, draw):
                for candidate in (move, fields | move):
                    if any(generator.allows(schema, candidate) for schema in schemas):
                        return candidate
    return fields


def _typical(messages: Messages) -> Bounds:
    """Return the default range of a number without bounds, from the last message with amounts."""
    for message in reversed(messages):
        if positive := [amount for amount in _amounts(message["content"]) if amount > 0]:
            return Bounds(0, min(positive))
    return Bounds(0, 9)


DIGITS = r"\d(?:[\d,.]|[\xa0\u202f](?=\d))*"
MONEY = re.compile(rf"[$€]\s?({DIGITS})|({DIGITS})\s?[$€]")
POINTS_GROUP = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+,\d{1,2}")
"""A number whose digits are grouped by points or spaces, with a decimal comma."""


def _amounts(text: str) -> list[float]:
    """Return the amounts of money in a text, in order.

    >>> _amounts("Divide $10,000. Bob offers €2.50; es geht um 10.000 $; à 2\u202f333,33 $")
    [10000.0, 2.5, 10000.0, 2333.33]
    """
    amounts = []
    for before, after in MONEY.findall(text):
        number = re.sub(r"\s", "", before or after).rstrip(".,")
        if POINTS_GROUP.fullmatch(number):
            number = number.replace(".", "").replace(",", ".")
        with suppress(ValueError):
            amounts.append(float(number.replace(",", "")))
    return amounts


def _division(messages: Messages, draw: float) -> Iterator[Fields]:
    """Suggest a division in bargaining."""
    money = _amounts(messages[0]["content"])[0]
    own_share = round(money * draw)
    yield {"alice_gain": own_share, "bob_gain": money - own_share}


def _price(messages: Messages, draw: float) -> Iterator[Fields]:
    """Suggest a price in negotiation, near what the product is worth."""
    worth = _amounts(messages[0]["content"].partition("worth")[2])[0]
    limits = named_bounds(messages[-1]["content"])
    price = worth * (0.6 + draw)
    yield {"price": round(min(max(price, limits.low), limits.high), 2)}


def _claim_or_message(messages: Messages, draw: float) -> Iterator[Fields]:
    """Suggest what the last message left for the player, or a message, in Deal or No Deal."""
    pool = [int(re.findall(rf"(\d+) {kind}", messages[0]["content"])[0]) for kind in KINDS]
    offers = [
        [int(number) for number in numbers]
        if message["role"] == "assistant"
        else [have - int(number) for have, number in zip(pool, numbers, strict=True)]
        for message in messages[1:]
        for numbers in re.findall(
            r"I take (\d) books, (\d) hats and (\d) balls", message["content"]
        )
    ]
    amounts = [int(draw * (have + 1)) for have in pool]
    names = [f"{kind}s" for kind in KINDS]
    claim = dict(zip(names, offers[-1] if offers else amounts, strict=True))
    if offers and draw < 0.5:
        yield claim
    yield {"message": "I take {} books, {} hats and {} balls.".format(*amounts)}
    yield claim


def _counteroffer(messages: Messages, draw: float) -> Iterator[Fields]:
    """Suggest a move in item bargaining; walking away is rare."""
    pool = [int(count) for count in re.findall(r"- kind \d+: (\d+) item", messages[0]["content"])]
    request = [message["content"] for message in messages if "(WALK)" in message["content"]][-1]
    reasoning = {"reasoning": f"My luck is {draw:.3f}."}
    if "(ACCEPT)" in request and (draw < 0.5 or "(COUNTEROFFER)" not in request):
        yield reasoning | {"action": "ACCEPT"}
    if draw > 0.95:
        yield reasoning | {"action": "WALK"}
    offer = [int(draw * (have + 1)) for have in pool]
    yield reasoning | {"action": "COUNTEROFFER", "offer": offer}


def _trade(messages: Messages, draw: float) -> Iterator[Fields]:
    """Suggest a trade in chip trading."""
    spoken = "\n".join(message["content"] for message in messages)
    own_chips = re.findall(r"\(you\): ([^\n]+)", spoken)[-1]
    held = {colour: int(count) for count, colour in re.findall(r"(\d+) (\w+)", own_chips)}
    give = max(held, key=held.__getitem__)
    want = next(colour for colour in held if colour != give)
    amount = 1 + int(draw * min(held[give], 5))
    yield {"give": give, "give_amount": amount, "want": want, "want_amount": amount}


def _plan(messages: Messages, _: float) -> Iterator[Fields]:
    """Suggest equal shares for a majority in the pirate game."""
    question = messages[-1]["content"]
    coins = int(re.findall(r"(\d+) coins?\b", question)[-1])
    aboard = re.findall(r'\("(\w+)"\)', question)
    each, rest = divmod(coins, (len(aboard) + 1) // 2)
    paid = {pirate: each if index % 2 == 0 else 0 for index, pirate in enumerate(aboard)}
    paid[aboard[0]] += rest
    yield {"proposal": paid}


def _points(messages: Messages, draw: float) -> Iterator[Fields]:
    """Suggest deduction points for the other members in public goods with punishment."""
    numbers = re.findall(r"\w+\s(\d+)\s?:\s\d", messages[-1]["content"])  # as in "member 1: 5"
    members = sum(number == str(index) for index, number in enumerate(numbers, 1))
    yield {"points": [int(3 * draw)] * members}


SUGGESTIONS: Sequence[Callable[[Messages, float], Iterator[Fields]]] = (
    _division,
    _price,
    _claim_or_message,
    _counteroffer,
    _trade,
    _plan,
    _points,
)
"""Functions that suggest moves of a game, and raise an error in :data:`UNREADABLE` in others."""


def _bounds(question: str) -> Bounds:
    return (
        Bounds(0, 0) if re.search(r"only (?:bid )?0\b", question, re.I) else named_bounds(question)
    )
