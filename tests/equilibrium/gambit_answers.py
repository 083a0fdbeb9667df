"""1,000 random symmetric games with the equilibria that Gambit finds, stored for tests.

Compiling Gambit's Python package takes longer than all tests, so its answers are stored here.
Run ``python -m tests.equilibrium.gambit_answers`` to update them.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

ANSWERS = Path(__file__).with_suffix(".npz")
SIZES = range(2, 10)
PER_SIZE = 125
TOLERANCE = 1e-7
"""Largest difference between equal probabilities of the two players."""

Floats = npt.NDArray[np.float64]


def games() -> Iterator[Floats]:
    """Generate the games: payoffs in thousandths, independent and normal."""
    rng = np.random.default_rng(2026)
    for size in SIZES:
        for _ in range(PER_SIZE):
            yield rng.normal(size=(size, size)).round(3)


def sort_mixtures(mixtures: Floats) -> Floats:
    """Sort mixtures, one per row, in an order that rounding doesn't change."""
    return mixtures[np.lexsort(mixtures.T.round(6))]


def gambit_equilibria(payoffs: Floats) -> Floats:
    """Return the symmetric ones among Gambit's extreme equilibria, one per row."""
    gambit: Any = import_module("pygambit")
    game = gambit.Game.from_arrays(payoffs, payoffs.T)
    first, second = game.players
    symmetric = []
    for profile in gambit.nash.enummixed_solve(game, rational=False).equilibria:
        row, column = (
            np.array([float(profile[strategy]) for strategy in player.strategies])
            for player in (first, second)
        )
        if np.allclose(row, column, atol=TOLERANCE):
            symmetric.append(row)
    return sort_mixtures(np.array(symmetric))


def main() -> None:
    """Compute and save Gambit's equilibria."""
    matrices = list(games())
    solutions = [gambit_equilibria(payoffs) for payoffs in matrices]
    np.savez_compressed(
        ANSWERS,
        payoffs=np.concatenate(
            [np.rint(game * 1000).astype(np.int16).ravel() for game in matrices]
        ),
        numbers=np.array([len(solution) for solution in solutions], dtype=np.int16),
        equilibria=np.concatenate([solution.ravel() for solution in solutions]),
    )


def answers() -> Iterator[tuple[Floats, Floats]]:
    """Generate each game with its symmetric equilibria, shapes (n, n) and (number, n)."""
    with np.load(ANSWERS) as kept:
        payoffs, numbers, equilibria = (kept[name] for name in kept.files)
    game, mixture = 0, 0
    for at, number in enumerate(numbers):
        size = SIZES[at // PER_SIZE]
        cells, shares = size**2, size * int(number)
        yield (
            payoffs[game : game + cells].reshape(size, size) / 1000,
            equilibria[mixture : mixture + shares].reshape(number, size),
        )
        game, mixture = game + cells, mixture + shares


if __name__ == "__main__":
    main()
