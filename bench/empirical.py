"""Duration of the complete bootstrap of an empirical game with four metrics."""

import time
from collections.abc import Iterator

import numpy as np

from bench.equilibria import Floats, meta_game
from bench.rows import Row
from cheaptalk.equilibrium import EmpiricalGame, EquilibriumMetric, bootstrap_equilibrium
from cheaptalk.equilibrium.empirical.cells import Cell, GameSample

SIZE, MATCHES, DRAWS = 15, 200, 1_000
METRICS = ("NW", "NW+", "UW", "EF1")


def sampled(truth: Floats, rng: np.random.Generator) -> EmpiricalGame:
    """Simulate a game with four metrics and 200 matches per cell, each on a separate instance."""
    labels = tuple(f"s{number:02}" for number in range(len(truth)))
    cells = {}
    for row in range(len(truth)):
        for column in range(row, len(truth)):
            gains = rng.normal([truth[row, column], truth[column, row]], 120, (MATCHES, 2))
            if row == column:
                gains[:, 1] = gains[:, 0]
            joint = np.column_stack(
                [np.abs(gains).prod(axis=1) ** 0.5, gains.min(axis=1), gains.sum(axis=1)]
            )
            agreed = rng.random((MATCHES, 1)) < 0.7
            fair = agreed & (rng.random((MATCHES, 1)) < 0.4)
            sums = np.hstack([gains, joint, fair])
            weights = np.hstack([np.ones((MATCHES, 5)), agreed])
            cells[row, column] = Cell(sums, weights, np.arange(MATCHES), MATCHES)
    return EmpiricalGame(labels, labels, METRICS, (GameSample("", MATCHES, cells),), (1.0,))


def rows() -> Iterator[Row]:
    """Yield the time to bootstrap a game of 15 strategies, including all tables."""
    rng = np.random.default_rng(5)
    game = sampled(meta_game(rng, SIZE), rng)
    metrics = [EquilibriumMetric(name, name) for name in METRICS]
    for processes in (1, 2):
        started = time.perf_counter()
        result = bootstrap_equilibrium(game, metrics, paired=False, processes=processes)
        result.table()
        result.overall()
        result.best_responses()
        result.differences("regret")
        seconds = time.perf_counter() - started
        title = f"bootstrap of {SIZE} strategies, {MATCHES} matches per cell, {DRAWS:,} draws"
        yield Row(f"{title}, 4 metrics", seconds, "s", ("<=", 5), f"processes: {processes}")
