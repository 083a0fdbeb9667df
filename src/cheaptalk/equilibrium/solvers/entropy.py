"""The maximum-entropy mixture in a polytope."""

import numpy as np
import numpy.typing as npt
from scipy.linalg import null_space
from scipy.special import entr, logsumexp

from cheaptalk.equilibrium.solvers.payoffs import EquilibriumError, Floats

GAP = 1e-8
"""The maximum gap, in nats, between the entropy and its dual bound."""
LOWER = 0.1
"""The factor by which each step lowers the barrier."""
LAST = 1e-10
"""The final barrier: its maximum cost, in nats."""
STEPS = 100
EXACT = 1e-26
"""The minimum gain of a Newton step."""
NOISE = 1e-13
"""The rounding error of the objective."""


def entropy(mixtures: npt.ArrayLike) -> Floats:
    """Return the Shannon entropy, minus the sum of x_i ln x_i, in nats, along the last axis."""
    return np.asarray(entr(np.asarray(mixtures, dtype=np.float64)).sum(axis=-1))


def most_entropy(
    equal: Floats, unequal: Floats, inside: Floats, vertices: Floats | None = None
) -> Floats:
    """Return the maximum-entropy mixture with ``equal @ x == 0`` and ``unequal @ x <= 0``.

    A barrier method applies Newton's method within the equations, from a feasible mixture
    ``inside`` with positive shares and ``unequal @ x < 0``, and verifies the result. With E and G
    the two matrices, the entropy of any such mixture is at most

        ln sum over i of exp(-(E' m + G' k)_i)    for all m and all k >= 0,

    which the solution attains at the optimal multipliers (Boyd and Vandenberghe 2004, Convex
    Optimization, sections 5.1.6 and 11.3). This proves the maximum up to 1e-8 nats. Because entropy
    is concave, it is also at most its linear approximation, whose maximum is at a vertex (Frank and
    Wolfe 1956, An Algorithm for Quadratic Programming, Naval Research Logistics 3). The second
    bound, for which all vertices must be known, is for polytopes so thin that multipliers are
    ill-conditioned.

    Args:
        equal: the matrix E of the equations, shape (equations, n).
        unequal: the matrix G of the inequalities, shape (inequalities, n).
        vertices: all vertices of the polytope if known, shape (vertices, n).

    Raises:
        EquilibriumError: the maximum could not be proven.
    """
    fixed = np.concatenate([equal, np.ones((1, len(inside)))])
    unequal = np.concatenate([unequal, -np.eye(len(inside))])  # no share may reach 0 on the way
    free = null_space(fixed)
    mixture, barrier = inside, 1.0
    while barrier * len(unequal) > LAST:
        barrier *= LOWER
        mixture = _minimum(mixture, barrier, unequal, free)
    multipliers = -barrier / (unequal @ mixture)
    slope = np.log(mixture) + multipliers @ unequal
    equal_multipliers = np.linalg.lstsq(fixed.T, -slope)[0][:-1]
    gap = float(logsumexp(-(equal_multipliers @ equal + multipliers @ unequal)) - entropy(mixture))
    if vertices is not None:
        ascent = float(((vertices - mixture) @ -(np.log(mixture) + 1)).max())
        gap = min(abs(gap), abs(ascent))
    if not abs(gap) <= GAP:
        raise EquilibriumError(
            "the maximum-entropy mixture of a continuum of equilibria is known only to "
            f"{abs(gap):.1g} nats; round the payoffs to fewer digits"
        )
    return mixture


def _minimum(mixture: Floats, barrier: float, unequal: Floats, free: Floats) -> Floats:
    """Minimise negative entropy plus a log barrier by Newton's method with backtracking."""

    def height(point: Floats) -> float:
        slack = -(unequal @ point)
        if slack.min() <= 0:
            return np.inf
        return float(point @ np.log(point) - barrier * np.log(slack).sum())

    for _ in range(STEPS):
        pull = unequal.T / -(unequal @ mixture)
        slope = free.T @ (np.log(mixture) + barrier * pull.sum(axis=1))
        bend = free.T @ (free / mixture[:, None]) + barrier * (free.T @ pull) @ (free.T @ pull).T
        size = np.sqrt(np.diag(bend))  # near a barrier they differ by many powers of ten
        step = -np.linalg.lstsq(bend / np.outer(size, size), slope / size)[0] / size
        gain, length = -float(slope @ step), 1.0
        if gain < EXACT:
            break
        limit = height(mixture) + NOISE
        while (
            length > EXACT and height(mixture + length * (free @ step)) > limit - gain * length / 4
        ):
            length /= 2
        mixture = mixture + length * (free @ step)
    return mixture
