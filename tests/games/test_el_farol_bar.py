"""The El Farol bar: rules, prompts, score, theory and scripted players."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.games.el_farol_bar import SPEC
from cheaptalk.games.el_farol_bar.rules import Decision, ElFarolBar, room
from cheaptalk.games.el_farol_bar.strategies import probability_of_at_most, symmetric_equilibrium
from cheaptalk.rules import Instance
from tests.games.tables import play_out, result_of, score_of

INSTANCE = Instance()


def game(**parameters: Any) -> ElFarolBar:
    return ElFarolBar.model_validate({"players": 5, "rounds": 1, **parameters})


def going(count: int, players: int = 10) -> list[Decision]:
    """Return a round in which the first ``count`` players go."""
    return ["go" if player < count else "stay" for player in range(players)]


def test_going_pays_up_to_capacity() -> None:
    for count in range(11):
        result = result_of(game(players=10), going(count))
        pay = 10.0 if count <= 6 else 0.0
        assert result.outcome.gains == ((pay,) * count + (5.0,) * (10 - count),)


def test_payoffs_sum_utilities_over_rounds() -> None:
    bar = game(players=2, rounds=3, capacity=0.5, fun=3, crowded=-2, home=0.5)
    result = result_of(bar, ("go", "go"), ("go", "stay"), ("stay", "stay"))
    assert bar.payoffs(result.outcome) == {"player_1": 1.5, "player_2": -1.0}
    assert bar.payoff_bounds() == {"player": (-6.0, 9.0)}


def test_score_of_independent_players_matches_binomial() -> None:
    for probability, score in ((0.6, 79.9), (0.5, 75.4)):
        miss = math.fsum(
            math.comb(10, count)
            * probability**count
            * (1 - probability) ** (10 - count)
            * abs(count / 10 - 0.6)
            for count in range(11)
        )
        assert round((0.6 - miss) / 0.6 * 100, 1) == score
        chance = SPEC.strategies["random"].with_settings(probability=probability)
        outcome = play_out(ElFarolBar(rounds=800), chance)
        assert score_of(SPEC, *outcome.choices) == pytest.approx(score, abs=2.0)


@given(st.integers(2, 60), st.floats(0, 1), st.floats(0.05, 0.95))
def test_symmetric_equilibrium_makes_players_indifferent(
    players: int, capacity: float, home: float
) -> None:
    probability = symmetric_equilibrium(players, capacity, 1.0, 0.0, home)
    places = room(players, capacity)
    going_pays = probability_of_at_most(places - 1, players - 1, probability)
    if places == 0:
        assert (probability, going_pays) == (0.0, 0.0)
    elif places == players:
        assert probability == 1.0
        assert going_pays > home
    else:
        assert going_pays == pytest.approx(home, abs=1e-9)


@given(st.integers(2, 12), st.integers(0, 10))
def test_pure_equilibria_fill_bar_exactly(players: int, tenths: int) -> None:
    bar = game(players=players, capacity=tenths / 10)

    def stable(count: int) -> bool:
        now = bar.gains(1, going(count, players), INSTANCE)
        leave = count == 0 or bar.gains(1, going(count - 1, players), INSTANCE)[-1] <= now[0]
        join = count == players or bar.gains(1, going(count + 1, players), INSTANCE)[0] <= now[-1]
        return leave and join

    assert [count for count in range(players + 1) if stable(count)] == [room(players, tenths / 10)]


def test_equilibrium_and_capacity_players_follow_probability() -> None:
    for name, share in (("equilibrium", 0.6069), ("capacity", 0.6)):
        rows = play_out(ElFarolBar(rounds=600), name).choices
        frequency = sum(row.count("go") for row in rows) / 6_000
        assert frequency == pytest.approx(share, abs=0.02)


def test_best_responders_return_only_with_explicit_feedback() -> None:
    for feedback, went in (("implicit", [10, 0, 0, 0]), ("explicit", [10, 0, 10, 0])):
        bar = game(players=10, rounds=4, feedback=feedback)
        assert [row.count("go") for row in play_out(bar, "best_response").choices] == went


def test_predictors_use_observed_rounds() -> None:
    crowd = SPEC.strategies["fixed"].with_settings(choices=("go", "stay", "stay"))
    bar = game(players=3, rounds=6, feedback="explicit")
    for memory, expected in ((1, "go stay go go stay go"), (3, "go stay stay go go go")):
        predictor = SPEC.strategies["predictor"].with_settings(memory=memory)
        rows = play_out(bar, crowd, crowd, predictor).choices
        assert " ".join(row[2] for row in rows) == expected


def test_reinforcement_learns_whether_bar_is_full() -> None:
    for capacity, choice, minimum in ((0.6, "stay", 190), (1, "go", 100)):
        bar = game(players=3, rounds=400, capacity=capacity)
        rows = play_out(bar, "fixed", "fixed", "reinforcement").choices
        assert [row[2] for row in rows[200:]].count(choice) > minimum
