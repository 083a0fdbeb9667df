"""Actions: parsing of written amounts and messages, and error messages."""

import math
from typing import Any, Literal

import pytest
from pydantic import ValidationError

from cheaptalk.rules import MESSAGE_LIMIT, Action, Message, Money, Whole, explain

NOT_AMOUNTS = (
    "",
    " ",
    "$",
    "-",
    "1,25",
    "12 euros",
    "12 dollars or so",
    "$1.2.3",
    "ten",
    "1-2",
    None,
    [1],
)
NOT_WHOLE = (
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
)


class Offer(Action):
    amount: Money
    message: Message = ""


class Reply(Action):
    decision: Literal["accept", "reject"]


class Choice(Action):
    number: Whole


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("$1,250.50", 1250.5),
        (" 1250.50 ", 1250.5),
        ("$ 12", 12.0),
        ("-$5", -5.0),
        ("+3.25", 3.25),
        (".5", 0.5),
        ("12 dollars", 12.0),
        ("1,250 USD", 1250.0),
        ("1,000,000", 1_000_000.0),
        ("$99,999,999,999.99", 99_999_999_999.99),
        (7, 7.0),
        (0.1, 0.1),
    ],
)
def test_written_amounts_are_parsed(text: Any, amount: float) -> None:
    assert Offer(amount=text).amount == amount


@pytest.mark.parametrize(
    ("text", "number"),
    [(12.0, 12), ("12", 12), (" -3 ", -3), ("+7", 7), ("12.0", 12), ("1,250,000", 1_250_000)],
)
def test_written_whole_numbers_are_parsed(text: Any, number: int) -> None:
    assert Choice(number=text).number == number


class Chips(Action):
    red_chips: Whole


def test_whole_number_may_have_the_unit_that_its_field_names() -> None:
    assert Chips(red_chips="1,250 chips") == Chips(red_chips="1250 Chip") == Chips(red_chips=1250)
    for text in ("12 tokens", "12 blue chips", "12k", "1.5 chips", "chips", "12 chipss"):
        with pytest.raises(ValueError, match="whole number"):
            Chips(red_chips=text)


@pytest.mark.parametrize(
    ("kind", "fields", "error"),
    [
        *((Offer, {"amount": text}, '"amount": should be a number') for text in NOT_AMOUNTS),
        (Offer, {"amount": True}, '"amount": must be a number, not true or false'),
        *(
            (Offer, {"amount": text}, '"amount": should be a finite number')
            for text in (math.nan, -math.inf, "nan", "inf", "1e999")
        ),
        *((Choice, {"number": text}, '"number": ') for text in (*NOT_WHOLE, None, "9" * 5000)),
        (
            Offer,
            {"amount": 1, "message": "x" * (MESSAGE_LIMIT + 1)},
            '"message": has 4,001 characters; at most 4,000 are possible',
        ),
        (Offer, {"amount": 1, "message": 5}, '"message": should be text'),
        (Reply, {}, '"decision": is missing'),
        (Reply, {"decision": "accept", "price": 3}, '"price": is not part of the answer'),
        (
            Reply,
            {"decision": 1, "price": 3},
            "\"decision\": should be 'accept' or 'reject'; \"price\": is not part of the answer",
        ),
        (Reply, "accept", "the answer should be a mapping"),
    ],
)
def test_errors_describe_invalid_fields(kind: type[Action], fields: Any, error: str) -> None:
    with pytest.raises(ValidationError) as caught:
        kind.model_validate(fields)
    assert explain(caught.value).startswith(error)


def test_messages_are_kept_verbatim() -> None:
    for message in (' \n\tünï 🤝 {"a": 1}  \u2028 \x00 ', "x" * MESSAGE_LIMIT):
        assert Offer(amount=1, message=message).message == message


def test_actions_are_frozen() -> None:
    action = Offer(amount=1)
    with pytest.raises(ValidationError, match="frozen"):
        action.amount = 2  # type: ignore[misc]  # the error under test
