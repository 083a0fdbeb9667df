"""Gambit reads what is written for it, and finds the same values and equilibria."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cheaptalk.adapters import write_efg
from cheaptalk.arrays.games import array_game
from cheaptalk.equilibrium import PayoffTable, bimatrix_equilibria, write_payoffs
from cheaptalk.games.item_bargaining.rules import ItemBargaining
from cheaptalk.games.pirate_game.rules import PirateGame
from cheaptalk.games.sealed_bid_auction.rules import SealedBidAuction
from cheaptalk.learning.tabular import Policy, Tree
from cheaptalk.rules import CheaptalkError, Game

gambit: Any = pytest.importorskip("pygambit")

TINY = ItemBargaining(quantities=(1, 1), highest_value=1, rounds=1, discount=0.9)
SMALL = [
    TINY,
    PirateGame(players=3, gold=2),
    SealedBidAuction(players=2, rounds=1, high=2, step=1, distinct=False),
]


def read(tree: Tree, folder: Path) -> Any:
    path = folder / "game.efg"
    write_efg(tree, path)
    return gambit.read_efg(path)


def policy_of(tree: Tree, profile: Any) -> Policy:
    """Gambit's behaviour as a policy of the tree."""
    found = [np.zeros(level.legal.shape) for level in tree.levels]
    for player in profile.game.players:
        for one in player.infosets:
            level, decision = map(int, one.label.split("/"))
            for action in one.actions:
                found[level][decision, int(action.label)] = float(profile[action])
    return found


@pytest.mark.parametrize("rules", SMALL, ids=lambda one: one.name)
def test_gambit_reads_the_tree_and_expects_the_same(rules: Game, tmp_path: Path) -> None:
    tree = Tree(array_game(rules))
    game = read(tree, tmp_path)
    assert [one.label for one in game.players] == list(tree.game.players)
    assert sum(len(one.infosets) for one in game.players) == tree.decisions
    instances = [json.loads(one.label) for one in game.root.infoset.actions]
    assert instances == [one.model_dump(mode="json") for one in tree.instances]
    even = game.mixed_behavior_profile()
    expected = [float(even.payoff(one)) for one in game.players]
    assert expected == pytest.approx(tree.expected(tree.uniform()).tolist())
    for one, level in zip(policy_of(tree, even), tree.uniform(), strict=True):
        np.testing.assert_allclose(one, level)


def test_nobody_gains_in_the_equilibrium_that_gambit_finds(tmp_path: Path) -> None:
    tree = Tree(array_game(TINY))
    game = read(tree, tmp_path)
    (found, *_) = gambit.nash.lcp_solve(game, rational=False).equilibria
    policy = policy_of(tree, found)
    np.testing.assert_allclose(tree.gains(policy), 0, atol=1e-7)
    values = [float(found.payoff(one)) for one in game.players]
    assert values == pytest.approx(tree.expected(policy).tolist())


@pytest.mark.parametrize("seed", range(5))
def test_gambit_finds_the_equilibria_of_an_empirical_game(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, 4, 3)).round(3)
    rows, columns = ("gpt", 'a "b"', "c-d", "d"), ("x", "y", "z")
    table = PayoffTable(rows, columns, a, b, "a game", ("seller", "buyer"))
    write_payoffs(table, tmp_path / "game.nfg")
    game = gambit.read_nfg(tmp_path / "game.nfg")
    assert [one.label for one in game.players] == ["seller", "buyer"]
    first, second = game.players
    assert [one.label for one in first.strategies] == list(rows)
    found = {
        tuple(round(float(profile[one]), 6) for player in (first, second)
              for one in player.strategies)
        for profile in gambit.nash.enummixed_solve(game, rational=False).equilibria
    }  # fmt: skip
    ours = {
        tuple(round(float(one), 6) for side in (each.row, each.column) for one in side)
        for each in bimatrix_equilibria(a, b).profiles
    }
    assert ours == found


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(CheaptalkError, match="cannot be written"):
        write_efg(Tree(array_game(TINY)), tmp_path / "folder")
