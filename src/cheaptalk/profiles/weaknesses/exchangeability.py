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


def changed_oftener(instances: Instances, condition: str, others: Sequence[str]) -> float:
    """Return the exact p-value that a condition's values are 1 more often than the others'.

    With k of an instance's n values equal to 1, a condition without an effect has one of them with
    probability k / n; the number of instances in which it has one is a sum of such draws.

    Args:
        instances: values of 0 and 1.
        condition: the condition to test.
        others: the conditions that it is compared with.
    """
    chances, seen = [], 0
    for values in instances:
        if condition in values:
            all_values = [values[condition], *(values[one] for one in others if one in values)]
            chances.append(sum(all_values) / len(all_values))
            seen += int(values[condition])
    return _tail(chances, seen)


def _tail(chances: Sequence[float], seen: int) -> float:
    """P(X >= seen) of a sum of draws that succeed with these chances."""
    weights = np.ones(1)
    for chance in chances:
        weights = np.convolve(weights, [1 - chance, chance])
    return float(min(1.0, weights[seen:].sum()))


def drawn_larger(
    instances: Instances, condition: str, others: Sequence[str], *, two_sided: bool,
    seed: int = 0,
) -> float:  # fmt: skip
    """Return the Monte Carlo p-value that a condition's sum is larger than a random choice's.

    Args:
        two_sided: whether a smaller sum counts, too.
    """
    rng = np.random.default_rng(seed)
    sums, observed = np.zeros(DRAWS), 0.0
    for values in instances:
        if condition not in values:
            continue
        pool = np.array([values[condition], *(values[one] for one in others if one in values)])
        pool = pool - pool.mean()
        observed += float(pool[0])
        if np.ptp(pool) > 0:
            sums += pool[rng.integers(len(pool), size=DRAWS)]
    if two_sided:
        sums, observed = np.abs(sums), abs(observed)
    return float((1 + np.sum(sums >= observed - 1e-9)) / (DRAWS + 1))


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
        drawn = rng.permuted(np.tile(labels, (DRAWS, 1)), axis=1)
        totals += _energy(distances, drawn)
    return float((1 + np.sum(totals >= observed - 1e-9)) / (DRAWS + 1))


def _energy(distances: Floats, labels: Floats) -> Floats:
    own, rest = labels, 1 - labels
    n, m = own.sum(axis=1), rest.sum(axis=1)
    across: Floats = np.einsum("ij,ij->i", own @ distances, rest) / (n * m)
    inside = np.einsum("ij,ij->i", own @ distances, own) / n**2
    inside += np.einsum("ij,ij->i", rest @ distances, rest) / m**2
    energy: Floats = 2 * across - inside
    return energy


def any_differs(instances: Instances, repeats: Sequence[str], others: Sequence[str]) -> float:
    """Return the exact p-value that conditions with values of 1 avoid the identical repeats.

    Args:
        instances: values of 0 and 1.
        repeats: conditions that are the same as the base.
        others: conditions that may have an effect.
    """
    weights, seen = np.ones(1), 0
    for values in instances:
        n = sum(name in values for name in others)
        plain = sum(name in values for name in repeats)
        hits = sum(int(values[name]) for name in others if name in values)
        total = hits + sum(int(values[name]) for name in repeats if name in values)
        seen += hits
        options = [comb(n, x) * comb(plain, total - x) if 0 <= total - x <= plain else 0
                   for x in range(n + 1)]  # fmt: skip
        weights = np.convolve(weights, np.array(options, dtype=float) / comb(n + plain, total))
    return float(min(1.0, weights[seen:].sum()))


def more_often(count: int, of: int, limit: float) -> float:
    """Return the exact p-value that something happens more often than a limit allows.

    Args:
        count: how often it happened.
        of: how often it could have happened.
        limit: the largest share that is not a weakness.
    """
    return float(binom.sf(count - 1, of, limit)) if count else 1.0


def least_count(of: int, limit: float, level: float) -> int | None:
    """Return the smallest count that :func:`more_often` finds at a level; None if none does."""
    return next((k for k in range(1, of + 1) if more_often(k, of, limit) <= level), None)
