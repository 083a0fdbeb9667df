"""The mixture of most entropy in a polytope."""

import numpy as np
import numpy.typing as npt
from scipy.linalg import null_space
from scipy.special import entr, logsumexp

from cheaptalk.equilibrium.solvers.payoffs import EquilibriumError, Floats

GAP = 1e-8
"""How far, in nats, the entropy found may lie below what a dual bound proves possible."""
LOWER = 0.1
"""How far the barrier is lowered at a time."""
LAST = 1e-10
"""When it is low enough: what it costs at most, in nats."""
STEPS = 100
EXACT = 1e-26
"""A step that gains less than this ends Newton's method."""
NOISE = 1e-13
"""How far rounding moves the sum of x ln x and the barrier."""


def entropy(mixtures: npt.ArrayLike) -> Floats:
    """Shannon entropy, minus the sum of x_i ln x_i, in nats; 0 ln 0 is 0.

    Args:
        mixtures: probabilities along the last axis.

    Returns:
        Entropies in [0, ln n], one axis less.
    """
    return np.asarray(entr(np.asarray(mixtures, dtype=np.float64)).sum(axis=-1))


def most_entropy(
    equal: Floats, unequal: Floats, inside: Floats, vertices: Floats | None = None
) -> Floats:
    """The mixture of most entropy with ``equal @ x == 0`` and ``unequal @ x <= 0``.

    A barrier method: Newton's method within the equations, from inside the inequalities, with a
    barrier before them that is lowered step by step. It ends with a proof. With E and G the two
    matrices, the entropy of any such mixture is at most

        ln sum over i of exp(-(E' m + G' k)_i)    for all m and all k >= 0,

    which the mixture attains at the right multipliers (Boyd and Vandenberghe 2004, Convex
    Optimization, sections 5.1.6 and 11.3). So the maximum is proven up to 1e-8 nats. Entropy is
    concave, so that it is also at most its linear approximation at the mixture, whose maximum is at
    a vertex (Frank and Wolfe 1956, An Algorithm for Quadratic Programming, Naval Research Logistics
    3). That proves the maximum of slivers no thicker than rounding errors, in which multipliers are
    ill-conditioned.

    Args:
        equal: shape (equations, n).
        unequal: shape (inequalities, n).
        inside: such a mixture with all shares positive and ``unequal @ x < 0``, shape (n,).
        vertices: all vertices of the polytope if they are known, shape (vertices, n).

    Returns:
        The mixture, shape (n,).

    Raises:
        EquilibriumError: no maximum could be proven.
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
    others = np.linalg.lstsq(fixed.T, -slope)[0][:-1]
    gap = float(logsumexp(-(others @ equal + multipliers @ unequal)) - entropy(mixture))
    if vertices is not None:
        ascent = float(((vertices - mixture) @ -(np.log(mixture) + 1)).max())
        gap = min(abs(gap), abs(ascent))
    if not abs(gap) <= GAP:
        raise EquilibriumError(
            "the mixture of most entropy among equilibria that are not isolated is known only to "
            f"{abs(gap):.1g} nats; round the payoffs to fewer digits"
        )
    return mixture


def _minimum(mixture: Floats, barrier: float, unequal: Floats, free: Floats) -> Floats:
    """Where the sum of x ln x and the barrier is least: Newton's method with backtracking."""

    def height(at: Floats) -> float:
        slack = -(unequal @ at)
        if slack.min() <= 0:
            return np.inf
        return float(at @ np.log(at) - barrier * np.log(slack).sum())

    for _ in range(STEPS):
        pull = unequal.T / -(unequal @ mixture)
        slope = free.T @ (np.log(mixture) + barrier * pull.sum(axis=1))
        bend = free.T @ (free / mixture[:, None]) + barrier * (free.T @ pull) @ (free.T @ pull).T
        size = np.sqrt(np.diag(bend))  # near a barrier they differ by many powers of ten
        step = -np.linalg.lstsq(bend / np.outer(size, size), slope / size)[0] / size
        gain, length = -float(slope @ step), 1.0
        if gain < EXACT:
            break
        most = height(mixture) + NOISE
        while (
            length > EXACT and height(mixture + length * (free @ step)) > most - gain * length / 4
        ):
            length /= 2
        mixture = mixture + length * (free @ step)
    return mixture
