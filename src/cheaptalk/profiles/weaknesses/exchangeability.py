"""Exact and Monte Carlo tests of whether a condition differs from others on the same instances.

Within an instance, identical repeats and conditions without an effect are exchangeable, even if a
player randomises. The tests use this symmetry to compare a condition with all others of the
instance. They assume nothing about the distribution of a player's random decisions.
"""

from collections.abc import Mapping, Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

DRAWS = 20_000
"""Number of random draws in a Monte Carlo test."""
ROUNDING = 0.01
"""Maximum distance between observations that are equal except for rounding to cents or points."""
Floats = NDArray[np.float64]
Instances = Sequence[Mapping[str, float]]
"""Values by condition for each instance; conditions may be missing."""


def stands_out(
    pools: Sequence[tuple[Floats, Floats]], two_sided: Sequence[bool], seed: int = 0
) -> float:
    """Return the Monte Carlo p-value of a condition's largest deviation over all statistics.

    Each draw replaces the tested condition by a random condition of each instance. The p-value of a
    statistic is the share of draws with an equal or larger sum over instances. The smallest p-value
    of all statistics is compared with the smallest p-values of the draws (min P, Westfall and Young
    1993, Resampling-Based Multiple Testing). This accounts for the number of statistics, without
    loss of power for correlated statistics.

    Args:
        pools: per instance, the statistics of the tested condition, and a row of statistics for
            each other condition.
        two_sided: for each statistic, whether small sums count as deviations, too.
    """
    rng = np.random.default_rng(seed)
    sums = np.zeros((DRAWS + 1, len(two_sided)))  # the observed sums come first
    for tested, others in pools:
        pool = np.vstack([tested, others])
        pool -= pool.mean(axis=0)
        sums[0] += pool[0]
        if pool.any():
            sums[1:] += pool[rng.integers(len(pool), size=DRAWS)]
    sides = np.array(two_sided, dtype=bool)
    sums[:, sides] = np.abs(sums[:, sides])
    smallest = np.min([_shares_as_large(column) for column in sums.round(9).T], axis=0)
    return float(np.mean(smallest <= smallest[0]))


def _shares_as_large(values: Floats) -> Floats:
    """Return, for each value, the share of values that are at least as large."""
    below = np.searchsorted(np.sort(values), values, side="left")
    shares: Floats = 1 - below / len(values)
    return shares


def contrast(instances: Instances, low: Sequence[str], high: Sequence[str], seed: int = 0) -> float:
    """Return the two-sided p-value of a mean difference between two groups of conditions.

    The conditions are permuted within each instance that has all of them.
    """
    rng = np.random.default_rng(seed)
    names = [*low, *high]
    signs = np.array([-1.0] * len(low) + [1.0] * len(high))
    sums, observed = np.zeros(DRAWS), 0.0
    for values in instances:
        if all(name in values for name in names):
            row = np.array([values[name] for name in names])
            observed += float(row @ signs)
            if np.ptp(row) > 0:
                sums += rng.permuted(np.tile(row, (DRAWS, 1)), axis=1) @ signs
    return float((1 + np.sum(np.abs(sums) >= abs(observed) - 1e-9)) / (DRAWS + 1))


def farther_apart(
    strata: Sequence[tuple[Sequence[Sequence[float]], Sequence[Sequence[float]]]], seed: int = 0
) -> float:
    """Return the p-value of a permutation test of whether two samples differ in distribution.

    The statistic is the energy distance, with labels permuted within strata (Székely and Rizzo
    2013, Energy statistics).

    Args:
        strata: the two samples of each stratum; the distance between two observations is the sum
            of the absolute differences of their values.
    """
    rng = np.random.default_rng(seed)
    totals, observed = np.zeros(DRAWS), 0.0
    for first, second in strata:
        pool = np.array([*first, *second])
        if not len(first) or not len(second):
            continue
        distances = np.abs(pool[:, None] - pool[None, :]).sum(axis=2)
        distances[distances < ROUNDING] = 0
        if not distances.any():
            continue
        labels = np.zeros(len(pool))
        labels[: len(first)] = 1
        observed += float(_energy(distances, labels[None, :])[0])
        permuted = rng.permuted(np.tile(labels, (DRAWS, 1)), axis=1)
        totals += _energy(distances, permuted)
    return float((1 + np.sum(totals >= observed - 1e-9)) / (DRAWS + 1))


def _energy(distances: Floats, labels: Floats) -> Floats:
    """Return the energy distance of the samples with label 1 and 0, for each row of labels."""
    first = labels.sum(axis=1)
    second = labels.shape[1] - first
    to_first = labels @ distances
    within_first = np.einsum("ij,ij->i", to_first, labels)
    across = to_first.sum(axis=1) - within_first
    within_second = distances.sum() - within_first - 2 * across
    within = within_first / first**2 + within_second / second**2
    energy: Floats = 2 * across / (first * second) - within
    return energy


def any_differs(instances: Instances, repeats: Sequence[str], others: Sequence[str]) -> float:
    """Return the p-value of an exact test of whether some conditions have more ones than repeats.

    Args:
        instances: values 0 and 1 by condition.
        repeats: conditions that are identical to the base.
        others: conditions that may have an effect.
    """
    weights, observed = np.ones(1), 0
    for values in instances:
        n = sum(name in values for name in others)
        plain = sum(name in values for name in repeats)
        hits = sum(int(values[name]) for name in others if name in values)
        total = hits + sum(int(values[name]) for name in repeats if name in values)
        observed += hits
        ways = range(max(0, total - plain), min(n, total) + 1)
        options = [comb(n, x) * comb(plain, total - x) if x in ways else 0 for x in range(n + 1)]
        weights = np.convolve(weights, np.array(options, dtype=float) / comb(n + plain, total))
    return float(min(1.0, weights[observed:].sum()))


def more_often(count: int, trials: int, limit: float) -> float:
    """Return the p-value of an exact test of whether the share of hits exceeds a limit.

    Args:
        limit: the largest share that is not a weakness.
    """
    return float(binom.sf(count - 1, trials, limit)) if count else 1.0


def least_count(trials: int, limit: float, level: float) -> int | None:
    """Return the smallest count that is significantly above a limit; None if there is none."""
    return next((k for k in range(1, trials + 1) if more_often(k, trials, limit) <= level), None)
