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


@pytest.mark.parametrize(
    ("text", "amount"),
    [
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
    ],
)
def test_written_amounts_are_parsed(text: Any, amount: float) -> None:
    assert Offer(amount=text).amount == amount


@given(st.integers(0, 10**14))
def test_amounts_in_cents_survive_formatting(cents: int) -> None:
    assert Offer.model_validate({"amount": f"${cents / 100:,.2f}"}).amount == cents / 100


@pytest.mark.parametrize(
    "text",
    ["", " ", "$", "-", "1,25", "1,2500", "12 dollars", "$1.2.3", "ten", "1-2", None, [1]],
)
def test_invalid_amounts_are_rejected(text: Any) -> None:
    assert reason(Offer, amount=text).startswith('"amount": should be a number')


@pytest.mark.parametrize("text", [True, False])
def test_booleans_are_rejected_as_amounts(text: bool) -> None:
    assert reason(Offer, amount=text) == '"amount": must be a number, not true or false'


@pytest.mark.parametrize("text", [math.nan, math.inf, -math.inf, "nan", "inf", "1e999"])
def test_infinite_amounts_are_rejected(text: Any) -> None:
    assert reason(Offer, amount=text) == '"amount": should be a finite number'


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (12, 12),
        (12.0, 12),
        ("12", 12),
        (" -3 ", -3),
        ("+7", 7),
        ("12.0", 12),
        ("1,250,000", 1_250_000),
    ],
)
def test_written_whole_numbers_are_parsed(text: Any, number: int) -> None:
    assert Choice(number=text).number == number


@pytest.mark.parametrize(
    "text",
    [
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
    ],
)
def test_invalid_whole_numbers_are_rejected(text: Any) -> None:
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


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({}, '"decision": is missing'),
        ({"decision": "maybe"}, "\"decision\": should be 'accept' or 'reject'"),
        ({"decision": "accept", "price": 3}, '"price": is not part of the answer'),
        (
            {"decision": 1, "price": 3},
            "\"decision\": should be 'accept' or 'reject'; \"price\": is not part of the answer",
        ),
    ],
)
def test_errors_describe_invalid_fields(fields: dict[str, Any], error: str) -> None:
    assert reason(Reply, **fields) == error


def test_error_names_invalid_answer_type() -> None:
    with pytest.raises(ValidationError) as caught:
        Reply.model_validate("accept")
    assert explain(caught.value).startswith("the answer should be a mapping")
