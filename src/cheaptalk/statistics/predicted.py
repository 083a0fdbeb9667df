"""Means that a regression predicts: cells compared over one distribution of configurations."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import polars as pl

from cheaptalk.statistics.arrays import FloatArray
from cheaptalk.statistics.design_matrix import Design
from cheaptalk.statistics.errors import StatisticsError
from cheaptalk.statistics.printout import printed
from cheaptalk.statistics.regression import Regression


@dataclass(frozen=True, eq=False)
class PredictedMeans:
    """Predicted means of the cells of some factors.

    Attributes:
        regression: whose predictions they are.
        over: what the other factors are averaged over, in words.
        frame: one row a cell: a column for each factor of the cells, then ``estimate``, ``error``,
            ``low``, ``high`` (null where not defined) and ``interval`` (the label).
    """

    regression: Regression
    over: str
    frame: pl.DataFrame = field(repr=False)

    def __str__(self) -> str:
        """The means as a table."""
        fit = self.regression
        head = f"{fit.outcome} predicted over {self.over}\nIntervals: {fit.label}"
        return printed(head, self.frame.drop("interval"), fit.notes)


def predicted_means(
    regression: Regression,
    by: Sequence[str] = (),
    *,
    configurations: pl.DataFrame | None = None,
    weight: str | None = None,
) -> PredictedMeans:
    """The mean outcome of each cell, had all cells met the same configurations.

    A cell's raw mean mixes what its players do with the configurations they happened to meet. Here
    every other factor has one distribution for all cells: that of the regression's own rows, or
    that of other configurations, to ask how agents would fare where, say, inflation is high (000,
    footnote 11). Intervals hold that distribution fixed.

    Args:
        by: factors of the regression whose combinations of levels are the cells; none: one mean.
        configurations: a row for each configuration to average over, with the columns of one or
            more of the other factors; factors whose columns it lacks keep the distribution they
            have in the regression's rows, and ``over`` says which.
        weight: the column of ``configurations`` that says how often each occurs, >= 0; all alike
            without one.

    Raises:
        StatisticsError: ``configurations`` has a level that the regression does not know.
        ValueError: there is no such factor, or weights make no sense.
    """
    design = regression.design
    for name in by:
        design.columns(name)  # refuses what is no factor
    cells = [next(one for one in design.factors if one.name == name) for name in by]
    shares, over = design.active_shares(), "its own configurations"
    if configurations is not None:
        shares, over = _reweighted(design, shares, by, configurations, weight)
    elif weight is not None:
        raise ValueError("A weight is a column of configurations, and there are none")
    combinations = list(product(*(factor.levels for factor in cells)))
    weights = np.tile(shares, (len(combinations), 1))
    for row, levels in zip(weights, combinations, strict=True):
        for factor, level in zip(cells, levels, strict=True):
            columns = design.columns(factor.name)
            row[columns] = [float(level == other) for other in factor.others]
    names = pl.DataFrame(combinations, schema=dict.fromkeys(by, pl.String), orient="row")
    means = regression.estimates(weights)
    labelled = (names.hstack(means) if by else means).with_columns(
        interval=pl.lit(regression.label)
    )
    return PredictedMeans(regression, over, labelled)


def _reweighted(
    design: Design,
    shares: FloatArray,
    by: Sequence[str],
    configurations: pl.DataFrame,
    weight: str | None,
) -> tuple[FloatArray, str]:
    """The shares of each column among weighted configurations, and what they are in words."""
    weights = _weights(configurations, weight)
    changed, kept = shares.copy(), []
    for factor in design.factors:
        if factor.name in by:
            continue
        if not set(factor.columns) <= set(configurations.columns):
            kept.append(factor.name)
            continue
        codes = factor.codes(configurations)
        found = np.bincount(codes + 1, weights, minlength=len(factor.others) + 1)
        changed[design.columns(factor.name)] = found[1:] / weights.sum()
    own = f", {' and '.join(kept)} as in its own rows" if kept else ""
    return changed, f"{len(configurations)} given configurations{own}"


def _weights(configurations: pl.DataFrame, weight: str | None) -> FloatArray:
    if configurations.is_empty():
        raise StatisticsError("there are no configurations to average over")
    if weight is None:
        return np.ones(len(configurations))
    if weight not in configurations.columns:
        raise ValueError(f'configurations have no column "{weight}" of weights')
    weights = configurations[weight].cast(pl.Float64).to_numpy()
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise ValueError(f'The weights in "{weight}" must be >= 0, and not all 0')
    return np.asarray(weights, dtype=np.float64)
