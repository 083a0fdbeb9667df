"""Behaviour common to all games: parameters, horizons, names, roles."""

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


def test_horizon_is_number_or_mapping() -> None:
    assert Guessing.model_validate({"horizon": 12}).horizon == Horizon(rounds=12)
    hidden = Guessing.model_validate({"horizon": {"rounds": 99, "hidden": True}}).horizon
    assert (hidden.rounds, hidden.told) == (99, None)
    assert Horizon(rounds=12).told == 12


def test_invalid_horizons_are_rejected() -> None:
    cases: list[object] = [0, -1, 10_001, True, 2.5, "many", None]
    for horizon in cases:
        with pytest.raises(ValidationError):
            Guessing.model_validate({"horizon": horizon})


def test_misspelt_parameter_suggests_nearest() -> None:
    with pytest.raises(ValidationError, match=r'unknown key "horizn" \(did you mean "horizon"\?\)'):
        Guessing.model_validate({"horizn": 3})


def test_suggest_names_nearest_or_all_names() -> None:
    assert suggest("lft", ["left", "right"]) == '"lft" (did you mean "left"?)'
    assert suggest("up", ["left", "right"]) == '"up" (known: left, right)'
    assert suggest("up", []) == '"up" (known: none)'


def test_values_are_frozen() -> None:
    game = Guessing()
    with pytest.raises(ValidationError, match="frozen"):
        game.talk = False  # type: ignore[misc]  # the fault
    assert issubclass(Guessing, Value)


def test_unchecked_value_equals_validated_value() -> None:
    unchecked = Score.unchecked(left=1, right=2)
    assert unchecked == Score(left=1, right=2)
    assert unchecked == pickle.loads(pickle.dumps(unchecked)) == unchecked.model_copy()  # noqa: S301 - our own
    assert hash(unchecked) == hash(Score(left=1, right=2))
    assert unchecked.model_fields_set == {"left", "right"}
    assert unchecked.model_dump_json() == '{"left":1,"right":2}'
    with pytest.raises(ValidationError, match="frozen"):
        unchecked.left = 3  # type: ignore[misc]  # the fault


def test_players_are_named_by_role_by_default() -> None:
    assert Guessing().called("left") == "Left"
    game = Guessing(names={"left": "Ann"})
    assert (game.called("left"), game.called("right")) == ("Ann", "Right")


def test_names_must_be_of_seats_and_unique() -> None:
    with pytest.raises(ValidationError, match='unknown seat "middle"; the seats are left, right'):
        Guessing(names={"middle": "Ann"})
    with pytest.raises(ValidationError, match="two seats have the same name"):
        Guessing(names={"left": "Right"})


def test_each_seat_has_one_actor_by_default() -> None:
    assert Guessing().actors == (Actor("left", "left"), Actor("right", "right"))


class Team(Guessing):
    """A game with two actors in one seat."""

    @property
    def actors(self) -> tuple[Actor, ...]:
        return Actor("left_1", "left"), Actor("left_2", "left"), Actor("right", "right")

    def payoffs(self, outcome: Score) -> dict[str, float]:
        return {"left_1": 1.0, "left_2": 2.5, "right": -1.0}

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        return {"left": (0.0, 3.5), "right": (-1.0, 1.0)}


def test_seat_payoff_is_sum_over_its_actors() -> None:
    assert Team().seat_payoffs(Score(left=0, right=0)) == {"left": 3.5, "right": -1.0}


@pytest.mark.parametrize(
    ("paid", "message"),
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
def test_payoffs_outside_bounds_raise_error(paid: dict[str, float], message: str) -> None:
    class Paying(Guessing):
        def payoffs(self, outcome: Score) -> dict[str, float]:
            return paid

        def payoff_bounds(self) -> dict[str, tuple[float, float]]:
            return {"left": (0.0, 10.0), "right": (0.0, 20.0)}

    with pytest.raises(RulesError, match=f"^guessing: {message}"):
        Paying().seat_payoffs(Score(left=0, right=0))


@pytest.mark.parametrize(("paid", "valid"), [(1.0, True), (1.5, False)])
def test_total_payoff_of_role_is_checked_against_bounds(paid: float, valid: bool) -> None:
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

    if valid:
        assert Sharing().seat_payoffs(Score(left=0, right=0)) == {"left": 1.0, "right": 1.0}
        return
    message = (
        r'guessing: the total payoff of the role "guest" is 2.5, which is not between 2 and 2; fix'
    )
    with pytest.raises(RulesError, match=message):
        Sharing().seat_payoffs(Score(left=0, right=0))


def test_error_in_game_code_names_method_and_line() -> None:
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


def test_untyped_parameter_error_names_line() -> None:
    with pytest.raises(PydanticUserError) as caught:
        type("Untyped", (Guessing,), {"cards": 5, "__module__": __name__})
    assert re.fullmatch(
        r"the class in test_game.py:\d+ has a field without a type, cards = 5; write NAME: TYPE = "
        "DEFAULT",
        describe(caught.value),
    )
    with pytest.raises(PydanticUserError) as caught:
        type("Untyped", (Guessing,), {"decks": Field(default=5), "__module__": __name__})
    assert "has a field without a type, decks; write NAME: TYPE" in describe(caught.value)


def test_payoffs_may_exceed_bounds_by_rounding() -> None:
    class Rounded(Guessing):
        def payoffs(self, outcome: Score) -> dict[str, float]:
            return {"left": 0.1 + 0.2, "right": 1e12 - 1e-4}

        def payoff_bounds(self) -> dict[str, tuple[float, float]]:
            return {"left": (0.0, 0.3), "right": (1e12, 2e12)}

    assert Rounded().seat_payoffs(Score(left=0, right=0))["left"] == 0.1 + 0.2


def test_instances_are_determined_by_chance() -> None:
    instances = [Guessing().draw_instance(Chance("a")), Guessing().draw_instance(Chance("a"))]
    assert instances[0] == instances[1]
    assert len({str(Guessing().draw_instance(Chance(str(number)))) for number in range(99)}) > 15


def test_default_instance_is_empty_without_secrets() -> None:
    class Plain(Guessing):
        """The toy game with the defaults of all games."""

        instance_type: ClassVar[type[Instance]] = Instance

        def draw_instance(self, chance: Chance) -> Any:
            return Game.draw_instance(self, chance)

        def secrets(self, instance: Any) -> Iterator[Secret]:
            return Game.secrets(self, instance)

    plain = Plain()
    assert plain.draw_instance(Chance("a")) == Instance()
    assert list(plain.secrets(Instance())) == []


def test_unknown_fields_are_rejected() -> None:
    with pytest.raises(ValidationError, match="unknown key"):
        Cards.model_validate({"left": 1, "right": 1, "middle": 1})
    with pytest.raises(ValidationError, match="unknown key"):
        Outcome.model_validate({"left": 1})
