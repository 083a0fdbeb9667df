"""Equilibria of bimatrix games: one by each label, and all of them.

Every profile that comes out carries its regrets.

Both ways move on the players' best-response polytopes. A polytope is a system of equations: an
array of shape (r, v) that stands for ``system @ z = 1, z >= 0``, r equations in v variables with
bounded solutions. A basis is r of the variables, by index; the others are zero.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from cheaptalk.equilibrium.solvers.dominance import MARGIN
from cheaptalk.equilibrium.solvers.payoffs import EquilibriumError, Flags, Floats
from cheaptalk.equilibrium.solvers.profiles import Profile, checked, unit_spread, verified
from cheaptalk.rules.display import Printed

Indices = NDArray[np.intp]
TINY = 1e-11
"""Below this a number of a system counts as zero; systems hold numbers between 1 and 2."""
ZERO = 1e-10
"""Up to this a variable at a vertex is zero."""
MOST_BASES = 200_000
"""How many bases are visited in search of all vertices before the search gives up."""
ENTRIES_AT_ONCE = 4_000_000
"""Numbers that a step of the search holds at once, so that memory stays flat."""
PAIRS_AT_ONCE = 1_000
"""Vertices of one player that are matched with the other's at once."""
MOST_PIVOTS = 10_000
"""How many steps Lemke and Howson's path may take before it is given up."""


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class BimatrixEquilibria(Printed):
    """All equilibria of a bimatrix game.

    Attributes:
        components: each isolated equilibrium or connected continuum by its extreme points. An
            isolated one is its own only extreme point. The equilibria of a continuum are mixtures
            of its extreme points, though not every mixture of them is an equilibrium.
        degenerate: whether some mixture has more best answers than strategies in use, among the
            strategies that strict dominance leaves; only then can there be a continuum.
    """

    components: tuple[tuple[Profile, ...], ...]
    degenerate: bool

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """The extreme points of all components; without a continuum, all equilibria."""
        return tuple(profile for component in self.components for profile in component)

    def __str__(self) -> str:
        """The equilibria, one a line; the extreme points of a continuum stand under it."""
        kind = "degenerate" if self.degenerate else "not degenerate"
        alone = sum(len(component) == 1 for component in self.components)
        lines = [f"isolated: {alone}, continua: {len(self.components) - alone} ({kind})"]
        for component in self.components:
            if len(component) > 1:
                lines.append(f"- a continuum with {len(component)} extreme points:")
            lines += [f"{'  ' * (len(component) > 1)}- {profile}" for profile in component]
        return "\n".join(lines)


def bimatrix_equilibria(a: ArrayLike, b: ArrayLike) -> BimatrixEquilibria:
    """All equilibria of a bimatrix game, by the vertices of its best-response polytopes.

    Strategies that others strictly dominate are struck out first. Every extreme equilibrium is then
    a pair of vertices at which each strategy is unused or a best answer, and the connected
    components of the graph of these pairs are those of the set of equilibria (Mangasarian 1964;
    Jansen 1981; Avis, Rosenberg, Savani and von Stengel 2010, Enumeration of Nash Equilibria for
    Two-Player Games, Economic Theory 42(1)). What misses being a best answer by less than 1e-10 of
    the spread of payoffs counts as one.

    Time and memory grow with the number of vertices, up to about 2.6 ** n with n strategies a
    player and by as much in games of random payoffs: 0.3 s for 12, 1 s for 13, 25 s for 15 on one
    core. Dominance helps: what it strikes out does not count.

    Args:
        a: the row player's payoffs, shape (m, n).
        b: the column player's, of the same shape.

    Raises:
        ValueError: the payoffs are not two finite matrices of one shape.
        EquilibriumError: the game is too large, or too close to a tie for floating point.

    >>> found = bimatrix_equilibria([[3, 0], [0, 2]], [[2, 0], [0, 3]])
    >>> print(found)
    isolated: 3, continua: 0 (not degenerate)
    - {0: 1} x {0: 1}: payoffs 3, 2; regret 0.0e+00
    - {1: 1} x {1: 1}: payoffs 2, 3; regret 0.0e+00
    - {0: 0.6, 1: 0.4} x {0: 0.4, 1: 0.6}: payoffs 1.2, 1.2; regret ...
    """
    a, b = checked(a, b)
    rows, columns = undominated_sides(a, b)
    small = a[np.ix_(rows, columns)], b[np.ix_(rows, columns)]
    x, y, parts, degenerate = _extremes(*small)
    profiles = []
    for inner in zip(x, y, strict=True):
        mixtures = np.zeros(a.shape[0]), np.zeros(a.shape[1])
        mixtures[0][rows], mixtures[1][columns] = inner
        profiles.append(verified(a, b, *mixtures))
    groups: dict[int, list[Profile]] = {}
    for part, found in sorted(zip(parts, profiles, strict=True), key=lambda one: _order(one[1])):
        groups.setdefault(part, []).append(found)
    return BimatrixEquilibria(tuple(map(tuple, groups.values())), degenerate)


def undominated_sides(a: Floats, b: Floats) -> tuple[Flags, Flags]:
    """The rows and the columns that survive iterated strict dominance by pure strategies.

    Args:
        a: the row player's payoffs, shape (m, n).
        b: the column player's, of the same shape.
    """
    sides = unit_spread(a[None])[0], unit_spread(b.T[None])[0]
    left = [np.ones(len(side), dtype=bool) for side in sides]
    while True:
        before = [part.copy() for part in left]
        for own, other in ((0, 1), (1, 0)):
            game = sides[own][:, left[other]]
            beaten = np.all(game[None] > game[:, None] + MARGIN, axis=2)
            left[own] &= ~np.any(beaten[:, left[own]], axis=1)
        if all(map(np.array_equal, before, left)):
            return left[0], left[1]


def _extremes(a: Floats, b: Floats) -> tuple[Floats, Floats, list[int], bool]:
    """The extreme equilibria: rows' mixtures, columns' mixtures, component; and degeneracy."""
    rows, columns = a.shape
    labels = rows + columns
    everything = (1 << labels) - 1
    first, second = (system[0] for system in systems(a[None], b[None]))
    points, codes, degenerate = [], [], False
    for system, start in ((first, np.arange(rows, labels)), (second, np.arange(rows))):
        values, zeros = vertices(system, start)
        own = slice(rows) if system is first else slice(rows, labels)
        used = values[:, own].any(axis=1)
        points.append(values[used, own] / values[used, own].sum(axis=1, keepdims=True))
        codes.append(zeros[used])
        degenerate |= bool((np.bitwise_count(zeros) > labels - len(start)).any())
    batches = [
        np.argwhere(codes[0][at : at + PAIRS_AT_ONCE, None] | codes[1] == everything)
        + np.array([at, 0])
        for at in range(0, len(codes[0]), PAIRS_AT_ONCE)
    ]
    x, y = np.concatenate(batches).T
    ends = len(codes[0]), len(codes[1])
    nodes = coo_array((np.ones(len(x)), (x, y + ends[0])), shape=(sum(ends), sum(ends)))
    _, parts = connected_components(nodes, directed=False)
    return points[0][x], points[1][y], parts[x].tolist(), degenerate


def _order(found: Profile) -> tuple[int, list[int], list[int]]:
    """Small supports first, then by the strategies in them."""
    row, column = np.flatnonzero(found.row).tolist(), np.flatnonzero(found.column).tolist()
    return len(row) + len(column), row, column


def lemke_howson(a: ArrayLike, b: ArrayLike, label: int) -> Profile:
    """The equilibrium at the end of Lemke and Howson's path for a label.

    The path starts from the artificial equilibrium without any strategy and drops one label: the
    row or column with which a player would begin. Different labels may lead to different equilibria
    or to the same, and some equilibria are at the end of none. Ties are broken lexicographically,
    so that the path ends in degenerate games too (Lemke and Howson 1964, Equilibrium Points of
    Bimatrix Games; Shapley 1974; von Stengel 2002, sections 2.3 and 2.6).

    Args:
        a: the row player's payoffs, shape (m, n).
        b: the column player's, of the same shape.
        label: 0 to m - 1 for rows, m to m + n - 1 for columns.

    Raises:
        ValueError: the payoffs are not two finite matrices of one shape, or there is no such label.
        EquilibriumError: the path is too long, or its end misses the tolerance.

    >>> print(lemke_howson([[1, -1], [-1, 1]], [[-1, 1], [1, -1]], 0))
    {0: 0.5, 1: 0.5} x {0: 0.5, 1: 0.5}: payoffs 0, 0; regret 0.0e+00
    """
    a, b = checked(a, b)
    row, column = lemke_howson_mixtures(a[None], b[None], label)
    return verified(a, b, row[0], column[0])


def lemke_howson_mixtures(a: ArrayLike, b: ArrayLike, label: int) -> tuple[Floats, Floats]:
    """Lemke and Howson's equilibria of many games of one size, all paths walked together.

    Args:
        a: the row player's payoffs, shape (K, m, n).
        b: the column player's, of the same shape.
        label: as for :func:`lemke_howson`.

    Returns:
        The row players' mixtures, shape (K, m), and the column players', shape (K, n).

    Raises:
        ValueError, EquilibriumError: as for :func:`lemke_howson`.
    """
    a, b = checked(a, b, 3)
    games, rows, columns = a.shape
    if not 0 <= label < rows + columns:
        raise ValueError(f"There is no label {label}: they run from 0 to {rows + columns - 1}")
    both = systems(a, b)
    bases = [
        np.tile(np.arange(rows, rows + columns), (games, 1)),
        np.tile(np.arange(rows), (games, 1)),
    ]
    on_path, entering = np.arange(games), np.full(games, label)
    side = 0 if label < rows else 1
    for _ in range(MOST_PIVOTS):
        bases[side][on_path], left = pivot(both[side][on_path], bases[side][on_path], entering)
        on_path, entering = on_path[left != label], left[left != label]
        if not len(on_path):
            break
        side = 1 - side
    else:
        raise EquilibriumError(
            f"Lemke and Howson's path for label {label} did not end within {MOST_PIVOTS:,} pivots; "
            "try another label"
        )
    weights = [basic_values(system, basis) for system, basis in zip(both, bases, strict=True)]
    x, y = weights[0][:, :rows], weights[1][:, rows:]
    return x / x.sum(axis=1, keepdims=True), y / y.sum(axis=1, keepdims=True)


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
    return np.asarray(open_rows.argmax(axis=-1))


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
    at_once = max(1, ENTRIES_AT_ONCE // (system.shape[0] ** 2 * system.shape[1]))
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
