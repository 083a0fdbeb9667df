"""Measures that each seat has of its own, as what the row has of it and what the column has."""

import numpy as np
import polars as pl

from cheaptalk.equilibrium.payoffs import Floats


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
    places = [one.removeprefix("player.") for one in frame.columns if one.startswith("player.")]
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
