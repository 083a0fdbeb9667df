"""Skewness-corrected intervals, computed in another way than in the package."""

import numpy as np
from scipy import optimize, stats


def halls_interval(
    off: np.ndarray, mean: float, level: float, freedom: float
) -> tuple[float, float]:
    """Return Hall's interval of clusters' deviations, by solving his polynomial for t."""
    t = stats.t.ppf((1 + level) / 2, freedom)
    skew = np.clip((off**3).sum() / (off**2).sum() ** 1.5, -0.9 / t, 0.9 / t)
    error = ((off**2).sum() * len(off) / (len(off) - 1)) ** 0.5

    def polynomial(y: float, target: float) -> float:
        return float(y + skew * y**2 / 3 + skew**2 * y**3 / 27 + skew / 6 - target)

    ends = [mean - error * optimize.brentq(polynomial, -99, 99, args=(goal,)) for goal in (t, -t)]
    return ends[0], ends[1]


def wider_interval(
    off: np.ndarray, difference: float, freedom: float, level: float = 0.95
) -> tuple[float, float]:
    """Return the interval of a difference: at each end the wider of Hall's and Student's."""
    low, high = halls_interval(off, difference, level, freedom)
    error = ((off**2).sum() * len(off) / (len(off) - 1)) ** 0.5
    width = stats.t.ppf((1 + level) / 2, freedom) * error
    return min(low, difference - width), max(high, difference + width)
