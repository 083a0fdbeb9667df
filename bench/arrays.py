"""Throughput of array games under random legal play, with NumPy (one core) and compiled JAX."""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from bench.rows import Row
from cheaptalk.arrays.games import ArrayGame, array_game
from cheaptalk.games.item_bargaining.rules import PRESETS
from cheaptalk.rules import Game, get_game

SECONDS = 3.0
NUMPY_BATCH, JAX_BATCH = 10_000, 100_000
GAMES: dict[str, Game] = {
    "BG5": get_game("item_bargaining").rules.model_validate(PRESETS["BG5"]),
    "BG2": get_game("item_bargaining").rules.model_validate(PRESETS["BG2"]),
    "battle_royale, 30 rounds": get_game("battle_royale").rules.model_validate({"horizon": 30}),
    "pirate_game, 5 pirates, 10 coins": get_game("pirate_game").rules.model_validate(
        {"players": 5, "gold": 10}
    ),
    "sealed_bid_auction, 3 bidders, once": get_game("sealed_bid_auction").rules.model_validate(
        {"players": 3, "rounds": 1}
    ),
    **{
        name: get_game(name).rules()
        for name in (
            "bargaining", "negotiation", "chip_trading", "diners_dilemma", "divide_the_dollar",
            "el_farol_bar", "guess_the_average", "public_goods", "sealed_bid_auction",
        )
    },
}  # fmt: skip
GOALS = {"BG5": 5.0}
"""Required throughput on two cores, in millions of steps per second."""


def rows() -> Iterator[Row]:
    """Yield each game's throughput; only steps of unfinished matches count."""
    for name, rules in GAMES.items():
        game = array_game(rules)
        goal = (">=", GOALS[name]) if name in GOALS else None
        rate = by_numpy(game) / 1e6
        yield Row(f"random play of {name}, NumPy", rate, "M steps/s", goal, "one core")
        rate = by_jax(game) / 1e6
        yield Row(f"random play of {name}, JAX", rate, "M steps/s", goal, "compiled, all cores")


def by_numpy(game: ArrayGame[Any, Any]) -> float:
    """Return the NumPy throughput of a game in steps per second."""
    rng, steps, began = np.random.default_rng(0), 0, time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        state = game.draw_instance(rng.random((NUMPY_BATCH, game.uniforms), np.float32))
        for _ in range(game.longest):
            steps += int((~game.over(state)).sum())
            state = game.step(state, game.random_action(state, rng.random(NUMPY_BATCH, np.float32)))
    return steps / (time.perf_counter() - began)


def by_jax(game: ArrayGame[Any, Any]) -> float:
    """Return the JAX throughput of a game in steps per second, without compilation."""
    import jax  # noqa: PLC0415 - optional dependency

    @jax.jit
    def play(key: Any) -> Any:
        instance_key, step_keys = jax.random.split(key)

        def step(carry: Any, key: Any) -> tuple[Any, None]:
            state, steps = carry
            steps += (~game.over(state)).sum()
            uniforms = jax.random.uniform(key, (JAX_BATCH,))
            return (game.step(state, game.random_action(state, uniforms)), steps), None

        first = game.draw_instance(jax.random.uniform(instance_key, (JAX_BATCH, game.uniforms)))
        state, steps = jax.lax.scan(step, (first, 0), jax.random.split(step_keys, game.longest))[0]
        # return every result, so that the compiler cannot eliminate its computation
        return game.returns(state), game.observe(state, 0).sum(), steps

    keys = map(partial(jax.random.fold_in, jax.random.key(0)), range(10**6))
    play(next(keys))[0].block_until_ready()
    steps, began = 0, time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        steps += int(play(next(keys))[-1])
    return steps / (time.perf_counter() - began)
