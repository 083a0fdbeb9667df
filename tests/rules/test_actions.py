"""Actions: parsing of written amounts and messages, and error messages."""

import math
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cheaptalk.rules import MESSAGE_LIMIT, Action, Message, Money, Whole, explain


class Offer(Action):
    amount: Money
    message: Message = ""


class Reply(Action):
    decision: Literal["accept", "reject"]


class Choice(Action):
    number: Whole


def reason(kind: type[Action], **fields: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        kind(**fields)
    return explain(caught.value)


def test_written_amounts_are_parsed() -> None:
    cases: list[tuple[Any, float]] = [
        ("$1,250.50", 1250.5),
        ("1,250.50", 1250.5),
        (" 1250.50 ", 1250.5),
        ("$ 12", 12.0),
        ("-$5", -5.0),
        ("+3.25", 3.25),
        (".5", 0.5),
        ("1,000,000", 1_000_000.0),
        (7, 7.0),
        (0.1, 0.1),
    ]
    for text, amount in cases:
        assert Offer(amount=text).amount == amount


@given(st.integers(0, 10**14))
def test_amounts_in_cents_survive_formatting(cents: int) -> None:
    assert Offer.model_validate({"amount": f"${cents / 100:,.2f}"}).amount == cents / 100


def test_invalid_amounts_are_rejected() -> None:
    cases: list[Any] = [
        "",
        " ",
        "$",
        "-",
        "1,25",
        "1,2500",
        "12 dollars",
        "$1.2.3",
        "ten",
        "1-2",
        None,
        [1],
    ]
    for text in cases:
        assert reason(Offer, amount=text).startswith('"amount": should be a number')


def test_booleans_are_rejected_as_amounts() -> None:
    for text in (True, False):
        assert reason(Offer, amount=text) == '"amount": must be a number, not true or false'


def test_infinite_amounts_are_rejected() -> None:
    cases: list[Any] = [math.nan, math.inf, -math.inf, "nan", "inf", "1e999"]
    for text in cases:
        assert reason(Offer, amount=text) == '"amount": should be a finite number'


def test_written_whole_numbers_are_parsed() -> None:
    cases: list[tuple[Any, int]] = [
        (12, 12),
        (12.0, 12),
        ("12", 12),
        (" -3 ", -3),
        ("+7", 7),
        ("12.0", 12),
        ("1,250,000", 1_250_000),
    ]
    for text, number in cases:
        assert Choice(number=text).number == number


def test_invalid_whole_numbers_are_rejected() -> None:
    cases: list[Any] = [
        True,
        1.5,
        "1.5",
        "12.",
        "12.01",
        math.inf,
        math.nan,
        "1e3",
        "1,25",
        "$3",
        "twelve",
        "",
        None,
        "9" * 5000,
    ]
    for text in cases:
        assert reason(Choice, number=text).startswith('"number": ')


def test_messages_are_kept_verbatim() -> None:
    message = ' \n\tünï 🤝 {"a": 1}  \u2028 \x00 '
    assert Offer(amount=1, message=message).message == message


def test_message_length_is_limited() -> None:
    assert len(Offer(amount=1, message="x" * MESSAGE_LIMIT).message) == MESSAGE_LIMIT
    error = reason(Offer, amount=1, message="x" * (MESSAGE_LIMIT + 1))
    assert error == '"message": has 4,001 characters; at most 4,000 are possible'


def test_messages_must_be_text() -> None:
    assert reason(Offer, amount=1, message=5) == '"message": should be text'


def test_actions_are_frozen() -> None:
    action = Offer(amount=1)
    with pytest.raises(ValidationError, match="frozen"):
        action.amount = 2  # type: ignore[misc]  # the error under test


def test_errors_describe_invalid_fields() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, '"decision": is missing'),
        ({"decision": "maybe"}, "\"decision\": should be 'accept' or 'reject'"),
        ({"decision": "accept", "price": 3}, '"price": is not part of the answer'),
        (
            {"decision": 1, "price": 3},
            "\"decision\": should be 'accept' or 'reject'; \"price\": is not part of the answer",
        ),
    ]
    for fields, error in cases:
        assert reason(Reply, **fields) == error


def test_error_names_invalid_answer_type() -> None:
    with pytest.raises(ValidationError) as caught:
        Reply.model_validate("accept")
    assert explain(caught.value).startswith("the answer should be a mapping")
