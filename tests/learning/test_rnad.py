"""Regularised Nash dynamics: convergence to theory, and the correctness of each step."""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from cheaptalk.arrays.bargaining import BargainingArrays
from cheaptalk.arrays.games import array_game
from cheaptalk.games.bargaining.rules import Bargaining
from cheaptalk.games.item_bargaining.rules import ItemBargaining
from cheaptalk.learning.tabular import Tree
from cheaptalk.rules import Horizon, Instance

jax = pytest.importorskip("jax")
rnad = pytest.importorskip("cheaptalk.learning.rnad")
acting = pytest.importorskip("cheaptalk.learning.acting")

SMALL = array_game(ItemBargaining(quantities=(1, 1), highest_value=2, rounds=1, discount=0.9))
LONGER = array_game(ItemBargaining(quantities=(1, 1), highest_value=2, rounds=2, discount=0.9))
QUICK: dict[str, Any] = {"rate": 3e-3, "sizes": (50,), "repeats": (1,), "averaging": 0.05}
"""Settings for games that train in seconds."""


def test_rnad_approaches_an_equilibrium_of_a_small_game() -> None:
    tree, gains = Tree(SMALL), []
    training = rnad.RNaD(SMALL, rnad.RNaDSettings(hidden=32, **QUICK))

    def record_gain(learned: object, progress: object) -> None:
        policy = tree.policy(partial(training.probabilities, learned))
        gains.append(tree.gains([np.asarray(table) for table in policy]).max())

    start = tree.gains(tree.uniform()).max()
    training.train(training.begin(), 256 * 3_000, every=1_000, progress=record_gain)
    assert gains[0] < 0.25 * start
    assert gains[-1] < 0.06 * start


@pytest.mark.slow
def test_bargaining_demand_matches_the_subgame_perfect_equilibrium() -> None:
    """Bob can get everything a stage later, discounted, so Alice leaves him exactly that."""
    rules = Bargaining(discounts=(0.9, 0.8), horizon=Horizon(rounds=2), messages=False)
    game = BargainingArrays(rules, 20)
    training = rnad.RNaD(game, rnad.RNaDSettings(hidden=64, eta=0.1, **QUICK))
    learned = training.train(training.begin(), 256 * 1_500)
    begun = game.from_instances([Instance()])
    shares = training.policy(learned).probabilities(game.observe(begun, 0), game.legal(begun))
    demand = shares[0, len(game.answers) :] @ np.linspace(0, 1, 21)
    assert demand == pytest.approx(0.2, abs=0.06)


def test_exploring_player_takes_uniform_actions_throughout_a_match() -> None:
    training = rnad.RNaD(LONGER, rnad.RNaDSettings(hidden=8, matches=400))
    weights = training.begin().weights
    explores = np.tile([[True, False], [False, True]], (200, 1))
    luck = jax.random.uniform(jax.random.key(1), (400, LONGER.uniforms))
    act = partial(training._act, weights, explores)
    played = acting.play(LONGER, luck, act, jax.random.key(2))
    here, player, acted = (np.asarray(array) for array in (played.here, played.player, played.more))
    shares = np.exp(training._net(weights)(played.seen)) * np.asarray(played.legal)
    shares /= np.maximum(shares.sum(axis=-1, keepdims=True), 1e-9)  # all 0 after the end of a match
    chosen = np.take_along_axis(shares, np.asarray(played.action)[..., None], axis=-1)[..., 0]
    wild = explores[np.arange(400), player] & here
    calm = here & ~wild
    assert min(wild.sum(), calm.sum()) > 300
    np.testing.assert_allclose(acted[wild], 1 / np.asarray(played.legal).sum(axis=-1)[wild])
    np.testing.assert_allclose(acted[calm], chosen[calm], rtol=1e-4)


def test_v_trace_equals_its_definition() -> None:
    """Compare with the sum over all later decisions, by match and player."""
    luck = np.random.default_rng(1)
    steps, many, rho, c = 7, 30, 1.3, 0.9
    settings = rnad.RNaDSettings(hidden=4, rho=rho, c=c)
    player, last = luck.integers(0, 2, (steps, many)), luck.integers(1, steps + 1, many)
    here = np.arange(steps)[:, None] < last
    acting = (player[..., None] == np.arange(2)) & here[..., None]
    rewards = luck.normal(size=(steps, many, 2)) * here[..., None]
    ratio = luck.uniform(0.4, 2, (steps, many))
    value, paid = luck.normal(size=(2, steps, many))
    course = rnad.Course(acting, rewards, ratio, value, paid)
    traced = [np.asarray(array) for array in rnad.RNaD(SMALL, settings).traced(course)]
    aims = np.zeros((steps, many, 2))
    for match in range(many):
        for seat in (0, 1):
            turns = [*np.flatnonzero(acting[:, match, seat]), last[match]]
            drift, passed = [], []
            for turn, following in pairwise(turns):
                others = range(turn + 1, following)
                got = rewards[turn, match, seat] - paid[turn, match]
                got += sum(rewards[t, match, seat] + paid[t, match] for t in others)
                then = value[following, match] if following < last[match] else 0.0
                weight = np.prod(ratio[turn:following, match])
                drift.append(min(rho, weight) * (got + then - value[turn, match]))
                passed.append(min(c, weight))
            for at, turn in enumerate(turns[:-1]):
                weights = np.cumprod([1.0, *passed[at:-1]])
                aims[turn, match, seat] = value[turn, match] + weights @ drift[at:]
            for turn, following in pairwise(turns):
                more, times = rewards[turn, match, seat] - value[turn, match], np.ones(())
                for t in range(turn + 1, following):
                    more += times * (paid[t, match] + ratio[t, match] * rewards[t, match, seat])
                    times = times * ratio[t, match]
                more += times * aims[following, match, seat] if following < last[match] else 0.0
                assert traced[0][turn, match] == pytest.approx(aims[turn, match, seat], abs=1e-4)
                assert traced[1][turn, match] == pytest.approx(more, abs=1e-4)


def test_step_gradient_matches_a_manual_calculation() -> None:
    """Compare the gradient of the heads' biases with a NumPy calculation from the matches."""
    eta, beta, most, mix = 0.2, 0.3, 4.0, 0.75
    settings = rnad.RNaDSettings(
        hidden=8, matches=16, eta=eta, beta=beta, force=most, sizes=(8,), repeats=(1,)
    )
    training = rnad.RNaD(LONGER, settings)
    keys = jax.random.split(jax.random.key(5), 4)
    nets = [rnad.nnx.split(training._network(key))[1] for key in keys]
    learned = training.begin()._replace(
        weights=nets[0], target=nets[1], anchor=nets[2], before=nets[3], loops=rnad.jnp.array(3)
    )  # of eight loops with this anchor, so its weight is three quarters
    luck = jax.random.uniform(keys[0], (16, LONGER.uniforms))
    calm = np.zeros((16, 2), bool)
    played = acting.play(LONGER, luck, lambda *rest: training._act(nets[0], calm, *rest), keys[1])
    slope, _ = jax.jit(training._slope)(learned, played)
    heads_of = [
        [np.asarray(array, float) for array in training._net(net).both(played.seen)] for net in nets
    ]

    heads, values, pushed, held = np.zeros(LONGER.actions), 0.0, 0, 0
    for match, steps in enumerate(np.asarray(played.here).sum(axis=0)):
        later = np.asarray(played.shares[match], float)  # each player's payoff from here on
        for step in reversed(range(steps)):
            seat, action = int(played.player[step, match]), int(played.action[step, match])
            legal = np.asarray(played.legal[step, match])
            count = int(((played.player == seat) & played.here).sum())
            logits, _, anchor, before = (logit[step, match, legal] for logit, _ in heads_of)
            value, target_value = (estimate[step, match] for _, estimate in heads_of[:2])
            now = np.exp(logits) / np.exp(logits).sum()
            leaves = np.log(now)
            for part, old in ((mix, anchor), (1 - mix, before)):
                leaves -= part * (old - np.log(np.exp(old).sum()))
            worth, paid = target_value - eta * leaves, eta * now @ leaves
            place = legal[:action].sum()
            worth[place] += (later[seat] - target_value) / now[place]
            force = np.clip(worth - now @ worth, -most, most)
            centred = logits - logits.mean()
            free = np.where(force > 0, centred < beta, centred > -beta)
            pushed, held = pushed + free.sum(), held + (~free).sum()
            force *= free
            heads[legal] -= (force - force.mean()) / count
            values += 2 * (value - (later[seat] - paid)) / count
            later += np.where(np.arange(2) == seat, -paid, paid)
    assert min(pushed, held) > 20
    np.testing.assert_allclose(slope["head"]["bias"][...], heads, atol=2e-4)
    np.testing.assert_allclose(slope["value"]["bias"][...], [values], atol=2e-4)


def test_anchor_updates_follow_the_schedule() -> None:
    settings = rnad.RNaDSettings(hidden=2, sizes=(5, 10, 20), repeats=(1, 2, 1))
    inner = jax.vmap(rnad.RNaD(SMALL, settings)._inner)
    since, size = (array.tolist() for array in inner(rnad.jnp.arange(85)))
    wanted = [(at, many) for many in (5, 10, 10, 20, 20, 20) for at in range(many)]
    assert list(zip(since, size, strict=True)) == wanted


def test_fine_tuned_policy_is_thresholded_and_discretised() -> None:
    tuned = rnad.RNaD(SMALL, rnad.RNaDSettings(hidden=2, matches=4, fine_tune=2))
    learned = tuned.begin()
    seen = np.ones((1, SMALL.observed), np.float32)
    legal = np.arange(SMALL.actions)[None] > 0
    before = tuned.policy(learned).probabilities(seen, legal)
    later = learned._replace(loops=rnad.jnp.array(2))
    after = tuned.policy(later).probabilities(seen, legal)
    assert (before * 32 % 1 > 1e-3).any()
    np.testing.assert_allclose(after * 32 % 1, 0, atol=1e-9)
    untuned = rnad.RNaD(SMALL, rnad.RNaDSettings(hidden=2, matches=4, fine_tune=None))
    plain = untuned.policy(untuned.begin())
    np.testing.assert_allclose(plain.probabilities(seen, legal) * 32 % 1, 0, atol=1e-9)
    for shares, threshold, bins, wanted in (
        ([0.02, 0.5, 0.48], 0.03, 0, [0, 0.5 / 0.98, 0.48 / 0.98]),
        ([0.3, 0.3, 0.4], 0.5, 0, [0.3, 0.3, 0.4]),
        ([0.1, 0.3, 0.6], 0.0, 4, [0, 0.25, 0.75]),
        ([0.26, 0.25, 0.49], 0.0, 4, [0.5, 0, 0.5]),
        ([0.25, 0.75, 0.0], 0.03, 4, [0.25, 0.75, 0]),
    ):
        rounding = rnad.Rounding(threshold, bins)
        for rounded in (
            rounding(np.array([shares])),
            rounding(rnad.jnp.array([shares]), rnad.likeliest),
        ):
            np.testing.assert_allclose(rounded, [wanted], atol=1e-6)
