"""Search through all possible supports of symmetric equilibria.

In an equilibrium x of the game A, every strategy i of the support S has the same payoff v, and no
other strategy has more:

    w_i = v - (A x)_i = 0 for i in S,    w_i >= 0 and x_i = 0 otherwise,    sum of x = 1.

The search decides strategy by strategy whether it belongs to S. With f the first member, x_f = 1
minus all others and w_f = 0 give every x_i and w_i as a linear function of the shares of undecided
strategies. Including strategy j means solving w_j = 0 for x_j and substituting it: one pivot, which
is done for thousands of sets at once. The shares of undecided strategies are at least 0 and sum to
at most 1, so each x_i and w_i has an upper bound. If the bound of a decided strategy is negative,
no superset is a support, and the branch is pruned. In games of many strategies, it is also pruned
if the conditions together have no solution; see
:mod:`cheaptalk.equilibrium.solvers.dictionaries`. Once all strategies are decided, the functions
are constants: the equilibrium.

A pivot near 0 means that the equations of a set are singular or nearly singular. Such a set is
returned undivided; see :mod:`cheaptalk.equilibrium.solvers.faces`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from cheaptalk.equilibrium.solvers.dictionaries import Dictionaries, joined
from cheaptalk.equilibrium.solvers.payoffs import Flags, Floats, Integers

SINGULAR = 1e-6
"""Pivots below this, or coefficients above its inverse, count as singular."""
LOOSE = 1e-6
"""The maximum gain of an outside strategy in a candidate, which is verified later."""
ZERO = 1e-10
"""The maximum share that counts as 0."""
LARGE = 12
"""The minimum number of strategies for which systems of conditions are solved."""
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
        conditions: those on x_i (variable i) and w_i (variable n + i); None in small games.
        fresh: the games in which a set that begins with ``level`` must still be created.
    """

    level: int
    game: Integers
    members: Integers
    table: Floats
    conditions: Dictionaries | None
    fresh: Integers

    def chosen(self, which: Integers | slice) -> "_Sets":
        conditions = None if self.conditions is None else self.conditions.chosen(which)
        parts = (self.game[which], self.members[which], self.table[..., which])
        return _Sets(self.level, *parts, conditions, self.fresh)


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
    names = np.empty((size, 0), dtype=np.int64)
    nothing = Dictionaries(np.empty((size, 0, 0)), np.empty((size, 0)), names, names[:0])
    conditions = nothing if size >= LARGE else None
    table = np.empty((size, size + 1, 0))
    waiting = [_Sets(0, empty, empty, table, conditions, np.arange(count))]
    complete: list[_Sets] = []
    singular: list[Singular] = []
    visited = 0
    while waiting and (limit is None or visited < limit):
        sets = _decide(waiting.pop(), columns, singular)
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
    level, game, members, table, conditions, fresh = _without_ties(sets, singular)
    column, excluded = table[:, 0], table[:, 1:]
    small = np.abs(column[level]) < SINGULAR
    row = excluded[level] / np.where(small, 1.0, column[level])
    included = excluded - column[:, None] * row
    included[level] = -row
    small |= np.abs(included).max(axis=(0, 1), initial=0) > 1 / SINGULAR
    bit, begun = 1 << level, _started_with(columns[..., fresh], level)
    decided = _Sets(
        level + 1,
        np.concatenate([game, game, fresh]),
        np.concatenate([members, members | bit, np.full(len(fresh), bit)]),
        np.concatenate([excluded, included, begun], axis=2),
        conditions and _branches(conditions, begun, level),
        fresh,
    )
    is_singular = np.zeros(len(decided.game), dtype=bool)
    is_singular[len(game) : 2 * len(game)] = small
    remaining = np.flatnonzero(_bounded(decided) | is_singular)
    decided, is_singular = decided.chosen(remaining), is_singular[remaining]
    if decided.conditions is not None:
        feasible = np.flatnonzero(decided.conditions.feasible())
        decided, is_singular = decided.chosen(feasible), is_singular[feasible]
    if not is_singular.any():
        return decided
    singular += _listed(decided, np.flatnonzero(is_singular))
    return decided.chosen(np.flatnonzero(~is_singular))


def _branches(conditions: Dictionaries, begun: Floats, level: int) -> Dictionaries:
    """Return the conditions of the sets that exclude a strategy, include it or begin with it."""
    size, _, count = begun.shape
    basic = np.arange(size, 2 * size)
    basic[level] = level
    basic, nonbasic = (
        np.repeat(names[:, None], count, axis=1) for names in (basic, np.arange(level + 1, size))
    )
    started = Dictionaries(begun[:, :-1].copy(), begun[:, -1].copy(), basic, nonbasic)
    return joined([conditions.without(level), conditions.without(size + level), started])


def _without_ties(sets: _Sets, singular: list[Singular]) -> _Sets:
    """Return the sets in which the next strategy's loss isn't 0 throughout; list the others."""
    if sets.conditions is None:
        return sets
    which, row = sets.conditions.row_of(len(sets.table) + sets.level)
    sizes = np.abs(sets.conditions.table[row, :, which]).max(axis=1, initial=0.0)
    sizes = np.maximum(sizes, np.abs(sets.conditions.constants[row, which]))
    tied = which[(sizes < SINGULAR) & (np.abs(sets.table[sets.level, 0, which]) < SINGULAR)]
    if not len(tied):
        return sets
    singular += _listed(sets, tied)
    return sets.chosen(np.setdiff1d(np.arange(len(sets.members)), tied))


def _listed(sets: _Sets, which: Integers) -> list[Singular]:
    listed = []
    for game, bits in zip(sets.game[which].tolist(), sets.members[which].tolist(), strict=True):
        inside = tuple(strategy for strategy in range(sets.level) if bits >> strategy & 1)
        outside = tuple(strategy for strategy in range(sets.level) if not bits >> strategy & 1)
        listed.append(Singular(game, inside, outside))
    return listed


def _started_with(columns: Floats, strategy: int) -> Floats:
    """Return the linear functions of the strategy sets that begin with a given strategy."""
    gaps = columns[strategy] - columns  # how far a row falls short of it, against each strategy
    own_gaps = gaps[:, strategy, None]
    table = np.concatenate([gaps[:, strategy + 1 :] - own_gaps, own_gaps], 1)
    table[strategy, :-1], table[strategy, -1] = -1.0, 1.0
    return table


def _bounded(sets: _Sets) -> Flags:
    """Return whether each equilibrium condition of a partial support can still be satisfied."""
    decided = np.arange(sets.level)
    table = sets.table[: sets.level]
    upper = table[:, -1]
    if table.shape[1] > 1:
        upper = upper + np.maximum(table[:, :-1].max(axis=1), 0.0)
    lower = np.where(sets.members >> decided[:, None] & 1, ZERO, -LOOSE)
    return np.asarray((upper > lower).all(axis=0))


def _pieces(sets: _Sets) -> list[_Sets]:
    size, width, number = sets.table.shape
    step = max(1, CELLS // (size * width))
    cuts = [slice(start, start + step) for start in range(0, max(number, 1), step)]
    pieces = [sets.chosen(cut) for cut in cuts]
    pieces[1:] = [piece._replace(fresh=piece.fresh[:0]) for piece in pieces[1:]]
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
