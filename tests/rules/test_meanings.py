"""What fields mean is read from the docstrings beneath them."""

import pytest
from pydantic import create_model

from cheaptalk.games.bargaining.rules import Bargaining
from cheaptalk.rules import Value, field_meanings, field_ranges, get_game
from tests.toys import own_card


class Parent(Value):
    """Two fields, one explained."""

    depth: float = 0
    """How deep it is,
    in metres."""
    width: float = 0


class Child(Parent):
    """Explains what its parent left out, and a field of its own."""

    width: float = 1
    """How wide."""
    height: float = 0
    """How high."""


def test_a_field_means_what_stands_beneath_it() -> None:
    assert field_meanings(Parent) == {"depth": "How deep it is, in metres.", "width": ""}


def test_what_is_inherited_keeps_its_meaning_unless_it_is_explained_anew() -> None:
    assert field_meanings(Child) == {
        "depth": "How deep it is, in metres.",
        "width": "How wide.",
        "height": "How high.",
    }


def test_a_game_explains_its_parameters() -> None:
    meanings = field_meanings(Bargaining)
    assert set(meanings) == set(Bargaining.model_fields)
    assert meanings["money"] == "The sum to divide, in dollars."
    assert meanings["names"]


def test_a_model_without_source_explains_nothing() -> None:
    assert field_meanings(own_card.settings) == {"plus": ""}
    assert field_meanings(create_model("Made", number=(int, 1))) == {"number": ""}


@pytest.mark.parametrize(
    ("game", "field", "text"),
    [
        ("bargaining", "money", "number > 0 and <= 1,000,000,000,000"),
        ("bargaining", "discounts", "2 times number > 0 and <= 1"),
        ("bargaining", "horizon", "rounds, or {rounds: 99, hidden: true}"),
        ("bargaining", "messages", "true or false"),
        ("deal_or_no_deal", "objective", "number >= -1 and <= 1"),
        ("item_bargaining", "least_outside", "0 or 1"),
        ("item_bargaining", "quantities", "list of integer >= 0 and <= 99, or Drawn"),
        ("chip_trading", "colours", "list of text"),
    ],
)
def test_what_a_field_may_be_is_said_in_words(game: str, field: str, text: str) -> None:
    assert field_ranges(get_game(game).rules)[field] == text
