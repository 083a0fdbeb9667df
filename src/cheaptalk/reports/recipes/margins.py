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
    constant_limits,
    difference_bounds,
    difference_limits,
    is_testable,
    steepness,
)
from cheaptalk.statistics.intervals import (
    CONSTANT,
    ENOUGH,
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
        size: the difference of their means; 0 if it is no more than rounding leaves. Below 0 only
            if ``matched``.
        low, high: its interval, at a level that allows for all rivals, within what the difference
            can be; None if there is none.
        deals: the instances it rests on, of the player with fewer.
        comparisons: for how many comparisons at once the interval holds.
        more: how many times as many instances would show the first ahead of all rivals in four of
            five studies, if the differences are what they seem; infinite if no sensible number
            would, None if the data do not tell. See :func:`planned_growth`.
        told: whether the one ahead is so beyond doubt.
        constant: whether the difference never varied within a configuration.
        configurations: how many it rests on.
        freedom: degrees of freedom of its error.
        skewed: whether rare outcomes against the one ahead make the interval too narrow.
        matched: whether the difference is not that of the means of all matches, since one of the
            two played some instances or configurations more often.
        quiet: the fewest instances of a configuration in which the difference never varied,
            although it did in others; 0 if there is none with several instances.
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
    skewed: bool = False
    matched: bool = False
    quiet: int = 0

    @property
    def certainty(self) -> tuple[bool, bool, float, float]:
        """A sort key: first the least certain lead, by the lower end of its interval.

        Among leads that are not told, those that never varied come last.
        """
        low = self.size if self.low is None else self.low
        return (self.told, self.constant, low, self.size)

    def places(self, usual: int) -> int:
        """Decimals at which a sure lead and its interval do not round to 0, at most four more."""
        ends = [end for end in (self.size, self.low) if self.told and end]
        fit = (at for at in range(usual, usual + 4) if all(round(end, at) for end in ends))
        return next(fit, usual + 4)

    def within(self, places: int, *, deals: bool = True) -> str:
        """Its interval as it stands in a sentence, and how few deals it rests on.

        Args:
            places: decimals.
            deals: whether the sentence does not say the number of deals otherwise.
        """
        if self.matched:
            where = f" on what both played, {counted(self.deals, 'deal')}" * (self.deals > 1)
            return f"{where}{self._replace(matched=False).within(places, deals=False)}"
        is_few = deals and self.deals < FEW_DEALS
        few = f", on only {counted(self.deals, 'deal')}" if is_few else ""
        if self.deals == 1:
            return " (one deal)"
        each = " of each configuration" if self.configurations > 1 else ""
        parts = [f"the same on every deal{each}"] if self.constant else []
        if self.low is not None and self.high is not None:
            kind = "95 % interval" if self.comparisons == 1 else "simultaneous 95 % interval"
            parts.append(f"{kind} {fixed(self.low, places)} to {fixed(self.high, places)}")
        return f" ({', '.join(parts) or 'inconclusive: about one degree of freedom'}{few})"


def caution(lead: Margin) -> str:
    """Return what few or skewed outcomes leave open of a sure lead, as a sentence after a space."""
    if few := rare_outcomes(lead.deals, "deal"):
        return few
    if few := rare_outcomes(lead.quiet, "deal"):
        return f" The lead never varied in one of the configurations.{few}"
    if lead.skewed:
        return " The outcomes are skewed, and the interval may be too narrow."
    return ""


def rare_outcomes(instances: int, noun: str = "instance") -> str:
    """Return how rare an outcome few instances may lack, as a sentence after a space.

    It is absent from all of them in more than one of twenty studies. Enough instances give nothing.
    """
    if not 1 < instances < ENOUGH:
        return ""
    rare = max(2, round(1 / (1 - ALPHA ** (1 / instances))))
    return f" Outcomes rarer than 1 in {rare} may be missing in {counted(instances, noun)}."


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
    skew: float
    deals: int
    constant: bool
    bounds: Bounds
    deviations: FloatArray
    configurations: int
    matched: bool
    quiet: int

    def limits(self, level: float) -> tuple[float, float] | tuple[None, None]:
        """The interval of the difference."""
        if self.constant:
            return constant_limits(self.size, self.freedom, level, self.bounds)
        return difference_limits(self.size, self.error, self.freedom, level, self.bounds, self.skew)


def margins_over(
    rows: pl.DataFrame,
    who: str,
    key: str,
    ranked: Sequence[tuple[str, float]],
    bounds: Bounds | BoundsColumns = UNBOUNDED,
    statements: int = 1,
) -> Iterator[Margin]:
    """Return how far the first is ahead of each other.

    The difference of two means is clustered by deal within configurations. Its interval (see
    :func:`.difference_limits`) has the level of 95 % for all others and statements at once
    (Bonferroni), so that
    some player is wrongly said to be ahead of all others in at most one of twenty studies. A
    The matches of each pair are weighted so that instances count alike for both players. A
    difference that is the same on every deal of each configuration has the interval of
    :func:`.constant_limits`, since the deals can lack an outcome that would change it.

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
    limits = [pair.limits(1 - alpha) for pair in pairs]
    told = [(low or 0.0) > 0 for low, _ in limits]
    more = None if all(told) else _growth(pairs, alpha)
    for pair, (low, high), sure in zip(pairs, limits, told, strict=True):
        yield Margin(
            pair.behind, pair.size, low, high, pair.deals, len(rest) * statements, more, sure,
            pair.constant, pair.configurations, pair.freedom,
            low is not None and steepness(pair.freedom, 1 - alpha, pair.skew) < -1, pair.matched,
            pair.quiet,
        )  # fmt: skip


def _pair(
    rows: pl.DataFrame, who: str, key: str, first: str, label: str, size: float,
    bounds: Bounds | BoundsColumns,
) -> _Pair:  # fmt: skip
    ours, theirs = pl.col(who) == first, pl.col(who) == label
    both = rows.filter(ours | theirs)
    pair = _balanced(both, ours, theirs)
    value, weight = pl.col(key).cast(pl.Float64), pl.col("weight")
    largest, matched = both.select(value.abs().max()).item() or 0.0, False
    if pair.height < both.height or pair.select((weight != 1).any()).item():
        means = pair.group_by(ours.alias("first"), maintain_order=True).agg(
            (value * weight).sum() / weight.sum()
        )
        plain, size = size, float(means.sort("first")[key].diff()[-1])
        matched = abs(size - plain) > ROUNDING * len(pair) * largest
    size = 0.0 if abs(size) <= ROUNDING * largest else size
    mean = (value * weight).sum().over(who) / weight.sum().over(who)
    off = without_rounding(value - mean, value.abs().max()) * weight
    signed = pl.when(ours).then(off / weight.filter(ours).sum()).otherwise(
        -off / weight.filter(theirs).sum()
    )  # fmt: skip
    pair = pair.with_columns(off=signed * pl.len())
    found = mean_intervals(pair, ["off"], cluster=DEALS, strata=STRATA)
    error, freedom, skew, note = found.select("error", "freedom", "skew", "note").row(0)
    deals = min(pair.filter(side).select(DEALS).n_unique() for side in (ours, theirs))
    parts = pair.group_by(DEALS, maintain_order=True).agg(pl.col("off").sum() / len(pair))
    centred = rows.select(DEALS).unique(maintain_order=True).join(
        parts.select(*DEALS, pl.col("off") - pl.col("off").mean().over(STRATA)),
        on=DEALS, how="left", validate="1:1", maintain_order="left",
    )["off"].fill_null(0.0)  # fmt: skip
    limits = difference_bounds(pair.filter(theirs), pair.filter(ours), bounds)
    return _Pair(
        label, size, error, freedom, skew, deals,
        note == CONSTANT, limits, centred.to_numpy(),
        parts["configuration"].n_unique(), matched, 0 if note == CONSTANT else _quiet(parts),
    )  # fmt: skip


def _quiet(parts: pl.DataFrame) -> int:
    """The fewest instances of a configuration that varied in nothing, of those with several."""
    off = pl.col("off")
    spread = without_rounding(off.max() - off.min(), off.abs().max(), pl.len())
    sizes = parts.group_by(STRATA, maintain_order=True).agg(pl.len().alias("size"), spread=spread)
    still = sizes.filter(pl.col("spread") == 0, pl.col("size") > 1)["size"]
    return min(still.to_list(), default=0)


def _balanced(both: pl.DataFrame, ours: pl.Expr, theirs: pl.Expr) -> pl.DataFrame:
    """The matches of two players on what both played, weighted so that it counts alike for both.

    That is the instances of a configuration, or the configuration if each played mostly others of
    its instances: a player whose matches fail on poor instances would else seem better.

    Returns:
        The matches with their ``weight``; all of them, if the players share no configuration.
    """
    met = both.with_columns(
        shared=(ours.any() & theirs.any()).over(DEALS),
        alike=(ours.any() & theirs.any()).over(STRATA),
    )
    shared, *played = (
        pl.col("deal").filter(part).n_unique().over(STRATA)
        for part in (pl.col("shared"), ours, theirs)
    )
    by_instance = 2 * shared >= pl.min_horizontal(played)
    marked = met.with_columns(
        alike=pl.when(by_instance).then("shared").otherwise("alike"),
        unit=pl.when(by_instance).then("deal"),
    ).drop("shared")
    kept = marked.filter("alike") if marked["alike"].any() else marked
    unit = [*STRATA, "unit"]
    own = pl.when(ours).then(ours.sum().over(unit)).otherwise(theirs.sum().over(unit))
    weight = pl.when("alike").then(pl.len().over(unit) / (2 * own)).otherwise(1.0)
    return kept.with_columns(weight=weight).drop("alike", "unit")


def _growth(pairs: Sequence[_Pair], alpha: float) -> float | None:
    """How many times as many deals would show the first ahead of all others; None if unknown."""
    varied = [pair for pair in pairs if not pair.constant]
    if any(pair.size <= 0 for pair in pairs) or not varied:
        return None
    if any(pair.constant and (pair.limits(1 - alpha)[0] or 0.0) <= 0 for pair in pairs):
        return None
    if not all(pair.error and is_testable(pair.freedom) for pair in varied):
        return None
    correlation = correlations_of(np.array([pair.deviations for pair in varied]))
    growth = growth_for_power(
        [pair.size for pair in varied], [pair.error or 0.0 for pair in varied],
        min(pair.freedom for pair in varied), correlation, tail=alpha / 2, power=POWER,
    )  # fmt: skip
    return inf if growth is None else growth
