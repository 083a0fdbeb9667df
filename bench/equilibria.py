"""How fast all symmetric equilibria and the one of most entropy are found, beside other solvers.

The games are shaped like meta-games of bargaining agents: payoffs from about 230 to 390, of which
part is the strategy's skill, part the opponent's generosity and part how the two get on; two of
the strategies are nearly the same. Dominance leaves about half of fifteen.
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
"""Games on which other solvers are timed."""


def meta_game(rng: np.random.Generator, size: int) -> Floats:
    """Payoffs like those of bargaining agents against each other."""
    skill, generosity = rng.normal(310, 15, (size, 1)), rng.normal(0, 20, size)
    payoffs = skill + generosity + rng.normal(0, 15, (size, size))
    payoffs[-1] = payoffs[0] + rng.normal(0, 0.01, size)
    payoffs[:, -1] = payoffs[:, 0] + rng.normal(0, 0.01, size)
    return payoffs


def seconds(work: Callable[[], object]) -> float:
    """Wall time of some work."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def rivals(games: list[Floats]) -> dict[str, Any]:
    """What the other solvers take, in seconds by game, and what they find."""
    anchors.install()
    done = subprocess.run(
        [anchors.PYTHON, anchors.FOLDER / "rival_solvers.py"],
        input=json.dumps([game.tolist() for game in games]), check=True, capture_output=True,
        text=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def beaten(games: list[Floats], mixtures: list[list[float]]) -> str:
    """How another solver's mixtures compare with ours where theirs are equilibria."""
    pairs = [
        (game, np.clip(mixture, 0, None) / np.clip(mixture, 0, None).sum())
        for game, mixture in zip(games, mixtures, strict=True)
    ]
    exact = [(game, one) for game, one in pairs if regret(game, one) <= 1e-9 * np.ptp(game)]
    more = sum(
        float(entropy(one)) > symmetric_equilibria(game).mene.entropy + 1e-9 for game, one in exact
    )
    return f"regret below 1e-9 in {len(exact)} of {len(pairs)}, more entropy than ours in {more}"


def rows() -> Iterator[Row]:
    """One game of 15 strategies, beside the neighbours; a bootstrap of 1,000; growth."""
    rng = np.random.default_rng(15)
    games = [meta_game(rng, 15) for _ in range(GAMES)]
    symmetric_equilibria(games[0])
    ours = statistics.median(seconds(partial(symmetric_equilibria, game)) for game in games)
    others = {}
    for name, (took, answers) in rivals(games[:RIVALS]).items():
        others[name] = statistics.median(took)
        note = beaten(games[:RIVALS], answers) if answers[0] else "all equilibria, of both players"
        yield Row(f"{name}: a game of 15 strategies", others[name], "s", None, f"anchor; {note}")
    yield Row("all symmetric equilibria and the one of most entropy, 15 strategies", 1000 * ours,
              "ms", None, f"median of {GAMES} games, one core")  # fmt: skip
    yield Row("the same, times faster than the fastest of the others",
              min(others.values()) / ours, "times", (">=", 100), "medians")  # fmt: skip
    again = games[0] + rng.normal(0, 4, (1000, 15, 15))
    yield Row("the equilibrium of most entropy in 1,000 resampled games of 15 strategies",
              seconds(partial(mene_mixtures, again)), "s", ("<=", 3), "one core")  # fmt: skip
    yield from growth(rng)
    yield from bimatrix(rng)


def bimatrix(rng: np.random.Generator) -> Iterator[Row]:
    """Games of two roles, as large as GLEE's choice among 13 models for each side."""
    for size, count in ((5, 50), (8, 20), (13, 5)):
        games = [rng.normal(size=(2, size, size)) for _ in range(count)]
        took = [1000 * seconds(partial(bimatrix_equilibria, *game)) for game in games]
        yield Row(f"all equilibria of a bimatrix game, {size} by {size}", statistics.median(took),
                  "ms", None, f"median of {count}; slowest {max(took):.0f} ms")  # fmt: skip
    pairs = rng.normal(size=(2, 1000, 13, 13))
    yield Row("one equilibrium by Lemke and Howson of 1,000 games, 13 by 13",
              seconds(partial(lemke_howson_mixtures, pairs[0], pairs[1], 0)), "s", None,
              "one label, all games at once")  # fmt: skip


def growth(rng: np.random.Generator) -> Iterator[Row]:
    """How the cost grows where dominance helps, and where nothing does."""

    def independent(size: int) -> Floats:
        return rng.normal(size=(size, size))

    shapes: list[tuple[str, Callable[[int], Floats], tuple[int, ...], int]]
    shapes = [("like a meta-game's", partial(meta_game, rng), (10, 15, 20, 25), 15)]
    shapes += [("independent payoffs, nothing dominated", independent, (10, 15, 20), 3)]
    for what, draw, sizes, count in shapes:
        for size in sizes:
            games = [draw(size) for _ in range(count)]
            took = [1000 * seconds(partial(symmetric_equilibria, game)) for game in games]
            goal = ("<=", 10_000.0) if size == 25 else None
            yield Row(f"all symmetric equilibria, {size} strategies, {what}", max(took), "ms", goal,
                      f"slowest of {count}; median {statistics.median(took):.2f} ms")  # fmt: skip
