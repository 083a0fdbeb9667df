"""Gambit reads game trees written for it and computes the same values and equilibria."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cheaptalk.adapters import write_efg
from cheaptalk.arrays.games import array_game
from cheaptalk.games.item_bargaining.rules import ItemBargaining
from cheaptalk.games.pirate_game.rules import PirateGame
from cheaptalk.games.sealed_bid_auction.rules import SealedBidAuction
from cheaptalk.learning.tabular import Policy, Tree
from cheaptalk.rules import CheaptalkError

gambit: Any = pytest.importorskip("pygambit")

TINY = ItemBargaining(quantities=(1, 1), highest_value=1, rounds=1, discount=0.9)
SMALL = [
    TINY,
    PirateGame(players=3, gold=2),
    SealedBidAuction(players=2, rounds=1, high=2, step=1, distinct=False),
]


def read_in_gambit(tree: Tree, folder: Path) -> Any:
    path = folder / "game.efg"
    write_efg(tree, path)
    return gambit.read_efg(path)


def policy_of(tree: Tree, profile: Any) -> Policy:
    """Convert Gambit's behaviour profile into a policy of the tree."""
    policy = [np.zeros(level.legal.shape) for level in tree.levels]
    for player in profile.game.players:
        for infoset in player.infosets:
            level, decision = map(int, infoset.label.split("/"))
            for action in infoset.actions:
                policy[level][decision, int(action.label)] = float(profile[action])
    return policy


def test_gambit_reads_tree_with_same_expected_payoffs(tmp_path: Path) -> None:
    for rules in SMALL:
        tree = Tree(array_game(rules))
        game = read_in_gambit(tree, tmp_path)
        assert [player.label for player in game.players] == list(tree.game.players)
        assert sum(len(player.infosets) for player in game.players) == tree.decisions
        instances = [json.loads(action.label) for action in game.root.infoset.actions]
        assert instances == [instance.model_dump(mode="json") for instance in tree.instances]
        uniform = game.mixed_behavior_profile()
        expected = [float(uniform.payoff(player)) for player in game.players]
        assert expected == pytest.approx(tree.expected(tree.uniform()).tolist())
        for computed, level in zip(policy_of(tree, uniform), tree.uniform(), strict=True):
            np.testing.assert_allclose(computed, level)


def test_gambit_equilibrium_leaves_no_gains(tmp_path: Path) -> None:
    tree = Tree(array_game(TINY))
    game = read_in_gambit(tree, tmp_path)
    (equilibrium, *_) = gambit.nash.lcp_solve(game, rational=False).equilibria
    policy = policy_of(tree, equilibrium)
    np.testing.assert_allclose(tree.gains(policy), 0, atol=1e-7)
    values = [float(equilibrium.payoff(player)) for player in game.players]
    assert values == pytest.approx(tree.expected(policy).tolist())
    with pytest.raises(CheaptalkError, match="cannot be written"):
        write_efg(tree, tmp_path)
