"""PettingZoo's own checks pass, and agents get the observations and payoffs of the rules."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test
from pettingzoo.utils.wrappers import TerminateIllegalWrapper

import cheaptalk as ct
from cheaptalk.arrays.simultaneous.rounds import SimultaneousRounds
from tests.adapters.games import NAMES, SMALL, ReferenceTable

SIMULTANEOUS = [name for name in NAMES if issubclass(ct.arrays.ARRAYS[name], SimultaneousRounds)]
AUCTION = {"players": 3, "rounds": 2, "low": 1, "high": 6, "step": 1}


@pytest.mark.filterwarnings(
    "ignore:Observation is not a NumPy array",  # but a dictionary, as in PettingZoo's own games
    "ignore:Observation space for each agent probably should be",
    "ignore:We recommend agents to be named",  # alice and bob
    "ignore:Environment has not defined a render",
    "ignore:Action mask numpy array is all zeros",  # of agents that are not to move
)
def test_games_pass_turn_based_checks() -> None:
    for name in NAMES:
        make = partial(ct.adapters.pettingzoo_env, name, SMALL[name])
        api_test(make(), num_cycles=30)
        seed_test(make, num_cycles=30)


def test_simultaneous_games_pass_parallel_checks() -> None:
    for name in SIMULTANEOUS:
        make = partial(ct.adapters.pettingzoo_parallel_env, name, SMALL[name])
        parallel_api_test(make(), num_cycles=30)
        if name != "sealed_bid_auction":  # the check ignores the mask
            parallel_seed_test(make)


def test_observations_and_payoffs_match_table() -> None:
    for name in NAMES:
        env, rng = ct.adapters.pettingzoo_env(name, SMALL[name]), np.random.default_rng(1)
        game = ct.arrays.array_game(ct.get_game(name).rules.model_validate(SMALL[name]))
        for number in range(5):
            env.reset(seed=7 if number == 0 else None)
            reference, agents, paid = ReferenceTable(game, f"7/{number}"), list(env.agents), {}
            for agent in env.agent_iter():
                seen, reward, terminated, truncated, _ = env.last()
                assert not truncated
                if terminated:
                    paid[agent] = reward
                    assert not seen["action_mask"].any()
                    env.step(None)
                    continue
                assert reward == 0
                action = int(rng.choice(np.flatnonzero(seen["action_mask"])))
                reference.answer(agents.index(agent), seen["observation"], action)
                env.step(action)
            assert list(map(paid.__getitem__, agents)) == pytest.approx(reference.payoffs)


def test_parallel_and_turn_based_environments_agree() -> None:
    turns = ct.adapters.pettingzoo_env("sealed_bid_auction", AUCTION, seed=3)
    parallel = ct.adapters.pettingzoo_parallel_env("sealed_bid_auction", AUCTION, seed=3)
    turns.reset()
    seen, _ = parallel.reset()
    while parallel.agents:
        actions = {agent: int(view["action_mask"].sum()) - 1 for agent, view in seen.items()}
        for agent, action in actions.items():
            shown = turns.last()[0]
            assert turns.agent_selection == agent
            for part in ("observation", "action_mask"):
                np.testing.assert_array_equal(shown[part], seen[agent][part])
            turns.step(action)
        seen, rewards, terminated, _, _ = parallel.step(actions)
    assert all(terminated.values())
    assert rewards == turns.rewards
    assert sum(rewards.values()) == 0  # because all bid their own valuation


def test_seed_determines_instance_and_matches_differ() -> None:
    env, other = (ct.adapters.pettingzoo_env("item_bargaining", seed=seed) for seed in (1, 2))

    def draw_instance(game: Any, seed: int | None = None) -> list[float]:
        game.reset(seed=seed)
        return [*game.observe("player_1")["observation"], *game.observe("player_2")["observation"]]

    first, second = draw_instance(env), draw_instance(env)
    assert first != second
    assert first != draw_instance(other)
    assert [draw_instance(other, 1), draw_instance(other)] == [first, second]


def test_illegal_action_is_rejected_without_effect() -> None:
    env = ct.adapters.pettingzoo_env("bargaining", SMALL["bargaining"])
    with pytest.raises(ct.CheaptalkError, match="call reset"):
        env.step(0)
    env.reset(seed=1)
    before = env.observe("alice")["observation"]
    for action in (1, 103, -1, None, 2.5):
        with pytest.raises(ct.CheaptalkError, match=r"its action_mask allows 101 actions of 103"):
            env.step(action)
    assert env.agent_selection == "alice"
    np.testing.assert_array_equal(env.observe("alice")["observation"], before)
    terminating = TerminateIllegalWrapper(env, illegal_reward=-1)
    terminating.reset(seed=1)
    terminating.step(1)
    assert terminating.terminations == {"alice": True, "bob": True}


def test_simultaneous_actions_are_atomic() -> None:
    env, fresh = (
        ct.adapters.pettingzoo_parallel_env("sealed_bid_auction", AUCTION) for _ in range(2)
    )
    with pytest.raises(ct.CheaptalkError, match="call reset"):
        env.step({})
    env.reset(seed=1)
    fresh.reset(seed=1)
    with pytest.raises(ct.CheaptalkError, match="player_3 may not take action 6 now"):
        env.step({"player_1": 0, "player_2": 0, "player_3": 6})
    with pytest.raises(ct.CheaptalkError, match="no action of player_2"):
        env.step({"player_1": 0, "player_3": 0})
    bids = {"player_1": 1, "player_2": 0, "player_3": 0}
    assert data_equivalence(env.step(bids), fresh.step(bids))


def test_invalid_arguments_raise_error() -> None:
    for arguments, error in [
        (("bargaining", None), "don't act simultaneously; use pettingzoo_env"),
        (("persuasion", None), 'unknown array game "persuasion"'),
        (("public_goods", {"playrs": 3}), 'did you mean "players"'),
        (("public_goods", {"limits": False}), "limits: true"),
    ]:
        with pytest.raises(ct.CheaptalkError, match=error):
            ct.adapters.pettingzoo_parallel_env(*arguments)
