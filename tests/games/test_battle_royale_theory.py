"""Truels and larger duels, checked against closed forms and against every deviation."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cheaptalk.games.battle_royale.strategies import MOST, Solution, duel, solve

rates = st.lists(st.floats(0.01, 1), min_size=2, max_size=5).map(sorted).map(tuple)


def solved(shooters: tuple[float, ...]) -> Solution:
    try:
        return solve(shooters)
    except ValueError:
        assume(False)
        raise


def after(shooters: tuple[float, ...], shooter: int, target: int) -> list[float]:
    """Everybody's chances once a shooter has hit a target, by the smaller game's solution."""
    left = [place for place in range(len(shooters)) if place != target]
    turn = (left.index(shooter) + 1) % len(left)
    smaller = solve(tuple(shooters[place] for place in left)).wins[turn]
    found = [0.0] * len(shooters)
    for place, chance in zip(left, smaller, strict=True):
        found[place] = chance
    return found


@given(rates)
def test_chances_are_those_of_the_play(shooters: tuple[float, ...]) -> None:
    targets, aims, wins = solved(shooters)
    for turn, rate in enumerate(shooters):
        hit = aims[turn] * rate
        following = wins[(turn + 1) % len(shooters)]
        stake = after(shooters, turn, targets[turn])
        assert sum(wins[turn]) == pytest.approx(1)
        assert wins[turn] == pytest.approx(
            [hit * a + (1 - hit) * b for a, b in zip(stake, following, strict=True)], abs=1e-9
        )


@given(rates)
def test_nobody_gains_by_another_shot_or_by_missing(shooters: tuple[float, ...]) -> None:
    _, _, wins = solved(shooters)
    for turn, rate in enumerate(shooters):
        waiting = wins[(turn + 1) % len(shooters)][turn]
        others = [place for place in range(len(shooters)) if place != turn]
        best = max(after(shooters, turn, target)[turn] for target in others)
        assert wins[turn][turn] >= waiting - 1e-9
        assert wins[turn][turn] >= rate * best + (1 - rate) * waiting - 1e-9


@given(st.floats(0.01, 1), st.floats(0.01, 1))
def test_two_shoot_at_each_other(first: float, second: float) -> None:
    solution = solve((first, second))
    assert solution.aims == (1, 1)
    assert solution.wins[0][0] == pytest.approx(duel(first, second))
    assert solution.wins[1][1] == pytest.approx(duel(second, first))


def test_the_truel_of_30_50_and_100_percent() -> None:
    """The weakest misses on purpose; then B shoots at C, and A has the first shot at who is left.

    A wins if B hits C and A the duel, or if B misses, C hits B, and A hits at once.
    """
    solution = solve((0.3, 0.5, 1.0))
    assert solution.aims[0] == 0
    assert solution.targets[1:] == (2, 1)
    assert solution.wins[0] == pytest.approx(
        (0.5 * 6 / 13 + 0.5 * 0.3, 0.5 * 7 / 13, 0.5 * 0.7), abs=1e-12
    )


@pytest.mark.parametrize("shooters", [(1 / 3, 2 / 3, 1.0), (0.65, 0.7, 0.8), (0.5, 0.5, 0.5)])
def test_the_first_of_three_misses_on_purpose(shooters: tuple[float, ...]) -> None:
    assert solve(shooters).aims == (0, 1, 1)


def test_a_perfect_first_shot_of_three_that_misses_on_purpose_wins_for_sure() -> None:
    assert solve((1.0, 1.0, 1.0)).wins[0] == (1, 0, 0)


@pytest.mark.parametrize(
    ("shooters", "mixing"),
    [((0.45, 0.5, 0.55, 0.6, 0.65), 2), ((0.51, 0.54, 0.55, 0.56, 0.6), 3)],
)
def test_some_groups_of_five_leave_it_to_chance(shooters: tuple[float, ...], mixing: int) -> None:
    assert sum(0 < aim < 1 for aim in solve(shooters).aims) == mixing
    test_nobody_gains_by_another_shot_or_by_missing.hypothesis.inner_test(shooters)  # type: ignore[attr-defined]


def test_groups_of_gama_bench_are_solved() -> None:
    for low, step in ((51, 1), (35, 5), (10, 10)):
        group = tuple((low + step * place) / 100 for place in range(10))
        for first in range(10 - MOST + 1):
            assert len(solve(group[first : first + MOST]).wins) == MOST


def test_no_more_than_can_be_solved_for() -> None:
    with pytest.raises(ValueError, match=f"from 1 to {MOST} shooters"):
        solve((0.5,) * (MOST + 1))
