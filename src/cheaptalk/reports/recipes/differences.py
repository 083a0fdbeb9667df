"""How much a player's scores differ between two studies, paired or cell by cell."""

from typing import NamedTuple

import polars as pl
from scipy.special import stdtr, stdtrit

from cheaptalk.statistics import STRATA, mean_intervals

LEVEL = 0.95
WHO = "who"
CELL = (WHO, "configuration", "pairing")
"""Matches that are alike but for their deals and chance."""
PAIR = (*CELL, "deal", "repeat")
"""What pairs a match of one study with a match of the other."""


class Difference(NamedTuple):
    """How much more a player got in the second study; see :func:`comparison`.

    Attributes:
        before, after: means over the matches that are compared.
        difference: after less before, with its standard error and degrees of freedom.
        n: pairs of matches, or of configurations and pairings where there are none.
    """

    before: float
    after: float
    difference: float
    error: float | None
    freedom: float
    n: int

    @property
    def p(self) -> float | None:
        """Of no difference, two-sided; None where no error can be told."""
        if self.error is None:
            return None
        if self.error == 0:
            return 1.0 if self.difference == 0 else 0.0
        return float(2 * stdtr(self.freedom, -abs(self.difference) / self.error))

    @property
    def limits(self) -> tuple[float, float] | tuple[None, None]:
        """The interval of the difference."""
        if self.error is None:
            return None, None
        width = float(stdtrit(self.freedom, (1 + LEVEL) / 2)) * self.error if self.error else 0.0
        return self.difference - width, self.difference + width


def difference(
    before: pl.DataFrame, after: pl.DataFrame, key: str, paired: bool
) -> Difference | None:
    """How a player's score differs; None where nothing can be compared."""
    left, right = (one.drop_nulls(key) for one in (before, after))
    if paired:
        both = left.join(right.select(*PAIR, key), on=PAIR, suffix=".after")
        if not both.is_empty():
            return _of_pairs(both, key)
    cells = [mean_intervals(one, [key], CELL, cluster=("deal",)) for one in (left, right)]
    met = cells[0].join(cells[1], on=CELL, suffix=".after")
    return None if met.is_empty() else _of_cells(met)


def _of_pairs(both: pl.DataFrame, key: str) -> Difference:
    changed = both.with_columns(difference=pl.col(f"{key}.after") - pl.col(key))
    means = mean_intervals(changed, [key, f"{key}.after", "difference"], strata=STRATA)
    (before, after, row) = means.sort(
        pl.col("measure").replace_strict({key: 0, f"{key}.after": 1, "difference": 2})
    ).iter_rows(named=True)
    strata = both.select(STRATA).n_unique()
    return Difference(
        before["mean"], after["mean"], row["mean"], row["error"],
        max(row["clusters"] - strata, 1), row["n"],
    )  # fmt: skip


def _of_cells(met: pl.DataFrame) -> Difference:
    size = met.height
    squares = pl.col("error", "error.after").pow(2)
    known = not met.select("error", "error.after").null_count().sum_horizontal().item()
    variance = met.select(squares.sum()).sum_horizontal().item() / size**2
    freedom = 1.0
    if known and variance:
        parts = met.select(
            pl.sum_horizontal(
                pl.col("error").pow(4) / (pl.col("clusters") - 1),
                pl.col("error.after").pow(4) / (pl.col("clusters.after") - 1),
            ).sum()
        ).item()
        freedom = variance**2 / (parts / size**4)
    before, after = met["mean"].mean(), met["mean.after"].mean()
    assert isinstance(before, float)
    assert isinstance(after, float)
    return Difference(
        before, after, after - before, variance**0.5 if known else None, freedom, size
    )
