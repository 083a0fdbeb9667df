"""Strategy profiles and pure equilibria of bimatrix games, with payoffs and regrets.

A game is two arrays of shape (m, n): ``a[i, j]`` and ``b[i, j]`` are the payoffs of the row and the
column player for row i and column j.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cheaptalk.equilibrium.solvers.payoffs import (
    NOISE,
    EquilibriumError,
    Flags,
    Floats,
    as_numbers,
    beyond_reckoning,
    usable,
)
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.rules.errors import WrongValue

TOLERANCE = 1e-9
"""The maximum regret of a profile, as a share of a player's payoff range."""
SHOWN = 5e-5
"""The minimum weight that is printed."""


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Profile(Printed):
    """A mixed strategy of each player, with payoffs and regrets.

    Attributes:
        row, column: the probabilities of the strategies, shapes (m,) and (n,).
        payoffs: the expected payoffs of the row and the column player.
        regrets: each player's gain from a best response, >= 0, in payoff units.
    """

    row: Floats
    column: Floats
    payoffs: tuple[float, float]
    regrets: tuple[float, float]

    def printout(self) -> Printout:
        return profiles_table("Strategy profile", [self])

    def __str__(self) -> str:
        mixtures = " x ".join(map(weights, (self.row, self.column)))
        return (
            f"{mixtures}: payoffs {self.payoffs[0]:.6g}, {self.payoffs[1]:.6g}; "
            f"regret {max(self.regrets):.1e}"
        )


def profiles_table(title: str, profiles: Sequence[Profile]) -> Printout:
    """Return a table of profiles, with a column for each strategy that a player uses."""
    columns, shares = ["profile"], [list(range(1, len(profiles) + 1))]
    for side in ("row", "column"):
        mixtures = np.array([getattr(profile, side) for profile in profiles])
        played = np.flatnonzero((mixtures > SHOWN).any(axis=0)).tolist()
        columns += [f"{side} {index}" for index in played]
        shares += mixtures.T[played].tolist()
    ends = [(*profile.payoffs, max(profile.regrets)) for profile in profiles]
    rows = [(*cells, *end) for cells, end in zip(zip(*shares, strict=True), ends, strict=True)]
    return Printout(title, [*columns, "row payoff", "column payoff", "regret"], rows)


def weights(mixture: Floats) -> str:
    """Format the positive probabilities of a mixture by strategy index."""
    support = np.flatnonzero(mixture > SHOWN)
    return "{" + ", ".join(f"{index}: {mixture[index]:.4g}" for index in support) + "}"


def checked(a: ArrayLike, b: ArrayLike, dimensions: int = 2) -> tuple[Floats, Floats]:
    """Return both players' payoffs as float arrays; raise ValueError if they are invalid."""
    pair = as_numbers(a), as_numbers(b)
    if pair[0].shape != pair[1].shape:
        raise WrongValue(
            f"Both players need payoffs for the same cells: the row player has {pair[0].shape}, "
            f"the column player {pair[1].shape}; a symmetric game's column player has payoffs.T"
        )
    for player, payoffs in zip(("row", "column"), pair, strict=True):
        if payoffs.ndim != dimensions or not payoffs.size:
            raise WrongValue(
                f"Payoffs must have {dimensions} dimensions and at least one cell, "
                f"not shape {payoffs.shape}"
            )
        wrong = np.argwhere(~usable(payoffs))
        if wrong.size:
            cell = tuple(map(int, wrong[0]))
            raise WrongValue(
                f"The {player} player's payoff in cell {cell} is {payoffs[cell]}; "
                f"{beyond_reckoning(payoffs[cell]) or 'fill the cell, or leave the strategy out'}"
            )
    return pair


def unit_spread(payoffs: Floats) -> Floats:
    """Scale games, shape (K, m, n), to [-1, 0], keeping the row player's best responses.

    Each column's best payoff becomes 0, and the largest spread within a column 1; a game without
    spread becomes all zeros.
    """
    below = payoffs - payoffs.max(axis=1, keepdims=True)
    spread = -below.min(axis=(1, 2), keepdims=True)
    flat = spread <= NOISE * np.abs(payoffs).max(axis=(1, 2), keepdims=True)
    return np.asarray(np.where(flat, 0, below / np.where(flat, 1, spread)), dtype=np.float64)


def profile(a: ArrayLike, b: ArrayLike, row: ArrayLike, column: ArrayLike) -> Profile:
    """Return a pair of mixtures with their payoffs and regrets.

    The row player's regret is max_i (a y)_i - x' a y, the column player's max_j (x' b)_j - x' b y.

    Args:
        a: the row player's payoffs, shape (m, n).
        b: the column player's payoffs, of the same shape.
        row: the mixture x, shape (m,): >= 0, summing to 1 (within 1e-9).
        column: the mixture y, shape (n,), likewise.

    Raises:
        WrongValue: a mixture is invalid or doesn't match the payoffs.
    """
    a, b = checked(a, b)
    x, y = as_numbers(row, "row"), as_numbers(column, "column")
    for mixture, size in ((x, a.shape[0]), (y, a.shape[1])):
        proper = mixture.shape == (size,) and bool((mixture >= 0).all())
        if not proper or abs(mixture.sum() - 1) > TOLERANCE:
            raise WrongValue(f"A mixture must be {size} probabilities that sum to 1, not {mixture}")
    answers = a @ y, x @ b
    payoffs = float(x @ answers[0]), float(answers[1] @ y)
    regrets = [
        max(0.0, float(values.max()) - payoff)
        for values, payoff in zip(answers, payoffs, strict=True)
    ]
    return Profile(x, y, payoffs, (regrets[0], regrets[1]))


def verified(a: Floats, b: Floats, row: Floats, column: Floats) -> Profile:
    """Return a solution as a profile; raise EquilibriumError if a player's regret is too large."""
    result = profile(a, b, row, column)
    for payoffs, regret in zip((a, b), result.regrets, strict=True):
        if regret > TOLERANCE * np.ptp(payoffs) + NOISE * np.abs(payoffs).max():
            raise EquilibriumError(
                f"The payoffs are too close to a tie for floating point: a solution has regret "
                f"{regret:.2g}; round them to fewer digits"
            )
    return result


def pure_profiles(a: Floats, b: Floats, cells: Flags) -> tuple[Profile, ...]:
    """Return the pure-strategy profiles of the cells that a mask selects, row by row."""
    rows, columns = np.eye(a.shape[0]), np.eye(a.shape[1])
    return tuple(profile(a, b, rows[i], columns[j]) for i, j in np.argwhere(cells))


def pure_equilibria(a: ArrayLike, b: ArrayLike, *, epsilon: float = 0.0) -> tuple[Profile, ...]:
    """Return all pure equilibria or epsilon-equilibria, row by row.

    Args:
        a: the row player's payoffs, shape (m, n).
        b: the column player's payoffs, of the same shape.
        epsilon: the maximum regret of each player, in payoff units; 0 for exact equilibria.

    Raises:
        WrongValue: the payoffs aren't two finite matrices of one shape, or epsilon is negative.

    >>> for equilibrium in pure_equilibria([[3, 0], [0, 2]], [[2, 0], [0, 3]]):
    ...     print(equilibrium)
    {0: 1} x {0: 1}: payoffs 3, 2; regret 0.0e+00
    {1: 1} x {1: 1}: payoffs 2, 3; regret 0.0e+00
    """
    a, b = checked(a, b)
    if not epsilon >= 0:
        raise WrongValue(f"epsilon must be a regret >= 0, not {epsilon}")
    fine = (a >= a.max(axis=0) - epsilon) & (b >= b.max(axis=1, keepdims=True) - epsilon)
    return pure_profiles(a, b, fine)
