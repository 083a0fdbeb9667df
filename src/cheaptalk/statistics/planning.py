"""Power analysis: how many more observations are needed to detect differences."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from cheaptalk.statistics.columns import FloatArray

DRAWS = 3_000
"""Monte Carlo draws for the power, which give a standard error of 0.7 percentage points."""
SMALLEST, LARGEST = 0.05, 1e6
"""The minimum and maximum growth factor."""


def correlations_of(deviations: FloatArray) -> FloatArray:
    """Return the correlations between rows with mean 0; those with a row of zeros are 0."""
    norms = np.sqrt((deviations**2).sum(axis=1))
    norms = np.where(norms > 0, norms, np.inf)
    correlation: FloatArray = deviations @ deviations.T / np.outer(norms, norms)
    np.fill_diagonal(correlation, 1.0)
    return correlation


def growth_for_power(
    sizes: ArrayLike,
    errors: ArrayLike,
    freedom: float,
    correlation: ArrayLike,
    *,
    tail: float,
    power: float = 0.8,
) -> float | None:
    """Return the factor by which the sample must grow to detect all the given differences.

    A difference is detected if it exceeds t standard errors, with t the quantile of Student's t at
    1 - ``tail``. The joint power is that of a multivariate noncentral t distribution with the given
    correlation, estimated from the same draws for every growth.

    Args:
        sizes: the assumed true differences; shape (differences,).
        errors: the standard errors of these differences with the current observations.
        freedom: the current degrees of freedom, which grow with the observations.
        correlation: the correlation of the estimates, shape (differences, differences).
        tail: the one-sided probability of detecting a zero difference, in (0, 0.5).
        power: the probability of detecting all differences, in (0, 1).

    Returns:
        The factor, or None if a difference is not positive or is too small.
    """
    shifts = np.asarray(sizes, dtype=np.float64) / np.asarray(errors, dtype=np.float64)
    if not (shifts > 0).all():
        return None
    generator = np.random.default_rng(0)
    values, vectors = np.linalg.eigh(np.asarray(correlation, dtype=np.float64))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    normal = generator.normal(size=(DRAWS, len(shifts))) @ root.T
    scale = generator.normal(size=DRAWS)

    def power_at(growth: float) -> float:
        grown = max(freedom * growth, 1.0)
        part = 2 / (9 * grown)  # chi square by Wilson and Hilferty (1931)
        spread = np.maximum(1 - part + scale * part**0.5, 0.0) ** 1.5
        exceeds: FloatArray = normal + shifts * growth**0.5
        quantile = float(stdtrit(grown, 1 - tail))
        return float((exceeds > quantile * spread[:, None]).all(axis=1).mean())

    low, high = np.log(SMALLEST), np.log(LARGEST)
    if power_at(LARGEST) < power:
        return None
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (low, middle) if power_at(float(np.exp(middle))) >= power else (middle, high)
    return float(np.exp(high))
