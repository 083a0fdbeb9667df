"""Sample sizes: how many more observations a decision needs to come out as the data suggest."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from cheaptalk.statistics.columns import FloatArray

DRAWS = 3_000
"""Of the Monte Carlo estimate of a joint power: its standard error is 0.7 points."""
SMALLEST, LARGEST = 0.05, 1e6
"""How many times as many observations are considered."""


def correlations_of(deviations: FloatArray) -> FloatArray:
    """Return how rows of deviations, each with mean 0, correlate; a row of zeros does with none."""
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
    """Return how many times as many observations let all differences be found at once.

    Each difference is found if it exceeds t standard errors, with t the quantile of Student's t at
    1 - ``tail``. The statistics have a multivariate noncentral t distribution with the given
    correlation, whose joint power is estimated from the same draws for every growth.

    Args:
        sizes: the true differences, by assumption; shape (differences,).
        errors: their standard errors with as many observations as there are.
        freedom: degrees of freedom of the errors, which grow with the observations.
        correlation: of the estimates, shape (differences, differences).
        tail: the probability of finding a difference of 0 in its direction, in (0, 0.5).
        power: the probability of finding all differences, in (0, 1).

    Returns:
        None if no number of observations would do: a difference is not positive, or too small.
    """
    shifts = np.asarray(sizes, dtype=np.float64) / np.asarray(errors, dtype=np.float64)
    if not (shifts > 0).all():
        return None
    generator = np.random.default_rng(0)
    values, vectors = np.linalg.eigh(np.asarray(correlation, dtype=np.float64))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    normal = generator.normal(size=(DRAWS, len(shifts))) @ root.T
    scale = generator.normal(size=DRAWS)

    def found(growth: float) -> float:
        grown = max(freedom * growth, 1.0)
        part = 2 / (9 * grown)  # chi square by Wilson and Hilferty (1931)
        spread = np.maximum(1 - part + scale * part**0.5, 0.0) ** 1.5
        exceeds: FloatArray = normal + shifts * growth**0.5
        quantile = float(stdtrit(grown, 1 - tail))
        return float((exceeds > quantile * spread[:, None]).all(axis=1).mean())

    low, high = np.log(SMALLEST), np.log(LARGEST)
    if found(LARGEST) < power:
        return None
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (low, middle) if found(float(np.exp(middle))) >= power else (middle, high)
    return float(np.exp(high))
