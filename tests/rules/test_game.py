"""What games have in common: parameters, horizons, names, roles."""

import math
import pickle
import re
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from pydantic import Field, PydanticUserError, ValidationError

from cheaptalk.rules import (
    Ask,
    Chance,
    Deal,
    Game,
    Horizon,
    Outcome,
    RulesError,
    Seat,
    Secret,
    Value,
    suggest,
)
from cheaptalk.rules.errors import describe
from tests.toys import Cards, Guess, Guessing, Score, YourCard


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

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        return {"left": (0.0, 3.5), "right": (-1.0, 1.0)}


def test_a_place_gets_what_all_its_seats_get() -> None:
    assert Team().place_payoffs(Score(left=0, right=0)) == {"left": 3.5, "right": -1.0}


@pytest.mark.parametrize(
    ("paid", "saying"),
    [
        ({"left": 35.0, "right": 0.0}, r'"left" gets 35, which is not between 0 and 10, its payof'),
        (
            {"left": 1.0, "right": math.nan},
            r'payoffs\(\) gives "right" nan, which is no finite number; ',
        ),
        ({"left": 1.0}, r"payoffs\(\) pays left, and the seats are left, right"),
        ({"left": 1.0, "up": 1.0, "right": 0.0}, r"payoffs\(\) pays left, up, right, and the"),
    ],
)
def test_what_is_paid_lies_in_the_declared_bounds(paid: dict[str, float], saying: str) -> None:
    class Paying(Guessing):
        def payoffs(self, outcome: Score) -> dict[str, float]:
            return paid

        def payoff_bounds(self) -> dict[str, tuple[float, float]]:
            return {"left": (0.0, 10.0), "right": (0.0, 20.0)}

    with pytest.raises(RulesError, match=f"^guessing: {saying}"):
        Paying().place_payoffs(Score(left=0, right=0))


@pytest.mark.parametrize(("paid", "fits"), [(1.0, True), (1.5, False)])
def test_what_all_places_of_a_role_get_lies_in_the_declared_bounds(paid: float, fits: bool) -> None:
    class Sharing(Guessing):
        roles: ClassVar[tuple[str, ...]] = ("guest",)

        @property
        def places(self) -> dict[str, str]:
            return dict.fromkeys(("left", "right"), "guest")

        def payoffs(self, outcome: Score) -> dict[str, float]:
            return {"left": paid, "right": 1.0}

        def payoff_bounds(self) -> dict[str, tuple[float, float]]:
            return {"guest": (0.0, 2.0)}

        def total_bounds(self) -> dict[str, tuple[float, float]]:
            assert super().total_bounds() == {"guest": (0.0, 4.0)}
            return {"guest": (2.0, 2.0)}

    if fits:
        assert Sharing().place_payoffs(Score(left=0, right=0)) == {"left": 1.0, "right": 1.0}
        return
    said = r'guessing: the places of the role "guest" get 2.5, which is not between 2 and 2, its to'
    with pytest.raises(RulesError, match=said):
        Sharing().place_payoffs(Score(left=0, right=0))


def test_code_of_a_game_that_fails_is_told_with_its_place() -> None:
    class Failing(Guessing):
        def deal(self, chance: Chance) -> Cards:
            raise KeyError("ace")

        def payoffs(self, outcome: Score) -> dict[str, float]:
            return {"left": 1 / outcome.left, "right": 0.0}

    with pytest.raises(RulesError, match=r"^guessing: deal\(\) fails: KeyError in test_game.py:\d"):
        Failing().dealt("seed")
    with pytest.raises(RulesError, match=r"payoffs\(\) fails: ZeroDivisionError in test_game.py:"):
        Failing().place_payoffs(Score(left=0, right=0))
    ask = Ask("left", Guess, YourCard(1, 2), lambda guess: str(1 / 0))
    with pytest.raises(
        RulesError, match=r"^the objection to Guess\(number=1\) fails: ZeroDivision"
    ):
        ask.refuse(Guess(number=1))


def test_a_parameter_without_a_type_is_told_with_its_place() -> None:
    with pytest.raises(PydanticUserError) as caught:
        type("Untyped", (Guessing,), {"cards": 5, "__module__": __name__})
    assert re.fullmatch(
        r"the class in test_game.py:\d+ has a field without a type, cards = 5; write NAME: TYPE = "
        "DEFAULT", describe(caught.value),
    )  # fmt: skip
    with pytest.raises(PydanticUserError) as caught:
        type("Untyped", (Guessing,), {"decks": Field(default=5), "__module__": __name__})
    assert "has a field without a type, decks; write NAME: TYPE" in describe(caught.value)


def test_payoffs_may_leave_their_bounds_by_rounding() -> None:
    class Rounded(Guessing):
        def payoffs(self, outcome: Score) -> dict[str, float]:
            return {"left": 0.1 + 0.2, "right": 1e12 - 1e-4}

        def payoff_bounds(self) -> dict[str, tuple[float, float]]:
            return {"left": (0.0, 0.3), "right": (1e12, 2e12)}

    assert Rounded().place_payoffs(Score(left=0, right=0))["left"] == 0.1 + 0.2


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
