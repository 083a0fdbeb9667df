"""Learning: steps and matches a second at the paper's batch and nets, and what bounds it."""

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
"""Learner steps a second that were asked for: four times those of OpenSpiel's last R-NaD on one
core, at batch 256 with nets of 256 and 256, which had 1,720 trajectories a second."""
MATCHES = 30 * 550.0
"""Matches a second that were asked for: thirty times those of OpenSpiel's NFSP, in PyTorch."""


def rows() -> Iterator[Row]:
    """Each algorithm on BG4, as it is before it has learned: matches are the longest then."""
    training = begun("rnad")
    steps = rate(training)
    how = "256 matches each, nets of 256 and 256"
    yield Row("R-NaD on BG4, learner steps", steps, "a second", (">=", STEPS), how)
    yield Row("R-NaD on BG4, matches", 256 * steps, "a second", None, "played and learned from")
    share = 100 * steps * products(training)
    how = "all that its layers multiply in a learner step, alone"
    yield Row("R-NaD on BG4, matrix products", share, "% of a step", None, how)
    matches = 256 * rate(begun("nfsp"))
    how = "played and learned from, by the paper's settings"
    yield Row("NFSP on BG4, matches", matches, "a second", (">=", MATCHES), how)


def begun(algorithm: str) -> Any:
    """A training of BG4."""
    from cheaptalk.learning.algorithms import ALGORITHMS  # noqa: PLC0415 - an extra

    game = array_game(get_game("item_bargaining").rules.model_validate(PRESETS["BG4"]))
    kind = ALGORITHMS[algorithm]
    return kind(game, kind.options())


def rate(training: Any) -> float:
    """Loops a second, compiling aside."""
    learned = training.train(training.begin(), 256)
    return LOOPS / seconds(lambda: training.train(learned, 256 * LOOPS, every=LOOPS))


def products(training: Any) -> float:
    """Seconds that the layers of R-NaD take in a learner step.

    They choose at every step of the matches; then of all decisions they say what is likely and
    worth, with a gradient, and once more what each of three older networks says.
    """
    import jax  # noqa: PLC0415 - an extra

    many, longest = training.settings.matches, training.game.longest
    weights, key = training.begin().weights, jax.random.key(0)

    def said(weights: Any, seen: Any) -> Any:
        return sum(one.sum() for one in training._net(weights).both(seen))

    @jax.jit
    def step(weights: Any, luck: Any) -> Any:
        seen = jax.random.uniform(luck, (4, longest, many, training.game.observed))
        chosen = [said(weights, one) for one in seen[0]]
        older = [said(weights, one.reshape(longest * many, -1)) for one in seen[1:]]
        slope = jax.grad(said)(weights, 0.5 * seen[0].reshape(longest * many, -1))
        return chosen, older, slope

    jax.block_until_ready(step(weights, key))  # type: ignore[no-untyped-call]
    return seconds(lambda: jax.block_until_ready(step(weights, key)))  # type: ignore[no-untyped-call]


def seconds(what: Callable[[], Any]) -> float:
    """Seconds that something takes, on average over a while."""
    times, began = 0, time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        what()
        times += 1
    return (time.perf_counter() - began) / times
