"""How far the best is ahead of others, and whether that can be told."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import polars as pl
from scipy.special import ndtri, stdtrit

from cheaptalk.rules import counted
from cheaptalk.statistics import STRATA, mean_intervals
from cheaptalk.statistics.intervals import without_rounding
from cheaptalk.text import fixed

ALPHA, POWER = 0.05, 0.8
"""How often the best is named wrongly at most, and how often so many matches would tell."""
FEW_DEALS = 10
"""Deals below which a sentence says how few they are, and not how many matches would tell."""


class Margin(NamedTuple):
    """How far one player is ahead of another.

    Attributes:
        behind: the other one.
        size: the difference of their means.
        low, high: its interval, at a level that allows for all rivals; None where there is none.
        deals: those it rests on.
        rivals: for how many at once the interval holds.
        more: how many times as many deals would tell, if the difference is what it seems; None
            where none would.
    """

    behind: str
    size: float
    low: float | None
    high: float | None
    deals: int
    rivals: int
    more: float | None

    @property
    def certainty(self) -> tuple[float, float]:
        """How sure it is: the lower the end of its interval, the less."""
        return (self.size if self.low is None else self.low, self.size)

    def within(self, places: int) -> str:
        """Its interval as it stands in a sentence, and how few deals it rests on."""
        few = f", on only {counted(self.deals, 'deal')}" if self.deals < FEW_DEALS else ""
        if self.low is None or self.high is None:
            return " (one deal)" if self.deals == 1 else f" (the same on every deal{few})"
        kind = "95 % interval" if self.rivals == 1 else "simultaneous 95 % interval"
        return f" ({kind} {fixed(self.low, places)} to {fixed(self.high, places)}{few})"

    @property
    def told(self) -> bool:
        """Whether the one ahead is so beyond doubt."""
        return (
            self.size > 0 and (self.size if self.low is None else self.low) > 0 and self.deals > 1
        )


def margins_over(
    rows: pl.DataFrame, who: str, key: str, ranked: Sequence[tuple[str, float]]
) -> Iterator[Margin]:
    """How far the first is ahead of each other.

    The difference of two means is clustered by deal within configurations. Its interval is
    Student's t at the level of 95 % for all others at once (Bonferroni), so that whoever is ahead
    of all is wrongly so in at most one of twenty studies.

    Args:
        rows: one row an observation, with the columns of :data:`.DEALS`.
        who: the column that says whose it is.
        key: what is averaged.
        ranked: who there is, each with its mean, the first first.
    """
    (first, best), *rest = ranked
    rows = rows.drop_nulls(key)
    for label, mean in rest:
        ours, theirs = pl.col(who) == first, pl.col(who) == label
        pair = rows.filter(ours | theirs)
        value = pl.col(key).cast(pl.Float64)
        off = without_rounding(value - value.mean().over(who), value.abs().max())
        signed = pl.when(ours).then(off / ours.sum()).otherwise(-off / theirs.sum()) * pl.len()
        found = mean_intervals(pair.with_columns(off=signed), ["off"], strata=STRATA)
        error, freedom, deals = found.select("error", "freedom", "clusters").row(0)
        yield _margin(label, best - mean, error, freedom, deals, len(rest))


def _margin(
    label: str, size: float, error: float | None, freedom: float, deals: int, rivals: int
) -> Margin:
    if not error:
        return Margin(label, size, None, None, deals, rivals, None)
    level = 1 - ALPHA / 2 / rivals
    width = float(stdtrit(max(freedom, 1.0), level)) * error
    wanted = float(ndtri(level) + ndtri(POWER)) * error
    more = (wanted / size) ** 2 if size else None
    return Margin(label, size, size - width, size + width, deals, rivals, more)
