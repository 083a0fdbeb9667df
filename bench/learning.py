"""Learning: learner steps and matches a second, at the paper's batch and nets."""

import time
from collections.abc import Iterator

from bench.rows import Row
from cheaptalk.arrays.games import array_game
from cheaptalk.games.item_bargaining.rules import PRESETS
from cheaptalk.rules import game_box

SECONDS = 10.0
LOOPS = 50
STEPS = 4 * 6.7
"""Learner steps a second that were asked for: four times those of OpenSpiel's last R-NaD on one
core, at batch 256 with nets of 256 and 256, which had 1,720 trajectories a second."""
MATCHES = 30 * 550.0
"""Matches a second that were asked for: thirty times those of OpenSpiel's NFSP, in PyTorch."""


def rows() -> Iterator[Row]:
    """Each algorithm on BG4."""
    steps = rate("rnad")
    how = "256 matches each, nets of 256 and 256"
    yield Row("R-NaD on BG4, learner steps", steps, "a second", (">=", STEPS), how)
    yield Row("R-NaD on BG4, matches", 256 * steps, "a second", None, "played and learned from")
    matches = 256 * rate("nfsp")
    how = "played and learned from, by the paper's settings"
    yield Row("NFSP on BG4, matches", matches, "a second", (">=", MATCHES), how)


def rate(algorithm: str) -> float:
    """Loops a second, compiling aside."""
    from cheaptalk.learning.algorithms import ALGORITHMS  # noqa: PLC0415 - an extra

    game = array_game(game_box("item_bargaining").rules.model_validate(PRESETS["BG4"]))
    kind = ALGORITHMS[algorithm]
    training = kind(game, kind.options())
    learned = training.train(training.begin(), 256)
    loops, began = 0, time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        learned = training.train(learned, 256 * LOOPS, every=LOOPS)
        loops += LOOPS
    return loops / (time.perf_counter() - began)
