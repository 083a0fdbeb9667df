"""Cells of empirical games: matches of two players, summed by deal, ready to be drawn again."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
import polars as pl

from cheaptalk.equilibrium.solvers.payoffs import Floats, Integers
from cheaptalk.statistics import DEALS

Key: TypeAlias = tuple[int, int]
"""Row and column of a cell."""
CELL = ("sample", "row", "column")
SHARED = 0.5
"""Of the deals of the smaller of two cells, the share that both must have to count as shared."""
EMPTY = 1e-6
"""How probable it may be that a draw of a sample's deals leaves a cell without any."""
PAYOFFS = ("row's payoff", "column's payoff")
"""The first two values of every cell; measures follow."""


class CellName(NamedTuple):
    """Which cell is meant, in words.

    Attributes:
        row, column: labels of the players.
        sample: the name of the game, where several are mixed; else empty.
    """

    row: str
    column: str
    sample: str = ""

    def __str__(self) -> str:
        return f"{self.row} / {self.column}" + f" in {self.sample}" * bool(self.sample)


@dataclass(frozen=True, eq=False, slots=True)
class Cell:
    """The matches of one cell, summed by deal.

    The mean of a value is the sum of ``sums`` over the sum of ``weights``: matches count alike,
    except that both orders of the seats weigh the same where one was played more often.

    Attributes:
        sums: of each deal's matches, by value: the row's payoff, the column's, then measures;
            shape (deals, values).
        weights: how many matches have the value, shape (deals, values).
        deals: which deals of the sample these are, shape (deals,).
        matches: how many there are; 0 for payoffs that were given, not played.
        one_sided: whether the two players only ever sat in one order.
    """

    sums: Floats
    weights: Floats
    deals: Integers
    matches: int
    one_sided: bool = False

    def means(self, times: Floats) -> Floats:
        """Means of each value when each deal counts so many times; NaN where none has the value.

        Args:
            times: shape (..., deals).

        Returns:
            Shape (..., values).
        """
        size = self.sums.shape[1]
        totals = times @ np.hstack([self.sums, self.weights])
        with np.errstate(invalid="ignore"):
            return np.asarray(totals[..., :size] / totals[..., size:])

    @property
    def mean(self) -> Floats:
        """Means of each value, shape (values,)."""
        return self.means(np.ones(len(self.deals)))

    @property
    def deviations(self) -> Floats:
        """What each deal adds to the mean beyond its part in it, shape (deals, values).

        In units of the value, so that their mean square is the variance of a deal.
        """
        share = self.weights.mean(axis=0)
        off = self.sums - self.mean * self.weights
        return np.asarray(off / np.where(share > 0, share, np.nan))

    @property
    def skewness(self) -> float:
        """The mean square of the skewness of both payoffs over deals; 0 where they did not vary."""
        off = self.deviations[:, : len(PAYOFFS)]
        squares = (off**2).mean(axis=0)
        known = squares > 0
        skews = (off[:, known] ** 3).mean(axis=0) / squares[known] ** 1.5
        return float((skews**2).mean()) if known.any() else 0.0


@dataclass(frozen=True, eq=False)
class GameSample:
    """The matches of one game between several players.

    Attributes:
        name: of the game or configuration; empty where there is one only.
        deals: how many different deals were played.
        cells: by row and column.
    """

    name: str
    deals: int
    cells: Mapping[Key, Cell] = field(repr=False)

    @property
    def share_deals(self) -> bool:
        """Whether any two cells share half of the smaller one's deals, or more.

        Cells so small that a draw of the sample's deals could miss them do not count as sharing.
        """
        played = self.played
        sizes = played.sum(axis=1)
        enough = played @ played.T >= SHARED * np.minimum.outer(sizes, sizes)
        missed = (1 - sizes / self.deals) ** self.deals
        return bool(enough.all() and (sizes >= 2).all() and (missed <= EMPTY).all())

    @property
    def played(self) -> Floats:
        """1 where a cell has a deal, else 0; shape (cells, deals)."""
        found = np.zeros((len(self.cells), self.deals))
        for at, cell in enumerate(self.cells.values()):
            found[at, cell.deals] = 1
        return found


def sample_of_payoffs(a: Floats, b: Floats, keys: Iterable[Key]) -> GameSample:
    """A sample without matches, whose means are these payoffs of row and column in some cells."""
    one, none = np.ones((1, 2)), np.zeros(1, dtype=np.int64)
    return GameSample(
        "", 0, {key: Cell(np.array([[a[key], b[key]]]), one, none, matches=0) for key in keys}
    )


def named(frame: pl.DataFrame, by: str | None) -> pl.Expr:
    """What tells the games of a frame apart, in words.

    Configurations are called by the parameters in which they differ, such as ``rounds=3``, if
    these tell them apart; else games have the values of the column.
    """
    if by is None:
        return pl.lit("")
    differing = [
        name for name in frame.columns if name.startswith("game.") and frame[name].n_unique() > 1
    ]
    if by == "configuration" and differing:
        parts = [
            pl.lit(f"{name.removeprefix('game.')}=")
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
    places: Sequence[str],
    rows: Sequence[str],
    columns: Sequence[str],
    measures: Sequence[str],
    by: str | None,
    *,
    swap: bool,
) -> tuple[GameSample, ...]:
    """The cells of each game in a frame of scored matches, as :func:`.match_frames` makes it.

    Args:
        places: the two places, the row's first.
        rows: labels, in the order of their numbers.
        columns: likewise.
        measures: columns whose means are wanted beside the payoffs.
        by: the column whose values tell the games apart; None: all matches are of one.
        swap: put both orders of two players into one cell, the row being the lower number; a
            player against itself gets the mean of both places.
    """
    row, column = (
        pl.col(f"player.{place}").replace_strict(labels, range(len(labels)), return_dtype=pl.Int64)
        for place, labels in zip(places, (rows, columns), strict=True)
    )
    gets, other = (pl.col(f"payoff.{place}") for place in places)
    turned, own = row > column, (gets + other) / 2
    if not swap:
        turned = pl.lit(False)
    else:
        alike = row == column
        gets, other = (
            pl.when(alike).then(own).when(turned).then(late).otherwise(early)
            for early, late in ((gets, other), (other, gets))
        )
        row, column = pl.min_horizontal(row, column), pl.max_horizontal(row, column)
    values = dict(zip(PAYOFFS, (gets, other), strict=True)) | {
        name: pl.col(name) for name in measures
    }
    matches = frame.select(
        named(frame, by).alias("sample"),
        row.alias("row"), column.alias("column"), turned.alias("turned"),
        pl.struct(DEALS).alias("deal"),
        *(value.cast(pl.Float64).alias(name) for name, value in values.items()),
    )  # fmt: skip
    matches = matches.with_columns(pl.col("deal").rank("dense").over("sample").cast(pl.Int64) - 1)
    return tuple(
        _sample(str(name), part, list(values), swap)
        for (name,), part in matches.group_by("sample", maintain_order=True)
    )


def _sample(name: str, matches: pl.DataFrame, values: list[str], swap: bool) -> GameSample:
    """One game's matches, each with the weight that makes both orders of a cell count alike."""
    both = pl.col("turned").n_unique().over(CELL) == 2
    level = pl.len().over(CELL) / (2 * pl.len().over(*CELL, "turned"))
    weight, one_sided = pl.col("weight"), (pl.col("row") != pl.col("column")) & ~pl.col("both")
    weighed = matches.with_columns(weight=pl.when(both).then(level).otherwise(1.0), both=both)
    by_deal = weighed.group_by(*CELL, "deal", maintain_order=True).agg(
        *((weight * pl.col(name)).sum().alias(f"sum {name}") for name in values),
        *((weight * pl.col(name).is_not_null()).sum().alias(f"weight {name}") for name in values),
        pl.len().alias("matches"),
        one_sided.any().alias("one_sided"),
    )
    cells = {}
    for (row, column), part in by_deal.sort(*CELL, "deal").group_by(
        "row", "column", maintain_order=True
    ):
        sums, weights = (part.select(f"{kind} {name}" for name in values).to_numpy()
                         for kind in ("sum", "weight"))  # fmt: skip
        cells[int(row), int(column)] = Cell(
            sums, weights, part["deal"].to_numpy(), int(part["matches"].sum()),
            swap and bool(part["one_sided"].any()),
        )  # fmt: skip
    return GameSample(name, matches["deal"].n_unique(), cells)
