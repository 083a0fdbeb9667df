"""Public goods: rules, prompts, score, theory and scripted players."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.games.public_goods import SPEC
from cheaptalk.games.public_goods.rules import PublicGoods
from cheaptalk.games.public_goods.strategies import dominant_contribution
from cheaptalk.rules import Instance
from tests.games.tables import play_out, result_of

INSTANCE = Instance()
PUBLISHED = (10, 5, 1, 5, 0, 10, 10, 20, 20, 10)
"""The first round of a recorded game of Gemini 1.0 Pro."""


def rules(**parameters: Any) -> PublicGoods:
    return PublicGoods.model_validate({"players": 4, "rounds": 1, **parameters})


def test_gains_match_recorded_round() -> None:
    result = result_of(rules(players=10), PUBLISHED)
    holdings = (28.2, 33.2, 37.2, 33.2, 38.2, 28.2, 28.2, 18.2, 18.2, 28.2)
    assert result.outcome.gains[0] == pytest.approx(holdings)


def test_efficiency_is_one_at_joint_optimum() -> None:
    for factor in (0.5, 1, 2, 6):
        best = 20 if factor > 1 else 0
        result = result_of(rules(factor=factor), (best,) * 4)
        assert SPEC.metrics["efficiency"].of(result) == pytest.approx(1)
        worst = result_of(rules(factor=factor), (20 - best,) * 4)
        assert SPEC.metrics["efficiency"].of(worst) == pytest.approx(min(factor, 1 / factor))


@given(
    st.lists(st.integers(0, 10), min_size=1, max_size=5),
    st.sampled_from([0, 0.5, 1, 1.5, 2, 3, 4, 5, 7]),
)
def test_dominant_contribution_is_always_best(others: list[int], factor: float) -> None:
    game = rules(players=len(others) + 1, tokens=10, factor=factor)
    gains = [game.gains(1, [tokens, *others], INSTANCE)[0] for tokens in range(11)]
    dominant = dominant_contribution(game.players, factor, 10)
    if dominant is None:
        assert max(gains) == pytest.approx(min(gains))
    else:
        assert max(gains) - gains[dominant] < 1e-9
        assert gains.index(max(gains)) == dominant


def test_equilibrium_contribution_depends_on_factor() -> None:
    for factor, gives in ((2, 0), (9.99, 0), (10, 20), (10.01, 20)):
        game = rules(players=10, rounds=2, factor=factor)
        assert play_out(game, "equilibrium").choices == ((gives,) * 10,) * 2


def test_conditional_cooperators_follow_others() -> None:
    steady = SPEC.strategies["fixed"].with_settings(choices=(20, 10, 5, 0))
    game = rules(players=3, rounds=4)
    rows = play_out(game, steady, "free_rider", "conditional_cooperator").choices
    assert [row[2] for row in rows] == [20, 10, 5, 2]  # half of player 1's last contribution


def test_grim_players_stop_after_defection() -> None:
    betrayer = SPEC.strategies["fixed"].with_settings(choices=(20, 20, 19, 20))
    game = rules(players=3, rounds=4)
    rows = play_out(game, betrayer, "grim", "grim").choices
    assert [row[1:] for row in rows] == [(20, 20), (20, 20), (20, 20), (0, 0)]
    assert play_out(game, "grim").choices == ((20,) * 3,) * 4
