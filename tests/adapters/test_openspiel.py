"""OpenSpiel's own checks pass, and its algorithms find in our games what ours find."""

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
from tests.adapters.games import NAMES, SMALL, Beside

DRAWN = {"battle_royale", "chip_trading"}
"""Games whose instances cannot be listed."""
LISTED = [name for name in NAMES if name not in DRAWN]
AUCTION: dict[str, Any] = SMALL["sealed_bid_auction"]


def small(name: str) -> Any:
    return ct.adapters.openspiel_game(name, SMALL[name])


def passes(checks: type, game: Any) -> None:
    """Run OpenSpiel's own cases on a game."""
    case = type("Case", (checks,), {"game": game, "game_name": game.plays})
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    assert result.testsRun
    assert [why for _, why in [*result.failures, *result.errors]] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_game_passes_the_checks_of_random_play(name: str, tmp_path: Path) -> None:
    game = small(name)
    pyspiel.random_sim_test(game, num_sims=3, serialize=True, verbose=False)
    passes(api_test.EnforceAPIOnPartialTreeBase, game)
    flags.FLAGS.mark_as_parsed()
    played = tmp_path / "playthrough.txt"
    played.write_text(generate_playthrough.playthrough(str(game), None, seed=1))
    assert "IsTerminal() = True" in played.read_text()
    first, again = generate_playthrough.replay(played)
    assert first == again


@pytest.mark.parametrize("name", LISTED)
def test_whole_trees_pass_the_checks_and_have_our_nodes_and_decisions(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = small(name)
    tree = Tree(game.arrays)
    over = np.concatenate([level.over for level in tree.levels])
    nodes = int(len(tree.chances) > 1), int((~over).sum()), int(over.sum())
    monkeypatch.setitem(api_test.TOTAL_NUM_STATES, name, nodes)
    monkeypatch.setitem(api_test.PERFECT_RECALL_NUM_STATES, name, tree.decisions)
    passes(api_test.EnforceAPIOnFullTreeBase, game)


@pytest.mark.parametrize("name", LISTED)
def test_best_responses_gain_what_ours_gain(name: str) -> None:
    game = small(name)
    tree, uniform = Tree(game.arrays), UniformRandomPolicy(game)
    policies = [uniform] * game.num_players()
    expected = expected_game_score.policy_value(game.new_initial_state(), policies)
    assert expected == pytest.approx(tree.expected(tree.uniform()))
    found = exploitability.nash_conv(game, uniform, return_only_nash_conv=False)
    assert found.player_improvements == pytest.approx(tree.gains(tree.uniform()))


def test_regret_minimisation_leaves_nothing_to_be_gained() -> None:
    game = small("item_bargaining")
    solver = pyspiel.CFRPlusSolver(game)
    before = pyspiel.nash_conv(game, solver.average_policy())
    for _ in range(40):
        solver.evaluate_and_update_policy()
    assert before > 0.1
    assert pyspiel.nash_conv(game, solver.average_policy()) < 0.002


@pytest.mark.parametrize("name", sorted(DRAWN | {"item_bargaining"}))
def test_seats_see_and_get_what_they_do_at_a_table_of_the_seed_that_was_drawn(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openspiel, "MOST_INSTANCES", 3)
    game, luck = small(name), np.random.default_rng(2)
    for _ in range(5):
        state = game.new_initial_state()
        drawn = luck.integers(256, size=4).tolist()
        for byte in drawn:
            assert state.chance_outcomes() == [(one, 1 / 256) for one in range(256)]
            state.apply_action(byte)
        beside = Beside(game.arrays, str(int.from_bytes(bytes(drawn), "big")))
        while not state.is_terminal():
            player, action = state.current_player(), int(luck.choice(state.legal_actions()))
            seen = state.information_state_tensor()
            assert seen == state.observation_tensor(player)
            beside.answer(player, np.array(seen, np.float32), action)
            state.apply_action(action)
        assert state.returns() == pytest.approx(beside.payoffs)


def test_what_a_seat_sees_of_a_instance_is_its_own_part() -> None:
    game = ct.adapters.openspiel_game("sealed_bid_auction", AUCTION)
    instances, chances = game.arrays.every_instance()
    assert game.new_initial_state().chance_outcomes() == list(enumerate(chances))
    shown: dict[tuple[int, int], set[Any]] = {}
    for number, instance in enumerate(instances):
        assert isinstance(instance, Valuations)
        state = game.new_initial_state()
        state.apply_action(number)
        for player, own in enumerate(instance.valuations[0]):
            seen = state.information_state_string(player), *state.information_state_tensor(player)
            shown.setdefault((player, own), set()).add(seen)
    assert {key: len(seen) for key, seen in shown.items()} == dict.fromkeys(shown, 1)
    assert len(set.union(*shown.values())) == len(shown) == 4


def test_a_bid_is_shown_to_nobody_before_the_round_is_over() -> None:
    game = ct.adapters.openspiel_game("sealed_bid_auction", AUCTION)
    state = game.new_initial_state()
    state.apply_action(len(state.chance_outcomes()) - 1)
    bids = [state.child(action) for action in state.legal_actions()]
    assert len(bids) == 3
    assert len({one.information_state_string(1) for one in bids}) == 1
    assert len({tuple(one.observation_tensor(1)) for one in bids}) == 1


def test_a_history_is_all_there_is_to_a_state() -> None:
    game = small("chip_trading")
    state = game.new_initial_state()
    for action in (1, 2, 3, 4):
        state.apply_action(action)
    state.apply_action(state.legal_actions()[-1])
    again = pickle.loads(pickle.dumps(game)).new_initial_state()  # noqa: S301 - our own
    for action in state.history():
        again.apply_action(action)
    for one in (again, state.clone(), pickle.loads(pickle.dumps(state))):  # noqa: S301 - our own
        assert str(one) == str(state)
        assert one.information_state_tensor(0) == state.information_state_tensor(0)
        assert one.legal_actions() == state.legal_actions()


def test_an_illegal_action_is_refused_and_changes_nothing() -> None:
    state = small("item_bargaining").new_initial_state()
    for legal, wrong in ((3, 4), (0, 1)):  # instances, and to accept what nobody has offered
        with pytest.raises(ct.CheaptalkError, match=f"action {wrong} is not legal here"):
            state.apply_action(wrong)
        state.apply_action(legal)
    assert state.is_terminal()


def test_games_are_registered_when_they_are_asked_for_and_once() -> None:
    code = """if True:
        import cheaptalk as ct, pyspiel
        names = lambda: [one for one in pyspiel.registered_names() if "cheaptalk" in one]
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


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("no JSON", "parameters: Expecting value"),
        ("[1]", "parameters by name"),
        ('{"playrs":3}', 'did you mean "players"'),
    ],
)
def test_parameters_that_cannot_be_read_are_said_in_a_sentence(written: str, said: str) -> None:
    small("public_goods")
    with pytest.raises(ct.CheaptalkError, match=said):
        pyspiel.load_game("cheaptalk_public_goods", {"parameters": written})


def test_a_game_that_no_array_game_plays_is_refused() -> None:
    with pytest.raises(ct.CheaptalkError, match="such as horizon: 30"):
        ct.adapters.openspiel_game("battle_royale")
    with pytest.raises(ct.CheaptalkError, match='unknown array game "persuasion"'):
        ct.adapters.openspiel_game("persuasion")
