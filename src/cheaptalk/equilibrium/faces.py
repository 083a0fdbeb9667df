"""Symmetric equilibria where equations are singular: polytopes instead of points.

The mixtures x with their best payoff v = max (A x)_i form a polyhedron. Let a *label* of strategy i
be either x_i = 0 or (A x)_i = v. An equilibrium has a label of each strategy, and the equilibria
that share one choice of labels form a face of the polyhedron, a polytope. The equilibria of a
game are the union of those faces, at most finitely many (for bimatrix games: Jansen 1981,
Maximal Nash subsets for bimatrix games, Naval Research Logistics Quarterly 28(1)).

Whether a system is singular, or only nearly so, is nothing that rounded numbers can tell.
Everything here is computed with whole numbers, without rounding.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cheaptalk.equilibrium.payoffs import GRID, Flags, Floats
from cheaptalk.equilibrium.supports import Singular

Whole = npt.NDArray[Any]
"""An array of Python's own whole numbers, which have no largest."""
MANY = 500
"""A face with more vertices than this on the way is looked at in two parts."""


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


def _extreme_equilibria(game: Whole, sets: Singular) -> Iterator[_Vertex]:
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


def _vertices(game: Whole, sets: Singular) -> tuple[Whole, Flags] | None:
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
    rays: Whole, tight: Flags, heights: Whole, label: int, *, exact: bool
) -> tuple[Whole, Flags]:
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
