"""Polytopes of symmetric equilibria, computed exactly.

If the equations of a support are singular, equilibria can form polytopes. The mixtures x with their
best payoff v = max (A x)_i form a polyhedron. Let a *label* of strategy i be either x_i = 0 or (A
x)_i = v. An equilibrium has a label of each strategy, and the equilibria that share one choice of
labels form a face of the polyhedron, a polytope. The equilibria of a game are the union of those
faces, at most finitely many (for bimatrix games: Jansen 1981, Maximal Nash subsets for bimatrix
games, Naval Research Logistics Quarterly 28(1)). Rounded numbers cannot distinguish singular from
nearly singular systems, so faces are computed with integers, without rounding.
"""

from collections.abc import Iterator, Sequence
from math import log
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cheaptalk.equilibrium.solvers.payoffs import GRID, Flags, Floats
from cheaptalk.equilibrium.solvers.supports import Singular

WholeNumbers = npt.NDArray[Any]
"""An array of Python integers, which are unbounded."""
MANY = 500
"""The maximum number of intermediate vertices of a face; larger faces are split."""
SAME = 1e-9
"""The maximum difference in shares between equal mixtures."""


class Face(NamedTuple):
    """A polytope of symmetric equilibria, with vertices of shape (points, n).

    ``absent`` flags strategies without a share on it, ``best_responses`` those that are best
    everywhere on it; both have shape (n,).
    """

    vertices: Floats
    absent: Flags
    best_responses: Flags


def equilibrium_faces(game: Floats, singular: Sequence[Singular], least: float = 0.0) -> list[Face]:
    """Return the maximal polytopes of equilibria among the candidate supports of a scaled game.

    All mixtures of two extreme equilibria are equilibria if both have a common label of each
    strategy. Polytopes whose entropies are all below ``least`` may be missing.
    """
    reduced = [sets for sets, most in _reduced(game, singular) if most >= least - SAME]
    size = len(game)
    integers = np.vectorize(int, otypes=[object])(np.rint(game * GRID))
    extremes = dict(vertex for sets in reduced for vertex in _extreme_equilibria(integers, sets))
    points, labels = list(extremes), np.array(list(extremes.values()))
    near = []
    for index, own in enumerate(labels):
        shared = labels & own
        joined = (shared[:, :size] | shared[:, size:]).all(axis=1)
        near.append(set(np.flatnonzero(joined).tolist()) - {index})
    faces = []
    for group in _cliques(near, set(), set(range(len(points))), set()):
        common: Flags = np.logical_and.reduce(labels[list(group)])
        vertices = np.array([points[index] for index in sorted(group)])
        faces.append(Face(vertices, common[:size], common[size:]))
    return faces


def _reduced(game: Floats, singular: Sequence[Singular]) -> Iterator[tuple[Singular, float]]:
    """Yield candidate supports without strategies that have no share, with a bound on entropy.

    A loss that is a linear function of the shares without positive coefficients is 0, and so are
    the shares with negative coefficients. The same holds with reversed signs for the losses of
    members, which are 0. The bound is the entropy of equal shares.
    """
    if not singular:
        return
    size, sets = len(game), np.arange(len(singular))
    integers = np.rint(game * GRID).astype(np.int64)
    references = np.array([part.inside[0] for part in singular])
    member, possible = np.zeros((len(sets), size), bool), np.ones((len(sets), size), bool)
    for number, part in enumerate(singular):
        member[number, list(part.inside)] = True
        possible[number, list(part.outside)] = False
    losses = integers[references][:, None] - integers
    signs = np.stack([losses < 0, losses > 0])
    for _ in range(size):
        occurs: Flags = np.any(signs & possible[:, None], axis=3)
        one_sided = ~occurs[::-1]
        one_sided[1] &= member
        none = (signs & one_sided[..., None]).any(axis=(0, 2))
        if not (none & possible).any():
            break
        possible &= ~none
    for part, shares in zip(singular, possible, strict=True):
        if shares.any():
            outside = tuple(np.flatnonzero(~shares).tolist())
            yield part._replace(outside=outside), log(shares.sum())


def _cliques(
    near: list[set[int]], group: set[int], open_: set[int], closed: set[int]
) -> Iterator[set[int]]:
    """Yield the maximal cliques of a graph (Bron and Kerbosch 1973, with a pivot)."""
    if not open_ and not closed:
        if group:
            yield group
        return
    pivot = max(open_ | closed, key=lambda node: len(open_ & near[node]))
    for node in sorted(open_ - near[pivot]):
        yield from _cliques(near, group | {node}, open_ & near[node], closed & near[node])
        open_ = open_ - {node}
        closed = closed | {node}


def _extreme_equilibria(
    game: WholeNumbers, sets: Singular
) -> Iterator[tuple[tuple[float, ...], Flags]]:
    """Yield a face's vertices at which each strategy is unused or a best response.

    The labels, shape (2 n,), flag the unused strategies, then the best responses.
    """
    size = len(game)
    waiting = [sets]
    while waiting:
        _, inside, outside = part = waiting.pop()
        cut = _vertices(game, part)
        if cut is None:
            split = min(set(range(size)).difference(inside, outside))
            waiting.append(part._replace(inside=(*inside, split)))
            waiting.append(part._replace(outside=(*outside, split)))
            continue
        for ray, labels in zip(*cut, strict=True):
            if (labels[:size] | labels[size:]).all():
                total = sum(ray)
                yield tuple(share / total for share in ray), labels


def _vertices(game: WholeNumbers, sets: Singular) -> tuple[WholeNumbers, Flags] | None:
    """Return a face's vertices as integer rays with their labels, or None if there are too many.

    The double description method (Motzkin et al. 1953) starts with the vertices of the simplex and
    cuts by each equation or inequality. A cut keeps the feasible vertices and adds a point on each
    edge that it crosses.
    """
    size = len(game)
    rays = np.eye(size, dtype=int).astype(object)
    rays = rays[[strategy for strategy in range(size) if strategy not in sets.outside]]
    tight = np.concatenate([rays == 0, np.zeros((len(rays), size), dtype=bool)], axis=1)
    reference, *other_members = sets.inside
    tight[:, size + reference] = True
    undecided = set(range(size)).difference(sets.inside, sets.outside)
    others = [strategy for strategy in range(size) if strategy not in sets.inside]
    for row in [*other_members, *others]:
        heights = rays @ (game[row] - game[reference])
        rays, tight = _cut(rays, tight, heights, size + row, exact=row in other_members)
        if len(rays) > MANY and undecided:
            return None
    return rays, tight


def _cut(
    rays: WholeNumbers, tight: Flags, heights: WholeNumbers, label: int, *, exact: bool
) -> tuple[WholeNumbers, Flags]:
    """Return a face's vertices after a cut by a constraint, with the labels that are tight.

    An edge joins two vertices if their common tight labels define a line, and no third vertex has
    all of these labels.
    """
    size = rays.shape[1]
    over, under = np.flatnonzero(heights > 0), np.flatnonzero(heights < 0)
    has, lacks = tight.astype(np.float32), (~tight).astype(np.float32)
    high, low = np.nonzero(has[over] @ has[under].T >= size - 1)
    high, low = over[high], under[low]
    common = (has[a] * has[b] for a, b in zip(high, low, strict=True))
    edge = [np.count_nonzero(lacks @ labels == 0) == 2 for labels in common]
    high, low = high[np.array(edge, dtype=bool)], low[np.array(edge, dtype=bool)]
    new_rays = heights[high, None] * rays[low] - heights[low, None] * rays[high]
    remaining = np.flatnonzero(heights == 0 if exact else heights <= 0)
    tight = np.concatenate([tight[remaining], tight[high] & tight[low]])
    tight[:, label] = np.concatenate([heights[remaining] == 0, np.ones(len(new_rays), dtype=bool)])
    if len(new_rays):
        new_rays = new_rays // np.gcd.reduce(new_rays, axis=1)[:, None]
    return np.concatenate([rays[remaining], new_rays]), tight
