"""A learned response gains what can be gained, and says no more than that."""

import numpy as np
import pytest

import cheaptalk as ct
from cheaptalk.learning.rounding import Rounding
from cheaptalk.learning.tabular import Tree
from tests.learning.test_policies import RULES, untrained

pytest.importorskip("flax")


def test_a_learned_response_gains_what_can_be_gained_and_no_more() -> None:
    from cheaptalk.learning import best_response, nfsp  # noqa: PLC0415 - an extra

    policy = untrained(RULES)
    tree = Tree(policy.game)
    most = tree.gains(tree.policy(policy.probabilities))
    settings = nfsp.NFSPSettings(matches=256, q_buffer=50_000, target=25, hidden=64)
    found = best_response.respond(policy, settings, 256 * 600)
    assert [one.player for one in found] == ["player_1", "player_2"]
    assert all(one.gain < exact + 4 * one.error for one, exact in zip(found, most, strict=True))
    assert found[1].gain > 0.85 * most[1] > 0.5  # the other seat has little to gain
    own = tree.expected(tree.policy(policy.probabilities))
    np.testing.assert_allclose([one.own for one in found], own, atol=0.06)


def test_small_games_are_looked_into_exactly_and_others_by_a_response() -> None:
    from cheaptalk.learning.evaluation import exploitability  # noqa: PLC0415 - an extra

    policy = untrained(RULES)
    tree = Tree(policy.game)
    table = tree.policy(policy.probabilities)
    exact = exploitability(policy)
    assert exact.exact
    np.testing.assert_array_equal([one.gain for one in exact.gains], tree.gains(table))
    np.testing.assert_array_equal([one.own for one in exact.gains], tree.expected(table))
    large = untrained(RULES.model_copy(update={"highest_value": 100}))
    told: list[ct.learning.Progress] = []
    bound = exploitability(large, 512, told.append)
    assert not bound.exact
    assert bound.method == "a response learned from 512 matches: a lower bound"
    assert [one.matches for one in told] == [512]
    assert all(one.error > 0 for one in bound.gains)


def test_nothing_is_gained_against_what_is_not_there_to_be_gained() -> None:
    """The policy that is looked into does not learn."""
    from cheaptalk.learning import best_response, nfsp  # noqa: PLC0415 - an extra

    policy = untrained(RULES)
    training = best_response.BestResponse(policy, nfsp.NFSPSettings(matches=64))
    learned = training.train(training.begin(), 64 * 20)
    kept = training.policy(learned).weights
    for name, array in policy.weights.items():
        np.testing.assert_array_equal(array, kept[name])


def test_a_policy_is_looked_into_as_it_plays_rounded() -> None:
    from cheaptalk.learning import best_response, nfsp  # noqa: PLC0415 - an extra

    policy = untrained(RULES, seed=2)
    policy.weights = {name: 0.1 * array for name, array in policy.weights.items()}
    tree = Tree(policy.game)
    whole = tree.expected(tree.policy(policy.probabilities))
    policy.rounding = Rounding(0.2, 2)
    own = tree.expected(tree.policy(policy.probabilities))
    assert abs(own - whole).max() > 0.2
    training = best_response.BestResponse(policy, nfsp.NFSPSettings(hidden=4))
    found = training.gains(training.begin(), 40_000)
    np.testing.assert_allclose([one.own for one in found], own, atol=0.05)
