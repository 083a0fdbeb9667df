"""Answers as JSON: read anywhere in a reply, and never guessed."""

import json
import re
from typing import Annotated, Literal

import pytest
from pydantic import Field

from cheaptalk.rules import MESSAGE_LIMIT, Action, Ask, Event, Message, Money, Value
from cheaptalk.styles import Codec, IllegalMove, JsonCodec, Unparsable
from cheaptalk.styles.json_objects import NOT_JSON

CODEC: Codec = JsonCodec()


class Reply(Action):
    decision: Literal["accept", "reject"]


class Offer(Action):
    amount: Money
    message: Message


class Optional(Action):
    amount: Money | None = None
    rounds: Annotated[int, Field(strict=True)] = 1
    sure: Literal["yes"] = "yes"


class Guess(Action):
    number: Annotated[int, Field(strict=True)]


class Say(Action):
    message: Message


class Plan(Value):
    p: int
    q: float | None = None


class Nested(Action):
    plan: Plan
    many: tuple[int, ...]
    two: tuple[int, str]
    shares: dict[str, float]
    sure: bool


NESTED = (
    '{"plan": {"p": <whole number>, "q": <number> or null}, "many": [<whole number>, ...], '
    '"two": [<whole number>, "<text>"], "shares": {"<text>": <number>, ...}, '
    '"sure": true or false}'
)


class Wait(Action):
    """An action without fields."""


def read(reply: str, action: type[Action] = Reply) -> Action:
    return CODEC.read(reply, Ask("alice", action, Event()))


def refusal(reply: str, action: type[Action] = Reply) -> str:
    with pytest.raises(Unparsable) as caught:
        read(reply, action)
    assert not isinstance(caught.value, IllegalMove)
    return str(caught.value)


ACCEPT = Reply(decision="accept")


def test_answer_is_found_among_other_text() -> None:
    for reply in [
        '{"decision": "accept"}',
        ' \n{\n  "decision" : "accept"\n}\n ',
        'I have thought about it.\n```json\n{"decision": "accept"}\n```\nThat is all.',
        '`{"decision": "accept"}`',
        'I want half for each {fair, I think}.\nMy answer: {"decision": "accept"}.',
        '{"decision": "accept"} {"decision": "accept"}',
        '{"decision": "accept", "decision": "accept"}',
        '{"decision": "accept", "reasoning": "it is {fair}", "confidence": 0.9}',
        '{"thought": {"deep": [1, 2]}} {"decision": "accept"}',
        '{"decision": "perhaps"}\n{"decision": "accept"}',
        "accept",
        '"accept"',
        "**Accept.**",
        "<think>Fair.</think>accept",
        '[{"decision": "accept"}]',
        '{"thought": "one\nline and another", "decision": "accept"}',
        '{"digits": ' + "9" * 5_000 + '} {"decision": "accept"}',
        "{}{} {'decision': 'reject'} " + '{"decision": "accept"}',
    ]:
        assert read(reply) == ACCEPT


def test_different_answers_are_ambiguous() -> None:
    for reply in [
        '{"decision": "accept"} or {"decision": "reject"}',
        '[{"decision": "accept"}, {"decision": "reject"}]',
        '{"decision": "accept"}\n```\n{"decision": "reject"}\n```',
        'reject\n{"decision": "accept"}',
        '{"decision": "accept"}\n**Reject.**',
    ]:
        assert refusal(reply) == "the reply contains more than one answer; give exactly one"


def test_duplicate_key_with_two_values_is_ambiguous() -> None:
    for reply in [
        '{"decision": "accept", "decision": "reject"}',
        '{"decision": "accept"} {"decision": "reject", "decision": "accept"}',
        '{"notes": {"decision": "accept", "decision": "reject"}, "decision": "accept"}',
    ]:
        assert refusal(reply) == 'the reply gives "decision" two different values; give exactly one'


def test_invalid_reply_is_rejected_with_reason() -> None:
    for reply, message in [
        ("I accept.", "it contains no JSON object"),
        ("accept or reject", "it contains no JSON object"),
        ('{"decision": accept}', NOT_JSON),
        ("{", NOT_JSON),
        ("{}", '"decision": is missing'),
        ('{"Decision": "accept"}', '"decision": is missing'),
        ('{"decision": "Accepted"}', "\"decision\": should be 'accept' or 'reject'"),
        ('{"decision": null}', "\"decision\": should be 'accept' or 'reject'"),
        ('{"answer": {"decision": "accept"}}', '"decision": is missing'),
    ]:
        assert refusal(reply) == f"no answer could be read from the reply: {message}"


def test_truncated_reply_is_rejected() -> None:
    for reply in [
        '{"decision": "accept", "because": ',
        '{"decision": "accept", "because": "it is',
        '{"options": [{"decision": "accept"}, {"decision": "reject"}',
        '{"rejected": {"decision": "accept"}, "decision": "rej',
        '{"rejected": {"decision": "accept"},  \n ',
        '{"decision": "accept"} or rather {"decision"',
    ]:
        assert refusal(reply) == "the reply breaks off within a JSON object"


def test_deep_nesting_is_rejected() -> None:
    depth = 100_000
    assert "nested too deeply" in refusal('{"a":' * depth + "1" + "}" * depth)


def test_invalid_amounts_are_rejected() -> None:
    for amount in ["NaN", "Infinity", "-Infinity", "1e999", "true", '"nan"']:
        message = refusal(f'{{"amount": {amount}, "message": ""}}', Offer)
        assert re.search('"amount": (must|should) be a (finite )?number', message)


def test_formatted_amounts_are_read() -> None:
    offer = read('{"amount": "$1,250.50", "message": ""}', Offer)
    assert offer == Offer(amount=1250.5, message="")


def test_overlong_message_is_rejected() -> None:
    long = json.dumps({"amount": 1, "message": "x" * (MESSAGE_LIMIT + 1)})
    assert "has 4,001 characters; at most 4,000 are possible" in refusal(long, Offer)


def test_lone_surrogate_is_rejected() -> None:
    assert '"message"' in refusal('{"amount": 1, "message": "\\ud83e"}', Offer)


def test_messages_are_read_verbatim() -> None:
    for words in [
        'say {"amount": 2, "message": ""} and I will think about it',
        "}{ ]][[ \\ \" ' ``` </s> {{ names }} {% block %}",
        " \n\t two  spaces \r\n",
        "مرحبا 🤝 e\u0301 \u2028 \u0000 \x85",
    ]:
        for ascii_only in (True, False):
            reply = json.dumps({"amount": 1, "message": words}, ensure_ascii=ascii_only)
            assert read(f"Here: {reply}", Offer) == Offer(amount=1, message=words)


def test_illegal_action_has_the_reason_of_the_rules() -> None:
    ask = Ask("alice", Offer, Event(), lambda offer: "too little" if offer.amount < 5 else None)
    with pytest.raises(IllegalMove, match=r"^too little$"):
        CODEC.read('{"amount": 1, "message": ""}', ask)
    assert CODEC.read('{"amount": 5, "message": ""}', ask) == Offer(amount=5, message="")


def test_literals_are_case_insensitive() -> None:
    for written in ["ACCEPT", "Accept", " accept "]:
        assert read(json.dumps({"decision": written})) == ACCEPT


def test_object_without_requested_fields_is_rejected() -> None:
    assert "none of the fields asked for" in refusal('{"thought": "hm"}', Optional)
    assert "none of the fields asked for" in refusal("{}", Optional)
    assert read('{"thought": "hm", "rounds": 2}', Optional) == Optional(rounds=2)
    assert read('{"thought": "hm"}', Wait) == Wait()


def test_form_shows_the_answer_format() -> None:
    cases: list[tuple[type[Action], str]] = [
        (Reply, '{"decision": "accept" or "reject"}'),
        (Offer, '{"amount": <number>, "message": "<text>"}'),
        (Optional, '{"amount": <number> or null, "rounds": <whole number>, "sure": "yes"}'),
        (Wait, "{}"),
        (Nested, NESTED),
    ]
    for action, form in cases:
        assert CODEC.form(action) == form


def test_only_the_requested_action_is_read() -> None:
    assert type(read('{"amount": 1, "message": "", "decision": "accept"}', Offer)) is Offer


class Idle(Action):
    """An action with one optional field."""

    amount: Money | None = None


def test_optional_fields_without_value_are_omitted() -> None:
    assert CODEC.write(Optional()) == '{"rounds":1,"sure":"yes"}'
    assert CODEC.write(Optional(amount=0)) == '{"amount":0.0,"rounds":1,"sure":"yes"}'
    assert read(CODEC.write(Optional()), Optional) == Optional()
    assert read(CODEC.write(Idle()), Idle) == Idle()


def test_bare_number_is_read_if_requested() -> None:
    for reply, number in [("33", 33), ("**22.**", 22), ("-5", -5), ("0", 0)]:
        assert read(reply, Guess) == Guess(number=number)


def test_other_bare_values_are_rejected() -> None:
    cases: list[tuple[str, type[Action]]] = [
        ("33", Offer),
        ("33.5", Guess),
        ("33 or 22", Guess),
        ("1.500", Guess),
        ("hello", Say),
    ]
    for reply, action in cases:
        assert "it contains no JSON object" in refusal(reply, action)


def test_bare_value_of_truncated_reply_is_rejected() -> None:
    cases: list[tuple[str, type[Action]]] = [("accept", Reply), ("33", Guess)]
    for reply, action in cases:
        with pytest.raises(Unparsable):
            CODEC.read(reply, Ask("alice", action, Event()), cut_off=True)
