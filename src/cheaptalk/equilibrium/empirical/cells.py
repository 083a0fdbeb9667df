"""Cells of empirical games: matches of two players, summed by instance for resampling."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
import polars as pl

from cheaptalk.equilibrium.solvers.payoffs import Floats, Integers
from cheaptalk.records.exports.columns import PARAMETER
from cheaptalk.statistics import INSTANCES

Key: TypeAlias = tuple[int, int]
"""Row and column of a cell."""
CELL = ("sample", "row", "column")
SHARED = 0.5
"""The minimum share of the smaller cell's instances for two cells to count as sharing them."""
EMPTY = 1e-6
"""The maximum probability that a draw leaves a cell without instances."""
PAYOFFS = ("row's payoff", "column's payoff")
"""The first two values of every cell; metrics follow."""


class CellName(NamedTuple):
    """The labels of a cell's players, and the name of its game in a mixture."""

    row: str
    column: str
    sample: str = ""

    def __str__(self) -> str:
        return f"{self.row} / {self.column}" + f" in {self.sample}" * bool(self.sample)


@dataclass(frozen=True, eq=False, slots=True)
class Cell:
    """The matches of two players, summed by instance; 0 matches for given payoffs.

    The mean of a value is the sum of ``sums`` over the sum of ``weights``. Matches have equal
    weights, except that both orders of the seats have the same total weight. Both arrays have shape
    (instances, values), with the row's payoff, the column's payoff, and metrics. ``instances``
    contains the instances' numbers in the sample.
    """

    sums: Floats
    weights: Floats
    instances: Integers
    matches: int
    one_sided: bool = False

    def means(self, times: Floats) -> Floats:
        """Return means over instances repeated ``times``, shape (..., values); NaN if undefined."""
        size = self.sums.shape[1]
        totals = times @ np.hstack([self.sums, self.weights])
        with np.errstate(invalid="ignore"):
            return np.asarray(totals[..., :size] / totals[..., size:])

    @property
    def mean(self) -> Floats:
        """Return the mean of each value, shape (values,)."""
        return self.means(np.ones(len(self.instances)))

    @property
    def deviations(self) -> Floats:
        """Return each instance's deviation from the means, shape (instances, values).

        The mean square of the deviations is the variance of an instance.
        """
        share = self.weights.mean(axis=0)
        excess = self.sums - self.mean * self.weights
        return np.asarray(excess / np.where(share > 0, share, np.nan))

    @property
    def skewness(self) -> float:
        """Return the squared skewness of payoffs over instances, averaged over both players."""
        deviations = self.deviations[:, : len(PAYOFFS)]
        squares = (deviations**2).mean(axis=0)
        varied = squares > 0
        skews = (deviations[:, varied] ** 3).mean(axis=0) / squares[varied] ** 1.5
        return float((skews**2).mean()) if varied.any() else 0.0


@dataclass(frozen=True, eq=False)
class GameSample:
    """The matches of one game among several players, by row and column.

    The name is empty if there is only one game; ``instances`` counts distinct instances.
    """

    name: str
    instances: int
    cells: Mapping[Key, Cell] = field(repr=False)

    @property
    def share_instances(self) -> bool:
        """Whether any two cells share at least half of the smaller cell's instances.

        Cells so small that a draw could leave them without instances don't count as sharing.
        """
        played = self.played
        sizes = played.sum(axis=1)
        enough = played @ played.T >= SHARED * np.minimum.outer(sizes, sizes)
        missed = (1 - sizes / self.instances) ** self.instances
        return bool(enough.all() and (sizes >= 2).all() and (missed <= EMPTY).all())

    @property
    def played(self) -> Floats:
        """Return 1 for each instance that a cell includes, else 0; shape (cells, instances)."""
        played_flags = np.zeros((len(self.cells), self.instances))
        for index, cell in enumerate(self.cells.values()):
            played_flags[index, cell.instances] = 1
        return played_flags


def sample_of_payoffs(a: Floats, b: Floats, keys: Iterable[Key]) -> GameSample:
    """Return a sample with given payoffs instead of matches."""
    weights, instances = np.ones((1, 2)), np.zeros(1, dtype=np.int64)
    cells = {key: Cell(np.array([[a[key], b[key]]]), weights, instances, matches=0) for key in keys}
    return GameSample("", 0, cells)


def named(frame: pl.DataFrame, by: str | None) -> pl.Expr:
    """Return a Polars expression for the name of each match's game.

    Configurations are named by the parameters in which they differ, such as ``rounds=3``, if these
    are unique. Otherwise, names are the values of the column ``by``.
    """
    if by is None:
        return pl.lit("")
    differing = [
        name for name in frame.columns if name.startswith(PARAMETER) and frame[name].n_unique() > 1
    ]
    if by == "configuration" and differing:
        parts = [
            pl.lit(f"{name.removeprefix(PARAMETER)}=")
            + pl.col(name).cast(pl.String).fill_null("none")
            for name in differing
        ]
        words = pl.concat_str(parts, separator=", ")
        pairs = frame.select(words.alias("words"), by)
        if pairs.n_unique() == pairs["words"].n_unique() == pairs[by].n_unique():
            return words
    return pl.col(by).cast(pl.String)


def samples_of(
    frame: pl.DataFrame,
    seats: Sequence[str],
    rows: Sequence[str],
    columns: Sequence[str],
    metrics: Sequence[str],
    by: str | None,
    *,
    swap: bool,
) -> tuple[GameSample, ...]:
    """Return the cells of each game in a frame of scored matches.

    Rows and columns are numbered in the order of their labels. With ``swap``, both orders of two
    players form one cell, with the lower number as row, and a player against itself has the mean of
    both seats.
    """
    row, column = (
        pl.col(f"player_{seat}").replace_strict(labels, range(len(labels)), return_dtype=pl.Int64)
        for seat, labels in zip(seats, (rows, columns), strict=True)
    )
    row_payoff, column_payoff = (pl.col(f"payoff_{seat}") for seat in seats)
    turned, mean_payoff = row > column, (row_payoff + column_payoff) / 2
    if not swap:
        turned = pl.lit(False)
    else:
        alike = row == column
        row_payoff, column_payoff = (
            pl.when(alike).then(mean_payoff).when(turned).then(late).otherwise(early)
            for early, late in ((row_payoff, column_payoff), (column_payoff, row_payoff))
        )
        row, column = pl.min_horizontal(row, column), pl.max_horizontal(row, column)
    values = dict(zip(PAYOFFS, (row_payoff, column_payoff), strict=True)) | {
        name: pl.col(name) for name in metrics
    }
    matches = frame.select(
        named(frame, by).alias("sample"),
        row.alias("row"),
        column.alias("column"),
        turned.alias("turned"),
        pl.struct(INSTANCES).alias("instance"),
        *(value.cast(pl.Float64).alias(name) for name, value in values.items()),
    )
    matches = matches.with_columns(
        pl.col("instance").rank("dense").over("sample").cast(pl.Int64) - 1
    )
    return tuple(
        _sample(str(name), part, list(values), swap)
        for (name,), part in matches.group_by("sample", maintain_order=True)
    )


def _sample(name: str, matches: pl.DataFrame, values: list[str], swap: bool) -> GameSample:
    """Return one game's cells, weighted so that both seat orders of a cell count equally."""
    is_two_sided = pl.col("turned").n_unique().over(CELL) == 2
    level = pl.len().over(CELL) / (2 * pl.len().over(*CELL, "turned"))
    weight, one_sided = pl.col("weight"), (pl.col("row") != pl.col("column")) & ~pl.col("both")
    weighed = matches.with_columns(
        weight=pl.when(is_two_sided).then(level).otherwise(1.0), both=is_two_sided
    )
    by_instance = weighed.group_by(*CELL, "instance", maintain_order=True).agg(
        *((weight * pl.col(name)).sum().alias(f"sum {name}") for name in values),
        *((weight * pl.col(name).is_not_null()).sum().alias(f"weight {name}") for name in values),
        pl.len().alias("matches"),
        one_sided.any().alias("one_sided"),
    )
    cells = {}
    for (row, column), part in by_instance.sort(*CELL, "instance").group_by(
        "row", "column", maintain_order=True
    ):
        sums, weights = (
            part.select(f"{kind} {name}" for name in values).to_numpy()
            for kind in ("sum", "weight")
        )
        cells[int(row), int(column)] = Cell(
            sums,
            weights,
            part["instance"].to_numpy(),
            int(part["matches"].sum()),
            swap and bool(part["one_sided"].any()),
        )
    return GameSample(name, matches["instance"].n_unique(), cells)
