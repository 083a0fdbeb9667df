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


def test_meaning_is_docstring_below_field() -> None:
    assert field_meanings(Parent) == {"depth": "How deep it is, in metres.", "width": ""}


def test_inherited_fields_keep_or_override_meaning() -> None:
    assert field_meanings(Child) == {
        "depth": "How deep it is, in metres.",
        "width": "How wide.",
        "height": "How high.",
    }


def test_parameters_of_game_have_meanings() -> None:
    meanings = field_meanings(Bargaining)
    assert set(meanings) == set(Bargaining.model_fields)
    assert meanings["money"] == "The sum to divide, in dollars."
    assert meanings["names"]


def test_model_without_source_has_empty_meanings() -> None:
    assert field_meanings(own_card.settings) == {"plus": ""}
    assert field_meanings(create_model("Made", number=(int, 1))) == {"number": ""}


def test_field_ranges_are_described() -> None:
    cases = [
        ("bargaining", "money", "number > 0 and <= 1,000,000,000,000"),
        ("bargaining", "discounts", "2 times number > 0 and <= 1"),
        ("bargaining", "horizon", "rounds, or {rounds: 99, hidden: true}"),
        ("bargaining", "messages", "true or false"),
        ("deal_or_no_deal", "objective", "number >= -1 and <= 1"),
        ("item_bargaining", "least_outside", "0 or 1"),
        ("item_bargaining", "quantities", "list of integer >= 0 and <= 99, or Drawn"),
        ("chip_trading", "colours", "list of text"),
    ]
    for game, field, text in cases:
        assert field_ranges(get_game(game).rules)[field] == text
