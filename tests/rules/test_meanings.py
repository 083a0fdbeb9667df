"""What fields mean is read from the docstrings beneath them."""

from pydantic import create_model

from cheaptalk.games.bargaining.rules import Bargaining
from cheaptalk.rules import Value, field_meanings
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
