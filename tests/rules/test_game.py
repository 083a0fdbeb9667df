"""What games have in common: parameters, horizons, names, roles."""

import pickle
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from pydantic import ValidationError

from cheaptalk.rules import Chance, Deal, Game, Horizon, Outcome, Seat, Secret, Value, suggest
from tests.toys import Cards, Guessing, Score


def test_a_horizon_is_written_as_a_number_or_as_a_mapping() -> None:
    assert Guessing.model_validate({"horizon": 12}).horizon == Horizon(rounds=12)
    hidden = Guessing.model_validate({"horizon": {"rounds": 99, "hidden": True}}).horizon
    assert (hidden.rounds, hidden.told) == (99, None)
    assert Horizon(rounds=12).told == 12


@pytest.mark.parametrize("written", [0, -1, 10_001, True, 2.5, "many", None])
def test_other_horizons_are_refused(written: object) -> None:
    with pytest.raises(ValidationError):
        Guessing.model_validate({"horizon": written})


def test_a_misspelt_parameter_is_named_with_the_nearest_one() -> None:
    with pytest.raises(ValidationError, match=r'unknown key "horizn" \(did you mean "horizon"\?\)'):
        Guessing.model_validate({"horizn": 3})


def test_suggest_names_the_nearest_or_all() -> None:
    assert suggest("lft", ["left", "right"]) == '"lft" (did you mean "left"?)'
    assert suggest("up", ["left", "right"]) == '"up" (known: left, right)'
    assert suggest("up", []) == '"up" (known: none)'


def test_values_cannot_change() -> None:
    game = Guessing()
    with pytest.raises(ValidationError, match="frozen"):
        game.talk = False  # type: ignore[misc]  # the fault
    assert issubclass(Guessing, Value)


def test_a_value_made_unchecked_is_the_value() -> None:
    made = Score.unchecked(left=1, right=2)
    assert made == Score(left=1, right=2)
    assert made == pickle.loads(pickle.dumps(made)) == made.model_copy()  # noqa: S301 - our own
    assert hash(made) == hash(Score(left=1, right=2))
    assert made.model_fields_set == {"left", "right"}
    assert made.model_dump_json() == '{"left":1,"right":2}'
    with pytest.raises(ValidationError, match="frozen"):
        made.left = 3  # type: ignore[misc]  # the fault


def test_players_are_called_by_role_unless_named() -> None:
    assert Guessing().called("left") == "Left"
    game = Guessing(names={"left": "Ann"})
    assert (game.called("left"), game.called("right")) == ("Ann", "Right")


def test_names_are_of_places_and_differ() -> None:
    with pytest.raises(ValidationError, match='no place "middle"; the places are left, right'):
        Guessing(names={"middle": "Ann"})
    with pytest.raises(ValidationError, match="two places may not have the same name"):
        Guessing(names={"left": "Right"})


def test_a_seat_for_each_place_unless_the_game_says_otherwise() -> None:
    assert Guessing().seats == (Seat("left", "left"), Seat("right", "right"))


class Team(Guessing):
    """Two seats of one place."""

    @property
    def seats(self) -> tuple[Seat, ...]:
        return Seat("left_1", "left"), Seat("left_2", "left"), Seat("right", "right")

    def payoffs(self, outcome: Score) -> dict[str, float]:
        return {"left_1": 1.0, "left_2": 2.5, "right": -1.0}


def test_a_place_gets_what_all_its_seats_get() -> None:
    assert Team().place_payoffs(Score(left=0, right=0)) == {"left": 3.5, "right": -1.0}


def test_deals_are_drawn_from_the_chance_they_are_given() -> None:
    deals = [Guessing().deal(Chance("a")), Guessing().deal(Chance("a"))]
    assert deals[0] == deals[1]
    assert len({str(Guessing().deal(Chance(str(number)))) for number in range(99)}) > 15


def test_a_game_in_which_nature_decides_nothing_has_an_empty_deal_and_no_secrets() -> None:
    class Plain(Guessing):
        """The toy with what all games have by default."""

        deal_type: ClassVar[type[Deal]] = Deal

        def deal(self, chance: Chance) -> Any:
            return Game.deal(self, chance)

        def secrets(self, deal: Any) -> Iterator[Secret]:
            return Game.secrets(self, deal)

    plain = Plain()
    assert plain.deal(Chance("a")) == Deal()
    assert list(plain.secrets(Deal())) == []


def test_unknown_fields_of_deals_and_outcomes_are_refused() -> None:
    with pytest.raises(ValidationError, match="unknown key"):
        Cards.model_validate({"left": 1, "right": 1, "middle": 1})
    with pytest.raises(ValidationError, match="unknown key"):
        Outcome.model_validate({"left": 1})
