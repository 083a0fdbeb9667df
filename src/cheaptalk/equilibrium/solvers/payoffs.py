"""Payoff matrices of symmetric games: what is accepted, and how they are put on one scale."""

from collections.abc import Sized
from typing import Any

import numpy as np
import numpy.typing as npt

from cheaptalk.rules import CheaptalkError, counted

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

GRID = 1e11
"""Scaled payoffs are whole multiples of the inverse of this."""
LARGEST = 1e300
"""Payoffs further from zero than this have sums that are no floats any more, and those nearer to it
than its inverse have quotients that are none."""
TIE = 1e-9
"""Payoffs are tied if they differ by no more than this share of the game's largest."""
NOISE = 1e-12
"""Differences between payoffs below this share of the largest payoff are taken for rounding."""


class EquilibriumError(CheaptalkError):
    """A solver found no equilibrium, or cannot vouch for what it found."""


def symmetric_payoffs(payoffs: npt.ArrayLike) -> Floats:
    """A symmetric game's payoffs as a matrix of floats.

    Args:
        payoffs: ``payoffs[i, j]`` is what strategy i gets against strategy j; shape (n, n).

    Raises:
        ValueError: it is not square, is empty, or holds something that is no finite number.
    """
    matrix = _numbers(payoffs)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(
            f"payoffs of a symmetric game form a square matrix, not shape {matrix.shape}; "
            "leave out strategies that lack a row or a column"
        )
    return matrix


def many_payoffs(payoffs: npt.ArrayLike) -> Floats:
    """The payoffs of many symmetric games with as many strategies each, shape (games, n, n).

    Raises:
        ValueError: they are not square, or hold something that is no finite number.
    """
    matrices = _numbers(payoffs)
    if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2] or not matrices.shape[1]:
        raise ValueError(
            "payoffs of many symmetric games are an array of shape (games, n, n), "
            f"not {matrices.shape}"
        )
    return matrices


def _numbers(payoffs: npt.ArrayLike) -> Floats:
    """Payoffs as floats, none beyond :data:`LARGEST`."""
    try:
        numbers = np.asarray(payoffs).astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"payoffs must be numbers, a row a strategy; {_fault(payoffs)}") from None
    missing = np.argwhere(~usable(numbers))
    if missing.size and numbers.ndim > 1:
        *game, row, column = missing[0].tolist()
        found = numbers[(*game, row, column)]
        raise ValueError(
            f"the payoff of strategy {row} against strategy {column}"
            f"{f' in game {game[0]}' if game else ''} is {found}; "
            f"{beyond_reckoning(found) or 'play that pair, or leave one of the two out'}"
        )
    return numbers


def usable(payoffs: npt.ArrayLike) -> Flags:
    """Which payoffs are 0, or neither beyond :data:`LARGEST` nor below its inverse."""
    sizes = np.abs(np.asarray(payoffs, dtype=np.float64))
    return np.asarray((sizes == 0) | ((sizes >= 1 / LARGEST) & (sizes <= LARGEST)))


def beyond_reckoning(payoff: float) -> str | None:
    """What to do about a finite payoff that is not :func:`usable`; None of another."""
    if usable(payoff) or not np.isfinite(payoff):
        return None
    what, ends = ("divide", f"beyond {LARGEST:g}")
    if abs(payoff) < 1:
        what, ends = "multiply", f"nearer to 0 than {1 / LARGEST:g}"
    return f"none may be {ends}: {what} all payoffs by the same number"


def _fault(payoffs: Any) -> str:
    """Why payoffs are no array of numbers."""
    sizes = [len(row) if isinstance(row, Sized) else 0 for row in payoffs]
    for row, size in enumerate(sizes):
        if size != sizes[0]:
            return f"row 0 has {counted(sizes[0], 'payoff')}, and row {row} has {size}"
    for one in np.ravel(np.array(payoffs, dtype=object)):
        try:
            float(one)
        except (TypeError, ValueError):
            return f"{one!r} is none"
    return "these are nested unevenly"


def near(payoffs: Floats) -> Floats:
    """How near payoffs of each game are to count as equal, shape (games, 1, 1)."""
    return np.asarray(TIE * np.abs(payoffs).max(axis=(1, 2), keepdims=True))


def levelled(payoffs: Floats) -> Floats:
    """Games in which payoffs tied with the best of their column are that, shape (games, n, n)."""
    best = payoffs.max(axis=1, keepdims=True)
    return np.where(payoffs >= best - near(payoffs), best, payoffs)


def scaled(payoffs: Floats) -> Floats:
    """Games with the same equilibria on one scale.

    What a column adds to all alike tempts nobody, so each column's best payoff becomes 0.
    The unit is the power of ten that makes the largest spread within a column at least 1 and less
    than 10, and what is left is rounded to 11 decimals: whole numbers and decimals keep their
    exact relations, rounding errors vanish, and the regret of a mixture moves by less than 1e-11.
    A game without spread becomes all zeros.

    Args:
        payoffs: shape (games, n, n).

    Returns:
        The scaled payoffs, in (-10, 0].
    """
    centred = payoffs - payoffs.max(axis=1, keepdims=True)
    spread = -centred.min(axis=(1, 2), initial=0.0)
    even = spread <= NOISE * np.abs(payoffs).max(axis=(1, 2), initial=0.0)
    units = 10 ** np.floor(np.log10(np.where(even, 1.0, spread)))
    centred[even] = 0.0
    return np.asarray(np.rint(centred / units[:, None, None] * GRID) / GRID)
