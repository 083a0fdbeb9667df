"""All symmetric Nash equilibria of a symmetric two-player game, and the one of most entropy.

In a symmetric game both players choose among the same strategies, and ``payoffs[i, j]`` is what
strategy i gets against strategy j. A mixture x is a symmetric equilibrium if no strategy gets more
against x than x itself does: the largest (A x)_i is x' A x. Every such game has one (Nash 1951).
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components

from cheaptalk.equilibrium.dominance import undominated, undominated_by_mixtures
from cheaptalk.equilibrium.entropy import entropy, most_entropy
from cheaptalk.equilibrium.faces import Face, equilibrium_faces
from cheaptalk.equilibrium.payoffs import (
    EquilibriumError,
    Flags,
    Floats,
    many_payoffs,
    scaled,
    symmetric_payoffs,
)
from cheaptalk.equilibrium.results import Component, Equilibrium, SymmetricEquilibria
from cheaptalk.equilibrium.supports import MOST, ZERO, Integers, Supports, search

TOLERANCE = 1e-9
SAME = 1e-9
"""Mixtures whose shares differ by no more than this are one."""
MIXED = 18
"""From so many strategies on, dominance by mixtures is worth its linear programs."""
HOPEFUL = 2 * MOST
"""Up to so many strategies, dominance by mixtures may leave few enough to search."""
DIGITS = 9
"""Decimals to which entropies and payoffs are compared."""


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
    :mod:`cheaptalk.equilibrium.supports`), and every equilibrium is verified by its regret. Where
    the equations of a support are singular, equilibria may form a continuum; it is reported as one
    component with its point of most entropy. Payoffs count as equal if they differ by less than
    about 1e-11 of the largest spread within a column.

    Args:
        payoffs: what strategy i gets against strategy j, shape (n, n).
        labels: what the strategies are called where the result is printed; else their indices.
        tolerance: the largest regret of an equilibrium, as a share of the range of payoffs within
            a column, among the strategies that are not dominated.
        limit: stop when so many sets were visited, and say what is known; without it none stops.
        progress: told now and then what share of all sets is decided, in [0, 1].

    Raises:
        ValueError: the payoffs are no square matrix of finite numbers, or labels do not fit.
        EquilibriumError: dominance leaves more than 48 strategies, no equilibrium was found, or one
            could not be verified.
    """
    matrix = symmetric_payoffs(payoffs)
    names = None if labels is None else tuple(labels)
    if names is not None and len(names) != len(matrix):
        raise ValueError(f"{len(matrix)} strategies need as many labels, not {len(names)}")
    left = _searched(matrix)
    found, bound = _found(_among(matrix, left), tolerance, limit, progress)
    components = [
        Component(Equilibrium.at(matrix, _whole(point, left)), _whole(corners, left))
        for point, corners in found
    ]
    points = np.array([component.point.mixture for component in components])
    order = _order(matrix[None], np.zeros(len(points), dtype=np.int64), points)
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
    answers = np.zeros(matrices.shape[:2])
    left = _left(matrices)
    sizes = left.sum(axis=1)
    hard = set(np.flatnonzero(sizes >= MIXED).tolist())
    for size in sorted(set(sizes[sizes < MIXED].tolist())):
        group = np.flatnonzero(sizes == size)
        hard |= _fast_mene(matrices, left, group, answers)
    known: dict[bytes, Floats] = {}
    for game in sorted(hard):
        answers[game] = _careful_mene(matrices[game], known)
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
    game, mixtures = _isolated(games, outcome.supports, TOLERANCE)
    whole = np.zeros((len(game), matrices.shape[1]))
    np.put_along_axis(whole, kept[game], mixtures, axis=1)
    order = _order(matrices[group], game, whole)
    solved, first = np.unique(game[order], return_index=True)
    answers[group[solved]] = whole[order[first]]
    unsolved = set(range(len(group))) - set(solved.tolist())
    return {int(group[one]) for one in unsolved | {sets.game for sets in outcome.singular}}


def _left(matrices: Floats) -> Flags:
    return undominated(scaled(matrices))


def _among(matrix: Floats, left: Flags) -> Floats:
    """The game among some of its strategies, on the common scale."""
    return np.asarray(scaled(matrix[None][:, left][:, :, left])[0])


def _searched(matrix: Floats) -> Flags:
    """The strategies that dominance leaves to a search."""
    left = _left(matrix[None])[0]
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
    _, mixtures = _isolated(game[None], outcome.supports, tolerance)
    found = _components(game, mixtures, equilibrium_faces(game, outcome.singular), tolerance)
    if not found:
        raise EquilibriumError(
            "no equilibrium has a regret below the tolerance, though every game has one; "
            "allow a larger tolerance"
            if outcome.bound is None
            else f"no equilibrium was found in {outcome.visited:,} sets; raise the limit"
        )
    return found, outcome.bound


def _isolated(games: Floats, supports: Supports, tolerance: float) -> tuple[Integers, Floats]:
    """The equilibria with the given supports: the game and the mixture of each."""
    game, inside = supports
    size = games.shape[1]
    system = np.zeros((len(game), size + 1, size + 1))
    system[:, :size, :size] = np.where(inside[:, :, None], games[game], np.eye(size))
    system[:, :size, size] = -inside.astype(float)
    system[:, size, :size] = 1
    solved = np.linalg.solve(system, np.eye(size + 1)[:, -1:])[:, :size, 0]
    mixtures = np.where(solved > ZERO, solved, 0.0)
    mixtures /= mixtures.sum(axis=1, keepdims=True)
    good = (solved.min(axis=1, initial=0) >= -tolerance) & (
        _regrets(games[game], mixtures) <= tolerance
    )
    return game[good], mixtures[good]


def _regrets(games: Floats, mixtures: Floats) -> Floats:
    """The regret of each mixture in its game."""
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
    peak[present] = most_entropy(equal, unequal, face.vertices[:, present].mean(axis=0))
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
