"""Behaviour common to all games: parameters, horizons, names, roles."""

import math
import pickle
import re
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from pydantic import Field, PydanticUserError, ValidationError

import cheaptalk as ct
from cheaptalk.rules import RulesError, suggest
from cheaptalk.rules.errors import describe
from tests.toys import Cards, Guess, Guessing, Score, YourCard


def test_horizon_is_number_or_mapping() -> None:
    assert Guessing.model_validate({"horizon": 12}).horizon == ct.rules.Horizon(rounds=12)
    hidden = Guessing.model_validate({"horizon": {"rounds": 99, "hidden": True}}).horizon
    assert (hidden.rounds, hidden.told) == (99, None)
    assert ct.rules.Horizon(rounds=12).told == 12


def test_seats_have_a_name_and_an_actor_by_default() -> None:
    game = Guessing(names={"left": "Ann"})
    assert (game.called("left"), game.called("right")) == ("Ann", "Right")
    assert game.actors == (ct.rules.Actor("left", "left"), ct.rules.Actor("right", "right"))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        *(
            ({"horizon": horizon}, "horizon")
            for horizon in (0, -1, 10_001, True, 2.5, "many", None)
        ),
        ({"horizn": 3}, r'unknown key "horizn" \(did you mean "horizon"\?\)'),
        ({"names": {"middle": "Ann"}}, 'unknown seat "middle"; the seats are left, right'),
        ({"names": {"left": "Right"}}, "two seats have the same name"),
    ],
)
def test_invalid_parameters_are_rejected(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Guessing.model_validate(fields)


def test_suggest_names_nearest_or_all_names() -> None:
    assert suggest("lft", ["left", "right"]) == '"lft" (did you mean "left"?)'
    assert suggest("up", ["left", "right"]) == '"up" (known: left, right)'
    assert suggest("up", []) == '"up" (known: none)'


def test_unchecked_value_equals_validated_value() -> None:
    unchecked = Score.unchecked(left=1, right=2)
    assert unchecked == Score(left=1, right=2)
    assert unchecked == pickle.loads(pickle.dumps(unchecked)) == unchecked.model_copy()  # noqa: S301 - our own
    assert hash(unchecked) == hash(Score(left=1, right=2))
    assert unchecked.model_fields_set == {"left", "right"}
    assert unchecked.model_dump_json() == '{"left":1,"right":2}'
    with pytest.raises(ValidationError, match="frozen"):
        unchecked.left = 3  # type: ignore[misc]  # the fault


class Team(Guessing):
    """A game with two actors in one seat."""

    @property
    def actors(self) -> tuple[ct.rules.Actor, ...]:
        return (
            ct.rules.Actor("left_1", "left"),
            ct.rules.Actor("left_2", "left"),
            ct.rules.Actor("right", "right"),
        )

    def payoffs(self, outcome: Score) -> dict[str, float]:
        return {"left_1": 1.0, "left_2": 2.5, "right": -1.0}

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        return {"left": (0.0, 3.5), "right": (-1.0, 1.0)}


def test_seat_payoff_is_sum_over_its_actors() -> None:
    assert Team().seat_payoffs(Score(left=0, right=0)) == {"left": 3.5, "right": -1.0}


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        (0.1 + 9.9 + 1e-12, 1e12 + 1e-4, ""),  # beyond the bounds only by rounding
        (35.0, 0.0, r'the payoff of "left" is 35, which is not between 0 and 10; fix'),
        (1.0, math.nan, r'payoffs\(\) returns nan for "right", which is not a finite number; '),
        (1.0, None, r"payoffs\(\) pays left, but the actors are left, right"),
    ],
)
def test_payoffs_are_checked_against_bounds(left: float, right: float | None, message: str) -> None:
    class Paying(Guessing):
        def payoffs(self, outcome: Score) -> dict[str, float]:
            return {"left": left} | ({} if right is None else {"right": right})

        def payoff_bounds(self) -> dict[str, tuple[float, float]]:
            return {"left": (0.0, 10.0), "right": (0.0, 1e12)}

    if not message:
        assert Paying().seat_payoffs(Score(left=0, right=0)) == {"left": left, "right": right}
        return
    with pytest.raises(RulesError, match=f"^guessing: {message}"):
        Paying().seat_payoffs(Score(left=0, right=0))


def test_total_payoff_of_role_is_checked_against_bounds() -> None:
    class Sharing(Guessing):
        roles: ClassVar[tuple[str, ...]] = ("guest",)
        paid: float

        @property
        def seats(self) -> dict[str, str]:
            return dict.fromkeys(("left", "right"), "guest")

        def payoffs(self, outcome: Score) -> dict[str, float]:
            return {"left": self.paid, "right": 1.0}

        def payoff_bounds(self) -> dict[str, tuple[float, float]]:
            return {"guest": (0.0, 2.0)}

        def total_bounds(self) -> dict[str, tuple[float, float]]:
            assert super().total_bounds() == {"guest": (0.0, 4.0)}
            return {"guest": (2.0, 2.0)}

    assert Sharing(paid=1).seat_payoffs(Score(left=0, right=0)) == {"left": 1.0, "right": 1.0}
    message = r'total payoff of the role "guest" is 2.5, which is not between 2 and 2; fix'
    with pytest.raises(RulesError, match=message):
        Sharing(paid=1.5).seat_payoffs(Score(left=0, right=0))


def test_error_in_game_code_names_method_and_line() -> None:
    class Failing(Guessing):
        def draw_instance(self, chance: ct.Chance) -> Cards:
            raise KeyError("ace")

        def payoffs(self, outcome: Score) -> dict[str, float]:
            return {"left": 1 / outcome.left, "right": 0.0}

    with pytest.raises(
        RulesError, match=r"^guessing: draw_instance\(\) failed: KeyError in test_game.py:\d"
    ):
        Failing().instance_of("seed")
    with pytest.raises(RulesError, match=r"payoffs\(\) failed: ZeroDivisionError in test_game.py:"):
        Failing().seat_payoffs(Score(left=0, right=0))
    ask = ct.Ask("left", Guess, YourCard(1, 2), lambda guess: str(1 / 0))
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


def test_default_instance_is_empty_without_secrets() -> None:
    class Plain(Guessing):
        """The toy game with the defaults of all games."""

        instance_type: ClassVar[type[ct.Instance]] = ct.Instance

        def draw_instance(self, chance: ct.Chance) -> Any:
            return ct.Game.draw_instance(self, chance)

        def secrets(self, instance: Any) -> Iterator[ct.rules.Secret]:
            return ct.Game.secrets(self, instance)

    plain = Plain()
    assert plain.draw_instance(ct.Chance("a")) == ct.Instance()
    assert list(plain.secrets(ct.Instance())) == []
