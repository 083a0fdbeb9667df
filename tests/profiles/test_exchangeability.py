"""Exchangeability tests: valid without an effect, and powerful for effects in a single game."""

import numpy as np
import pytest

from cheaptalk.profiles.weaknesses import exchangeability
from cheaptalk.profiles.weaknesses.exchangeability import stands_out
from cheaptalk.profiles.weaknesses.messages import Controls, hidden_games, least_changes
from tests.known import known

SIDES = (False, True)


def pools(
    rng: np.random.Generator, instances: int, shift: float = 0.0
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return two statistics of a tested condition and of eight others in each instance."""
    made = []
    for _ in range(instances):
        values = np.column_stack([rng.random(9) < 0.3, rng.normal(size=9)])
        values[0, 1] += shift
        made.append((values[0], values[1:]))
    return made


def test_condition_without_effect_stands_out_at_nominal_level(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exchangeability, "DRAWS", 2_000)
    rng = np.random.default_rng(1)
    ps = np.array([stands_out(pools(rng, 12), SIDES, seed) for seed in range(120)])
    assert np.mean(ps <= 0.05) <= 0.1
    assert 0.35 < np.mean(ps <= 0.5) < 0.65


def test_most_extreme_statistic_decides_within_allowed_sides() -> None:
    rng = np.random.default_rng(2)
    assert stands_out(pools(rng, 12, shift=-3.0), SIDES) < 0.001
    assert stands_out(pools(rng, 12, shift=-3.0), (False, False)) > 0.05


def test_redundant_statistics_cost_no_power() -> None:
    statistic, others = np.array([1.0]), np.zeros((9, 1))
    once = stands_out([(statistic, others)] * 3, [False])
    repeated = [(np.repeat(statistic, 5), np.repeat(others, 5, axis=1))] * 3
    assert stands_out(repeated, [False] * 5) == once


GAMES = ["bargaining"] * 4 + ["negotiation"] * 4 + ["persuasion"] * 2 + ["deal_or_no_deal"] * 2
LEVEL = 0.05 / 40


def steady(games: list[str], controls: int) -> Controls:
    """Return instances in which no control changes anything."""
    return tuple((game, ((0.0,) * 4,) * controls) for game in games)


def test_more_controls_lower_required_changes() -> None:
    few, many = (known(least_changes(steady(GAMES, controls), LEVEL)) for controls in (1, 12))
    assert 2 <= many < few <= 12
    assert least_changes(steady(GAMES[:2], 1), 0.001) is None


def test_changing_repeats_raise_required_changes() -> None:
    """Regression: a randomising agent got the threshold of a deterministic one."""
    rng = np.random.default_rng(3)
    changed = rng.random((12, 12)) < 0.5
    instances = tuple(
        (game, tuple((float(value), 0.0, 0.0, 0.0) for value in row))
        for game, row in zip(GAMES, changed, strict=True)
    )
    assert 8 <= known(least_changes(instances, LEVEL)) <= 12
    always = tuple((game, ((1.0, 0.0, 0.0, 0.0),) * 12) for game in GAMES)
    assert least_changes(always, LEVEL) is None


def test_games_with_two_instances_hide_manipulations() -> None:
    assert hidden_games(steady(GAMES, 12), LEVEL) == {"persuasion": 2, "deal_or_no_deal": 2}
    assert hidden_games(steady(GAMES * 2, 12), LEVEL) == {}
