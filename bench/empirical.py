"""How long the whole bootstrap of an empirical game takes, with every metric."""

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
    """A game with 200 matches in each cell, each on an instance of its own, and four metrics."""
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
    """The bootstrap of a game of 15 strategies, all tables included."""
    rng = np.random.default_rng(5)
    game = sampled(meta_game(rng, SIZE), rng)
    metrics = [EquilibriumMetric(name, name) for name in METRICS]
    for processes in (1, 2):
        started = time.perf_counter()
        drawn = bootstrap_equilibrium(game, metrics, paired=False, processes=processes)
        drawn.table()
        drawn.overall()
        drawn.best_responses()
        drawn.differences("regret")
        yield Row(
            f"bootstrap of {SIZE} strategies, {MATCHES} matches a cell, {DRAWS:,} draws, 4 metrics",
            time.perf_counter() - started, "s", ("<=", 5), f"{processes} process(es)",
        )  # fmt: skip
