"""Validation and scaling of the payoff matrices of symmetric games."""

from collections.abc import Sequence, Sized
from typing import Any

import numpy as np
import numpy.typing as npt

from cheaptalk.printing.printout import Printout
from cheaptalk.rules import CheaptalkError, WrongValue, counted
from cheaptalk.rules.display import cell_text

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

GRID = 1e11
"""Scaled payoffs are integer multiples of the inverse of this number."""
LARGEST = 1e300
"""The largest absolute payoff, whose inverse is the smallest, so that sums and quotients don't
overflow."""
TIE = 1e-9
"""Payoffs tie if they differ by at most this share of the game's largest."""
NOISE = 1e-12
"""Differences below this share of the largest payoff count as rounding errors."""


class EquilibriumError(CheaptalkError):
    """Raised if a solver finds no equilibrium or cannot verify its solution."""


def payoffs_printout(
    title: str, rows: Sequence[str], columns: Sequence[str], *matrices: Floats
) -> Printout:
    """Return payoffs as a table: numbers, or for two players, pairs of numbers."""
    lists = [matrix.tolist() for matrix in matrices]
    cells = [
        (row, *(_payoff_cell(payoffs) for payoffs in zip(*lines, strict=True)))
        for row, *lines in zip(rows, *lists, strict=True)
    ]
    return Printout(title, ["", *columns], cells if lists else [])


def _payoff_cell(payoffs: tuple[float, ...]) -> object:
    return payoffs[0] if len(payoffs) == 1 else ", ".join(map(cell_text, payoffs))


def symmetric_payoffs(payoffs: npt.ArrayLike) -> Floats:
    """Return payoffs as an (n, n) float matrix; raise ValueError unless square and finite."""
    matrix = _numbers(payoffs)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise WrongValue(
            f"payoffs of a symmetric game form a square matrix, not shape {matrix.shape}; "
            "leave out strategies that lack a row or a column"
        )
    return matrix


def many_payoffs(payoffs: npt.ArrayLike) -> Floats:
    """Return the payoffs of many symmetric games of equal size, shape (games, n, n)."""
    matrices = _numbers(payoffs)
    if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2] or not matrices.shape[1]:
        raise WrongValue(
            "payoffs of many symmetric games are an array of shape (games, n, n), "
            f"not {matrices.shape}"
        )
    return matrices


def as_numbers(values: npt.ArrayLike, what: str = "payoffs") -> Floats:
    """Return an array of floats; raise WrongValue for text or rows of unequal length."""
    try:
        return np.asarray(values).astype(np.float64)
    except (TypeError, ValueError):
        raise WrongValue(f"{what} must be a matrix of numbers; {_fault(values)}") from None


def _numbers(payoffs: npt.ArrayLike) -> Floats:
    numbers = as_numbers(payoffs)
    missing = np.argwhere(~usable(numbers))
    if missing.size and numbers.ndim > 1:
        *game, row, column = missing[0].tolist()
        payoff = numbers[(*game, row, column)]
        raise WrongValue(
            f"the payoff of strategy {row} against strategy {column}"
            f"{f' in game {game[0]}' if game else ''} is {payoff}; "
            f"{beyond_reckoning(payoff) or 'play that pair, or leave one of the two out'}"
        )
    return numbers


def usable(payoffs: npt.ArrayLike) -> Flags:
    """Return which payoffs are zero, or neither too large nor too small to compute with."""
    sizes = np.abs(np.asarray(payoffs, dtype=np.float64))
    return np.asarray((sizes == 0) | ((sizes >= 1 / LARGEST) & (sizes <= LARGEST)))


def beyond_reckoning(payoff: float) -> str | None:
    """Return advice on a payoff that is too large or too small to compute with; otherwise None."""
    if usable(payoff) or not np.isfinite(payoff):
        return None
    if abs(payoff) < 1:
        return f"the minimum size is {1 / LARGEST:g}; multiply all payoffs by the same number"
    return f"the maximum size is {LARGEST:g}; divide all payoffs by the same number"


def _fault(payoffs: Any) -> str:
    sizes = [len(row) if isinstance(row, Sized) else 0 for row in payoffs]
    for row, size in enumerate(sizes):
        if size != sizes[0]:
            return f"row 0 has {counted(sizes[0], 'number')}, and row {row} has {size}"
    for value in np.ravel(np.array(payoffs, dtype=object)):
        try:
            float(value)
        except (TypeError, ValueError):
            return f"{value!r} is not a number"
    return "the rows have different shapes"


def near(payoffs: Floats) -> Floats:
    """Return the tolerance for ties between each game's payoffs, shape (games, 1, 1)."""
    return np.asarray(TIE * np.abs(payoffs).max(axis=(1, 2), keepdims=True))


def levelled(payoffs: Floats) -> Floats:
    """Set payoffs within the tie tolerance of their column's maximum to that maximum."""
    column_maximum = payoffs.max(axis=1, keepdims=True)
    return np.where(payoffs >= column_maximum - near(payoffs), column_maximum, payoffs)


def scaled(payoffs: Floats) -> Floats:
    """Return games rescaled to a common unit, with the same equilibria and payoffs in (-10, 0].

    Each column's best payoff becomes 0, which leaves best responses unchanged. The unit is the
    power of ten for which the largest spread within a column is at least 1 and less than 10.
    Results are rounded to 11 decimals: integers and decimals keep their exact relations, rounding
    errors vanish, and the regret of a mixture changes by less than 1e-11. A game without spread
    becomes all zeros.
    """
    centred = payoffs - payoffs.max(axis=1, keepdims=True)
    spread = -centred.min(axis=(1, 2), initial=0.0)
    even = spread <= NOISE * np.abs(payoffs).max(axis=(1, 2), initial=0.0)
    units = 10 ** np.floor(np.log10(np.where(even, 1.0, spread)))
    centred[even] = 0.0
    return np.asarray(np.rint(centred / units[:, None, None] * GRID) / GRID)
