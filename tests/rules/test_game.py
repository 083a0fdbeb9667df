"""What games have in common: parameters, horizons, names, roles."""

import math
import pickle
import re
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from pydantic import Field, PydanticUserError, ValidationError

from cheaptalk.rules import (
    Actor,
    Ask,
    Chance,
    Game,
    Horizon,
    Instance,
    Outcome,
    RulesError,
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
    with pytest.raises(ValidationError, match='unknown seat "middle"; the seats are left, right'):
        Guessing(names={"middle": "Ann"})
    with pytest.raises(ValidationError, match="two seats have the same name"):
        Guessing(names={"left": "Right"})


def test_a_seat_for_each_place_unless_the_game_says_otherwise() -> None:
    assert Guessing().actors == (Actor("left", "left"), Actor("right", "right"))


class Team(Guessing):
    """Two seats of one place."""

    @property
    def actors(self) -> tuple[Actor, ...]:
        return Actor("left_1", "left"), Actor("left_2", "left"), Actor("right", "right")

    def payoffs(self, outcome: Score) -> dict[str, float]:
        return {"left_1": 1.0, "left_2": 2.5, "right": -1.0}

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        return {"left": (0.0, 3.5), "right": (-1.0, 1.0)}


def test_a_place_gets_what_all_its_seats_get() -> None:
    assert Team().seat_payoffs(Score(left=0, right=0)) == {"left": 3.5, "right": -1.0}


@pytest.mark.parametrize(
    ("paid", "saying"),
    [
        (
            {"left": 35.0, "right": 0.0},
            r'the payoff of "left" is 35, which is not between 0 and 10; fix',
        ),
        (
            {"left": 1.0, "right": math.nan},
            r'payoffs\(\) returns nan for "right", which is not a finite number; ',
        ),
        ({"left": 1.0}, r"payoffs\(\) pays left, but the actors are left, right"),
        ({"left": 1.0, "up": 1.0, "right": 0.0}, r"payoffs\(\) pays left, up, right, but the"),
    ],
)
def test_what_is_paid_lies_in_the_declared_bounds(paid: dict[str, float], saying: str) -> None:
    class Paying(Guessing):
        def payoffs(self, outcome: Score) -> dict[str, float]:
            return paid

        def payoff_bounds(self) -> dict[str, tuple[float, float]]:
            return {"left": (0.0, 10.0), "right": (0.0, 20.0)}

    with pytest.raises(RulesError, match=f"^guessing: {saying}"):
        Paying().seat_payoffs(Score(left=0, right=0))


@pytest.mark.parametrize(("paid", "fits"), [(1.0, True), (1.5, False)])
def test_what_all_places_of_a_role_get_lies_in_the_declared_bounds(paid: float, fits: bool) -> None:
    class Sharing(Guessing):
        roles: ClassVar[tuple[str, ...]] = ("guest",)

        @property
        def seats(self) -> dict[str, str]:
            return dict.fromkeys(("left", "right"), "guest")

        def payoffs(self, outcome: Score) -> dict[str, float]:
            return {"left": paid, "right": 1.0}

        def payoff_bounds(self) -> dict[str, tuple[float, float]]:
            return {"guest": (0.0, 2.0)}

        def total_bounds(self) -> dict[str, tuple[float, float]]:
            assert super().total_bounds() == {"guest": (0.0, 4.0)}
            return {"guest": (2.0, 2.0)}

    if fits:
        assert Sharing().seat_payoffs(Score(left=0, right=0)) == {"left": 1.0, "right": 1.0}
        return
    said = (
        r'guessing: the total payoff of the role "guest" is 2.5, which is not between 2 and 2; fix'
    )
    with pytest.raises(RulesError, match=said):
        Sharing().seat_payoffs(Score(left=0, right=0))


def test_code_of_a_game_that_fails_is_told_with_its_place() -> None:
    class Failing(Guessing):
        def draw_instance(self, chance: Chance) -> Cards:
            raise KeyError("ace")

        def payoffs(self, outcome: Score) -> dict[str, float]:
            return {"left": 1 / outcome.left, "right": 0.0}

    with pytest.raises(
        RulesError, match=r"^guessing: draw_instance\(\) failed: KeyError in test_game.py:\d"
    ):
        Failing().instance_of("seed")
    with pytest.raises(RulesError, match=r"payoffs\(\) failed: ZeroDivisionError in test_game.py:"):
        Failing().seat_payoffs(Score(left=0, right=0))
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

    assert Rounded().seat_payoffs(Score(left=0, right=0))["left"] == 0.1 + 0.2


def test_instances_are_drawn_from_the_chance_they_are_given() -> None:
    instances = [Guessing().draw_instance(Chance("a")), Guessing().draw_instance(Chance("a"))]
    assert instances[0] == instances[1]
    assert len({str(Guessing().draw_instance(Chance(str(number)))) for number in range(99)}) > 15


def test_a_game_in_which_nature_decides_nothing_has_an_empty_instance_and_no_secrets() -> None:
    class Plain(Guessing):
        """The toy with what all games have by default."""

        instance_type: ClassVar[type[Instance]] = Instance

        def draw_instance(self, chance: Chance) -> Any:
            return Game.draw_instance(self, chance)

        def secrets(self, instance: Any) -> Iterator[Secret]:
            return Game.secrets(self, instance)

    plain = Plain()
    assert plain.draw_instance(Chance("a")) == Instance()
    assert list(plain.secrets(Instance())) == []


def test_unknown_fields_of_instances_and_outcomes_are_refused() -> None:
    with pytest.raises(ValidationError, match="unknown key"):
        Cards.model_validate({"left": 1, "right": 1, "middle": 1})
    with pytest.raises(ValidationError, match="unknown key"):
        Outcome.model_validate({"left": 1})
