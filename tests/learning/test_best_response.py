"""Learned best responses: they find the available gain, and report no more."""

import numpy as np
import pytest

import cheaptalk as ct
from cheaptalk.learning.rounding import Rounding
from cheaptalk.learning.tabular import Tree
from tests.learning.test_policies import RULES, untrained

evaluation = pytest.importorskip("cheaptalk.learning.evaluation")
nfsp = pytest.importorskip("cheaptalk.learning.nfsp")
MATCHES = 256 * 200


def test_small_games_are_exact_and_large_ones_use_a_response(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The learned response finds the exact gain, and the policy doesn't learn."""
    policy = untrained(RULES, seed=5)
    policy.weights = {name: 0.1 * array for name, array in policy.weights.items()}
    tree = Tree(policy.game)
    unrounded = tree.expected(tree.policy(policy.probabilities))
    policy.rounding = Rounding(0.2, 2)
    table = tree.policy(policy.probabilities)
    expected, most = tree.expected(table), tree.gains(table)
    assert abs(expected - unrounded).max() > 0.2
    exact = evaluation.exploitability(policy)
    assert exact.exact
    np.testing.assert_array_equal([gain.gain for gain in exact.gains], most)
    np.testing.assert_array_equal([gain.own for gain in exact.gains], expected)

    settings = nfsp.NFSPSettings(matches=256, q_buffer=50_000, target=25, hidden=64)
    monkeypatch.setattr(evaluation, "RESPONSE", settings)
    monkeypatch.setattr(evaluation, "SMALL", 100)
    reports: list[ct.learning.Progress] = []
    bound = evaluation.exploitability(policy, MATCHES, reports.append)
    assert not bound.exact
    assert bound.method == f"a response learned from {MATCHES:,} matches: a lower bound"
    assert reports[-1].matches == MATCHES
    assert [gain.player for gain in bound.gains] == ["player_1", "player_2"]
    for gain, greatest in zip(bound.gains, most, strict=True):
        assert gain.error > 0
        assert 0.85 * greatest < gain.gain < greatest + 4 * gain.error
    np.testing.assert_allclose([gain.own for gain in bound.gains], expected, atol=0.06)
