"""Meanings of fields are read from the docstrings below them."""

from pydantic import create_model

from cheaptalk.games.bargaining.rules import Bargaining
from cheaptalk.rules import Value, field_meanings, field_ranges, get_game
from tests.toys import own_card


class Parent(Value):
    """Two fields, one with a docstring."""

    depth: float = 0
    """How deep it is,
    in metres."""
    width: float = 0


class Child(Parent):
    """A docstring for a field of its parent, and another field."""

    width: float = 1
    """How wide."""
    height: float = 0
    """How high."""


def test_meaning_is_docstring_below_field_or_that_of_parent() -> None:
    depth = "How deep it is, in metres."
    assert field_meanings(Parent) == {"depth": depth, "width": ""}
    assert field_meanings(Child) == {"depth": depth, "width": "How wide.", "height": "How high."}
    meanings = field_meanings(Bargaining)
    assert set(meanings) == set(Bargaining.model_fields)
    assert meanings["money"] == "The sum to divide, in dollars."
    assert field_meanings(own_card.settings) == {"plus": ""}
    assert field_meanings(create_model("Made", number=(int, 1))) == {"number": ""}


def test_field_ranges_are_described() -> None:
    for game, field, text in (
        ("bargaining", "money", "number > 0 and <= 1,000,000,000,000"),
        ("bargaining", "discounts", "2 times number > 0 and <= 1"),
        ("bargaining", "horizon", "rounds, or {rounds: 99, hidden: true}"),
        ("bargaining", "messages", "true or false"),
        ("item_bargaining", "least_outside", "0 or 1"),
        ("item_bargaining", "quantities", "list of integer >= 0 and <= 99, or Drawn"),
        ("chip_trading", "colours", "list of text"),
    ):
        assert field_ranges(get_game(game).rules)[field] == text
