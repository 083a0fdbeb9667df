"""The game of choosing models: who would send which one, and how sure that is.

GLEE (*A Unified Framework and Benchmark for Language-based Economic Environments*, footnote 13)
names, for each family of games, the pairs of models from which neither side would switch alone,
given what each pair's members gained. Here each comes with its regrets, and with how often it holds
when matches are drawn again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cheaptalk.equilibrium.solvers.dominance import MARGIN
from cheaptalk.equilibrium.solvers.payoffs import Flags, Floats
from cheaptalk.equilibrium.solvers.profiles import Profile, checked, pure_profiles, unit_spread
from cheaptalk.rules.display import Printed

WORTH_A_LINE = 0.01
"""Profiles with less support are not printed unless they are equilibria of the estimates."""


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class ModelChoice(Printed):
    """Pure equilibria of the choice of models.

    Attributes:
        rows, columns: the models that either side may send.
        equilibria: the pure equilibria of the estimates, with payoffs and regrets, row by row.
        support: the share of draws in which each pair is a pure equilibrium, shape (m, n); None
            without draws.
        without: the share of draws that have no pure equilibrium; None without draws.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    equilibria: tuple[Profile, ...]
    support: Floats | None
    without: float | None

    def __str__(self) -> str:
        """The equilibria of the estimates, then other pairs by how often they are one."""
        cells = [(int(one.row.argmax()), int(one.column.argmax())) for one in self.equilibria]
        lines = [self._line(i, j, "an equilibrium") for i, j in cells]
        if self.support is not None:
            seen = [(int(i), int(j)) for i, j in np.argwhere(self.support >= WORTH_A_LINE)]
            seen.sort(key=self.support.__getitem__, reverse=True)
            lines += [self._line(i, j, "no equilibrium") for i, j in seen if (i, j) not in cells]
            lines.append(f"no pure equilibrium in {self.without:.1%} of draws")
        return "\n".join(lines or ["no pure equilibrium"])

    def _line(self, i: int, j: int, verdict: str) -> str:
        drawn = "" if self.support is None else f", one in {self.support[i, j]:.1%} of draws"
        return f"({self.rows[i]}, {self.columns[j]}): {verdict} of the estimates{drawn}"


def model_choice(
    a: ArrayLike,
    b: ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    draws: tuple[ArrayLike, ArrayLike] | None = None,
) -> ModelChoice:
    """Pure equilibria of the game in which either side chooses the model that plays for it.

    Args:
        a: what the row's model gains in each pair, shape (m, n).
        b: what the column's model gains.
        rows: the models of the rows.
        columns: those of the columns.
        draws: the same over bootstrap draws, both of shape (draws, m, n).

    Raises:
        ValueError: shapes or names do not fit, or a number is not finite.

    >>> print(model_choice([[3, 0], [0, 2]], [[2, 0], [0, 3]], ["x", "y"], ["x", "y"]))
    (x, x): an equilibrium of the estimates
    (y, y): an equilibrium of the estimates
    """
    a, b = checked(a, b)
    if a.shape != (len(rows), len(columns)):
        raise ValueError(f"payoffs of shape {a.shape} need so many names, not {len(rows)} "
                         f"and {len(columns)}")  # fmt: skip
    support, without = None, None
    if draws is not None:
        drawn = checked(*draws, dimensions=3)
        if drawn[0].shape[1:] != a.shape:
            raise ValueError(f"draws must have shape (draws, *{a.shape}), not {drawn[0].shape}")
        cells = np.logical_and(*best_replies(*drawn))
        support = cells.mean(axis=0)
        without = float(1 - cells.any(axis=(1, 2)).mean())
    equilibria = pure_profiles(a, b, np.logical_and(*best_replies(a[None], b[None]))[0])
    return ModelChoice(tuple(rows), tuple(columns), equilibria, support, without)


def best_replies(a: Floats, b: Floats) -> Flags:
    """Which strategies are best replies, ties too; of many games at once.

    Means of the same matches may differ by rounding. What a side would gain by less than 1e-9 of
    the spread of its payoffs tempts nobody here.

    Args:
        a: the row players' payoffs, shape (K, m, n).
        b: the column players', of the same shape.

    Returns:
        Of rows to columns, then of columns to rows, shape (2, K, m, n); pure equilibria are both.
    """
    turned = unit_spread(np.swapaxes(b, 1, 2))
    return np.stack([unit_spread(a) >= -MARGIN, np.swapaxes(turned, 1, 2) >= -MARGIN])
