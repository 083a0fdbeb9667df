"""Permutation tests, is a difference more than a shuffle of labels shows; p-values corrected."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import polars as pl
from scipy import stats
from scipy.special import comb

from cheaptalk.rules.display import Printed
from cheaptalk.statistics.columns import (
    FloatArray,
    StatisticsError,
    as_numbers,
    demand_columns,
    demand_draws,
    with_numbers,
)
from cheaptalk.statistics.intervals import DEALS
from cheaptalk.statistics.printout import Tabular

CELLS = 10_000_000
"""How many shuffled numbers are held in memory at once."""


@dataclass(frozen=True, repr=False)
class PermutationTest(Printed):
    """A two-sided test of no difference between two means.

    Attributes:
        difference: mean of the first less mean of the second.
        p: the chance of a difference at least as large, were labels exchangeable, in (0, 1].
        n: how many values each has; for pairs both the number of pairs.
        paired: whether signs were flipped within pairs, or labels shuffled over all.
        exact: whether all arrangements were counted, or some drawn.
    """

    difference: float
    p: float
    n: tuple[int, int]
    paired: bool
    exact: bool

    @property
    def label(self) -> str:
        """The test's name."""
        kind = "paired" if self.paired else "unpaired"
        return f"{kind} permutation test, two-sided, {'exact' if self.exact else 'drawn'}"

    def __str__(self) -> str:
        """The test in one line."""
        return f"{self.label}: difference {self.difference:.4g}, p = {self.p:.4g}"


def permutation_test(
    first: Sequence[float] | FloatArray,
    second: Sequence[float] | FloatArray,
    *,
    paired: bool,
    draws: int = 9_999,
    seed: int | np.random.Generator = 0,
) -> PermutationTest:
    """Test that two samples have the same distribution, by their difference in means.

    Pairs, such as two players on the same deal, swap places or not: 2^n arrangements. Unpaired
    values are dealt out anew to groups of the same sizes. Where there are no more arrangements
    than draws all are counted and p is exact; otherwise they are drawn, and the observed one
    counts as one of them (Phipson and Smyth 2010, Permutation P-values Should Never Be Zero).
    p is twice the smaller one-sided share, at most 1.

    >>> print(permutation_test([5.0, 7.0, 6.0, 9.0], [4.0, 5.0, 5.0, 6.0], paired=True))
    paired permutation test, two-sided, exact: difference 1.75, p = 0.125

    Args:
        first: numbers.
        second: others; as many where they are paired.
        draws: of arrangements, where they are too many to count.
        seed: a number or a generator, for the drawing.

    Raises:
        StatisticsError: a sample is empty, a value is no finite number, or pairs do not match.
    """
    demand_draws(draws)
    one, other = (as_numbers(sample, "samples") for sample in (first, second))
    if not len(one) or not len(other) or (paired and len(one) != len(other)):
        raise StatisticsError(
            f"a test compares two samples{' of equal length' if paired else ''}, "
            f"not {len(one)} values with {len(other)}"
        )
    sizes = (len(one), len(other))
    arrangements = 2.0 ** min(len(one), 60) if paired else comb(sum(sizes), len(one))
    difference = float(one.mean() - other.mean())
    if len(one) + len(other) == 2 or np.array_equal(one, other):
        return PermutationTest(difference, 1.0, sizes, paired, exact=True)
    found = stats.permutation_test(
        (one - other,) if paired else (one, other),
        np.mean if paired else _difference,
        permutation_type="samples" if paired else "independent",
        vectorized=True, n_resamples=draws, batch=max(1, CELLS // sum(sizes)),
        rng=np.random.default_rng(seed),
    )  # fmt: skip
    exact = bool(arrangements < draws + 0.5)
    return PermutationTest(difference, float(found.pvalue), sizes, paired, exact)


def _difference(first: FloatArray, second: FloatArray, axis: int) -> FloatArray:
    return np.asarray(np.mean(first, axis=axis) - np.mean(second, axis=axis))


@dataclass(frozen=True, eq=False, repr=False)
class PairwiseTests(Tabular):
    """Every two groups compared.

    Attributes:
        value: the column that is compared.
        frame: one row a pair: ``first``, ``second``, ``n_first``, ``n_second``, ``difference``,
            ``p``, ``p_holm``, ``p_bh`` (corrected for the number of rows) and ``test`` (its name).
        notes: pairs left out, and why.
    """

    value: str
    frame: pl.DataFrame = field(repr=False)
    notes: tuple[str, ...]

    def printout(self) -> tuple[str, pl.DataFrame, Sequence[str]]:
        """The tests as a table."""
        return f"Differences in {self.value}", self.frame, self.notes


def pairwise_tests(
    frame: pl.DataFrame,
    value: str,
    by: str,
    *,
    paired: bool,
    cluster: Sequence[str] = DEALS,
    draws: int = 9_999,
    seed: int | np.random.Generator = 0,
) -> PairwiseTests:
    """Permutation tests between every two groups, corrected for their number.

    A group's matches of one cluster, which are alike, count once, with their mean. Paired tests
    compare two groups on the clusters that both have, such as the deals of chip trading that all
    populations played (004, Table 4, which does not name its test).

    Args:
        value: a column of numbers; rows without one are left out.
        by: the column whose values are the groups.
        paired: whether groups share clusters.
        cluster: the columns that tell clusters apart; none: every row by itself, unpaired only.

    Raises:
        StatisticsError: a column is absent, there are fewer than two groups to compare, or paired
            tests have no clusters.
    """
    if paired and not cluster:
        raise StatisticsError("paired tests need the columns in cluster that tell what pairs share")
    demand_draws(draws)
    demand_columns(frame, [by, *cluster], "compare by")
    used = with_numbers(frame, [value], "compare by").drop_nulls(by)
    keyed = used if cluster else used.with_row_index("row")
    keys = list(cluster) or ["row"]
    means = keyed.group_by(by, *keys, maintain_order=True).agg(pl.col(value).mean()).sort(keys)
    groups = {key[0]: part for key, part in sorted(means.partition_by(by, as_dict=True).items())}
    if len(groups) < 2:
        raise StatisticsError(f'"{by}" has fewer than two groups with a value of "{value}"')
    generator = np.random.default_rng(seed)
    rows, notes = [], []
    for one, other in combinations(groups, 2):
        first, second = groups[one], groups[other]
        if paired:
            first = first.join(second, on=keys, how="semi", maintain_order="left")
            second = second.join(first, on=keys, how="semi", maintain_order="left")
            if first.is_empty():
                notes.append(f"{one} and {other} share no {' and '.join(keys)}, and have no test")
                continue
        a, b = first[value].to_numpy(), second[value].to_numpy()
        test = permutation_test(a, b, paired=paired, draws=draws, seed=generator)
        rows.append((str(one), str(other), *test.n, test.difference, test.p, test.label))
    return PairwiseTests(value, _corrected(rows), tuple(notes))


def _corrected(rows: list[tuple[str, str, int, int, float, float, str]]) -> pl.DataFrame:
    schema = {
        "first": pl.String, "second": pl.String, "n_first": pl.Int64, "n_second": pl.Int64,
        "difference": pl.Float64, "p": pl.Float64, "test": pl.String,
    }  # fmt: skip
    made = pl.DataFrame(rows, schema=schema, orient="row")
    p = made["p"].to_numpy()
    return made.with_columns(
        p_holm=pl.Series(holm(p), dtype=pl.Float64),
        p_bh=pl.Series(benjamini_hochberg(p), dtype=pl.Float64),
    ).select(*made.columns[:-1], "p_holm", "p_bh", "test")


def holm(p: Sequence[float] | FloatArray) -> FloatArray:
    """p-values corrected by Holm's step-down rule: the chance of any false finding is held.

    The k-th smallest of m becomes the largest of (m - j + 1) p_j over j up to k, at most 1 (Holm
    1979, A Simple Sequentially Rejective Multiple Test Procedure).

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]

    Raises:
        StatisticsError: a p-value is not in [0, 1].
    """
    values = _checked(p)
    order = np.argsort(values)
    steps = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    corrected = np.empty(len(values))
    corrected[order] = np.minimum(1, steps)
    return corrected


def benjamini_hochberg(p: Sequence[float] | FloatArray) -> FloatArray:
    """p-values corrected so that the expected share of false findings is held.

    The k-th smallest of m becomes the smallest of m p_j / j over j from k on, at most 1 (Benjamini
    and Hochberg 1995, Controlling the False Discovery Rate).

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.04, 0.04]

    Raises:
        StatisticsError: a p-value is not in [0, 1].
    """
    values = _checked(p)
    return np.asarray(stats.false_discovery_control(values)) if len(values) else values


def _checked(p: Sequence[float] | FloatArray) -> FloatArray:
    values = as_numbers(p, "p-values")
    if not ((values >= 0) & (values <= 1)).all():
        raise StatisticsError("p-values lie between 0 and 1; leave out those that are not defined")
    return values
