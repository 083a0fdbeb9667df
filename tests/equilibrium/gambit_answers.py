"""1,000 random symmetric games with the equilibria that Gambit finds, kept for tests.

Gambit's Python package is compiled where it is installed, which takes longer than all tests, so
its answers are kept beside them. ``python -m tests.equilibrium.gambit_answers`` asks it again.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

ANSWERS = Path(__file__).with_suffix(".npz")
SIZES = range(2, 10)
EACH = 125
SAME = 1e-7
"""Up to where two seats' probabilities are equal."""

Floats = npt.NDArray[np.float64]


def games() -> Iterator[Floats]:
    """The games: payoffs in thousandths, independent and normal."""
    rng = np.random.default_rng(2026)
    for size in SIZES:
        for _ in range(EACH):
            yield rng.normal(size=(size, size)).round(3)


def in_order(mixtures: Floats) -> Floats:
    """Mixtures, one a row, in an order that rounding does not change."""
    return mixtures[np.lexsort(mixtures.T.round(6))]


def asked(payoffs: Floats) -> Floats:
    """The symmetric ones among the extreme equilibria that Gambit enumerates, one a row."""
    gambit: Any = import_module("pygambit")
    game = gambit.Game.from_arrays(payoffs, payoffs.T)
    first, second = game.players
    found = []
    for profile in gambit.nash.enummixed_solve(game, rational=False).equilibria:
        row, column = (
            np.array([float(profile[one]) for one in player.strategies])
            for player in (first, second)
        )
        if np.allclose(row, column, atol=SAME):
            found.append(row)
    return in_order(np.array(found))


def main() -> None:
    """Ask Gambit and keep what it says."""
    played = list(games())
    found = [asked(payoffs) for payoffs in played]
    np.savez_compressed(
        ANSWERS,
        payoffs=np.concatenate([np.rint(one * 1000).astype(np.int16).ravel() for one in played]),
        numbers=np.array([len(one) for one in found], dtype=np.int16),
        equilibria=np.concatenate([one.ravel() for one in found]),
    )


def answers() -> Iterator[tuple[Floats, Floats]]:
    """Each game with its symmetric equilibria, shapes (n, n) and (number, n)."""
    with np.load(ANSWERS) as kept:
        payoffs, numbers, equilibria = (kept[name] for name in kept.files)
    game, mixture = 0, 0
    for at, number in enumerate(numbers):
        size = SIZES[at // EACH]
        cells, shares = size**2, size * int(number)
        yield (
            payoffs[game : game + cells].reshape(size, size) / 1000,
            equilibria[mixture : mixture + shares].reshape(number, size),
        )
        game, mixture = game + cells, mixture + shares


if __name__ == "__main__":
    main()
