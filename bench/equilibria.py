"""Speed of the equilibrium solvers in comparison with other packages.

The games resemble meta-games of bargaining agents. Payoffs range from about 230 to 390 and are the
sum of the strategy's skill, the opponent's generosity and an interaction. Two strategies are nearly
identical. Iterated elimination of dominated strategies removes about half of 15 strategies.
"""

import json
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bench import anchors
from bench.rows import Row
from cheaptalk.equilibrium import bimatrix_equilibria, mene_mixtures, regret, symmetric_equilibria
from cheaptalk.equilibrium.solvers.bimatrix import lemke_howson_mixtures
from cheaptalk.equilibrium.solvers.entropy import entropy

Floats = npt.NDArray[np.float64]
GAMES = 200
RIVALS = 12
"""Number of games on which the other solvers are timed."""


def meta_game(rng: np.random.Generator, size: int) -> Floats:
    """Return a random payoff matrix that resembles a meta-game of bargaining agents."""
    skill, generosity = rng.normal(310, 15, (size, 1)), rng.normal(0, 20, size)
    payoffs = skill + generosity + rng.normal(0, 15, (size, size))
    payoffs[-1] = payoffs[0] + rng.normal(0, 0.01, size)
    payoffs[:, -1] = payoffs[:, 0] + rng.normal(0, 0.01, size)
    return payoffs


def seconds(work: Callable[[], object]) -> float:
    """Return the wall time of a function in seconds."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def rivals(games: list[Floats]) -> dict[str, Any]:
    """Return the other solvers' seconds and solutions of each game, by solver."""
    anchors.install()
    done = subprocess.run(
        [anchors.PYTHON, anchors.FOLDER / "rival_solvers.py"],
        input=json.dumps([game.tolist() for game in games]), check=True, capture_output=True,
        text=True,
    )  # fmt: skip
    results: dict[str, Any] = json.loads(done.stdout)
    return results


def beaten(games: list[Floats], mixtures: list[list[float]]) -> str:
    """Describe how many mixtures of another solver are equilibria, and if any has more entropy."""
    pairs = [
        (game, np.clip(mixture, 0, None) / np.clip(mixture, 0, None).sum())
        for game, mixture in zip(games, mixtures, strict=True)
    ]
    exact = [
        (game, mixture) for game, mixture in pairs if regret(game, mixture) <= 1e-9 * np.ptp(game)
    ]
    more = sum(
        float(entropy(mixture)) > symmetric_equilibria(game).mene.entropy + 1e-9
        for game, mixture in exact
    )
    return f"regret below 1e-9 in {len(exact)} of {len(pairs)}, more entropy in {more}"


def rows() -> Iterator[Row]:
    """Yield the times of all solvers, of 1,000 resampled games, and of games of several sizes."""
    rng = np.random.default_rng(15)
    games = [meta_game(rng, 15) for _ in range(GAMES)]
    symmetric_equilibria(games[0])
    own = statistics.median(seconds(partial(symmetric_equilibria, game)) for game in games)
    others = {}
    for name, (took, answers) in rivals(games[:RIVALS]).items():
        others[name] = statistics.median(took)
        note = (
            beaten(games[:RIVALS], answers) if answers[0] else "all equilibria of the bimatrix game"
        )
        yield Row(f"{name}: game of 15 strategies", others[name], "s", None, f"reference; {note}")
    yield Row("all symmetric equilibria and the maximum-entropy one, 15 strategies", 1000 * own,
              "ms", None, f"median of {GAMES} games, one core")  # fmt: skip
    yield Row("speedup over the fastest other solver",
              min(others.values()) / own, "times", (">=", 100), "ratio of medians")  # fmt: skip
    resampled = games[0] + rng.normal(0, 4, (1000, 15, 15))
    yield Row("maximum-entropy equilibria of 1,000 resampled games of 15 strategies",
              seconds(partial(mene_mixtures, resampled)), "s", ("<=", 3), "one core")  # fmt: skip
    tied = 300 + rng.normal(0, 8, (1000, 16, 16))
    yield Row("maximum-entropy equilibria of 1,000 games of 16 strategies, nearly tied",
              seconds(partial(mene_mixtures, tied)), "s", ("<=", 60), "one core")  # fmt: skip
    yield from growth(rng)
    yield from bimatrix(rng)


def bimatrix(rng: np.random.Generator) -> Iterator[Row]:
    """Yield the times for bimatrix games of up to 13 strategies, the size of GLEE's games."""
    for size, count in ((5, 50), (8, 20), (13, 5)):
        games = [rng.normal(size=(2, size, size)) for _ in range(count)]
        took = [1000 * seconds(partial(bimatrix_equilibria, *game)) for game in games]
        yield Row(f"all equilibria of a bimatrix game, {size} by {size}", statistics.median(took),
                  "ms", None, f"median of {count}; slowest {max(took):.0f} ms")  # fmt: skip
    pairs = rng.normal(size=(2, 1000, 13, 13))
    yield Row("one equilibrium of each of 1,000 games by Lemke-Howson, 13 by 13",
              seconds(partial(lemke_howson_mixtures, pairs[0], pairs[1], 0)), "s", None,
              "one label, all games in one batch")  # fmt: skip


def growth(rng: np.random.Generator) -> Iterator[Row]:
    """Yield the times by number of strategies, with and without dominated strategies."""

    def independent(size: int) -> Floats:
        return rng.normal(size=(size, size))

    shapes: list[tuple[str, Callable[[int], Floats], tuple[int, ...], int]]
    shapes = [("similar to a meta-game", partial(meta_game, rng), (10, 15, 20, 25), 15)]
    shapes += [("independent payoffs, no dominated strategies", independent, (10, 15, 20), 3)]
    for kind, draw, sizes, count in shapes:
        for size in sizes:
            games = [draw(size) for _ in range(count)]
            took = [1000 * seconds(partial(symmetric_equilibria, game)) for game in games]
            goal = ("<=", 10_000.0) if size == 25 else None
            yield Row(f"all symmetric equilibria, {size} strategies, {kind}", max(took), "ms", goal,
                      f"slowest of {count}; median {statistics.median(took):.2f} ms")  # fmt: skip
