"""Permutation tests of means, and corrections for multiple comparisons."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import polars as pl
import scipy
from scipy.special import comb

from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.statistics.columns import (
    FloatArray,
    Frame,
    StatisticsError,
    as_numbers,
    as_polars,
    demand_columns,
    demand_draws,
    with_numbers,
)
from cheaptalk.statistics.intervals import INSTANCES

CELLS = 10_000_000
"""The maximum number of shuffled values in memory."""


@dataclass(frozen=True, repr=False)
class PermutationTest(Printed):
    """A two-sided permutation test of the difference between two means.

    Attributes:
        difference: the mean of the first sample minus that of the second.
        p: the probability of a difference at least as large if labels are exchangeable, in (0, 1].
        n: the size of each sample.
        paired: whether values were swapped within pairs, not shuffled over both samples.
        exact: whether all arrangements were counted, not sampled.
    """

    difference: float
    p: float
    n: tuple[int, int]
    paired: bool
    exact: bool

    @property
    def label(self) -> str:
        """The name of the test."""
        kind = "paired" if self.paired else "unpaired"
        return f"{kind} permutation test, two-sided, {'exact' if self.exact else 'drawn'}"

    def printout(self) -> Printout:
        return super().printout()._replace(title=self.label)

    def __str__(self) -> str:
        return f"{self.label}: difference {self.difference:.4g}, p = {self.p:.4g}"


def permutation_test(
    first: Sequence[float] | FloatArray,
    second: Sequence[float] | FloatArray,
    *,
    paired: bool,
    draws: int = 9_999,
    seed: int | np.random.Generator = 0,
) -> PermutationTest:
    """Test that two samples have the same distribution, using the difference in means.

    Paired values, such as those of two players on the same instance, are swapped within pairs.
    Unpaired values are reassigned to groups of the same sizes. The p-value is exact if at most
    ``draws`` arrangements exist. Otherwise arrangements are sampled, and the observed arrangement
    is included (Phipson and Smyth 2010, Permutation P-values Should Never Be Zero). The p-value is
    twice the smaller one-sided share, at most 1.

    >>> print(permutation_test([5.0, 7.0, 6.0, 9.0], [4.0, 5.0, 5.0, 6.0], paired=True))
    paired permutation test, two-sided, exact: difference 1.75, p = 0.125

    Args:
        second: the second sample, of the same size if paired.
        draws: the number of sampled arrangements, or the maximum for an exact test.
        seed: a number or a generator for the sampling.

    Raises:
        StatisticsError: a sample is empty, a value isn't finite, or paired samples differ in size.
    """
    demand_draws(draws)
    sample_1, sample_2 = (as_numbers(sample, "samples") for sample in (first, second))
    if not len(sample_1) or not len(sample_2) or (paired and len(sample_1) != len(sample_2)):
        kind = " of equal length" if paired else ""
        given = f"{len(sample_1)} values with {len(sample_2)}"
        raise StatisticsError(f"a test compares two samples{kind}, not {given}")
    sizes = (len(sample_1), len(sample_2))
    arrangements = 2.0 ** min(len(sample_1), 60) if paired else comb(sum(sizes), len(sample_1))
    difference = float(sample_1.mean() - sample_2.mean())
    if len(sample_1) + len(sample_2) == 2 or np.array_equal(sample_1, sample_2):
        return PermutationTest(difference, 1.0, sizes, paired, exact=True)
    result = scipy.stats.permutation_test(
        (sample_1 - sample_2,) if paired else (sample_1, sample_2),
        np.mean if paired else _difference,
        permutation_type="samples" if paired else "independent",
        vectorized=True,
        n_resamples=draws,
        batch=max(1, CELLS // sum(sizes)),
        rng=np.random.default_rng(seed),
    )
    exact = bool(arrangements < draws + 0.5)
    return PermutationTest(difference, float(result.pvalue), sizes, paired, exact)


def _difference(first: FloatArray, second: FloatArray, axis: int) -> FloatArray:
    return np.asarray(np.mean(first, axis=axis) - np.mean(second, axis=axis))


@dataclass(frozen=True, eq=False, repr=False)
class PairwiseTests(Printed):
    """Permutation tests of all pairs of groups.

    Attributes:
        frame: one row per pair: ``first``, ``second``, ``n_first``, ``n_second``, ``difference``,
            ``p``, ``p_holm`` and ``p_bh`` (corrected for the number of rows), and ``test`` (the
            name of the test).
        notes: the pairs that cannot be compared, with the reasons.
    """

    value: str
    frame: pl.DataFrame = field(repr=False)
    notes: tuple[str, ...]

    def printout(self) -> Printout:
        return Printout.of(f"Differences in {self.value}", self.frame, self.notes)


def pairwise_tests(
    frame: Frame,
    value: str,
    by: str,
    *,
    paired: bool,
    cluster: Sequence[str] = INSTANCES,
    draws: int = 9_999,
    seed: int | np.random.Generator = 0,
) -> PairwiseTests:
    """Run permutation tests of all pairs of groups, with correction for multiple comparisons.

    Each group has one value per cluster, the mean of the group's matches. Paired tests compare two
    groups on their common clusters, for example on instances that both groups played.

    Args:
        value: a column of numbers; rows without a value are ignored.
        by: the column that identifies the groups.
        paired: whether groups share clusters, so that values are compared within them.
        cluster: the columns that identify clusters; if empty, each row is a cluster.

    Raises:
        StatisticsError: a column is missing, there are fewer than two groups, or paired tests have
            no cluster columns.
    """
    frame = as_polars(frame)
    if paired and not cluster:
        raise StatisticsError("paired tests need cluster columns that identify the pairs")
    demand_draws(draws)
    demand_columns(frame, [by, *cluster], "compare by")
    rows_with_value = with_numbers(frame, [value], "compare by").drop_nulls(by)
    keyed = rows_with_value if cluster else rows_with_value.with_row_index("row")
    keys = list(cluster) or ["row"]
    means = keyed.group_by(by, *keys, maintain_order=True).agg(pl.col(value).mean()).sort(keys)
    groups = {key[0]: part for key, part in sorted(means.partition_by(by, as_dict=True).items())}
    if len(groups) < 2:
        raise StatisticsError(f'"{by}" has fewer than two groups with a value of "{value}"')
    generator = np.random.default_rng(seed)
    rows, notes = [], []
    for group_1, group_2 in combinations(groups, 2):
        first, second = groups[group_1], groups[group_2]
        if paired:
            first = first.join(second, on=keys, how="semi", maintain_order="left")
            second = second.join(first, on=keys, how="semi", maintain_order="left")
            if first.is_empty():
                shared = " and ".join(keys)
                notes.append(f"cannot compare {group_1} with {group_2}: they share no {shared}")
                continue
        a, b = first[value].to_numpy(), second[value].to_numpy()
        test = permutation_test(a, b, paired=paired, draws=draws, seed=generator)
        rows.append((str(group_1), str(group_2), *test.n, test.difference, test.p, test.label))
    return PairwiseTests(value, _corrected(rows), tuple(notes))


def _corrected(rows: list[tuple[str, str, int, int, float, float, str]]) -> pl.DataFrame:
    schema = {
        "first": pl.String,
        "second": pl.String,
        "n_first": pl.Int64,
        "n_second": pl.Int64,
        "difference": pl.Float64,
        "p": pl.Float64,
        "test": pl.String,
    }
    tests = pl.DataFrame(rows, schema=schema, orient="row")
    p = tests["p"].to_numpy()
    return tests.with_columns(
        p_holm=pl.Series(holm(p), dtype=pl.Float64),
        p_bh=pl.Series(benjamini_hochberg(p), dtype=pl.Float64),
    ).select(*tests.columns[:-1], "p_holm", "p_bh", "test")


def holm(p: Sequence[float] | FloatArray) -> FloatArray:
    """Correct p-values by Holm's step-down method, which controls the family-wise error rate.

    The k-th smallest of m p-values becomes the maximum of (m - j + 1) p_j over j <= k, at most 1
    (Holm 1979, A Simple Sequentially Rejective Multiple Test Procedure).

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
    """Adjust p-values by Benjamini and Hochberg's method for the false discovery rate.

    The k-th smallest of m p-values becomes the minimum of m p_j / j over j >= k, at most 1
    (Benjamini and Hochberg 1995, Controlling the False Discovery Rate).

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.04, 0.04]

    Raises:
        StatisticsError: a p-value is not in [0, 1].
    """
    values = _checked(p)
    return np.asarray(scipy.stats.false_discovery_control(values)) if len(values) else values


def _checked(p: Sequence[float] | FloatArray) -> FloatArray:
    values = as_numbers(p, "p-values")
    if not ((values >= 0) & (values <= 1)).all():
        raise StatisticsError("p-values must be between 0 and 1; omit undefined ones")
    return values
