"""Exact and Monte Carlo tests of whether one condition differs from others on the same instances.

Within an instance, identical repeats and conditions without an effect are exchangeable, however
much a player randomises. Each test compares a condition with all others of its instance by that
symmetry, so a player's own randomness is the control and nothing is assumed about its distribution.

"""

from collections.abc import Mapping, Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

DRAWS = 20_000
"""Random arrangements of a Monte Carlo test; the observed one counts as one of them."""
ROUNDING = 0.01
"""Distances up to which observations are equal, because cents and points are whole."""
Floats = NDArray[np.float64]
Instances = Sequence[Mapping[str, float]]
"""The value of each condition, by instance; a condition may be missing from an instance."""


def stands_out(
    pools: Sequence[tuple[Floats, Floats]], two_sided: Sequence[bool], seed: int = 0
) -> float:
    """Return the Monte Carlo p-value that any of a condition's sums is larger than chance explains.

    Each draw takes, in each instance, any of its conditions in place of the tested one. A sum is as
    extreme as the share of draws with as large a sum; the most extreme of all sums decides, and
    draws are treated alike (min P, Westfall and Young 1993, Resampling-Based Multiple Testing).
    So the sums need no correction for their number, and sums that agree cost no power.

    Args:
        pools: of each instance, the values of the tested condition, by statistic, and those of the
            other conditions, one row each.
        two_sided: whether a small sum of a statistic counts, too.
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
    """Return, for each value, the share of all values that are at least as large."""
    below = np.searchsorted(np.sort(values), values, side="left")
    shares: Floats = 1 - below / len(values)
    return shares


def contrast(instances: Instances, low: Sequence[str], high: Sequence[str], seed: int = 0) -> float:
    """Return the two-sided p-value of a difference in means between two groups of conditions.

    Labels are permuted within each instance that has all conditions.
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
    """Return the p-value that two samples differ in distribution, by their energy distance.

    Labels are permuted within strata (Székely and Rizzo 2013, Energy statistics).

    Args:
        strata: the two samples of each stratum; the distance between two observations is the sum
            of the absolute differences of their values.
    """
    rng = np.random.default_rng(seed)
    totals, observed = np.zeros(DRAWS), 0.0
    for one, other in strata:
        pool = np.array([*one, *other])
        if not len(one) or not len(other):
            continue
        distances = np.abs(pool[:, None] - pool[None, :]).sum(axis=2)
        distances[distances < ROUNDING] = 0
        if not distances.any():
            continue
        labels = np.zeros(len(pool))
        labels[: len(one)] = 1
        observed += float(_energy(distances, labels[None, :])[0])
        permuted = rng.permuted(np.tile(labels, (DRAWS, 1)), axis=1)
        totals += _energy(distances, permuted)
    return float((1 + np.sum(totals >= observed - 1e-9)) / (DRAWS + 1))


def _energy(distances: Floats, labels: Floats) -> Floats:
    first, second = labels, 1 - labels
    n, m = first.sum(axis=1), second.sum(axis=1)
    across: Floats = np.einsum("ij,ij->i", first @ distances, second) / (n * m)
    inside = np.einsum("ij,ij->i", first @ distances, first) / n**2
    inside += np.einsum("ij,ij->i", second @ distances, second) / m**2
    energy: Floats = 2 * across - inside
    return energy


def any_differs(instances: Instances, repeats: Sequence[str], others: Sequence[str]) -> float:
    """Return the exact p-value that conditions with values of 1 avoid the identical repeats.

    Args:
        instances: values of 0 and 1.
        repeats: conditions that are the same as the base.
        others: conditions that may have an effect.
    """
    weights, observed = np.ones(1), 0
    for values in instances:
        n = sum(name in values for name in others)
        plain = sum(name in values for name in repeats)
        hits = sum(int(values[name]) for name in others if name in values)
        total = hits + sum(int(values[name]) for name in repeats if name in values)
        observed += hits
        options = [comb(n, x) * comb(plain, total - x) if 0 <= total - x <= plain else 0
                   for x in range(n + 1)]  # fmt: skip
        weights = np.convolve(weights, np.array(options, dtype=float) / comb(n + plain, total))
    return float(min(1.0, weights[observed:].sum()))


def more_often(count: int, trials: int, limit: float) -> float:
    """Return the exact p-value that something happens more often than a limit allows.

    Args:
        count: the number of occurrences.
        trials: the number of opportunities.
        limit: the largest share that is not a weakness.
    """
    return float(binom.sf(count - 1, trials, limit)) if count else 1.0


def least_count(trials: int, limit: float, level: float) -> int | None:
    """Return the smallest count that :func:`more_often` finds at a level; None if none does."""
    return next((k for k in range(1, trials + 1) if more_often(k, trials, limit) <= level), None)
