"""Training throughput of R-NaD and NFSP with the paper's batch size and networks."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from bench.rows import Row
from cheaptalk.arrays.games import array_game
from cheaptalk.games.item_bargaining.rules import PRESETS
from cheaptalk.rules import get_game

SECONDS = 10.0
LOOPS = 50
STEPS = 4 * 6.7
"""Required learner steps per second: four times the rate of OpenSpiel's last R-NaD.

OpenSpiel's R-NaD processed 1,720 trajectories per second on one core, with a batch of 256 and two
hidden layers of 256 units.
"""
MATCHES = 30 * 550.0
"""Required matches per second: thirty times the rate of OpenSpiel's NFSP in PyTorch."""


def rows() -> Iterator[Row]:
    """Yield the rates of each algorithm on BG4 before training, when matches are longest."""
    training = begun("rnad")
    steps = rate(training)
    note = "256 matches each, two hidden layers of 256 units"
    yield Row("R-NaD on BG4, learner steps", steps, "steps/s", (">=", STEPS), note)
    note = "including play and training"
    yield Row("R-NaD on BG4, matches", 256 * steps, "matches/s", None, note)
    share = 100 * steps * products(training)
    note = "time of the network evaluations and gradients only"
    yield Row("R-NaD on BG4, matrix products", share, "% of a step", None, note)
    matches = 256 * rate(begun("nfsp"))
    note = "including play and training, with the paper's settings"
    yield Row("NFSP on BG4, matches", matches, "matches/s", (">=", MATCHES), note)


def begun(algorithm: str) -> Any:
    """Return an algorithm with default options for BG4."""
    from cheaptalk.learning.algorithms import ALGORITHMS  # noqa: PLC0415 - optional dependency

    game = array_game(get_game("item_bargaining").rules.model_validate(PRESETS["BG4"]))
    kind = ALGORITHMS[algorithm]
    return kind(game, kind.options())


def rate(training: Any) -> float:
    """Return the training loops per second, without compilation."""
    learned = training.train(training.begin(), 256)
    return LOOPS / seconds(lambda: training.train(learned, 256 * LOOPS, every=LOOPS))


def products(training: Any) -> float:
    """Return the seconds that a learner step of R-NaD spends in its networks.

    The network selects an action at every step of the matches. Then policy and value of all
    decisions are computed, with gradients for the current network and without for three older ones.
    """
    import jax  # noqa: PLC0415 - optional dependency

    matches, longest = training.settings.matches, training.game.longest
    weights, key = training.begin().weights, jax.random.key(0)

    def total(weights: Any, observations: Any) -> Any:
        return sum(head.sum() for head in training._net(weights).both(observations))

    @jax.jit
    def step(weights: Any, key: Any) -> Any:
        batches = jax.random.uniform(key, (4, longest, matches, training.game.observed))
        chosen = [total(weights, batch) for batch in batches[0]]
        older = [total(weights, batch.reshape(longest * matches, -1)) for batch in batches[1:]]
        gradient = jax.grad(total)(weights, 0.5 * batches[0].reshape(longest * matches, -1))
        return chosen, older, gradient

    jax.block_until_ready(step(weights, key))  # type: ignore[no-untyped-call]
    return seconds(lambda: jax.block_until_ready(step(weights, key)))  # type: ignore[no-untyped-call]


def seconds(task: Callable[[], Any]) -> float:
    """Return the mean duration of a task in seconds, over runs that take ``SECONDS`` in total."""
    runs, began = 0, time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        task()
        runs += 1
    return (time.perf_counter() - began) / runs
