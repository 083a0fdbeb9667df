"""All symmetric Nash equilibria of a symmetric two-player game, and the one of most entropy.

In a symmetric game both players choose among the same strategies, and ``payoffs[i, j]`` is what
strategy i gets against strategy j. A mixture x is a symmetric equilibrium if no strategy gets more
against x than x itself does: the largest (A x)_i is x' A x. Every such game has one (Nash 1951).

Where the equations of a support are singular, equilibria can form polytopes. The mixtures x with
their best payoff v = max (A x)_i form a polyhedron. Let a *label* of strategy i be either x_i = 0
or (A x)_i = v. An equilibrium has a label of each strategy, and the equilibria that share one
choice of labels form a face of the polyhedron, a polytope. The equilibria of a game are the union
of those faces, at most finitely many (for bimatrix games: Jansen 1981, Maximal Nash subsets for
bimatrix games, Naval Research Logistics Quarterly 28(1)). Whether a system is singular, or only
nearly so, is nothing that rounded numbers can tell, so faces are computed with whole numbers,
without rounding.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components

from cheaptalk.equilibrium.solvers.bimatrix import MOST_PIVOTS, basic_values, pivot
from cheaptalk.equilibrium.solvers.dominance import undominated, undominated_by_mixtures
from cheaptalk.equilibrium.solvers.entropy import entropy, most_entropy
from cheaptalk.equilibrium.solvers.payoffs import (
    GRID,
    EquilibriumError,
    Flags,
    Floats,
    Integers,
    levelled,
    many_payoffs,
    scaled,
    symmetric_payoffs,
)
from cheaptalk.equilibrium.solvers.profiles import unit_spread
from cheaptalk.equilibrium.solvers.solutions import Component, Equilibrium, SymmetricEquilibria
from cheaptalk.equilibrium.solvers.supports import MOST, ZERO, Search, Singular, search

WholeNumbers = npt.NDArray[Any]
"""An array of Python's own whole numbers, which have no largest."""
MANY = 500
"""A face with more vertices than this on the way is looked at in two parts."""
TOLERANCE = 1e-9
SAME = 1e-9
"""Mixtures whose shares differ by no more than this are one."""
MIXED = 18
"""From so many strategies on, dominance by mixtures is worth its linear programs."""
HOPEFUL = 2 * MOST
"""Up to so many strategies, dominance by mixtures may leave few enough to search."""
SEPARATE = 100_000
"""The most equilibria of one game that are told apart."""
BLOCK = 4_096
"""Systems that are solved at once."""
DIGITS = 9
"""Decimals to which entropies and payoffs are compared."""


class Face(NamedTuple):
    """A polytope of equilibria.

    Attributes:
        vertices: its extreme points, shape (points, n).
        absent: strategies with no share anywhere on it.
        best: strategies that are best replies everywhere on it.
    """

    vertices: Floats
    absent: frozenset[int]
    best: frozenset[int]


class _Vertex(NamedTuple):
    """An extreme equilibrium, and its labels of both kinds."""

    point: tuple[float, ...]
    absent: frozenset[int]
    best: frozenset[int]

    def joined(self, other: "_Vertex") -> bool:
        """Whether all between the two are equilibria: they share a label of each strategy."""
        shared = self.absent & other.absent | self.best & other.best
        return len(shared) == len(self.point)


def symmetric_equilibria(
    payoffs: npt.ArrayLike,
    *,
    labels: Sequence[str] | None = None,
    tolerance: float = TOLERANCE,
    limit: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> SymmetricEquilibria:
    """All symmetric Nash equilibria of a symmetric two-player game.

    Strictly dominated strategies are struck out, every set of the others is decided (see
    :mod:`cheaptalk.equilibrium.solvers.supports`), and every equilibrium is verified by its
    regret. Where the equations of a support are singular, equilibria may form a continuum; it is
    reported as one component with its point of most entropy. Payoffs that fall short of the best
    reply's by no more than 1e-9 of the game's largest are best, too; regrets are of the payoffs as
    given. Others count as equal if they differ by less than about 1e-11 of the largest spread
    within a column.

    Args:
        payoffs: what strategy i gets against strategy j, shape (n, n).
        labels: what the strategies are called where the result is printed; else their indices.
        tolerance: the largest regret of an equilibrium, as a share of the range of payoffs within
            a column, among the strategies that are not dominated.
        limit: stop when so many sets were visited, and say what is known: at least the equilibria
            at the ends of Lemke's paths, but no continua. Without it none stops.
        progress: told now and then what share of all sets is decided, or of the limit visited, in
            [0, 1].

    Raises:
        ValueError: the payoffs are no square matrix of finite numbers, or labels do not fit.
        EquilibriumError: dominance leaves more than 48 strategies, no equilibrium was found, or one
            could not be verified.
    """
    matrix = symmetric_payoffs(payoffs)
    names = None if labels is None else tuple(labels)
    if names is not None and len(names) != len(matrix):
        raise ValueError(f"{len(matrix)} strategies need as many labels, not {len(names)}")
    level = levelled(matrix[None])[0]
    left = _searched(level)
    found, bound = _found(_among(level, left), tolerance, limit, progress)
    components = [
        Component(Equilibrium.at(matrix, _whole(point, left)), _whole(corners, left))
        for point, corners in found
    ]
    points = np.array([component.point.mixture for component in components])
    order = _order(level[None], np.zeros(len(points), dtype=np.int64), points)
    ordered = tuple(components[one] for one in order)
    return SymmetricEquilibria(ordered, bound is None, bound, names)


def mene_mixtures(payoffs: npt.ArrayLike) -> Floats:
    """The maximum-entropy symmetric equilibrium of each of many games, as for a bootstrap.

    The answers are those of ``symmetric_equilibria(...).mene``, found for all games together.

    Args:
        payoffs: shape (games, n, n).

    Returns:
        A mixture a game, shape (games, n).

    Raises:
        ValueError: the payoffs are not square matrices of finite numbers.
        EquilibriumError: no equilibrium of a game was found, or one could not be verified.
    """
    matrices = many_payoffs(payoffs)
    answers, level = np.zeros(matrices.shape[:2]), levelled(matrices)
    left = undominated(scaled(level))
    sizes = left.sum(axis=1)
    hard = set(np.flatnonzero(sizes >= MIXED).tolist())
    for size in sorted(set(sizes[sizes < MIXED].tolist())):
        group = np.flatnonzero(sizes == size)
        hard |= _fast_mene(level, left, group, answers)
    known: dict[bytes, Floats] = {}
    for game in sorted(hard):
        answers[game] = _careful_mene(level[game], known)
    return answers


def _careful_mene(matrix: Floats, known: dict[bytes, Floats]) -> Floats:
    """The answer of one game; draws of strategies without chance are often the same game."""
    left = _searched(matrix)
    inner = _among(matrix, left)
    key = inner.tobytes()
    if key not in known:
        known[key] = np.array([point for point, _ in _found(inner, TOLERANCE)[0]])
    points = _whole(known[key], left)
    order = _order(matrix[None], np.zeros(len(points), dtype=np.int64), points)
    return np.asarray(points[order[0]])


def _fast_mene(matrices: Floats, left: Flags, group: Integers, answers: Floats) -> set[int]:
    """Fill in the answers of games with as many strategies left; the games that need more care."""
    kept = np.array([np.flatnonzero(row) for row in left[group]])
    games = scaled(matrices[group[:, None, None], kept[:, :, None], kept[:, None]])
    outcome = search(games)
    game, mixtures = _isolated(games, outcome, TOLERANCE)
    whole = np.zeros((len(game), matrices.shape[1]))
    np.put_along_axis(whole, kept[game], mixtures, axis=1)
    order = _order(matrices[group], game, whole)
    solved, first = np.unique(game[order], return_index=True)
    answers[group[solved]] = whole[order[first]]
    unsolved = set(range(len(group))) - set(solved.tolist())
    return {int(group[one]) for one in unsolved | {sets.game for sets in outcome.singular}}


def _among(matrix: Floats, left: Flags) -> Floats:
    """The game among some of its strategies, on the common scale."""
    return np.asarray(scaled(matrix[None][:, left][:, :, left])[0])


def _searched(matrix: Floats) -> Flags:
    """The strategies that dominance leaves to a search."""
    left = undominated(scaled(matrix[None]))[0]
    if MIXED <= left.sum() <= HOPEFUL:
        left[left] = undominated_by_mixtures(_among(matrix, left))
    if left.sum() > MOST:
        raise EquilibriumError(
            f"{left.sum()} strategies are left when dominated ones are struck out, and no more "
            f"than {MOST} can be searched; leave some out"
        )
    return np.asarray(left)


def _found(
    game: Floats,
    tolerance: float,
    limit: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> tuple[list[tuple[Floats, Floats]], float | None]:
    """The components of a scaled game, and the most entropy that another can have."""
    outcome = search(game[None], limit=limit, progress=progress)
    if len(outcome.game) > SEPARATE:
        raise EquilibriumError(
            f"more than {SEPARATE:,} of {outcome.visited:,} sets of strategies are those of "
            "equilibria, too many to tell apart; leave some strategies out"
        )
    _, mixtures = _isolated(game[None], outcome, tolerance)
    if outcome.bound is not None:
        more = lemke_mixtures(game)
        good = _regrets(game[None].repeat(len(more), 0), more) <= tolerance
        mixtures = np.concatenate([mixtures, more[good]])
    singular = outcome.singular if outcome.bound is None else []
    found = _components(game, mixtures, equilibrium_faces(game, singular), tolerance)
    if not found:
        raise EquilibriumError(
            "no equilibrium has a regret below the tolerance, though every game has one; "
            "allow a larger tolerance"
            if outcome.bound is None
            else f"no equilibrium was found in {outcome.visited:,} sets; raise the limit"
        )
    return found, outcome.bound


def _isolated(games: Floats, found: Search, tolerance: float) -> tuple[Integers, Floats]:
    """The equilibria with the supports found: the game and the mixture of each."""
    size = games.shape[1]
    kept, solved = [np.zeros(0, dtype=found.game.dtype)], [np.zeros((0, size))]
    for start in range(0, len(found.game), BLOCK):
        some = slice(start, start + BLOCK)
        game = found.game[some]
        mixtures, good = _solved(games[game], found.inside[some], tolerance)
        kept.append(game[good])
        solved.append(mixtures[good])
    return np.concatenate(kept), np.concatenate(solved)


def _solved(games: Floats, inside: Flags, tolerance: float) -> tuple[Floats, Flags]:
    """The mixture of each game's support that makes all in it equally good, and whether it is an
    equilibrium."""
    size = games.shape[1]
    system = np.zeros((len(games), size + 1, size + 1))
    system[:, :size, :size] = np.where(inside[:, :, None], games, np.eye(size))
    system[:, :size, size] = -inside.astype(float)
    system[:, size, :size] = 1
    solved = np.linalg.solve(system, np.eye(size + 1)[:, -1:])[:, :size, 0]
    mixtures = np.where(solved > ZERO, solved, 0.0)
    mixtures /= mixtures.sum(axis=1, keepdims=True)
    good = solved.min(axis=1, initial=0) >= -tolerance
    return mixtures, np.asarray(good & (_regrets(games, mixtures) <= tolerance))


def lemke_mixtures(game: Floats) -> Floats:
    """Symmetric equilibria of a symmetric game at the ends of Lemke's paths, one at least.

    A path begins without any strategy, takes one, and pivots between bases of
    ``{y >= 0: M y <= 1}``, M positive with the game's best replies, in which each strategy but the
    first is unplayed or a best reply, until this one is too (Lemke 1965, Bimatrix Equilibrium
    Points and Mathematical Programming, Management Science 11(7)).

    Args:
        game: the row player's payoffs, shape (n, n).

    Returns:
        A mixture for each path that ended, shape (paths, n).
    """
    size = len(game)
    polytope = np.concatenate([unit_spread(game[None])[0] + 2, np.eye(size)], axis=1)
    system = np.broadcast_to(polytope, (size, *polytope.shape))
    bases = np.tile(np.arange(size, 2 * size), (size, 1))
    on_path, entering = np.arange(size), np.arange(size)
    for _ in range(MOST_PIVOTS):
        bases[on_path], left = pivot(system[on_path], bases[on_path], entering)
        going = left % size != on_path
        on_path, entering = on_path[going], (left[going] + size) % (2 * size)
        if not len(on_path):
            break
    ended = np.setdiff1d(np.arange(size), on_path)
    weights = basic_values(system[ended], bases[ended])[:, :size]
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _regrets(games: Floats, mixtures: Floats) -> Floats:
    against = np.einsum("gij,gj->gi", games, mixtures)
    return np.asarray(against.max(axis=1) - np.einsum("gi,gi->g", against, mixtures))


def _components(
    game: Floats, mixtures: Floats, faces: list[Face], tolerance: float
) -> list[tuple[Floats, Floats]]:
    """Each component's mixture of most entropy and its extreme points."""
    for face in faces:
        games = game[None].repeat(len(face.vertices), 0)
        if _regrets(games, face.vertices).max() > tolerance:
            raise EquilibriumError(
                f"equilibria with the best replies {sorted(face.best)} are not verified to the "
                "tolerance; allow a larger one"
            )
    alone = mixtures[~_lies_on(game, mixtures, faces)]
    _, first = np.unique((alone / SAME).round(), axis=0, return_index=True)
    found = [(alone[one], alone[[one]]) for one in first]
    for group in _touching(faces):
        points = np.concatenate([face.vertices for face in group])
        _, first = np.unique((points / SAME).round(), axis=0, return_index=True)
        peaks = np.array([_peak(game, face) for face in group])
        found.append((peaks[entropy(peaks).argmax()], points[first]))
    return found


def _lies_on(game: Floats, mixtures: Floats, faces: list[Face]) -> Flags:
    """Which mixtures belong to a polytope of equilibria."""
    against = mixtures @ game.T
    slack = against.max(axis=1, keepdims=True, initial=-np.inf) - against
    on = np.zeros(len(mixtures), dtype=bool)
    for _, absent, best in faces:
        on |= (mixtures[:, list(absent)] <= SAME).all(1) & (slack[:, list(best)] <= SAME).all(1)
    return on


def _touching(faces: list[Face]) -> list[list[Face]]:
    """Polytopes grouped by whether they hang together; two that meet share a vertex."""
    corners = [set(map(tuple, face.vertices.tolist())) for face in faces]
    near = [[bool(one & other) for other in corners] for one in corners]
    count, group = connected_components(np.array(near)) if near else (0, [])
    return [
        [face for face, own in zip(faces, group, strict=True) if own == number]
        for number in range(count)
    ]


def _peak(game: Floats, face: Face) -> Floats:
    """The mixture of most entropy on a polytope of equilibria."""
    if len(face.vertices) == 1:
        return np.asarray(face.vertices[0])
    more = game - game[min(face.best)]  # what a strategy gets more than the best ones
    present = [one for one in range(len(game)) if one not in face.absent]
    other = [one for one in range(len(game)) if one not in face.best]
    equal, unequal = more[sorted(face.best)][:, present], more[other][:, present]
    peak = np.zeros(len(game))
    vertices = face.vertices[:, present]
    peak[present] = most_entropy(equal, unequal, vertices.mean(axis=0), vertices)
    return peak


def _order(matrices: Floats, game: Integers, mixtures: Floats) -> Integers:
    """Mixtures ordered by game, then most entropy, then payoff, then the first shares."""
    payoffs = np.einsum("gi,gij,gj->g", mixtures, matrices[game], mixtures)
    units = np.ptp(matrices, axis=(1, 2))[game]
    keys = [entropy(mixtures), payoffs / np.where(units > 0, units, 1.0), *mixtures.T]
    return np.asarray(np.lexsort([*(-key.round(DIGITS) for key in reversed(keys)), game]))


def _whole(mixtures: Floats, left: Flags) -> Floats:
    """Mixtures of the strategies left as mixtures of all."""
    whole = np.zeros((*mixtures.shape[:-1], len(left)))
    whole[..., left] = mixtures
    return whole


def equilibrium_faces(game: Floats, singular: list[Singular]) -> list[Face]:
    """The largest polytopes of equilibria with the strategies inside and outside that are given.

    Args:
        game: scaled payoffs, shape (n, n).
        singular: where to look: sets of strategies of this game.
    """
    whole = np.vectorize(int, otypes=[object])(np.rint(game * GRID))
    found = {vertex: None for sets in singular for vertex in _extreme_equilibria(whole, sets)}
    vertices = list(found)
    near = [
        {other for other, two in enumerate(vertices) if two is not one and one.joined(two)}
        for one in vertices
    ]
    return [
        Face(
            np.array([vertices[one].point for one in sorted(group)]),
            frozenset.intersection(*(vertices[one].absent for one in group)),
            frozenset.intersection(*(vertices[one].best for one in group)),
        )
        for group in _cliques(near, set(), set(range(len(vertices))), set())
    ]


def _cliques(
    near: list[set[int]], group: set[int], open_: set[int], closed: set[int]
) -> Iterator[set[int]]:
    """The largest sets of which any two are near (Bron and Kerbosch 1973, with a pivot).

    Vertices of which any two share a label of each strategy all share one.
    """
    if not open_ and not closed:
        if group:
            yield group
        return
    pivot = max(open_ | closed, key=lambda one: len(open_ & near[one]))
    for one in sorted(open_ - near[pivot]):
        yield from _cliques(near, group | {one}, open_ & near[one], closed & near[one])
        open_ = open_ - {one}
        closed = closed | {one}


def _extreme_equilibria(game: WholeNumbers, sets: Singular) -> Iterator[_Vertex]:
    """The vertices of a face of the polyhedron that have a label of every strategy."""
    size = len(game)
    waiting = [sets]
    while waiting:
        _, inside, outside = part = waiting.pop()
        found = _vertices(game, part)
        if found is None:
            split = min(set(range(size)).difference(inside, outside))
            waiting.append(part._replace(inside=(*inside, split)))
            waiting.append(part._replace(outside=(*outside, split)))
            continue
        for ray, labels in zip(*found, strict=True):
            absent, best = labels[:size], labels[size:]
            if (absent | best).all():
                total = sum(ray)
                yield _Vertex(
                    tuple(share / total for share in ray),
                    frozenset(np.flatnonzero(absent).tolist()),
                    frozenset(np.flatnonzero(best).tolist()),
                )


def _vertices(game: WholeNumbers, sets: Singular) -> tuple[WholeNumbers, Flags] | None:
    """The vertices of a face as rays, and which labels each has; None if there are too many.

    The double description method (Motzkin et al. 1953): begin with the pure strategies, the
    vertices of the simplex, and cut by one equation or inequality after the other. A cut keeps the
    vertices on its right side and adds a point on each edge that it crosses.
    """
    size = len(game)
    rays = np.eye(size, dtype=int).astype(object)
    rays = rays[[one for one in range(size) if one not in sets.outside]]
    tight = np.concatenate([rays == 0, np.zeros((len(rays), size), dtype=bool)], axis=1)
    first, *others = sets.inside
    tight[:, size + first] = True
    undecided = set(range(size)).difference(sets.inside, sets.outside)
    for row in [*others, *(one for one in range(size) if one not in sets.inside)]:
        heights = rays @ (game[row] - game[first])
        rays, tight = _cut(rays, tight, heights, size + row, exact=row in others)
        if len(rays) > MANY and undecided:
            return None
    return rays, tight


def _cut(
    rays: WholeNumbers, tight: Flags, heights: WholeNumbers, label: int, *, exact: bool
) -> tuple[WholeNumbers, Flags]:
    """The vertices with height at most 0, or exactly 0, and what is tight at each of them.

    An edge joins two vertices if so much is tight at both that only a line is left, and no third
    vertex has it all.
    """
    size = rays.shape[1]
    over, under = np.flatnonzero(heights > 0), np.flatnonzero(heights < 0)
    has, lacks = tight.astype(np.float32), (~tight).astype(np.float32)
    high, low = np.nonzero(has[over] @ has[under].T >= size - 1)
    high, low = over[high], under[low]
    edge = np.array(
        [
            np.count_nonzero(lacks @ (has[a] * has[b]) == 0) == 2
            for a, b in zip(high, low, strict=True)
        ],
        dtype=bool,
    )
    high, low = high[edge], low[edge]
    made = heights[high, None] * rays[low] - heights[low, None] * rays[high]
    kept = np.flatnonzero(heights == 0 if exact else heights <= 0)
    tight = np.concatenate([tight[kept], tight[high] & tight[low]])
    tight[:, label] = np.concatenate([heights[kept] == 0, np.ones(len(made), dtype=bool)])
    if len(made):
        made = made // np.gcd.reduce(made, axis=1)[:, None]
    return np.concatenate([rays[kept], made]), tight
