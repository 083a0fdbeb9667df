"""Metrics of both players at an equilibrium, and of each strategy against the equilibrium.

With x the mixture of a symmetric equilibrium and M the matrix of a metric's means, strategy i has
the value (M x)_i against x, and the equilibrium has the value x' M x (item bargaining, sections 3.3
to 3.5).
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from cheaptalk.equilibrium.solvers.payoffs import Floats
from cheaptalk.frames.reader import places_in
from cheaptalk.rules.errors import WrongValue


@dataclass(frozen=True)
class EquilibriumMetric:
    """A match metric to evaluate at equilibrium, with its title and scale.

    Attributes:
        scale: the divisor of means, > 0.
        undefined: the value of cells whose matches all lack the metric, for example EF1 without an
            agreement; None ignores such cells, and the weights of the others then sum to 1.
    """

    name: str
    metric: str
    scale: float = 1.0
    undefined: float | None = None

    def scaled(self, means: Floats) -> Floats:
        """Return cell means divided by the scale, with a fixed value for undefined cells."""
        values = means / self.scale
        if self.undefined is None:
            return values
        return np.where(np.isnan(values), self.undefined, values)


def against(values: Floats, mixtures: Floats) -> Floats:
    """Return each strategy's mean value against a mixture, the sum over j of x_j V_ij.

    Undefined cells (NaN) are ignored, and the other weights are rescaled to sum to 1. The result is
    NaN if all cells are undefined. Values have shape (..., n, n), mixtures (..., n).
    """
    return _weighed(values, mixtures[..., None, :], (-1,))


def at_equilibrium(values: Floats, mixtures: Floats) -> Floats:
    """Return the mean value if both play a mixture, the sum of x_i x_j V_ij, ignoring NaN."""
    return _weighed(values, mixtures[..., :, None] * mixtures[..., None, :], (-2, -1))


def _weighed(values: Floats, weights: Floats, axes: tuple[int, ...]) -> Floats:
    defined = np.isfinite(values)
    total = (np.where(defined, values, 0) * weights).sum(axis=axes)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / (defined * weights).sum(axis=axes))


def regrets(payoffs: Floats, mixtures: Floats) -> Floats:
    """Return each strategy's regret: the mixture's payoff minus the strategy's, shape (..., n).

    u(x, x) - u(i, x), in payoff units: at an equilibrium >= 0, and 0 for strategies in the support
    (item bargaining, section 3.3).
    """
    by_strategy = np.einsum("...ij,...j->...i", payoffs, mixtures)
    return np.asarray(np.einsum("...i,...i->...", by_strategy, mixtures)[..., None] - by_strategy)


def sided(frame: pl.DataFrame, metric: str, name: str) -> pl.DataFrame:
    """Add columns (see :func:`names_of`) with a metric of the row and of the column player.

    Symmetric games combine both orders of two players into one cell (see :class:`.EmpiricalGame`).
    The row of the cell is the player whose label comes first. A player against itself has the mean
    of both seats' defined values. The metric's values are in the columns ``METRIC_SEAT``, such as
    ``utility_given_alice``.

    Raises:
        WrongValue: the frame doesn't have exactly two seats, or lacks these columns.
    """
    seats = places_in(frame)
    columns = [f"{metric}_{seat}" for seat in seats]
    absent = [column for column in columns if column not in frame.columns]
    if len(seats) != 2 or absent:
        raise WrongValue(
            f"{metric} needs a column for each of 2 seats; the frame has {len(seats)} seats"
            + (f" and no column {absent[0]}" if absent else "")
        )
    row_player, column_player = (pl.col(f"player_{seat}") for seat in seats)
    selfplay = pl.when(row_player == column_player).then(pl.mean_horizontal(columns))
    return frame.with_columns(
        selfplay.when(row_player > column_player).then(second).otherwise(first).alias(new_column)
        for new_column, first, second in zip(names_of(name), columns, columns[::-1], strict=True)
    )


def names_of(name: str) -> tuple[str, str]:
    """Return the names of the columns with a metric of the row and of the column player."""
    return f"{name}, row", f"{name}, column"


def by_row(row: Floats, column: Floats) -> Floats:
    """Combine cell means of the row and the column player into a matrix, shape (..., n, n)."""
    return np.asarray(np.triu(row) + np.tril(column, -1))
