"""Find all symmetric Nash equilibria of a symmetric two-player game.

In a symmetric game, both players choose among the same strategies, and ``payoffs[i, j]`` is the
payoff of strategy i against strategy j. A mixture x is a symmetric equilibrium if no strategy has a
higher payoff against x than x itself: the largest (A x)_i is x' A x. Every such game has one (Nash
1951). If the equations of a support are singular, equilibria can form polytopes; see
:mod:`cheaptalk.equilibrium.solvers.faces`.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components

from cheaptalk.equilibrium.solvers.bimatrix import MOST_PIVOTS, basic_values, pivot
from cheaptalk.equilibrium.solvers.entropy import entropy, most_entropy
from cheaptalk.equilibrium.solvers.faces import SAME, Face, equilibrium_faces
from cheaptalk.equilibrium.solvers.payoffs import (
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
from cheaptalk.equilibrium.solvers.supports import (
    MOST,
    ZERO,
    Search,
    search,
    undominated,
    undominated_by_mixtures,
)
from cheaptalk.rules.errors import WrongValue

TOLERANCE = 1e-9
MIXED = 18
"""The minimum number of strategies for testing dominance by mixtures."""
HOPEFUL = 2 * MOST
"""The maximum number of strategies for testing dominance by mixtures."""
SEPARATE = 100_000
"""The maximum number of candidate supports of one game."""
BLOCK = 4_096
"""The number of systems that are solved together."""
DIGITS = 9
"""The decimals to which entropies and payoffs are compared."""


def symmetric_equilibria(
    payoffs: npt.ArrayLike,
    *,
    labels: Sequence[str] | None = None,
    tolerance: float = TOLERANCE,
    limit: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> SymmetricEquilibria:
    """Find all symmetric Nash equilibria of a symmetric two-player game.

    Strictly dominated strategies are eliminated, every set of the others is tested (see
    :mod:`cheaptalk.equilibrium.solvers.supports`), and every equilibrium is verified by its regret.
    If the equations of a support are singular, equilibria can form a continuum, which is one
    component with its maximum-entropy point. Payoffs within 1e-9 of the game's largest of a best
    reply's count as best; regrets refer to the original payoffs. Other payoffs are equal if they
    differ by less than about 1e-11 of the largest spread within a column.

    Args:
        payoffs: the payoff of strategy i against strategy j, shape (n, n).
        labels: the labels of the strategies in text; indices by default.
        tolerance: the largest regret of an equilibrium, as a share of the range of payoffs within
            a column, among the strategies that are not dominated.
        limit: the maximum number of visited sets; None for no limit. An incomplete result includes
            the equilibria at the ends of Lemke's paths, but no continua.
        progress: called repeatedly with the completed share of all sets or of the limit, in [0, 1].

    Raises:
        WrongValue: the payoffs aren't a square matrix of finite numbers, or the number of labels
            differs.
        EquilibriumError: more than 48 undominated strategies remain, no equilibrium was found, or
            one could not be verified.
    """
    matrix = symmetric_payoffs(payoffs)
    names = None if labels is None else tuple(labels)
    if names is not None and len(names) != len(matrix):
        raise WrongValue(f"{len(matrix)} strategies need {len(matrix)} labels, not {len(names)}")
    level = levelled(matrix[None])[0]
    remaining = _searched(level)
    solutions, bound = _solve_components(_among(level, remaining), tolerance, limit, progress)
    points = np.array([_expanded(point, remaining) for point, _ in solutions])
    components = [
        Component(Equilibrium.of_mixture(matrix, point), _expanded(corners, remaining))
        for point, (_, corners) in zip(points, solutions, strict=True)
    ]
    order = _order(level[None], np.zeros(len(points), dtype=np.int64), points)
    ordered = tuple(components[index] for index in order)
    return SymmetricEquilibria(ordered, bound is None, bound, names)


def mene_mixtures(payoffs: npt.ArrayLike) -> Floats:
    """Return the maximum-entropy symmetric equilibrium of each of many games.

    The results equal those of ``symmetric_equilibria(...).mene``, but all games are solved
    together.

    Args:
        payoffs: the payoffs, shape (games, n, n).

    Returns:
        The mixture of each game, shape (games, n).

    Raises:
        WrongValue: the payoffs aren't square matrices of finite numbers.
        EquilibriumError: no equilibrium of a game was found, or one could not be verified.
    """
    matrices = many_payoffs(payoffs)
    answers, level = np.zeros(matrices.shape[:2]), levelled(matrices)
    (remaining,) = undominated(scaled(level))
    sizes = remaining.sum(axis=1)
    hard = set(np.flatnonzero(sizes >= MIXED).tolist())
    for size in sorted(set(sizes[sizes < MIXED].tolist())):
        group = np.flatnonzero(sizes == size)
        hard |= _fast_mene(level, remaining, group, answers)
    cache: dict[bytes, Floats] = {}
    for game in sorted(hard):
        answers[game] = _careful_mene(level[game], cache)
    return answers


def _careful_mene(matrix: Floats, cache: dict[bytes, Floats]) -> Floats:
    remaining = _searched(matrix)
    inner = _among(matrix, remaining)
    key = inner.tobytes()
    if key not in cache:
        components = _solve_components(inner, TOLERANCE, best=True)[0]
        cache[key] = np.array([point for point, _ in components])
    points = _expanded(cache[key], remaining)
    order = _order(matrix[None], np.zeros(len(points), dtype=np.int64), points)
    return np.asarray(points[order[0]])


def _fast_mene(matrices: Floats, remaining: Flags, group: Integers, answers: Floats) -> set[int]:
    """Write quickly found equilibria to ``answers``; return the games that need a full search."""
    strategies = np.array([np.flatnonzero(row) for row in remaining[group]])
    games = scaled(matrices[group[:, None, None], strategies[:, :, None], strategies[:, None]])
    outcome = search(games)
    game, mixtures = _isolated(games, outcome, TOLERANCE)
    full_mixtures = np.zeros((len(game), matrices.shape[1]))
    np.put_along_axis(full_mixtures, strategies[game], mixtures, axis=1)
    order = _order(matrices[group], game, full_mixtures)
    solved, first_index = np.unique(game[order], return_index=True)
    answers[group[solved]] = full_mixtures[order[first_index]]
    unsolved = set(range(len(group))) - set(solved.tolist())
    return {int(group[index]) for index in unsolved | {sets.game for sets in outcome.singular}}


def _among(matrix: Floats, selected: Flags) -> Floats:
    return np.asarray(scaled(matrix[None][:, selected][:, :, selected])[0])


def _searched(matrix: Floats) -> Flags:
    remaining = undominated(scaled(matrix[None]))[0][0]
    if MIXED <= remaining.sum() <= HOPEFUL:
        remaining[remaining] = undominated_by_mixtures(_among(matrix, remaining))
    if remaining.sum() > MOST:
        raise EquilibriumError(
            f"{remaining.sum()} strategies remain after removing dominated ones; at most {MOST} "
            "can be searched, so omit some"
        )
    return np.asarray(remaining)


def _solve_components(
    game: Floats,
    tolerance: float,
    limit: int | None = None,
    progress: Callable[[float], None] | None = None,
    *,
    best: bool = False,
) -> tuple[list[tuple[Floats, Floats]], float | None]:
    """Return a game's equilibrium components, and the maximum entropy of unlisted equilibria.

    With ``best``, components with less entropy than another may be missing.
    """
    outcome = search(game[None], limit=limit, progress=progress)
    if len(outcome.game) > SEPARATE:
        raise EquilibriumError(
            f"more than {SEPARATE:,} of {outcome.visited:,} strategy sets are supports of "
            "equilibria, too many to distinguish; omit some strategies"
        )
    _, mixtures = _isolated(game[None], outcome, tolerance)
    if outcome.bound is not None:
        extra = lemke_mixtures(game)
        good = _regrets(game[None].repeat(len(extra), 0), extra) <= tolerance
        mixtures = np.concatenate([mixtures, extra[good]])
    singular = outcome.singular if outcome.bound is None else []
    least = float(entropy(mixtures).max(initial=0.0)) if best else 0.0
    faces = equilibrium_faces(game, singular, least)
    components = _components(game, mixtures, faces, tolerance)
    if not components:
        raise EquilibriumError(
            "no equilibrium has a regret below the tolerance, though every game has one; "
            "allow a larger tolerance"
            if outcome.bound is None
            else f"no equilibrium was found in {outcome.visited:,} sets; raise the limit"
        )
    return components, outcome.bound


def _isolated(games: Floats, search: Search, tolerance: float) -> tuple[Integers, Floats]:
    size = games.shape[1]
    kept_games, solved = [np.zeros(0, dtype=search.game.dtype)], [np.zeros((0, size))]
    for start in range(0, len(search.game), BLOCK):
        block = slice(start, start + BLOCK)
        game = search.game[block]
        mixtures, good = _solved(games[game], search.inside[block], tolerance)
        kept_games.append(game[good])
        solved.append(mixtures[good])
    return np.concatenate(kept_games), np.concatenate(solved)


def _solved(games: Floats, inside: Flags, tolerance: float) -> tuple[Floats, Flags]:
    """Return the indifference mixture of each game's support, and whether it is an equilibrium."""
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
    """Return the symmetric equilibria at the ends of Lemke's paths, shape (paths, n).

    Each path starts with an empty basis, adds one strategy, and pivots between bases of ``{y >= 0:
    M y <= 1}``, where M is positive and has the game's best responses. Each strategy except the
    first is unused or a best response, until this is also true of the first (Lemke 1965, Bimatrix
    Equilibrium Points and Mathematical Programming, Management Science 11(7)).
    """
    size = len(game)
    polytope = np.concatenate([unit_spread(game[None])[0] + 2, np.eye(size)], axis=1)
    system = np.broadcast_to(polytope, (size, *polytope.shape))
    bases = np.tile(np.arange(size, 2 * size), (size, 1))
    on_path, entering = np.arange(size), np.arange(size)
    for _ in range(MOST_PIVOTS):
        bases[on_path], leaving = pivot(system[on_path], bases[on_path], entering)
        going = leaving % size != on_path
        on_path, entering = on_path[going], (leaving[going] + size) % (2 * size)
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
    for face in faces:
        games = game[None].repeat(len(face.vertices), 0)
        if _regrets(games, face.vertices).max() > tolerance:
            raise EquilibriumError(
                f"equilibria with the best responses {np.flatnonzero(face.best_responses).tolist()}"
                " have regrets above the tolerance; allow a larger tolerance"
            )
    isolated = mixtures[~_lies_on(game, mixtures, faces)]
    _, unique_index = np.unique((isolated / SAME).round(), axis=0, return_index=True)
    components = [(isolated[index], isolated[[index]]) for index in unique_index]
    for group in _touching(faces):
        points = np.concatenate([face.vertices for face in group])
        _, unique_index = np.unique((points / SAME).round(), axis=0, return_index=True)
        peaks = np.array([_peak(game, face) for face in group])
        components.append((peaks[entropy(peaks).argmax()], points[unique_index]))
    return components


def _lies_on(game: Floats, mixtures: Floats, faces: list[Face]) -> Flags:
    """Return which mixtures belong to a polytope of equilibria."""
    against = mixtures @ game.T
    slack = against.max(axis=1, keepdims=True, initial=-np.inf) - against
    on = np.zeros(len(mixtures), dtype=bool)
    for _, absent, best in faces:
        on |= (mixtures[:, absent] <= SAME).all(1) & (slack[:, best] <= SAME).all(1)
    return on


def _touching(faces: list[Face]) -> list[list[Face]]:
    corners = [set(map(tuple, face.vertices.tolist())) for face in faces]
    near = [[bool(vertices_1 & vertices_2) for vertices_2 in corners] for vertices_1 in corners]
    count, group = connected_components(np.array(near)) if near else (0, [])
    return [
        [face for face, group_of_face in zip(faces, group, strict=True) if group_of_face == number]
        for number in range(count)
    ]


def _peak(game: Floats, face: Face) -> Floats:
    """Return the maximum-entropy mixture on a polytope of equilibria."""
    if len(face.vertices) == 1:
        return np.asarray(face.vertices[0])
    best, present = face.best_responses, ~face.absent
    lead = (game - game[best.argmax()])[:, present]  # of each strategy over the best responses
    vertices, peak = face.vertices[:, present], np.zeros(len(game))
    peak[present] = most_entropy(lead[best], lead[~best], vertices.mean(axis=0), vertices)
    return peak


def _order(matrices: Floats, game: Integers, mixtures: Floats) -> Integers:
    """Sort mixtures by game, then entropy, then payoff, then the first shares."""
    payoffs = np.einsum("gi,gij,gj->g", mixtures, matrices[game], mixtures)
    units = np.ptp(matrices, axis=(1, 2))[game]
    keys = [entropy(mixtures), payoffs / np.where(units > 0, units, 1.0), *mixtures.T]
    return np.asarray(np.lexsort([*(-key.round(DIGITS) for key in reversed(keys)), game]))


def _expanded(mixtures: Floats, selected: Flags) -> Floats:
    full = np.zeros((*mixtures.shape[:-1], len(selected)))
    full[..., selected] = mixtures
    return full
