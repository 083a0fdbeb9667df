"""Tests of exchangeability: valid without an effect, and powerful if it shows in a single game."""

import numpy as np

from cheaptalk.profiles.weaknesses.exchangeability import stands_out
from cheaptalk.profiles.weaknesses.messages import Controls, hidden_games, least_changes

SIDES = (False, True)


def pools(
    rng: np.random.Generator, instances: int, shift: float = 0.0
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Two statistics of a tested condition and of eight others, in each instance."""
    made = []
    for _ in range(instances):
        values = np.column_stack([rng.random(9) < 0.3, rng.normal(size=9)])
        values[0, 1] += shift
        made.append((values[0], values[1:]))
    return made


def test_a_condition_without_an_effect_stands_out_no_more_often_than_the_level() -> None:
    rng = np.random.default_rng(1)
    ps = np.array([stands_out(pools(rng, 12), SIDES, seed) for seed in range(120)])
    assert np.mean(ps <= 0.05) <= 0.1
    assert 0.35 < np.mean(ps <= 0.5) < 0.65


def test_the_most_extreme_statistic_decides_and_a_decrease_counts_where_it_may() -> None:
    rng = np.random.default_rng(2)
    assert stands_out(pools(rng, 12, shift=-3.0), SIDES) < 0.001
    assert stands_out(pools(rng, 12, shift=-3.0), (False, False)) > 0.05


def test_statistics_that_agree_cost_no_power() -> None:
    own, others = np.array([1.0]), np.zeros((9, 1))
    once = stands_out([(own, others)] * 3, [False])
    repeated = [(np.repeat(own, 5), np.repeat(others, 5, axis=1))] * 3
    assert stands_out(repeated, [False] * 5) == once


GAMES = ["bargaining"] * 4 + ["negotiation"] * 4 + ["persuasion"] * 2 + ["deal_or_no_deal"] * 2
LEVEL = 0.05 / 40


def steady(games: list[str], controls: int) -> Controls:
    """Instances in which no control changes anything."""
    return tuple((game, ((0.0,) * 4,) * controls) for game in games)


def test_a_manipulation_needs_fewer_changes_beside_more_controls() -> None:
    few, many = (least_changes(steady(GAMES, controls), LEVEL) for controls in (1, 12))
    assert few is not None
    assert many is not None
    assert 2 <= many < few <= 12
    assert least_changes(steady(GAMES[:2], 1), 0.001) is None


def test_a_manipulation_needs_more_changes_beside_repeats_that_change() -> None:
    """The summary of an agent that randomises gave the number of one that never does."""
    rng = np.random.default_rng(3)
    changed = rng.random((12, 12)) < 0.5
    instances = tuple(
        (game, tuple((float(one), 0.0, 0.0, 0.0) for one in row))
        for game, row in zip(GAMES, changed, strict=True)
    )
    least = least_changes(instances, LEVEL)
    assert least is not None
    assert 8 <= least <= 12
    always = tuple((game, ((1.0, 0.0, 0.0, 0.0),) * 12) for game in GAMES)
    assert least_changes(always, LEVEL) is None


def test_a_game_with_two_instances_hides_a_manipulation_that_works_there_only() -> None:
    assert hidden_games(steady(GAMES, 12), LEVEL) == {"persuasion": 2, "deal_or_no_deal": 2}
    assert hidden_games(steady(GAMES * 2, 12), LEVEL) == {}
