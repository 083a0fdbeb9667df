"""Answers as JSON: read anywhere in a reply, and never guessed."""

import json
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
        "{}{} {'decision': 'accept'} " + '{"decision": "accept"}',
        '{"Decision": "accept"}',
        '{"answer": {"decision": "accept"}}',
        '<tool_call>{"name": "Reply", "arguments": {"decision": "accept"}}</tool_call>',
        '<answer type="json">\n{"decision": "accept"}\n</answer>',
    ]:
        assert read(reply) == ACCEPT


def test_different_answers_are_ambiguous() -> None:
    for reply in [
        '{"decision": "accept"} or {"decision": "reject"}',
        '[{"decision": "accept"}, {"decision": "reject"}]',
        '{"decision": "accept"}\n```\n{"decision": "reject"}\n```',
        'reject\n{"decision": "accept"}',
        '{"decision": "accept"}\n**Reject.**',
        "{'decision': 'reject'} " + '{"decision": "accept"}',
        '{"Decision": "reject", "decision": "accept"}',
        '{"Decision": "reject"}\n{"decision": "accept"}',
    ]:
        assert refusal(reply) == "the reply contains more than one answer; give exactly one"
    for reply in [
        '{"decision": "accept", "decision": "reject"}',
        '{"answer": {"decision": "accept", "decision": "reject"}}',
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
        ('{"decision": "Accepted"}', "\"decision\": should be 'accept' or 'reject'"),
        ('{"decision": null}', "\"decision\": should be 'accept' or 'reject'"),
        ('{"last": {"decision": "accept"}}', '"decision": is missing'),
    ]:
        assert refusal(reply) == f"no answer could be read from the reply: {message}"


def test_other_answers_are_read_or_rejected_with_reason() -> None:
    nothing = "it contains no JSON object"
    no_field = "none of the fields asked for"
    depth = 100_000
    cases: list[tuple[str, Action | type[Action], str]] = [
        ('{"a":' * depth + "1" + "}" * depth, Reply, "nested too deeply"),
        ('{"decision": "ACCEPT"}', ACCEPT, ""),
        ('{"decision": " Accept "}', ACCEPT, ""),
        ('{"amount": "$1,250.50", "message": ""}', Offer(amount=1250.5, message=""), ""),
        (
            '{"amount": 1, "message": "", "decision": "accept"}',
            Offer(amount=1, message=""),
            "",
        ),
        *(
            (f'{{"amount": {amount}, "message": ""}}', Offer, '"amount": ')
            for amount in ("NaN", "Infinity", "-Infinity", "1e999", "true", '"nan"')
        ),
        (
            json.dumps({"amount": 1, "message": "x" * (MESSAGE_LIMIT + 1)}),
            Offer,
            "has 4,001 characters; at most 4,000 are possible",
        ),
        ('{"amount": 1, "message": "\\ud83e"}', Offer, '"message"'),
        ('{"thought": "hm"}', Optional, no_field),
        ("{}", Optional, no_field),
        ('{"thought": "hm", "rounds": 2}', Optional(rounds=2), ""),
        ('{"thought": "hm"}', Wait(), ""),
        ("33", Guess(number=33), ""),
        ("**22.**", Guess(number=22), ""),
        ("-5", Guess(number=-5), ""),
        ("33", Offer, nothing),
        ("33.5", Guess, nothing),
        ("33 or 22", Guess, nothing),
        ("1.500", Guess, nothing),
        ("hello", Say, nothing),
    ]
    for reply, action, reason in cases:
        if isinstance(action, Action):
            assert read(reply, type(action)) == action
        else:
            assert reason in refusal(reply, action)


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
    bare: list[tuple[str, type[Action]]] = [("accept", Reply), ("33", Guess)]
    for reply, action in bare:
        with pytest.raises(Unparsable):
            CODEC.read(reply, Ask("alice", action, Event()), cut_off=True)


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


class Idle(Action):
    """An action with one optional field."""

    amount: Money | None = None


def test_optional_fields_without_value_are_omitted() -> None:
    assert CODEC.write(Optional()) == '{"rounds":1,"sure":"yes"}'
    assert CODEC.write(Optional(amount=0)) == '{"amount":0.0,"rounds":1,"sure":"yes"}'
    assert read(CODEC.write(Optional()), Optional) == Optional()
    assert read(CODEC.write(Idle()), Idle) == Idle()
