"""What is measured at an equilibrium: how each strategy fares against it, and how its players do.

With x the mixture of a symmetric equilibrium and M the matrix of a value's means, strategy i is
measured against x by (M x)_i, and the equilibrium itself by x' M x (item bargaining, sections 3.3
to 3.5).
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from cheaptalk.equilibrium.solvers.payoffs import Floats
from cheaptalk.frames.reader import places_in


@dataclass(frozen=True)
class Metric:
    """A measure of matches, as it is reported at equilibrium.

    Attributes:
        name: in tables.
        measure: the column of the frame of matches.
        scale: what means are divided by, > 0.
        undefined: what a cell counts as where the measure is undefined in all its matches, as is
            EF1 without an agreement; None leaves such cells out, and the others' weights then
            sum to 1.
    """

    name: str
    measure: str
    scale: float = 1.0
    undefined: float | None = None

    def of(self, means: Floats) -> Floats:
        """The measure's means in cells, as they are reported."""
        scaled = means / self.scale
        return (
            scaled if self.undefined is None else np.where(np.isnan(scaled), self.undefined, scaled)
        )


def against(values: Floats, mixtures: Floats) -> Floats:
    """The mean of a value for each strategy that meets a mixture, the sum over j of x_j V_ij.

    Undefined cells (NaN) are left out and the others' weights made to sum to 1; NaN where nothing
    is left.

    Args:
        values: shape (..., n, n).
        mixtures: shape (..., n).

    Returns:
        Shape (..., n).
    """
    return _weighed(values, mixtures[..., None, :], (-1,))


def at_equilibrium(values: Floats, mixtures: Floats) -> Floats:
    """The mean of a value where both players draw from a mixture, the sum of x_i x_j V_ij.

    Undefined cells are left out as in :func:`against`.

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
    """How much less each strategy gets against a mixture than the mixture does.

    u(x, x) - u(i, x), in payoff units: at an equilibrium >= 0, and 0 for those that are played
    (002, section 3.3).

    Args:
        payoffs: shape (..., n, n).
        mixtures: shape (..., n).

    Returns:
        Shape (..., n).
    """
    gets = np.einsum("...ij,...j->...i", payoffs, mixtures)
    return np.asarray(np.einsum("...i,...i->...", gets, mixtures)[..., None] - gets)


def sided(frame: pl.DataFrame, measure: str, name: str) -> pl.DataFrame:
    """A frame with a measure of each seat turned the way cells of a symmetric game are.

    Such games put both orders of two players into one cell (see :class:`.EmpiricalGame`): the row
    is the player whose label comes first. A player against itself has the mean of both seats, of
    one where the other's is undefined.

    Args:
        frame: of a game of two places, as :func:`.match_frames` makes it.
        measure: what the columns ``MEASURE_PLACE`` begin with, such as ``utility_given``.
        name: of the new columns, :func:`names_of` it.

    Raises:
        ValueError: the frame has not exactly two places, or lacks the columns.
    """
    places = places_in(frame)
    columns = [f"{measure}_{place}" for place in places]
    absent = [one for one in columns if one not in frame.columns]
    if len(places) != 2 or absent:
        raise ValueError(
            f"Each of 2 places needs a column of {measure}; the frame has {len(places)} places"
            + (f" and no column {absent[0]}" if absent else "")
        )
    first, second = (pl.col(f"player.{place}") for place in places)
    gives, other = map(pl.col, columns)
    own = pl.mean_horizontal(gives, other)
    return frame.with_columns(
        pl.when(first == second).then(own).when(first > second).then(late).otherwise(early)
        .alias(made)
        for made, early, late in zip(names_of(name), (gives, other), (other, gives), strict=True)
    )  # fmt: skip


def names_of(name: str) -> tuple[str, str]:
    """What the columns of :func:`sided` are called: the row's, then the column's."""
    return f"{name}, row", f"{name}, column"


def by_row(row: Floats, column: Floats) -> Floats:
    """The matrix of what each strategy has against each, from both measures of an empirical game.

    Args:
        row, column: the means of the columns of :func:`sided` in the cells, shape (..., n, n).

    Returns:
        Shape (..., n, n); NaN where a strategy has none.
    """
    return np.asarray(np.triu(row) + np.tril(column, -1))
