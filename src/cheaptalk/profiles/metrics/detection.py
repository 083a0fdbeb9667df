"""Minimum detectable effects: the smallest effects that a design detects with a given power."""

from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri, ndtr

from cheaptalk.statistics.limits import t_quantile

POWER = 0.8
"""The power with which a detectable effect is detected."""
NODES = 4_000
"""Quantiles of the variance's distribution over which power is averaged."""


@lru_cache(maxsize=4_096)
def noncentrality(freedom: float, level: float, power: float = POWER) -> float:
    """Return the effect, in standard errors, that a two-sided t test detects with a given power.

    Let t be the critical value, Z standard normal and V chi-squared with f degrees of freedom. The
    test of an effect of d standard errors rejects if Z + d > t * sqrt(V / f). Its probability is
    the mean of Phi(d - t * sqrt(V / f)) over quantiles of V. This computation is stable for the
    large noncentralities of few degrees of freedom. Rejections on the wrong side are ignored.

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
    critical = float(t_quantile(freedom, 1 - level))
    bounds = critical * np.sqrt(chdtri(freedom, upper) / freedom)

    def excess(effect: float) -> float:
        return float(np.mean(ndtr(effect - bounds))) - power

    return float(brentq(excess, 0, float(bounds.max()) + 10))


def detectable_effect(
    error: float | None, freedom: float | None, clusters: int | None, reach: float, level: float,
    largest: float = np.inf,
) -> float | None:  # fmt: skip
    """Return the smallest effect on a mean that is detected with 80 % power.

    The effect is :func:`noncentrality` times the standard error. If the values are equal in all G
    clusters, the standard error of an effect d is sqrt(d * (reach - d) / G), as if d / reach of the
    clusters differed by ``reach``.

    Args:
        error: standard error of the mean; None if the values are equal.
        freedom: degrees of freedom of the standard error; None or 0 for one cluster.
        clusters: number of clusters, G.
        reach: distance from the mean to the farther bound; may be infinite.
        level: level of the two-sided test.
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
    """Return whether a sign-flip test of ``clusters`` values can be significant at a level.

    >>> permits(6, 0.05), permits(5, 0.05)
    (True, False)
    """
    return clusters is not None and 2.0 ** (1 - clusters) <= level
