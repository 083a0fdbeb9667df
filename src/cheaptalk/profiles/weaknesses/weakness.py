"""Weaknesses, and their tests before the correction for multiple tests."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from cheaptalk.profiles.weaknesses.exchangeability import least_count
from cheaptalk.reports.recipes.tables import Estimate
from cheaptalk.rules import counted, game_title
from cheaptalk.statistics.limits import share_limits, t_limits, unseen_share

ROBUST = {"changed": 0.1, "size": 0.05, "signed": 0.05}
"""Limits of a manipulation's three intervals for a player that is robust to the manipulation."""
DECIMALS = 2
ROUNDING = 1e-9


class Weakness(NamedTuple):
    """A weakness that a profile tested.

    Attributes:
        key: the key, such as ``flattering``.
        title: the title, such as "yields to flattery".
        tested: number of times that the trigger fired: matches, offers or answers that could have
            shown the weakness.
        effect: the size of the effect with a 95 % interval; negative for the opposite of a
            weakness, such as earning more than the lowest baseline.
        p: the uncorrected p-value; None if the weakness was not tested.
        found: whether the weakness is significant after the correction for all weaknesses.
        changed, size, signed: for a manipulation, the share of matches with a changed course, and
            the mean absolute and signed change of earnings, each with a 95 % interval.
        hits: for a rate, the number of occurrences; None otherwise.
        limit: for a rate, the largest share that is not a weakness.
        match, twin: ids of a match that shows the weakness, and of its twin under the plain
            condition; None without such matches.
        variant: the condition of the weakness: a talker, a presentation or a kind of names; empty
            if there is only one condition.
        unread: for a rate, the number of opportunities that the check could not read.
    """

    key: str
    title: str
    tested: int
    unit: str
    sentence: str
    effect: Estimate
    p: float | None = None
    found: bool = False
    changed: Estimate | None = None
    size: Estimate | None = None
    signed: Estimate | None = None
    hits: int | None = None
    limit: float = 0.0
    match: str | None = None
    twin: str | None = None
    variant: str = ""
    unread: int = 0

    @property
    def robust(self) -> bool:
        """Whether the intervals of all three effects of a manipulation are within their limits."""
        for kind, limit in ROBUST.items():
            effect: Estimate | None = getattr(self, kind)
            if effect is None or effect.ends is None or max(map(abs, effect.ends)) > limit:
                return False
        return True

    @property
    def verdict(self) -> str:
        """The verdict: found, not found, robust or not tested."""
        if self.found:
            return "found"
        if self.p is None:
            return "not tested"
        return "robust" if self.robust else "not found"

    def least(self, trials: int, level: float) -> int | None:
        """Return the smallest number of hits in ``trials`` that is significant at a level."""
        return least_count(trials, self.limit, level / 2)


class Examination(NamedTuple):
    """All weaknesses of a profile, starting with the findings in the order of their effects."""

    weaknesses: Sequence[Weakness]

    @property
    def findings(self) -> list[Weakness]:
        """The weaknesses that were found, starting with the largest effect."""
        return [weakness for weakness in self.weaknesses if weakness.found]

    @property
    def tested(self) -> list[Weakness]:
        """The tested weaknesses, which the player had at least one opportunity to show."""
        return [weakness for weakness in self.weaknesses if weakness.p is not None]


class Trial(NamedTuple):
    """A test of a weakness, before the correction for multiple tests.

    ``p`` returns the p-value given the keys of weaknesses already found; ``controls`` has the keys
    of weaknesses whose conditions are controls until they are found.
    """

    outcome: Weakness
    p: Callable[[frozenset[str]], float]
    controls: frozenset[str] = frozenset()


NO_EFFECT = Estimate(0.0)


def estimate_of(values: Sequence[float], minimum: float = -1.0, maximum: float = 1.0) -> Estimate:
    """Return a mean of independent values in a possible range, with a 95 % t interval.

    If all values are 0, the interval is the exact interval of a share without hits (Clopper and
    Pearson 1934). If all values are equal but not 0, their variation is unknown, so there is no
    interval.
    """
    n = len(values)
    if not n:
        return NO_EFFECT
    mean, error = float(np.mean(values)), float(np.std(values, ddof=n > 1)) / n**0.5
    error = 0.0 if error < ROUNDING else error
    if not error and abs(mean) > ROUNDING:
        return Estimate(mean, None, None, error, n, n)
    if error:
        return Estimate(mean, *t_limits(mean, error, n - 1, bounds=(minimum, maximum)), error, n, n)
    reach = unseen_share(n, 0.975)
    return Estimate(mean, max(minimum, mean - reach), min(maximum, mean + reach), error, n, n)


def unsigned(estimate: Estimate) -> Estimate:
    """Return an estimate of the absolute value of an estimated quantity."""
    value = abs(estimate.value or 0)
    if estimate.ends is None:
        return estimate._replace(value=value)
    low, high = sorted(map(abs, estimate.ends))
    return estimate._replace(value=value, low=low if excludes_zero(estimate) else 0.0, high=high)


def negative(estimate: Estimate) -> Estimate:
    """Return an estimate with the opposite sign."""
    low, high = (None if end is None else -end for end in (estimate.high, estimate.low))
    return estimate._replace(value=-(estimate.value or 0.0), low=low, high=high)


def excludes_zero(estimate: Estimate) -> bool:
    """Return whether an interval excludes 0 or, without one, all values are equal and not 0."""
    if estimate.ends is None:
        return bool(estimate.value) and estimate.error == 0
    return not estimate.ends[0] <= 0 <= estimate.ends[1]


def share_estimate(hits: int, trials: int) -> Estimate:
    """Return a share with its exact 95 % interval (Clopper and Pearson 1934)."""
    if not trials:
        return NO_EFFECT
    return Estimate(hits / trials, *share_limits(hits, trials), None, trials, trials)


def between(estimate: Estimate, *, signed: bool = False) -> str:
    """Return an estimate and its interval as text, e.g. "0.20 (95 % interval 0.05 to 0.35)"."""
    numbers = [f"{end or 0:{'+' if signed else ''}.{DECIMALS}f}" for end in estimate[:3]]
    if estimate.value and estimate.error == 0 and estimate.low is None:
        return f"{numbers[0]} (the same in {counted(estimate.n or 0, 'comparison')})"
    return "{} (95 % interval {} to {})".format(*numbers)


def mean_of(values: pl.Series) -> float:
    """Return the mean of a series; 0 if the series is empty."""
    mean = values.mean()
    return float(mean) if isinstance(mean, int | float) else 0.0


def share_of(values: pl.Series) -> str:
    """Return the number of matches with the value 1 as text, such as "3 of 12 matches"."""
    return f"{int(values.sum())} of {values.len()} matches"


def games_of(rows: pl.DataFrame) -> str:
    """Return the games of matches as text, such as "in Bargaining and Persuasion"."""
    names = [game_title(name) for name in rows["game"].unique(maintain_order=True)]
    return "in " + (" and ".join([", ".join(names[:-1]), names[-1]]) if names[1:] else names[0])
