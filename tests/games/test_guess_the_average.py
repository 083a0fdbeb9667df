"""Guess the average: rules, prompts, score, theory and scripted players."""

from fractions import Fraction
from statistics import fmean
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.games.guess_the_average import SPEC
from cheaptalk.games.guess_the_average.rules import (
    GuessTheAverage,
    RoundResult,
    equilibrium,
    level_k,
    nearest_to_target,
    winning_numbers,
)
from cheaptalk.papers.gama.human_baseline import PEOPLE
from tests.games.tables import events, play_out, result_of, table_of, transcript


def rules(**parameters: Any) -> GuessTheAverage:
    return GuessTheAverage.model_validate({"players": 3, "rounds": 1, **parameters})


def gains(*row: int, **parameters: Any) -> tuple[float, ...]:
    """Return the gains of one round with these numbers."""
    result = result_of(rules(players=len(row), **parameters), row)
    return tuple(result.outcome.gains[0])


def test_tied_winners_share_win() -> None:
    cases = [
        ((20, 40, 60), "2/3", (1.0, 0.0, 0.0)),
        ((6, 9, 10), "9/10", (0.5, 0.5, 0.0)),  # the target is 7.5, and a little more in floats
        ((30, 30, 90), "2/3", (0.5, 0.5, 0.0)),
        ((25, 25, 25), "2/3", (1 / 3, 1 / 3, 1 / 3)),
        ((10, 20, 30, 20), "3/4", (1 / 3, 1 / 3, 0.0, 1 / 3)),
        ((0, 50, 100), "0", (1.0, 0.0, 0.0)),
        ((0, 50, 100), "1", (0.0, 1.0, 0.0)),
        ((0, 50, 100), "2", (0.0, 0.0, 1.0)),
    ]
    for row, ratio, expected in cases:
        assert gains(*row, ratio=ratio) == expected


def test_two_numbers_can_tie() -> None:
    table = table_of(rules(players=4, ratio="3/4"), (10, 20, 30, 20))
    won, _, lost, _ = (events(table, f"player_{number}")[-2] for number in (1, 2, 3, 4))
    assert isinstance(won, RoundResult)
    assert isinstance(lost, RoundResult)
    assert (won.target, won.winning, won.winners) == (15.0, (10, 20), 3)
    assert lost.winners is None
    assert "Winning numbers: 10 and 20" in transcript(table, "player_1")


def test_payoff_is_share_of_rounds_won() -> None:
    result = result_of(rules(rounds=4), (20, 40, 60), (20, 20, 60), (9, 8, 0), (60, 60, 20))
    assert result.game.payoffs(result.outcome) == {
        "player_1": 1.5 / 4,
        "player_2": 0.5 / 4,
        "player_3": 2 / 4,
    }


def test_ratios_are_exact() -> None:
    cases: list[tuple[object, Fraction]] = [
        ("2/3", Fraction(2, 3)),
        (0.6666666666666666, Fraction(2, 3)),
        (0.95, Fraction(19, 20)),
        (0.123456789, Fraction("0.123456789")),
        (1, Fraction(1)),
        (0, Fraction(0)),
    ]
    for written, read in cases:
        game = rules(ratio=written)
        assert game.ratio == read
        assert GuessTheAverage.model_validate_json(game.model_dump_json()) == game


def test_section_4_3_human_means_lie_between_level_one_and_level_zero() -> None:
    means = PEOPLE.select("ratio", "first_round").rows()
    assert set(means) == {("1/2", 27.05), ("2/3", 36.73), ("4/3", 60.12), ("2/3", 36.2)}
    for ratio, mean in means:
        level_one, level_zero = (level_k(level, 0, 100, Fraction(ratio)) for level in (1, 0))
        assert min(level_one, level_zero) < mean < max(level_one, level_zero)
    assert set(PEOPLE["source"].str.extract("; (.*) subjects$")) == {"15 to 18", "2,423"}
    assert fmean(PEOPLE.filter(ratio="2/3")["first_round"]) > 36


ratios = st.fractions(0, 4, max_denominator=12)
TABLE_8 = ["0", "1/6", "1/3", "1/2", "2/3", "5/6", "1", "7/6", "4/3", "3/2", "5/3", "11/6", "2"]


def prize(guess: int, others: list[int], ratio: Fraction) -> float:
    """Return a guess's share of the win against the other numbers."""
    winning = winning_numbers([guess, *others], ratio)
    if guess not in winning:
        return 0.0
    return 1 / sum(number in winning for number in [guess, *others])


def stable(players: int, number: int, numbers: range, ratio: Fraction) -> bool:
    """Return whether no other number gains if all players choose this one, by enumeration."""
    others = [number] * (players - 1)
    return all(prize(other, others, ratio) <= 1 / players + 1e-12 for other in numbers)


@given(st.integers(2, 7), st.integers(0, 5), st.integers(1, 15), ratios)
def test_equilibrium_is_stable(players: int, minimum: int, span: int, ratio: Fraction) -> None:
    maximum = minimum + span
    number = equilibrium(minimum, maximum, ratio)
    assert stable(players, number, range(minimum, maximum + 1), ratio)


def test_table_8_equilibrium_is_stable_for_every_ratio() -> None:
    for ratio in TABLE_8:
        assert stable(10, equilibrium(0, 100, Fraction(ratio)), range(101), Fraction(ratio))
    assert all(stable(10, number, range(21), Fraction(1)) for number in range(21))


def test_levels_of_nagel_1995() -> None:
    assert [level_k(level, 0, 100, Fraction(1, 2)) for level in range(4)] == [50, 25, 13, 6]
    assert [level_k(level, 0, 100, Fraction(4, 3)) for level in range(4)] == [50, 67, 89, 100]
    assert level_k(3, 40, 100, Fraction(2, 3)) == 40


@given(st.lists(st.integers(0, 100), min_size=2, max_size=9), ratios)
def test_nearest_to_target_minimises_distance(others: list[int], ratio: Fraction) -> None:
    players = len(others) + 1

    def distance(number: int) -> Fraction:
        return abs(number - ratio * (sum(others) + number) / players)

    nearest = nearest_to_target(sum(others), players, 0, 100, ratio)
    if ratio >= players:
        assert nearest == 100
        return
    assert distance(nearest) == min(distance(number) for number in range(101))


def test_best_responders_converge_to_equilibrium() -> None:
    outcome = play_out(rules(players=10, rounds=30), "best_response")
    rounds = [row[0] for row in outcome.choices]
    assert rounds[:3] == [33, 21, 14]  # 21 = 2/3 * 9 * 33 / (10 - 2/3), to the nearest
    assert rounds == sorted(rounds, reverse=True)
    assert rounds[-1] <= 1


def test_imitators_choose_previous_winning_number() -> None:
    low = SPEC.strategies["fixed"].with_settings(choices=(1, 2, 3))
    high = SPEC.strategies["fixed"].with_settings(choices=(90,))
    outcome = play_out(rules(rounds=3), low, "imitation", high)
    winning = [winning_numbers(row, Fraction(2, 3))[0] for row in outcome.choices]
    assert [row[1] for row in outcome.choices[1:]] == winning[:2]
