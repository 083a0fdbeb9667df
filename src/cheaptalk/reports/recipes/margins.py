"""How far the best is ahead of others, and whether that can be told."""

from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

import numpy as np
import polars as pl

from cheaptalk.rules import counted
from cheaptalk.statistics import DEALS, STRATA, mean_intervals
from cheaptalk.statistics.columns import FloatArray
from cheaptalk.statistics.differences import (
    UNBOUNDED,
    constant_p_of_instances,
    difference_bounds,
    is_testable,
    t_limits,
    two_sided_p,
)
from cheaptalk.statistics.intervals import (
    CONSTANT,
    ROUNDING,
    Bounds,
    BoundsColumns,
    without_rounding,
)
from cheaptalk.statistics.planning import correlations_of, growth_for_power
from cheaptalk.text import fixed

ALPHA, POWER = 0.05, 0.8
"""How often the best is named wrongly at most, and how often so many matches would tell."""
FEW_DEALS = 10
"""Deals below which a sentence says how few they are."""
PLANNING_FREEDOM = FEW_DEALS - 1
"""Degrees of freedom below which an error is too rough to plan a sample size."""
LEAST_GROWTH, MOST_GROWTH = 1.2, 100
"""How many times as many deals a sentence advises."""


class Margin(NamedTuple):
    """How far one player is ahead of another.

    Attributes:
        behind: the other one.
        size: the difference of their means; 0 if it is no more than rounding leaves.
        low, high: its interval, at a level that allows for all rivals, within what the difference
            can be; None if there is none.
        deals: the instances it rests on.
        comparisons: for how many comparisons at once the interval holds.
        more: how many times as many instances would show the first ahead of all rivals in four of
            five studies, if the differences are what they seem; infinite if no sensible number
            would, None if the data do not tell. See :func:`planned_growth`.
        told: whether the one ahead is so beyond doubt.
        constant: whether the difference never varied within a configuration.
        configurations: how many it rests on.
        freedom: degrees of freedom of its error.
    """

    behind: str
    size: float
    low: float | None
    high: float | None
    deals: int
    comparisons: int
    more: float | None
    told: bool = False
    constant: bool = False
    configurations: int = 1
    freedom: float = 0.0

    @property
    def certainty(self) -> tuple[bool, float, float]:
        """How sure it is: the lower the end of its interval, the less."""
        return (self.told, self.size if self.low is None else self.low, self.size)

    def within(self, places: int, *, deals: bool = True) -> str:
        """Its interval as it stands in a sentence, and how few deals it rests on.

        Args:
            places: decimals.
            deals: whether the sentence does not say the number of deals otherwise.
        """
        is_few = deals and self.deals < FEW_DEALS
        few = f", on only {counted(self.deals, 'deal')}" if is_few else ""
        if self.low is None or self.high is None:
            if self.deals == 1:
                return " (one deal)"
            if self.constant:
                each = " of each configuration" if self.configurations > 1 else ""
                return f" (the same on every deal{each}{few})"
            return f" (inconclusive: about one degree of freedom{few})"
        kind = "95 % interval" if self.comparisons == 1 else "simultaneous 95 % interval"
        return f" ({kind} {fixed(self.low, places)} to {fixed(self.high, places)}{few})"


def planned_growth(lead: Margin) -> float | str:
    """Return how many times as many deals would show the lead, or the reason that it is unknown.

    Reports and leaderboards plan by this rule.
    """
    if lead.more is None:
        return "more deals may tell"
    if round(lead.freedom, 6) < PLANNING_FREEDOM:
        return "how many deals would tell cannot be said of so few"
    if lead.more > MOST_GROWTH:
        return f"to tell would take more than {MOST_GROWTH} times as many deals"
    return max(lead.more, LEAST_GROWTH)


def tie_text(
    best: str, margins: Sequence[Margin], places: int, *, known: bool = True
) -> tuple[str, str] | None:
    """Return who has the same mean as the best player, and what that shows; None without a tie.

    Equal means are a tie of the sample, and do not show that players are equal.

    Args:
        best: the player whose leads these are.
        margins: its leads over all others.
        places: decimals of a difference.
        known: whether the intervals can be trusted.
    """
    ties = [one for one in margins if one.size == 0]
    if not ties:
        return None
    *names, last = [best, *(one.behind for one in ties)]
    who = f"All {len(ties) + 1} players" if 1 < len(ties) == len(margins) else (
        f"{', '.join(names)} and {last}"
    )  # fmt: skip
    widest = max(ties, key=lambda one: one.high or 0.0)
    shows = f"on these {counted(widest.deals, 'deal')}; that does not show that they are equal"
    if known:
        zero = f"{fixed(0, places)}{widest.within(places, deals=False)}"
        shows += f": the difference between {best} and {widest.behind} is {zero}"
    return f"{who} have the same mean", shows


class _Pair(NamedTuple):
    """The first against one other: the difference and what is known of its error."""

    behind: str
    size: float
    error: float | None
    freedom: float
    deals: int
    constant_p: float | None
    bounds: Bounds
    deviations: FloatArray
    configurations: int


def margins_over(
    rows: pl.DataFrame,
    who: str,
    key: str,
    ranked: Sequence[tuple[str, float]],
    bounds: Bounds | BoundsColumns = UNBOUNDED,
    statements: int = 1,
) -> Iterator[Margin]:
    """Return how far the first is ahead of each other.

    The difference of two means is clustered by deal within configurations. Its interval is
    Student's t at the level of 95 % for all others and statements at once (Bonferroni), so that
    some player is wrongly said to be ahead of all others in at most one of twenty studies. A
    difference that is the same on every deal of each configuration has a permutation test instead;
    see :func:`.constant_p_of_instances`.

    Args:
        rows: one row an observation, with the columns of :data:`.DEALS`.
        who: the column that says whose it is.
        key: what is averaged.
        ranked: who there is, each with its mean, the first first.
        bounds: of what is averaged, as :func:`.mean_intervals` takes them.
        statements: how many such comparisons are reported together, such as one a role.
    """
    (first, best), *rest = ranked
    rows = rows.drop_nulls(key)
    pairs = [_pair(rows, who, key, first, label, best - mean, bounds) for label, mean in rest]
    alpha = ALPHA / max(1, len(rest)) / statements
    ps = [two_sided_p(pair.size, pair.error, pair.freedom, pair.constant_p) for pair in pairs]
    told = [
        pair.size > 0 and p is not None and p < alpha for pair, p in zip(pairs, ps, strict=True)
    ]
    more = None if all(told) else _growth(pairs, alpha)
    for pair, sure in zip(pairs, told, strict=True):
        low, high = t_limits(pair.size, pair.error, pair.freedom, 1 - alpha, pair.bounds)
        yield Margin(
            pair.behind, pair.size, low, high, pair.deals, len(rest) * statements, more, sure,
            pair.constant_p is not None, pair.configurations, pair.freedom,
        )  # fmt: skip


def _pair(
    rows: pl.DataFrame, who: str, key: str, first: str, label: str, size: float,
    bounds: Bounds | BoundsColumns,
) -> _Pair:  # fmt: skip
    ours, theirs = pl.col(who) == first, pl.col(who) == label
    value = pl.col(key).cast(pl.Float64)
    largest = rows.select(value.abs().max()).item() or 0.0
    size = 0.0 if abs(size) <= ROUNDING * largest else size
    off = without_rounding(value - value.mean().over(who), value.abs().max())

    def signed(what: pl.Expr) -> pl.Expr:
        return pl.when(ours).then(what / ours.sum()).otherwise(-what / theirs.sum())

    pair = rows.filter(ours | theirs).with_columns(off=signed(off) * pl.len(), part=signed(value))
    found = mean_intervals(pair, ["off"], cluster=DEALS, strata=STRATA)
    error, freedom, deals, note = found.select("error", "freedom", "clusters", "note").row(0)
    parts = pair.group_by(DEALS, maintain_order=True).agg(
        part=without_rounding(pl.col("part").sum(), pl.col("part").abs().max(), pl.len()),
        off=pl.col("off").sum() / len(pair),
        first=ours.any(), second=theirs.any(),
    )  # fmt: skip
    centred = rows.select(DEALS).unique(maintain_order=True).join(
        parts.select(*DEALS, pl.col("off") - pl.col("off").mean().over(STRATA)),
        on=DEALS, how="left", validate="1:1", maintain_order="left",
    )["off"].fill_null(0.0)  # fmt: skip
    limits = difference_bounds(pair.filter(theirs), pair.filter(ours), bounds)
    return _Pair(
        label, size, error, freedom, deals,
        constant_p_of_instances(parts) if note == CONSTANT else None, limits, centred.to_numpy(),
        parts["configuration"].n_unique(),
    )  # fmt: skip


def _growth(pairs: Sequence[_Pair], alpha: float) -> float | None:
    """How many times as many deals would show the first ahead of all others; None if unknown."""
    varied = [pair for pair in pairs if pair.constant_p is None]
    if any(pair.size <= 0 for pair in pairs) or not varied:
        return None
    if any((pair.constant_p or 0.0) >= alpha for pair in pairs):
        return None
    if not all(pair.error and is_testable(pair.freedom) for pair in varied):
        return None
    correlation = correlations_of(np.array([pair.deviations for pair in varied]))
    growth = growth_for_power(
        [pair.size for pair in varied], [pair.error or 0.0 for pair in varied],
        min(pair.freedom for pair in varied), correlation, tail=alpha / 2, power=POWER,
    )  # fmt: skip
    return inf if growth is None else growth
