"""The game of choosing models: its pure equilibria and their uncertainty.

GLEE (*A Unified Framework and Benchmark for Language-based Economic Environments*, footnote 13)
lists, for each game family, the pairs of models from which neither side gains by switching
unilaterally. This module adds their regrets and their frequencies in bootstrap draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cheaptalk.equilibrium.solvers.payoffs import Flags, Floats
from cheaptalk.equilibrium.solvers.profiles import Profile, checked, pure_profiles, unit_spread
from cheaptalk.equilibrium.solvers.supports import MARGIN
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.rules.errors import WrongValue

WORTH_A_LINE = 0.01
"""The minimum support of printed profiles that aren't equilibria of the estimates."""


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class ModelChoice(Printed):
    """Pure equilibria of the game in which each side chooses a model.

    Attributes:
        equilibria: the pure equilibria of the estimates, with payoffs and regrets, row by row.
        support: the share of draws in which each pair is a pure equilibrium, shape (m, n); None
            without draws.
        without: the share of draws without a pure equilibrium; None without draws.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    equilibria: tuple[Profile, ...]
    support: Floats | None
    without: float | None

    def printout(self) -> Printout:
        cells = {(int(item.row.argmax()), int(item.column.argmax())) for item in self.equilibria}
        shares = None if self.support is None else self.support.tolist()
        rows = [
            (row, column, (i, j) in cells, None if shares is None else shares[i][j])
            for i, row in enumerate(self.rows)
            for j, column in enumerate(self.columns)
        ]
        columns = ["row", "column", "equilibrium", "share of draws"]
        return Printout("Pure equilibria of the choice of models", columns, rows)

    def __str__(self) -> str:
        cells = [(int(item.row.argmax()), int(item.column.argmax())) for item in self.equilibria]
        lines = [self._line(i, j, "an equilibrium") for i, j in cells]
        if self.support is not None:
            frequent = [(int(i), int(j)) for i, j in np.argwhere(self.support >= WORTH_A_LINE)]
            frequent.sort(key=self.support.__getitem__, reverse=True)
            others = [cell for cell in frequent if cell not in cells]
            lines += [self._line(i, j, "no equilibrium") for i, j in others]
            lines.append(f"no pure equilibrium in {self.without:.1%} of draws")
        return "\n".join(lines or ["no pure equilibrium"])

    def _line(self, i: int, j: int, verdict: str) -> str:
        share = (
            "" if self.support is None else f"; an equilibrium in {self.support[i, j]:.1%} of draws"
        )
        return f"({self.rows[i]}, {self.columns[j]}): {verdict} of the estimates{share}"


def model_choice(
    a: ArrayLike,
    b: ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    draws: tuple[ArrayLike, ArrayLike] | None = None,
) -> ModelChoice:
    """Return the pure equilibria of the game in which each side chooses its model.

    Args:
        a: the gain of the row's model in each pair, shape (m, n).
        b: the gain of the column's model, of the same shape.
        rows: the models that the row side can choose.
        columns: the models that the column side can choose.
        draws: the same two arrays over bootstrap draws, each of shape (draws, m, n).

    Raises:
        WrongValue: shapes or names do not fit, or a number is not finite.

    >>> print(model_choice([[3, 0], [0, 2]], [[2, 0], [0, 3]], ["x", "y"], ["x", "y"]))
    (x, x): an equilibrium of the estimates
    (y, y): an equilibrium of the estimates
    """
    a, b = checked(a, b)
    if a.shape != (len(rows), len(columns)):
        raise WrongValue(
            f"payoffs of shape {a.shape} need as many names of rows and columns, "
            f"not {len(rows)} and {len(columns)}"
        )
    support, without = None, None
    if draws is not None:
        samples = checked(*draws, dimensions=3)
        if samples[0].shape[1:] != a.shape:
            raise WrongValue(f"draws must have shape (draws, *{a.shape}), not {samples[0].shape}")
        cells = np.logical_and(*best_responses(*samples))
        support = cells.mean(axis=0)
        without = float(1 - cells.any(axis=(1, 2)).mean())
    equilibria = pure_profiles(a, b, np.logical_and(*best_responses(a[None], b[None]))[0])
    return ModelChoice(tuple(rows), tuple(columns), equilibria, support, without)


def best_responses(a: Floats, b: Floats) -> Flags:
    """Return masks of both players' best responses, including ties, in K games; shape (2, K, m, n).

    Gains below 1e-9 of the spread of a side's payoffs count as rounding errors.
    """
    turned = unit_spread(np.swapaxes(b, 1, 2))
    return np.stack([unit_spread(a) >= -MARGIN, np.swapaxes(turned, 1, 2) >= -MARGIN])
