"""Compute metrics at an equilibrium and against it.

With x the mixture of a symmetric equilibrium and M the matrix of a metric's means, strategy i has
the value (M x)_i against x, and the equilibrium has the value x' M x (item bargaining, sections 3.3
to 3.5).
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from cheaptalk.equilibrium.solvers.payoffs import Floats
from cheaptalk.frames.reader import places_in


@dataclass(frozen=True)
class EquilibriumMetric:
    """A match metric with its presentation at equilibrium.

    Attributes:
        name: the name in tables.
        metric: the column of the frame of matches.
        scale: the divisor of means, > 0.
        undefined: the value of cells whose matches all lack the metric, for example EF1 without an
            agreement; None ignores such cells, and the weights of the others then sum to 1.
    """

    name: str
    metric: str
    scale: float = 1.0
    undefined: float | None = None

    def scaled(self, means: Floats) -> Floats:
        """Return the metric's cell means, scaled and with undefined cells replaced."""
        values = means / self.scale
        return (
            values if self.undefined is None else np.where(np.isnan(values), self.undefined, values)
        )


def against(values: Floats, mixtures: Floats) -> Floats:
    """Return each strategy's mean value against a mixture, the sum over j of x_j V_ij.

    Undefined cells (NaN) are ignored, and the weights of the others are normalised to sum to 1. The
    result is NaN if all cells are undefined.

    Args:
        values: shape (..., n, n).
        mixtures: shape (..., n).

    Returns:
        Shape (..., n).
    """
    return _weighed(values, mixtures[..., None, :], (-1,))


def at_equilibrium(values: Floats, mixtures: Floats) -> Floats:
    """Return the mean value if both players use a mixture, the sum of x_i x_j V_ij.

    Undefined cells are ignored as in :func:`against`.

    Args:
        values: shape (..., n, n).
        mixtures: shape (..., n).

    Returns:
        Shape (...).
    """
    return _weighed(values, mixtures[..., :, None] * mixtures[..., None, :], (-2, -1))


def _weighed(values: Floats, weights: Floats, axes: tuple[int, ...]) -> Floats:
    defined = np.isfinite(values)
    total = (np.where(defined, values, 0) * weights).sum(axis=axes)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / (defined * weights).sum(axis=axes))


def regrets(payoffs: Floats, mixtures: Floats) -> Floats:
    """Return each strategy's regret: the mixture's payoff minus the strategy's.

    u(x, x) - u(i, x), in payoff units: at an equilibrium >= 0, and 0 for strategies in the support
    (item bargaining, section 3.3).

    Args:
        payoffs: shape (..., n, n).
        mixtures: shape (..., n).

    Returns:
        Shape (..., n).
    """
    strategy_payoffs = np.einsum("...ij,...j->...i", payoffs, mixtures)
    return np.asarray(
        np.einsum("...i,...i->...", strategy_payoffs, mixtures)[..., None] - strategy_payoffs
    )


def sided(frame: pl.DataFrame, metric: str, name: str) -> pl.DataFrame:
    """Add a metric of both seats in the orientation of a symmetric game's cells.

    Symmetric games combine both orders of two players into one cell (see :class:`.EmpiricalGame`),
    whose row is the player whose label comes first. A player against itself has the mean of both
    seats' defined values.

    Args:
        frame: the matches of a game with two seats, as :func:`.match_frames` returns them.
        metric: the first part of the columns ``METRIC_SEAT``, such as ``utility_given``.
        name: the name of the metric; :func:`names_of` returns the new columns.

    Raises:
        ValueError: the frame doesn't have exactly two seats, or lacks the columns.
    """
    seats = places_in(frame)
    columns = [f"{metric}_{seat}" for seat in seats]
    absent = [column for column in columns if column not in frame.columns]
    if len(seats) != 2 or absent:
        raise ValueError(
            f"Both of 2 seats need a column of {metric}; the frame has {len(seats)} seats"
            + (f" and no column {absent[0]}" if absent else "")
        )
    row_player, column_player = (pl.col(f"player_{seat}") for seat in seats)
    row_value, column_value = map(pl.col, columns)
    mean_value = pl.mean_horizontal(row_value, column_value)
    pair, swapped = (row_value, column_value), (column_value, row_value)
    return frame.with_columns(
        pl.when(row_player == column_player)
        .then(mean_value)
        .when(row_player > column_player)
        .then(second)
        .otherwise(first)
        .alias(new_column)
        for new_column, first, second in zip(names_of(name), pair, swapped, strict=True)
    )


def names_of(name: str) -> tuple[str, str]:
    """Return the columns that :func:`sided` adds: the row's and the column's."""
    return f"{name}, row", f"{name}, column"


def by_row(row: Floats, column: Floats) -> Floats:
    """Return the matrix of each strategy's values against each from both metrics of a game.

    Args:
        row, column: the means of the columns of :func:`sided` in the cells, shape (..., n, n).

    Returns:
        Shape (..., n, n); NaN if undefined.
    """
    return np.asarray(np.triu(row) + np.tril(column, -1))
