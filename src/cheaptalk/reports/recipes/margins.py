"""The lead of the best player over the others, and whether it is significant."""

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

import polars as pl

from cheaptalk.reports.recipes.parts import Answer
from cheaptalk.rules import counted
from cheaptalk.statistics import INSTANCES, STRATA, differences, mean_intervals
from cheaptalk.statistics.columns import FloatArray
from cheaptalk.statistics.intervals import CONSTANT, ENOUGH, without_rounding
from cheaptalk.statistics.limits import ROUNDING, UNBOUNDED, Bounds, BoundsColumns
from cheaptalk.statistics.participants import PEOPLE
from cheaptalk.text import fixed

ALPHA = 0.05
"""The maximum probability of naming a wrong best player."""
FEW_INSTANCES = 10
"""Number of instances below which a sentence states their number."""
PLANNING_FREEDOM = FEW_INSTANCES - 1
"""Degrees of freedom below which a standard error is too imprecise to plan a sample size."""
LEAST_GROWTH, MOST_GROWTH = 1.2, 100
"""The smallest and the largest multiple of instances that a sentence recommends."""


class Margin(NamedTuple):
    """The lead of the best player over another player (``behind``).

    ``size`` is the difference of their means, 0 if within rounding. It is negative only if
    ``matched``: if it differs from the difference of overall means, because one of the players
    played some instances or configurations more often. The interval holds simultaneously for all
    ``comparisons``; ``instances`` are those of the player with fewer.

    ``more`` is the multiple of instances that would show the first ahead of all rivals in four of
    five studies, if the observed differences are the true ones; infinite if no reasonable number
    would, None if it is unknown. See :func:`planned_growth`. A ``constant`` difference never varied
    within a configuration; ``quiet`` is the minimum number of instances of a configuration without
    variation, if others have variation. If ``skewed``, rare outcomes against the leader make the
    interval too narrow.
    """

    behind: str
    size: float
    low: float | None
    high: float | None
    instances: int
    comparisons: int
    more: float | None
    significant: bool = False
    constant: bool = False
    configurations: int = 1
    freedom: float = 0.0
    skewed: bool = False
    matched: bool = False
    quiet: int = 0

    @property
    def certainty(self) -> tuple[bool, bool, float, float]:
        """Return a sort key that puts the least certain lead first, by its interval's low end."""
        low = self.size if self.low is None else self.low
        return (self.significant, self.constant, low, self.size)

    def decimals(self, usual: int) -> int:
        """Return the number of decimals needed so that a significant lead doesn't round to 0."""
        ends = [end for end in (self.size, self.low) if self.significant and end]
        fit = (
            digits for digits in range(usual, usual + 4) if all(round(end, digits) for end in ends)
        )
        return next(fit, usual + 4)

    def within(self, decimals: int, *, instances: bool = True) -> str:
        """Return the interval in parentheses, with the number of instances if they are few."""
        if self.matched:
            scope = f" on the instances that both played, {counted(self.instances, 'instance')}" * (
                self.instances > 1
            )
            return f"{scope}{self._replace(matched=False).within(decimals, instances=False)}"
        is_few = instances and self.instances < FEW_INSTANCES
        few = f", on only {counted(self.instances, 'instance')}" if is_few else ""
        if self.instances == 1:
            return " (one instance)"
        suffix = " of each configuration" if self.configurations > 1 else ""
        parts = [f"the same on every instance{suffix}"] if self.constant else []
        if self.low is not None and self.high is not None:
            kind = "95 % interval" if self.comparisons == 1 else "simultaneous 95 % interval"
            parts.append(f"{kind} {fixed(self.low, decimals)} to {fixed(self.high, decimals)}")
        return f" ({', '.join(parts) or 'inconclusive: about one degree of freedom'}{few})"


def caution(lead: Margin) -> str:
    """Return a caution about a significant lead, or an empty string."""
    if few := rare_outcomes(lead.instances, "instance"):
        return few
    if few := rare_outcomes(lead.quiet, "instance"):
        return f" In one configuration, the lead is the same on every instance.{few}"
    if lead.skewed:
        return " The outcomes are skewed, and the interval may be too narrow."
    return ""


def rare_outcomes(instances: int, noun: str = "instance") -> str:
    """Return a warning of rare outcomes, which more than one of twenty such studies lacks.

    It is empty if there are enough instances.
    """
    if not 1 < instances < ENOUGH:
        return ""
    rare = max(2, round(1 / (1 - ALPHA ** (1 / instances))))
    return (
        f" With only {counted(instances, noun)}, outcomes that occur in fewer than 1 in {rare} may "
        "not have appeared yet and could change this result."
    )


def planned_growth(lead: Margin) -> float | str:
    """Return the factor by which instances must grow to show a lead, or why it is unknown."""
    if lead.more is None:
        return "more instances may show a clear result"
    if round(lead.freedom, 6) < PLANNING_FREEDOM:
        return "these are too few instances to estimate how many are needed"
    if lead.more > MOST_GROWTH:
        return f"a clear result would need more than {MOST_GROWTH} times as many instances"
    return max(lead.more, LEAST_GROWTH)


def tie_text(
    best: str, margins: Sequence[Margin], decimals: int, *, reliable: bool = True
) -> tuple[str, str] | None:
    """Return who ties with the best player and what the tie shows, as text; None without ties.

    Equal means are a tie in the sample and don't show that the players are equal.
    """
    ties = [margin for margin in margins if margin.size == 0]
    if not ties:
        return None
    *names, last = [best, *(tie.behind for tie in ties)]
    who = (
        f"All {len(ties) + 1} players"
        if 1 < len(ties) == len(margins)
        else (f"{', '.join(names)} and {last}")
    )
    widest = max(ties, key=lambda tie: tie.high or 0.0)
    shows = (
        f"on these {counted(widest.instances, 'instance')}; this does not show that they are equal"
    )
    if reliable:
        zero = f"{fixed(0, decimals)}{widest.within(decimals, instances=False)}"
        shows += f": the difference between {best} and {widest.behind} is {zero}"
    return f"{who} have the same mean", shows


class _Pair(NamedTuple):
    """A lead without its limits, and what determines them."""

    lead: Margin
    error: float | None
    skew: float
    bounds: Bounds
    deviations: FloatArray

    def limits(self, level: float) -> tuple[float, float] | tuple[None, None]:
        """Return the confidence interval of the difference."""
        size, freedom = self.lead.size, self.lead.freedom
        if self.lead.constant:
            return differences.constant_limits(size, freedom, level, self.bounds)
        return differences.difference_limits(
            size, self.error, freedom, level, self.bounds, self.skew
        )


def margins_over(
    rows: pl.DataFrame,
    who: str,
    key: str,
    ranked: Sequence[tuple[str, float]],
    bounds: Bounds | BoundsColumns = UNBOUNDED,
    statements: int = 1,
) -> Iterator[Margin]:
    """Yield the lead of the best player over each other player, in the order of ``ranked``.

    The difference of two means is clustered by instance within configurations. Its interval (see
    :func:`.difference_limits`) has a simultaneous level of 95 % for all rivals and statements
    (Bonferroni), so that at most one of twenty studies names a false winner. The matches of each
    pair are weighted so that instances count equally for both players. A difference that is the
    same on every instance of each configuration has the interval of :func:`.constant_limits`,
    because the instances may lack an outcome that would change it.
    """
    (first, best), *rivals = ranked
    needed = {who, key, *INSTANCES, PEOPLE, *bounds}
    rows = rows.select(name for name in rows.columns if name in needed).drop_nulls(key)
    pairs = [_pair(rows, who, key, first, label, best - mean, bounds) for label, mean in rivals]
    alpha = ALPHA / max(1, len(rivals)) / statements
    limits = [pair.limits(1 - alpha) for pair in pairs]
    significant = [(low or 0.0) > 0 for low, _ in limits]
    more = None if all(significant) else _growth(pairs, alpha)
    for pair, (low, high), sure in zip(pairs, limits, significant, strict=True):
        steep = (
            low is not None and differences.steepness(pair.lead.freedom, 1 - alpha, pair.skew) < -1
        )
        lead = pair.lead._replace(low=low, high=high, comparisons=len(rivals) * statements)
        yield lead._replace(more=more, significant=sure, skewed=steep)


def _pair(
    rows: pl.DataFrame,
    who: str,
    key: str,
    first: str,
    label: str,
    size: float,
    bounds: Bounds | BoundsColumns,
) -> _Pair:
    is_first, is_second = pl.col(who) == first, pl.col(who) == label
    pair_rows = rows.filter(is_first | is_second)
    pair = _balanced(pair_rows, is_first, is_second)
    value, weight = pl.col(key).cast(pl.Float64), pl.col("weight")
    largest, matched = pair_rows.select(value.abs().max()).item() or 0.0, False
    if pair.height < pair_rows.height or pair.select((weight != 1).any()).item():
        means = pair.group_by(is_first.alias("first"), maintain_order=True).agg(
            (value * weight).sum() / weight.sum()
        )
        plain, size = size, float(means.sort("first")[key].diff()[-1])
        matched = abs(size - plain) > ROUNDING * len(pair) * largest
    size = 0.0 if abs(size) <= ROUNDING * largest else size
    mean = (value * weight).sum().over(who) / weight.sum().over(who)
    off = without_rounding(value - mean, value.abs().max()) * weight
    signed = (
        pl.when(is_first)
        .then(off / weight.filter(is_first).sum())
        .otherwise(-off / weight.filter(is_second).sum())
    )
    pair = pair.with_columns(off=signed * pl.len())
    intervals = mean_intervals(pair, ["off"], cluster=INSTANCES, strata=STRATA)
    error, freedom, skew, note = intervals.select("error", "freedom", "skew", "note").row(0)
    instances = min(
        pair.filter(side).select(INSTANCES).n_unique() for side in (is_first, is_second)
    )
    parts = pair.group_by(INSTANCES, maintain_order=True).agg(pl.col("off").sum() / len(pair))
    centred = (
        rows.select(INSTANCES)
        .unique(maintain_order=True)
        .join(
            parts.select(*INSTANCES, pl.col("off") - pl.col("off").mean().over(STRATA)),
            on=INSTANCES,
            how="left",
            validate="1:1",
            maintain_order="left",
        )["off"]
        .fill_null(0.0)
    )
    limits = differences.difference_bounds(pair.filter(is_second), pair.filter(is_first), bounds)
    constant, strata = note == CONSTANT, parts["configuration"].n_unique()
    lead = Margin(label, size, None, None, instances, 1, None, False, constant, strata, freedom)
    lead = lead._replace(matched=matched, quiet=0 if constant else _quiet(parts))
    return _Pair(lead, error, skew, limits, centred.to_numpy())


def _quiet(parts: pl.DataFrame) -> int:
    """Return the smallest number of instances of a configuration without variation; 0 if none."""
    off = pl.col("off")
    spread = without_rounding(off.max() - off.min(), off.abs().max(), pl.len())
    sizes = parts.group_by(STRATA, maintain_order=True).agg(pl.len().alias("size"), spread=spread)
    still = sizes.filter(pl.col("spread") == 0, pl.col("size") > 1)["size"]
    return min(still.to_list(), default=0)


def _balanced(rows: pl.DataFrame, is_first: pl.Expr, is_second: pl.Expr) -> pl.DataFrame:
    """Return two players' matches on shared instances, weighted equally for both players.

    The unit of weighting is the instance, or the configuration if each player mostly played other
    instances of it. Otherwise, a player whose matches fail on poor instances would seem better. If
    the players share no configuration, all matches are returned.
    """
    met = rows.with_columns(
        shared=(is_first.any() & is_second.any()).over(INSTANCES),
        alike=(is_first.any() & is_second.any()).over(STRATA),
    )
    shared, *played = (
        pl.col("instance").filter(part).n_unique().over(STRATA)
        for part in (pl.col("shared"), is_first, is_second)
    )
    by_instance = 2 * shared >= pl.min_horizontal(played)
    marked = met.with_columns(
        alike=pl.when(by_instance).then("shared").otherwise("alike"),
        unit=pl.when(by_instance).then("instance"),
    ).drop("shared")
    selected = marked.filter("alike") if marked["alike"].any() else marked
    unit = [*STRATA, "unit"]
    count = pl.when(is_first).then(is_first.sum().over(unit)).otherwise(is_second.sum().over(unit))
    weight = pl.when("alike").then(pl.len().over(unit) / (2 * count)).otherwise(1.0)
    return selected.with_columns(weight=weight).drop("alike", "unit")


def _growth(pairs: Sequence[_Pair], alpha: float) -> float | None:
    """Return the factor by which instances must grow to show the lead; None if unknown."""
    varied = [pair for pair in pairs if not pair.lead.constant]
    if not varied:
        return None
    constant = (pair for pair in pairs if pair.lead.constant)
    if any((pair.limits(1 - alpha)[0] or 0.0) <= 0 for pair in constant):
        return None
    if not all(pair.error and differences.is_testable(pair.lead.freedom) for pair in varied):
        return None
    return differences.growth_for_power(
        [pair.lead.size for pair in varied],
        [pair.error or 0.0 for pair in varied],
        min(pair.lead.freedom for pair in varied),
        [pair.deviations for pair in varied],
        alpha / 2,
    )


def first_answer(
    board: pl.DataFrame, value: str, leads: Sequence[Margin], standing: str, decimals: int
) -> Answer:
    """Return a sentence about the top-ranked player, with the interval of the decisive lead.

    The board has at least two players; see :func:`.with_ranges`.
    """
    first, second, *_ = board.rows(named=True)
    who = first["player"]
    has_ranges = first["sure"] is not None
    if tie := tie_text(who, leads, decimals, reliable=has_ranges):
        head, shows = tie
        return Answer(f"{head}, {standing}, {shows}.", head)
    if not has_ranges:
        ahead = fixed(first[value] - second[value], decimals)
        return Answer(
            f"No player is clearly first: {who}, {standing}, is {ahead} ahead of "
            f"{second['player']}, but the uncertainty is unknown: a game had one instance, or "
            "payoffs of some players never varied in it.",
            "no player is clearly first",
        )
    closest = min(leads, key=attrgetter("certainty"))
    digits = closest.decimals(decimals)
    lead = f"{fixed(closest.size, digits)} ahead of {closest.behind}{closest.within(digits)}"
    if first["sure"] == "1 to 1":
        return Answer(
            f"{who}, {standing}, is first, {lead}; with 95 % confidence no other player is."
            f"{caution(closest)}",
            f"{who} is first",
        )
    return Answer(
        f"No player is clearly first yet: {who}, {standing}, is {lead}, and with 95 % confidence "
        f"its rank is {first['sure']}; {advice(closest)}.",
        "no player is clearly first yet",
    )


def advice(lead: Margin, needed: str = "") -> str:
    """Return how many more instances (or what ``needed`` says) would show a lead, or why not."""
    growth = planned_growth(lead)
    if isinstance(growth, str):
        return growth
    needed = needed or f"{growth:.1f} times as many instances"
    return (
        f"about {needed} would show it in 4 of 5 studies "
        "if the observed differences are the true ones. Test again only then, because each test "
        "adds a chance of a false winner"
    )
