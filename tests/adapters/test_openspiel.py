"""OpenSpiel's own checks pass, and its algorithms agree with ours on our games."""

import pickle
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from absl import flags
from open_spiel.integration_tests import api_test
from open_spiel.python.algorithms import expected_game_score, exploitability, generate_playthrough
from open_spiel.python.policy import UniformRandomPolicy

import cheaptalk as ct
from cheaptalk.adapters import openspiel
from cheaptalk.games.sealed_bid_auction.rules import Valuations
from cheaptalk.learning.tabular import Tree
from tests.adapters.games import NAMES, SMALL, ReferenceTable

DRAWN = {"battle_royale", "chip_trading"}
"""Games whose instances cannot be listed."""
LISTED = ("diners_dilemma", "item_bargaining", "pirate_game", "sealed_bid_auction")
"""Games of all forms: with and without instances, with turns and with simultaneous decisions."""
AUCTION: dict[str, Any] = SMALL["sealed_bid_auction"]


def small(name: str) -> Any:
    return ct.adapters.openspiel_game(name, SMALL[name])


def assert_passes(checks: type, game: Any) -> None:
    """Run OpenSpiel's own test cases on a game."""
    case = type("Case", (checks,), {"game": game, "game_name": game.plays})
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    assert result.testsRun
    assert [why for _, why in [*result.failures, *result.errors]] == []


def test_games_pass_random_play_checks(tmp_path: Path) -> None:
    flags.FLAGS.mark_as_parsed()
    for name in NAMES:
        game = small(name)
        pyspiel.random_sim_test(game, num_sims=2, serialize=True, verbose=False)
        if name in ("battle_royale", *LISTED):
            assert_passes(api_test.EnforceAPIOnPartialTreeBase, game)
        played = tmp_path / f"{name}.txt"
        played.write_text(generate_playthrough.playthrough(str(game), None, seed=1))
        assert "IsTerminal() = True" in played.read_text()
        first, replayed = generate_playthrough.replay(played)
        assert first == replayed


def test_full_trees_have_same_nodes_and_best_response_gains(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in LISTED:
        game = small(name)
        tree, uniform = Tree(game.arrays), UniformRandomPolicy(game)
        over = np.concatenate([level.over for level in tree.levels])
        nodes = int(len(tree.chances) > 1), int((~over).sum()), int(over.sum())
        monkeypatch.setitem(api_test.TOTAL_NUM_STATES, name, nodes)
        monkeypatch.setitem(api_test.PERFECT_RECALL_NUM_STATES, name, tree.decisions)
        assert_passes(api_test.EnforceAPIOnFullTreeBase, game)
        policies = [uniform] * game.num_players()
        expected = expected_game_score.policy_value(game.new_initial_state(), policies)
        assert expected == pytest.approx(tree.expected(tree.uniform()))
        convergence = exploitability.nash_conv(game, uniform, return_only_nash_conv=False)
        assert convergence.player_improvements == pytest.approx(tree.gains(tree.uniform()))


def test_observations_and_payoffs_match_table_of_drawn_seed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in sorted(DRAWN | {"item_bargaining"}):
        monkeypatch.setattr(openspiel, "MOST_INSTANCES", 3)
        game, rng = small(name), np.random.default_rng(2)
        for _ in range(5):
            state = game.new_initial_state()
            drawn = rng.integers(256, size=4).tolist()
            for byte in drawn:
                assert state.chance_outcomes() == [(byte, 1 / 256) for byte in range(256)]
                state.apply_action(byte)
            reference = ReferenceTable(game.arrays, str(int.from_bytes(bytes(drawn), "big")))
            while not state.is_terminal():
                player, action = state.current_player(), int(rng.choice(state.legal_actions()))
                seen = state.information_state_tensor()
                assert seen == state.observation_tensor(player)
                reference.answer(player, np.array(seen, np.float32), action)
                state.apply_action(action)
            assert state.returns() == pytest.approx(reference.payoffs)


def test_seats_observe_only_their_own_valuation() -> None:
    game = ct.adapters.openspiel_game("sealed_bid_auction", AUCTION)
    instances, chances = game.arrays.every_instance()
    assert game.new_initial_state().chance_outcomes() == list(enumerate(chances))
    shown: dict[tuple[int, int], set[Any]] = {}
    for number, instance in enumerate(instances):
        assert isinstance(instance, Valuations)
        state = game.new_initial_state()
        state.apply_action(number)
        for player, valuation in enumerate(instance.valuations[0]):
            seen = state.information_state_string(player), *state.information_state_tensor(player)
            shown.setdefault((player, valuation), set()).add(seen)
    assert {key: len(seen) for key, seen in shown.items()} == dict.fromkeys(shown, 1)
    assert len(set.union(*shown.values())) == len(shown) == 4


def test_history_determines_state() -> None:
    game = small("chip_trading")
    state = game.new_initial_state()
    for action in (1, 2, 3, 4):
        state.apply_action(action)
    state.apply_action(state.legal_actions()[-1])
    replayed = pickle.loads(pickle.dumps(game)).new_initial_state()  # noqa: S301 - our own
    for action in state.history():
        replayed.apply_action(action)
    for copy in (replayed, state.clone(), pickle.loads(pickle.dumps(state))):  # noqa: S301 - our own
        assert str(copy) == str(state)
        assert copy.information_state_tensor(0) == state.information_state_tensor(0)
        assert copy.legal_actions() == state.legal_actions()


def test_illegal_action_is_rejected_without_effect() -> None:
    state = small("item_bargaining").new_initial_state()
    for legal, wrong in ((3, 4), (0, 1)):  # instances, then accepting without an offer
        with pytest.raises(ct.CheaptalkError, match=f"action {wrong} is not legal here"):
            state.apply_action(wrong)
        state.apply_action(legal)
    assert state.is_terminal()


def test_games_are_registered_once_on_first_use() -> None:
    code = """if True:
        import cheaptalk as ct, pyspiel
        names = lambda: [name for name in pyspiel.registered_names() if "cheaptalk" in name]
        ct.adapters
        print(names())
        for rounds in (1, 2):
            print(ct.adapters.openspiel_game("public_goods", {"rounds": rounds}), names())
            pyspiel.register_game = None
        print(pyspiel.load_game("cheaptalk_public_goods").num_players())
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    registered = "['cheaptalk_public_goods']"
    assert done.stdout.splitlines() == [
        "[]",
        f'cheaptalk_public_goods(parameters={{"rounds":1}}) {registered}',
        f'cheaptalk_public_goods(parameters={{"rounds":2}}) {registered}',
        "10",
    ]


def test_invalid_parameters_raise_error() -> None:
    small("public_goods")
    for parameters, error in [
        ("no JSON", "parameters: Expecting value"),
        ("[1]", "parameters by name"),
        ('{"playrs":3}', 'did you mean "players"'),
    ]:
        with pytest.raises(ct.CheaptalkError, match=error):
            pyspiel.load_game("cheaptalk_public_goods", {"parameters": parameters})
    with pytest.raises(ct.CheaptalkError, match="such as horizon: 30"):
        ct.adapters.openspiel_game("battle_royale")
    with pytest.raises(ct.CheaptalkError, match='unknown array game "persuasion"'):
        ct.adapters.openspiel_game("persuasion")
