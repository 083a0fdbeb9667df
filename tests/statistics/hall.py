"""Intervals freed of skewness, computed otherwise than the package does."""

import numpy as np
from scipy import optimize, stats


def halls_interval(
    off: np.ndarray, mean: float, level: float, freedom: float
) -> tuple[float, float]:
    """Hall's interval of clusters' deviations, by looking for where his polynomial is t."""
    t = stats.t.ppf((1 + level) / 2, freedom)
    skew = np.clip((off**3).sum() / (off**2).sum() ** 1.5, -0.9 / t, 0.9 / t)
    error = ((off**2).sum() * len(off) / (len(off) - 1)) ** 0.5

    def polynomial(y: float, wanted: float) -> float:
        return float(y + skew * y**2 / 3 + skew**2 * y**3 / 27 + skew / 6 - wanted)

    ends = [mean - error * optimize.brentq(polynomial, -99, 99, args=(one,)) for one in (t, -t)]
    return ends[0], ends[1]


def wider_interval(
    off: np.ndarray, difference: float, freedom: float, level: float = 0.95
) -> tuple[float, float]:
    """The interval of a difference: at each end the wider of Hall's and Student's."""
    low, high = halls_interval(off, difference, level, freedom)
    error = ((off**2).sum() * len(off) / (len(off) - 1)) ** 0.5
    width = stats.t.ppf((1 + level) / 2, freedom) * error
    return min(low, difference - width), max(high, difference + width)
