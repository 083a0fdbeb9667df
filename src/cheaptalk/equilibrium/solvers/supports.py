"""Search through all possible supports of symmetric equilibria.

In an equilibrium x of the game A, every strategy i of the support S has the same payoff v, and no
other strategy has more:

    w_i = v - (A x)_i = 0 for i in S,    w_i >= 0 and x_i = 0 otherwise,    sum of x = 1.

The search decides strategy by strategy whether it belongs to S. With f the first member, x_f = 1
minus all others and w_f = 0 give every x_i and w_i as a linear function of the shares of undecided
strategies. Including strategy j means solving w_j = 0 for x_j and substituting it: one pivot, which
is done for thousands of sets at once. The shares of undecided strategies are at least 0 and sum to
at most 1, so each x_i and w_i has an upper bound. If the bound of a decided strategy is negative,
no superset is a support, and the branch is pruned. Once all strategies are decided, the functions
are constants: the equilibrium.

A pivot near 0 means that the equations of a set are singular or nearly singular. Such a set is
returned undivided; see :mod:`cheaptalk.equilibrium.solvers.symmetric`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from cheaptalk.equilibrium.solvers.payoffs import Flags, Floats, Integers

SINGULAR = 1e-6
"""Pivots below this, or coefficients above its inverse, count as singular."""
LOOSE = 1e-6
"""The maximum gain of an outside strategy in a candidate, which is verified later."""
ZERO = 1e-10
"""The maximum share that counts as 0."""
CELLS = 1 << 18
"""The number of coefficients processed together, which fits the processor's cache."""
MOST = 48
"""The maximum number of strategies, whose sets are the bits of one number."""


class Singular(NamedTuple):
    """Candidate supports with singular equations: strategies outside both tuples are undecided."""

    game: int
    inside: tuple[int, ...]
    outside: tuple[int, ...]


@dataclass(frozen=True)
class Search:
    """Results of searching games for the supports of symmetric equilibria.

    Attributes:
        game: the game number of each candidate support with regular equations.
        inside: the strategies in each candidate, shape (sets, n).
        visited: the number of sets visited, completely or in part.
        bound: the maximum entropy, in nats, of an equilibrium that was not found; None if there is
            none.
    """

    game: Integers
    inside: Flags
    singular: list[Singular]
    visited: int
    bound: float | None


class _Sets(NamedTuple):
    """Partial supports in which the first ``level`` strategies are decided, along the last axis.

    Attributes:
        members: each set's strategies as bits.
        table: the linear functions, shape (n, undecided + 1, sets): row i holds x_i if i is in and
            w_i otherwise, as coefficients of the undecided shares and a constant.
        fresh: the games in which a set that begins with ``level`` must still be created.
    """

    level: int
    game: Integers
    members: Integers
    table: Floats
    fresh: Integers


def search(
    games: Floats, *, limit: int | None = None, progress: Callable[[float], None] | None = None
) -> Search:
    """Find all candidate supports of symmetric equilibria of scaled games, shape (games, n, n).

    ``limit`` is the maximum number of visited sets. ``progress`` is called with the completed share
    of all sets or of the limit, in [0, 1].
    """
    count, size, _ = games.shape
    columns = np.ascontiguousarray(np.moveaxis(games, 0, -1))
    empty = np.empty(0, dtype=np.int64)
    waiting = [_Sets(0, empty, empty, np.empty((size, size + 1, 0)), np.arange(count))]
    complete: list[_Sets] = []
    singular: list[Singular] = []
    visited = 0
    while waiting and (limit is None or visited < limit):
        sets = _prune(_decide(waiting.pop(), columns, singular))
        visited += len(sets.members)
        if sets.level == size:
            complete.append(sets)
        else:
            waiting += _pieces(sets)
        if progress is not None:
            open_ = sum(_undecided(sets, size) for sets in waiting)
            decided = 1 - open_ / (count * (2.0**size - 1))
            progress(max(decided, min(1.0, visited / limit)) if limit else decided)
    members = np.concatenate([empty, *(sets.members for sets in complete)])
    inside = (members[:, None] >> np.arange(size)) & 1 == 1
    game = np.concatenate([empty, *(sets.game for sets in complete)])
    bound = max((_largest(sets, size) for sets in waiting), default=None)
    if bound is not None:
        bound = max([bound, *(log(size - len(sets.outside)) for sets in singular)])
    return Search(game, inside, singular, visited, bound)


def _decide(sets: _Sets, columns: Floats, singular: list[Singular]) -> _Sets:
    """Branch on the next strategy: return the sets that exclude it, include it or begin with it."""
    level, game, members, table, fresh = sets
    column, excluded = table[:, 0], table[:, 1:]
    small = np.abs(column[level]) < SINGULAR
    row = excluded[level] / np.where(small, 1.0, column[level])
    included = excluded - column[:, None] * row
    included[level] = -row
    bad = small | (np.abs(included).max(axis=(0, 1), initial=0) > 1 / SINGULAR)
    if bad.any():
        for number, bits in zip(game[bad].tolist(), members[bad].tolist(), strict=True):
            inside = [strategy for strategy in range(level) if bits >> strategy & 1]
            outside = [strategy for strategy in range(level) if not bits >> strategy & 1]
            singular.append(Singular(number, (*inside, level), tuple(outside)))
        included, good = included[..., ~bad], ~bad
    else:
        good = slice(None)
    bit = 1 << level
    return _Sets(
        level + 1,
        np.concatenate([game, game[good], fresh]),
        np.concatenate([members, members[good] | bit, np.full(len(fresh), bit)]),
        np.concatenate([excluded, included, _started_with(columns[..., fresh], level)], axis=2),
        fresh,
    )


def _started_with(columns: Floats, strategy: int) -> Floats:
    """Return the linear functions of the strategy sets that begin with a given strategy."""
    gaps = columns[strategy] - columns  # how far a row falls short of it, against each strategy
    own_gaps = gaps[:, strategy, None]
    table = np.concatenate([gaps[:, strategy + 1 :] - own_gaps, own_gaps], 1)
    table[strategy, :-1], table[strategy, -1] = -1.0, 1.0
    return table


def _prune(sets: _Sets) -> _Sets:
    """Return the partial supports for which all equilibrium conditions can still be satisfied."""
    decided = np.arange(sets.level)
    table = sets.table[: sets.level]
    upper = table[:, -1]
    if table.shape[1] > 1:
        upper = upper + np.maximum(table[:, :-1].max(axis=1), 0.0)
    lower = np.where(sets.members >> decided[:, None] & 1, ZERO, -LOOSE)
    feasible = np.flatnonzero((upper > lower).all(axis=0))
    return sets._replace(
        game=sets.game[feasible], members=sets.members[feasible], table=sets.table[..., feasible]
    )


def _pieces(sets: _Sets) -> list[_Sets]:
    size, width, number = sets.table.shape
    step = max(1, CELLS // (size * width))
    cuts = [slice(start, start + step) for start in range(0, max(number, 1), step)]
    pieces = (
        sets._replace(
            game=sets.game[cut],
            members=sets.members[cut],
            table=sets.table[..., cut],
            fresh=sets.fresh if cut.start == 0 else sets.fresh[:0],
        )
        for cut in cuts
    )
    return [piece for piece in pieces if len(piece.members) or len(piece.fresh)]


def _undecided(sets: _Sets, size: int) -> float:
    """Return how many complete supports can be reached from the partial supports."""
    completions = 2.0 ** (size - sets.level)
    return len(sets.members) * completions + len(sets.fresh) * (completions - 1)


def _largest(sets: _Sets, size: int) -> float:
    """Return the maximum entropy of any support that can be reached from the partial supports."""
    sizes = (sets.members[:, None] >> np.arange(sets.level) & 1).sum(axis=1)
    return log(size - sets.level + int(sizes.max(initial=0)))


MARGIN = 1e-9
"""The minimum margin of strict dominance, as a share of the payoff scale."""


def undominated(*sides: Floats) -> list[Flags]:
    """Flag each side's strategies that survive iterated strict dominance by pure strategies.

    Strategy j strictly dominates i if j's payoff exceeds i's against every remaining strategy. A
    dominated strategy is in the support of no equilibrium, so eliminating it loses none (Osborne
    and Rubinstein 1994, A Course in Game Theory, section 4.2). The order of elimination doesn't
    matter.

    Args:
        sides: the scaled payoffs of both players, or those of symmetric games once; shape (games,
            own strategies, the other's strategies).
    """
    remaining = [np.ones(side.shape[:2], dtype=bool) for side in sides]
    beats = [side[:, None] > side[:, :, None] + MARGIN for side in sides]  # worse, better, against
    while True:
        dominated = []
        for own, other, beat in zip(remaining, remaining[::-1], beats, strict=True):
            everywhere = (beat | ~other[:, None, None]).all(axis=3)
            dominated.append(own & (everywhere & own[:, None]).any(axis=2))
        if not any(part.any() for part in dominated):
            return remaining
        remaining = [own & ~part for own, part in zip(remaining, dominated, strict=True)]


def undominated_by_mixtures(game: Floats) -> Flags:
    """Flag the strategies of a scaled game that survive iterated strict dominance by mixtures.

    Each round solves one linear program per strategy for the largest margin by which a mixture of
    the others beats it against every remaining strategy.
    """
    remaining = np.ones(len(game), dtype=bool)
    while True:
        inner = game[np.ix_(remaining, remaining)]
        dominated = np.array([_margin(inner, strategy) > MARGIN for strategy in range(len(inner))])
        if not dominated.any():
            return remaining
        remaining[np.flatnonzero(remaining)[dominated]] = False


def _margin(game: Floats, strategy: int) -> float:
    """Return the largest margin by which any mixture dominates a strategy."""
    count = len(game)
    costs = np.append(np.zeros(count), -1.0)
    beaten = np.column_stack([game[strategy][:, None] - game.T, np.ones(count)])
    bounds = [(0.0, None)] * count + [(None, None)]
    total = np.append(np.ones(count), 0.0)[None]
    solution = linprog(costs, beaten, np.zeros(count), total, [1.0], bounds, method="highs")
    return -float(solution.fun) if solution.success else 0.0
