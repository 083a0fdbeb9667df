"""Learned best responses: they find the available gain, and report no more."""

import numpy as np
import pytest

import cheaptalk as ct
from cheaptalk.learning.rounding import Rounding
from cheaptalk.learning.tabular import Tree
from tests.learning.test_policies import RULES, untrained

pytest.importorskip("flax")


def test_learned_response_finds_the_exact_gain_and_the_policy_does_not_learn() -> None:
    from cheaptalk.learning import evaluation, nfsp  # noqa: PLC0415 - an extra

    policy = untrained(RULES, seed=5)
    policy.weights = {name: 0.1 * array for name, array in policy.weights.items()}
    tree = Tree(policy.game)
    unrounded = tree.expected(tree.policy(policy.probabilities))
    policy.rounding = Rounding(0.2, 2)
    expected = tree.expected(tree.policy(policy.probabilities))
    assert abs(expected - unrounded).max() > 0.2
    most = tree.gains(tree.policy(policy.probabilities))
    settings = nfsp.NFSPSettings(matches=256, q_buffer=50_000, target=25, hidden=64)
    training = evaluation.BestResponse(policy, settings)
    learned = training.train(training.begin(), 256 * 400)
    gains = training.gains(learned)
    assert [gain.player for gain in gains] == ["player_1", "player_2"]
    for gain, exact in zip(gains, most, strict=True):
        assert 0.85 * exact < gain.gain < exact + 4 * gain.error
    np.testing.assert_allclose([gain.own for gain in gains], expected, atol=0.06)


def test_small_games_are_exact_and_large_ones_use_a_response() -> None:
    from cheaptalk.learning.evaluation import exploitability  # noqa: PLC0415 - an extra

    policy = untrained(RULES)
    tree = Tree(policy.game)
    table = tree.policy(policy.probabilities)
    exact = exploitability(policy)
    assert exact.exact
    np.testing.assert_array_equal([gain.gain for gain in exact.gains], tree.gains(table))
    np.testing.assert_array_equal([gain.own for gain in exact.gains], tree.expected(table))
    large = untrained(RULES.model_copy(update={"highest_value": 100}))
    reports: list[ct.learning.Progress] = []
    bound = exploitability(large, 512, reports.append)
    assert not bound.exact
    assert bound.method == "a response learned from 512 matches: a lower bound"
    assert [report.matches for report in reports] == [512]
    assert all(gain.error > 0 for gain in bound.gains)
