"""p-values corrected for their number."""

from collections.abc import Sequence

import numpy as np
from scipy.stats import false_discovery_control

from cheaptalk.statistics.arrays import FloatArray


def holm(p: Sequence[float] | FloatArray) -> FloatArray:
    """p-values corrected by Holm's step-down rule: the chance of any false finding is held.

    The k-th smallest of m becomes the largest of (m - j + 1) p_j over j up to k, at most 1 (Holm
    1979, A Simple Sequentially Rejective Multiple Test Procedure).

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]

    Raises:
        ValueError: a p-value is not in [0, 1].
    """
    values = _checked(p)
    order = np.argsort(values)
    steps = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    corrected = np.empty(len(values))
    corrected[order] = np.minimum(1, steps)
    return corrected


def benjamini_hochberg(p: Sequence[float] | FloatArray) -> FloatArray:
    """p-values corrected so that the expected share of false findings is held.

    The k-th smallest of m becomes the smallest of m p_j / j over j from k on, at most 1 (Benjamini
    and Hochberg 1995, Controlling the False Discovery Rate).

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.04, 0.04]

    Raises:
        ValueError: a p-value is not in [0, 1].
    """
    values = _checked(p)
    return np.asarray(false_discovery_control(values)) if len(values) else values


def _checked(p: Sequence[float] | FloatArray) -> FloatArray:
    values = np.asarray(p, dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("p-values lie between 0 and 1; leave out those that are not defined")
    return values
