"""Actions: amounts and messages as people and models write them, and reasons for refusals."""

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
    ("written", "amount"),
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
def test_amounts_are_read_as_people_write_them(written: Any, amount: float) -> None:
    assert Offer(amount=written).amount == amount


@given(st.integers(0, 10**14))
def test_every_amount_of_cents_survives_being_written_out(cents: int) -> None:
    assert Offer.model_validate({"amount": f"${cents / 100:,.2f}"}).amount == cents / 100


@pytest.mark.parametrize(
    "written",
    ["", " ", "$", "-", "1,25", "1,2500", "12 dollars", "$1.2.3", "ten", "1-2", None, [1]],
)
def test_what_is_no_amount_is_refused(written: Any) -> None:
    assert reason(Offer, amount=written).startswith('"amount": should be a number')


@pytest.mark.parametrize("written", [True, False])
def test_truth_is_no_amount(written: bool) -> None:
    assert reason(Offer, amount=written) == '"amount": must be a number, not true or false'


@pytest.mark.parametrize("written", [math.nan, math.inf, -math.inf, "nan", "inf", "1e999"])
def test_amounts_are_finite(written: Any) -> None:
    assert reason(Offer, amount=written) == '"amount": should be a finite number'


@pytest.mark.parametrize(
    ("written", "number"),
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
def test_whole_numbers_are_read_as_people_write_them(written: Any, number: int) -> None:
    assert Choice(number=written).number == number


@pytest.mark.parametrize(
    "written",
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
def test_what_is_no_whole_number_is_refused(written: Any) -> None:
    assert reason(Choice, number=written).startswith('"number": ')


def test_messages_are_kept_character_for_character() -> None:
    words = ' \n\tünï 🤝 {"a": 1}  \u2028 \x00 '
    assert Offer(amount=1, message=words).message == words


def test_messages_have_a_limit() -> None:
    assert len(Offer(amount=1, message="x" * MESSAGE_LIMIT).message) == MESSAGE_LIMIT
    why = reason(Offer, amount=1, message="x" * (MESSAGE_LIMIT + 1))
    assert why == '"message": has 4,001 characters; at most 4,000 are possible'


def test_a_message_is_words() -> None:
    assert reason(Offer, amount=1, message=5) == '"message": should be text'


def test_actions_cannot_change() -> None:
    action = Offer(amount=1)
    with pytest.raises(ValidationError, match="frozen"):
        action.amount = 2  # type: ignore[misc]  # the fault


@pytest.mark.parametrize(
    ("fields", "why"),
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
def test_refusals_say_what_is_wrong_in_plain_words(fields: dict[str, Any], why: str) -> None:
    assert reason(Reply, **fields) == why


def test_a_fault_of_the_whole_answer_is_named_so() -> None:
    with pytest.raises(ValidationError) as caught:
        Reply.model_validate("accept")
    assert explain(caught.value).startswith("the answer should be a mapping")
