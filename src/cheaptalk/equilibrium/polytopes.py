"""Best-response polytopes and how to move on them: systems of equations, pivots, all vertices.

A system is an array of shape (r, v) that stands for ``system @ z = 1, z >= 0``: r equations in v
variables, with bounded solutions. A basis is r of the variables, by index; the others are zero.
"""

import numpy as np
from numpy.typing import NDArray

from cheaptalk.equilibrium.payoffs import EquilibriumError, Floats
from cheaptalk.equilibrium.profiles import unit_spread

Indices = NDArray[np.intp]

TINY = 1e-11
"""Below this a number of a system counts as zero; systems hold numbers between 1 and 2."""
ZERO = 1e-10
"""Up to this a variable at a vertex is zero."""
MOST_BASES = 200_000
"""How many bases are visited in search of all vertices before the search gives up."""
AT_ONCE = 4_000_000
"""Numbers that a step of the search holds at once, so that memory stays flat."""


def systems(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The row player's and the column player's best-response polytopes as systems.

    With m rows and n columns the variables of both are the labels 0 to m + n - 1. In the first
    system, label i < m is the weight of row i and label m + j the slack of column j as an answer to
    those weights; in the second, label i is the slack of row i and label m + j the weight of column
    j (von Stengel 2002, Computing Equilibria for Two-Person Games, section 2.4).

    Args:
        a: the row player's payoffs, shape (K, m, n).
        b: the column player's, of the same shape.
    """
    rows, columns = a.shape[-2:]
    ones_for_rows = np.broadcast_to(np.eye(rows), (len(a), rows, rows))
    ones_for_columns = np.broadcast_to(np.eye(columns), (len(a), columns, columns))
    first = np.concatenate([unit_spread(np.swapaxes(b, 1, 2)) + 2, ones_for_columns], axis=-1)
    return first, np.concatenate([ones_for_rows, unit_spread(a) + 2], axis=-1)


def solve(system: Floats, bases: Indices) -> Floats:
    """The inverses of the bases' columns, shape (K, r, r); their row sums are the basic values.

    Args:
        system: shape (K, r, v), or (1, r, v) for one that all bases share.
        bases: shape (K, r).

    Raises:
        EquilibriumError: a basis is singular in floating point.
    """
    columns = np.take_along_axis(system, bases[:, None, :], axis=2)
    try:
        return np.asarray(np.linalg.inv(columns), dtype=np.float64)
    except np.linalg.LinAlgError as error:
        raise EquilibriumError(
            "The payoffs are too close to a tie for floating point; round them to fewer digits"
        ) from error


def leaving(inverse: Floats, direction: Floats) -> Indices:
    """Which row of each basis leaves for an entering variable, by the lexicographic ratio test.

    Ties are broken as if the right-hand side were 1 + (e, e**2, ...) for a small e > 0, so that no
    basis comes twice, in degenerate games too (Charnes 1952, Optimality and Degeneracy in Linear
    Programming, Econometrica 20(2)).

    Args:
        inverse: the bases' inverses, shape (K, r, r).
        direction: the entering columns in terms of the bases, shape (K, r).
    """
    open_rows = direction > TINY
    divisor = np.where(open_rows, direction, 1)
    for key in (inverse.sum(axis=-1), *np.moveaxis(inverse, -1, 0)):
        ratio = np.where(open_rows, key / divisor, np.inf)
        open_rows &= ratio <= ratio.min(axis=-1, keepdims=True) + TINY
        if (open_rows.sum(axis=-1) <= 1).all():
            break
    rows: Indices = open_rows.argmax(axis=-1)
    return rows


def pivot(system: Floats, bases: Indices, entering: Indices) -> tuple[Indices, Indices]:
    """The bases after one variable entered each, and the variables that left them.

    Args:
        system: shape (K, r, v).
        bases: shape (K, r).
        entering: shape (K,), none of them in its basis.
    """
    each = np.arange(len(bases))
    inverse = solve(system, bases)
    direction = np.einsum("krs,ks->kr", inverse, system[each, :, entering])
    rows = leaving(inverse, direction)
    after = bases.copy()
    after[each, rows] = entering
    return after, bases[each, rows]


def vertices(system: Floats, start: Indices) -> tuple[Floats, NDArray[np.int64]]:
    """All vertices of ``system @ z = 1, z >= 0``, and which of their variables are zero.

    Walks over all bases that are lexicographically feasible, neighbour by neighbour; every vertex
    has at least one such basis, and they are connected.

    Args:
        system: shape (r, v), v at most 62.
        start: the basis of unit columns, shape (r,).

    Returns:
        The vertices, shape (K, v), no two alike; for each a number whose bit k is set where
        variable k is zero.

    Raises:
        EquilibriumError: there are too many variables or bases to visit.
    """
    bits = 1 << np.arange(system.shape[1], dtype=np.int64)
    if len(bits) > 62:
        raise EquilibriumError(
            "All equilibria of a game with more than 62 strategies are out of reach; "
            "use lemke_howson for one of them"
        )
    seen = np.array([bits[start].sum()])
    front = start[None]
    bases = [front]
    at_once = max(1, AT_ONCE // (system.shape[0] ** 2 * system.shape[1]))
    while len(front):
        parts = range(0, len(front), at_once)
        near = np.concatenate([_neighbours(system, front[at : at + at_once]) for at in parts])
        codes, first = np.unique(bits[near].sum(axis=1), return_index=True)
        new = np.isin(codes, seen, invert=True)
        front = near[first[new]]
        bases.append(front)
        seen = np.concatenate([seen, codes[new]])
        if len(seen) > MOST_BASES:
            raise EquilibriumError(
                f"The game has too many candidates for equilibria (over {MOST_BASES:,} bases); "
                "use lemke_howson for some of them, or leave strategies out"
            )
    values = basic_values(system[None], np.concatenate(bases))
    zeros, first = np.unique((values == 0) @ bits, return_index=True)
    return values[first], zeros


def _neighbours(system: Floats, bases: Indices) -> Indices:
    """The bases one pivot away from these, each in ascending order."""
    count, size = bases.shape
    outside = np.ones((count, system.shape[1]), dtype=bool)
    np.put_along_axis(outside, bases, values=False, axis=1)
    which, entering = outside.nonzero()
    inverse = solve(system[None], bases)
    direction = np.swapaxes(inverse @ system, 1, 2)[which, entering]
    near = bases[which]
    near[np.arange(len(near)), leaving(inverse[which], direction)] = entering
    return np.sort(near, axis=1).reshape(-1, size)


def basic_values(system: Floats, bases: Indices) -> Floats:
    """The variables' values at each basis, shape (K, v); systems and bases as for :func:`solve`."""
    values = np.zeros((len(bases), system.shape[-1]))
    np.put_along_axis(values, bases, solve(system, bases).sum(axis=-1), axis=1)
    values[values <= ZERO] = 0
    return values
