"""Minimum detectable effects: the smallest effect that a design detects with a given power."""

from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri, ndtr, stdtrit

POWER = 0.8
"""The power with which a detectable effect is detected."""
NODES = 4_000
"""Quantiles of the variance's distribution over which power is averaged."""


@lru_cache(maxsize=4_096)
def noncentrality(freedom: float, level: float, power: float = POWER) -> float:
    """Return how many standard errors an effect needs to be detected by a two-sided t test.

    With t the critical value, Z standard normal and V chi-squared with f degrees of freedom, the
    test of an effect of d standard errors rejects if Z + d > t * sqrt(V / f), which has the
    probability 1 - F(t; f, d) of the noncentral t distribution. It is computed as the mean of
    Phi(d - t * sqrt(V / f)) over quantiles of V, which is stable for the large noncentralities of
    few degrees of freedom. Rejections on the wrong side are not counted.

    >>> round(noncentrality(1e6, 0.05), 2)
    2.8
    >>> round(noncentrality(9, 0.05), 2)
    3.15

    Args:
        freedom: degrees of freedom of the standard error, above 0.
        level: the level of the test, in (0, 1).
        power: in (0, 1).
    """
    upper = (np.arange(NODES) + 0.5) / NODES
    critical = float(stdtrit(freedom, 1 - level / 2))
    bounds = critical * np.sqrt(chdtri(freedom, upper) / freedom)

    def excess(effect: float) -> float:
        return float(np.mean(ndtr(effect - bounds))) - power

    return float(brentq(excess, 0, float(bounds.max()) + 10))


def detectable_effect(
    error: float | None, freedom: float | None, clusters: int | None, reach: float, level: float,
    largest: float = np.inf,
) -> float | None:  # fmt: skip
    """Return the smallest effect on a mean that is detected with 80 % power.

    If the values varied, it is :func:`noncentrality` times the standard error. If they did not
    vary over several clusters, the standard error of an effect d is that of a share d / reach of
    the clusters which differ by the whole reach, sqrt(d * (reach - d) / G).

    Args:
        error: the standard error of the mean; None if the values did not vary.
        freedom: its degrees of freedom; None or 0 of one cluster.
        clusters: G, how many there are.
        reach: the distance of the mean from the farther of its bounds; may be infinite.
        level: the level of the two-sided test.
        largest: the largest possible effect.

    Returns:
        The effect in the unit of the mean; None if the design detects no possible effect.
    """
    if not freedom or not clusters:
        return None
    needed = noncentrality(round(freedom, 6), level)
    effect = needed * error if error else np.inf
    if not error and np.isfinite(reach):
        effect = reach * needed**2 / (clusters + needed**2)
    return float(effect) if effect <= largest and np.isfinite(effect) else None


def permits(clusters: int | None, level: float) -> bool:
    """Return whether a sign-flip test of this many clusters can reach a level: its smallest p-value
    is 2 / 2 ** clusters.

    >>> permits(6, 0.05), permits(5, 0.05)
    (True, False)
    """
    return clusters is not None and 2.0 ** (1 - clusters) <= level
