"""PettingZoo's own checks pass, and its agents are shown and paid what the rules show and pay."""

from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test
from pettingzoo.utils.wrappers import TerminateIllegalWrapper

import cheaptalk as ct
from cheaptalk.arrays.simultaneous.rounds import SimultaneousRounds
from tests.adapters.games import NAMES, SMALL, Beside

AT_ONCE = [name for name in NAMES if issubclass(ct.arrays.ARRAYS[name], SimultaneousRounds)]
AUCTION = {"players": 3, "rounds": 2, "low": 1, "high": 6, "step": 1}


@pytest.mark.filterwarnings(
    "ignore:Observation is not a NumPy array",  # but a dictionary, as for PettingZoo's own games
    "ignore:Observation space for each agent probably should be",
    "ignore:We recommend agents to be named",  # alice and bob
    "ignore:Environment has not defined a render",
    "ignore:Action mask numpy array is all zeros",  # of agents that are not asked
)
@pytest.mark.parametrize("name", NAMES)
def test_every_game_passes_the_checks_of_turns(name: str) -> None:
    api_test(ct.adapters.pettingzoo_env(name, SMALL[name]), num_cycles=50)
    seed_test(lambda: ct.adapters.pettingzoo_env(name, SMALL[name]), num_cycles=50)


@pytest.mark.parametrize("name", AT_ONCE)
def test_games_of_rounds_pass_the_checks_of_moves_at_once(name: str) -> None:
    parallel_api_test(ct.adapters.pettingzoo_parallel_env(name, SMALL[name]), num_cycles=50)
    if name != "sealed_bid_auction":
        parallel_seed_test(lambda: ct.adapters.pettingzoo_parallel_env(name, SMALL[name]))


def test_the_check_of_seeds_looks_at_no_mask_and_is_refused_what_is_illegal() -> None:
    with pytest.raises(ct.CheaptalkError, match="may not take action"):
        parallel_seed_test(lambda: ct.adapters.pettingzoo_parallel_env("sealed_bid_auction"))


@pytest.mark.parametrize("name", NAMES)
def test_agents_see_and_get_what_seats_of_a_table_do(name: str) -> None:
    env, luck = ct.adapters.pettingzoo_env(name, SMALL[name]), np.random.default_rng(1)
    game = ct.arrays.array_game(ct.get_game(name).rules.model_validate(SMALL[name]))
    for number in range(5):
        env.reset(seed=7 if number == 0 else None)
        beside, agents, paid = Beside(game, f"7/{number}"), list(env.agents), {}
        for agent in env.agent_iter():
            seen, reward, terminated, truncated, _ = env.last()
            assert not truncated
            if terminated:
                paid[agent] = reward
                assert not seen["action_mask"].any()
                env.step(None)
                continue
            assert reward == 0
            action = int(luck.choice(np.flatnonzero(seen["action_mask"])))
            beside.answer(agents.index(agent), seen["observation"], action)
            env.step(action)
        assert list(map(paid.__getitem__, agents)) == pytest.approx(beside.payoffs)


def test_moves_at_once_come_to_what_moves_in_turns_come_to() -> None:
    turns = ct.adapters.pettingzoo_env("sealed_bid_auction", AUCTION, seed=3)
    at_once = ct.adapters.pettingzoo_parallel_env("sealed_bid_auction", AUCTION, seed=3)
    turns.reset()
    seen, _ = at_once.reset()
    while at_once.agents:
        actions = {agent: int(one["action_mask"].sum()) - 1 for agent, one in seen.items()}
        for agent, action in actions.items():
            shown = turns.last()[0]
            assert turns.agent_selection == agent
            for part in ("observation", "action_mask"):
                np.testing.assert_array_equal(shown[part], seen[agent][part])
            turns.step(action)
        seen, rewards, terminated, _, _ = at_once.step(actions)
    assert all(terminated.values())
    assert rewards == turns.rewards
    assert sum(rewards.values()) == 0  # as all bid what the item is worth to them


def test_a_bid_is_shown_to_nobody_before_the_round_is_over() -> None:
    env = ct.adapters.pettingzoo_env("sealed_bid_auction", AUCTION)
    shown = []
    for bid in (0, 1):
        env.reset(seed=5)
        assert not env.observe("player_2")["action_mask"].any()
        env.step(bid)
        shown.append([env.observe(agent)["observation"] for agent in env.agents])
    np.testing.assert_array_equal(shown[0], shown[1])


def test_a_match_follows_from_its_seed_and_the_next_one_is_another() -> None:
    one, other = (ct.adapters.pettingzoo_env("item_bargaining", seed=seed) for seed in (1, 2))

    def dealt(env: Any, seed: int | None = None) -> list[float]:
        env.reset(seed=seed)
        return [*env.observe("player_1")["observation"], *env.observe("player_2")["observation"]]

    first, second = dealt(one), dealt(one)
    assert first != second
    assert first != dealt(other)
    assert [dealt(other, 1), dealt(other)] == [first, second]


def test_an_illegal_action_is_refused_and_changes_nothing() -> None:
    env = ct.adapters.pettingzoo_env("bargaining", SMALL["bargaining"])
    with pytest.raises(ct.CheaptalkError, match="call reset"):
        env.step(0)
    env.reset(seed=1)
    before = env.observe("alice")["observation"]
    for wrong in (1, 103, -1, None, 2.5):
        with pytest.raises(ct.CheaptalkError, match=r"its action_mask allows 101 actions of 103"):
            env.step(wrong)
    assert env.agent_selection == "alice"
    np.testing.assert_array_equal(env.observe("alice")["observation"], before)
    forgiving = TerminateIllegalWrapper(env, illegal_reward=-1)
    forgiving.reset(seed=1)
    forgiving.step(1)
    assert forgiving.terminations == {"alice": True, "bob": True}


def test_actions_at_once_are_all_taken_or_none() -> None:
    env, untried = (
        ct.adapters.pettingzoo_parallel_env("sealed_bid_auction", AUCTION) for _ in range(2)
    )
    with pytest.raises(ct.CheaptalkError, match="call reset"):
        env.step({})
    env.reset(seed=1)
    untried.reset(seed=1)
    with pytest.raises(ct.CheaptalkError, match="player_3 may not take action 6 now"):
        env.step({"player_1": 0, "player_2": 0, "player_3": 6})
    with pytest.raises(ct.CheaptalkError, match="no action of player_2"):
        env.step({"player_1": 0, "player_3": 0})
    bids = {"player_1": 1, "player_2": 0, "player_3": 0}
    assert data_equivalence(env.step(bids), untried.step(bids))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("bargaining", None), "don't act simultaneously; use pettingzoo_env"),
        (("persuasion", None), 'unknown array game "persuasion"'),
        (("public_goods", {"playrs": 3}), 'did you mean "players"'),
        (("public_goods", {"limits": False}), "limits: true"),
    ],
)
def test_what_cannot_be_played_is_said_in_a_sentence(wrong: tuple[str, Any], said: str) -> None:
    with pytest.raises(ct.CheaptalkError, match=said):
        ct.adapters.pettingzoo_parallel_env(*wrong)
