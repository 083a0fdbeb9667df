"""Guess the average: theory and the scripted players."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.games.guess_the_average import BOX
from cheaptalk.games.guess_the_average.rules import GuessTheAverage
from cheaptalk.games.guess_the_average.theory import (
    equilibrium,
    level_k,
    nearest_to_target,
    symmetric_equilibria,
    winning_numbers,
)
from cheaptalk.games.rounds import RoundsPlayed
from tests.games.rounds_played import played, scored

ratios = st.fractions(0, 4, max_denominator=12)
TABLE_8 = ["0", "1/6", "1/3", "1/2", "2/3", "5/6", "1", "7/6", "4/3", "3/2", "5/3", "11/6", "2"]


def match(*names: str, **parameters: Any) -> RoundsPlayed:
    game = GuessTheAverage.model_validate({"rounds": 3, **parameters})
    return played(game, *(BOX.strategies[name] for name in names))


def prize(mine: int, others: list[int], ratio: Fraction) -> float:
    """My share of the win."""
    winning = winning_numbers([mine, *others], ratio)
    if mine not in winning:
        return 0.0
    return 1 / sum(number in winning for number in [mine, *others])


# Theory.


@given(st.integers(2, 7), st.integers(0, 5), st.integers(1, 15), ratios)
def test_symmetric_equilibria_are_those_of_trying_everything(
    players: int, minimum: int, span: int, ratio: Fraction
) -> None:
    numbers = range(minimum, minimum + span + 1)
    stable = tuple(
        number
        for number in numbers
        if all(
            prize(other, [number] * (players - 1), ratio) <= 1 / players + 1e-12
            for other in numbers
        )
    )
    assert symmetric_equilibria(players, minimum, minimum + span, ratio) == stable


@pytest.mark.parametrize("ratio", TABLE_8)
def test_table_8_equilibrium_is_stable_for_every_ratio(ratio: str) -> None:
    number = equilibrium(0, 100, Fraction(ratio))
    assert number in symmetric_equilibria(10, 0, 100, Fraction(ratio))


@given(ratios, st.integers(0, 50), st.integers(1, 50))
def test_the_equilibrium_is_where_levels_lead(ratio: Fraction, minimum: int, span: int) -> None:
    maximum = minimum + span
    if ratio != 1:
        far = level_k(100, minimum, maximum, ratio)
        assert far == equilibrium(minimum, maximum, ratio)


def test_with_ratio_one_every_number_is_an_equilibrium() -> None:
    assert symmetric_equilibria(10, 0, 20, Fraction(1)) == tuple(range(21))


def test_levels_of_nagel_1995() -> None:
    assert [level_k(level, 0, 100, Fraction(1, 2)) for level in range(4)] == [50, 25, 13, 6]
    assert [level_k(level, 0, 100, Fraction(4, 3)) for level in range(4)] == [50, 67, 89, 100]
    assert level_k(3, 40, 100, Fraction(2, 3)) == 40


@given(st.lists(st.integers(0, 100), min_size=2, max_size=9), ratios)
def test_the_nearest_number_to_the_target_is_nearest(others: list[int], ratio: Fraction) -> None:
    players = len(others) + 1
    if ratio >= players:
        return

    def miss(number: int) -> Fraction:
        return abs(number - ratio * (sum(others) + number) / players)

    found = nearest_to_target(sum(others), players, 0, 100, ratio)
    assert miss(found) == min(miss(number) for number in range(101))


def test_a_target_that_runs_away_is_followed_to_the_edge() -> None:
    assert nearest_to_target(100, 3, 0, 100, Fraction(3)) == 100


# Players.


def test_level_two_beats_level_one() -> None:
    level_one = BOX.strategies["level_k"].with_settings(level=1)
    level_two = BOX.strategies["level_k"].with_settings(level=2)
    game = GuessTheAverage(players=3, rounds=1)
    outcome = played(game, level_one, level_one, level_two)
    assert outcome.choices == ((33, 33, 22),)
    assert outcome.gains == ((0.0, 0.0, 1.0),)


def test_equilibrium_players_stay_where_they_are() -> None:
    assert match("equilibrium").choices == ((0,) * 10,) * 3
    assert match("equilibrium", ratio="3/2").choices == ((100,) * 10,) * 3
    assert match("equilibrium", minimum=20).choices == ((20,) * 10,) * 3


@pytest.mark.parametrize("ratio", TABLE_8)
def test_table_8_equilibrium_players_score_100(ratio: str) -> None:
    rows = match("equilibrium", ratio=ratio).choices
    assert scored(BOX, *rows, ratio=ratio) == pytest.approx(100)


def test_best_responders_fall_towards_the_equilibrium() -> None:
    outcome = match("best_response", rounds=30)
    rounds = [row[0] for row in outcome.choices]
    assert rounds[:3] == [33, 21, 14]  # 21 = 2/3 * 9 * 33 / (10 - 2/3), to the nearest
    assert rounds == sorted(rounds, reverse=True)
    assert rounds[-1] <= 1


def test_a_best_responder_beats_those_who_repeat_themselves() -> None:
    game = GuessTheAverage(players=3, rounds=3)
    stubborn = BOX.strategies["fixed"].with_settings(choices=(60,))
    outcome = played(game, stubborn, stubborn, BOX.strategies["best_response"])
    # The target is 2/3 * (120 + x) / 3, which x = 34 hits.
    assert [row[2] for row in outcome.choices] == [33, 34, 34]
    assert [row[2] for row in outcome.gains] == [1.0, 1.0, 1.0]


def test_imitators_choose_what_won() -> None:
    game = GuessTheAverage(players=3, rounds=3)
    low = BOX.strategies["fixed"].with_settings(choices=(1, 2, 3))
    high = BOX.strategies["fixed"].with_settings(choices=(90,))
    outcome = played(game, low, BOX.strategies["imitation"], high)
    winning = [winning_numbers(row, Fraction(2, 3))[0] for row in outcome.choices]
    assert [row[1] for row in outcome.choices[1:]] == winning[:2]


def test_random_play_covers_the_range() -> None:
    rows = match("random", players=50, rounds=20, minimum=3, maximum=6).choices
    assert {number for row in rows for number in row} == {3, 4, 5, 6}
