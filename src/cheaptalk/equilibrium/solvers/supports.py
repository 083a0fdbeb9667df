"""Search through all possible supports of symmetric equilibria.

In an equilibrium x of the game A, every strategy i of the support S has the same payoff v, and no
other strategy has more:

    w_i = v - (A x)_i = 0 for i in S,    w_i >= 0 and x_i = 0 otherwise,    sum of x = 1.

The search decides strategy by strategy whether it belongs to S, for thousands of sets at once. It
sets x_i or w_i to 0, and drops the sets whose conditions have no nonnegative solution (a linear
program without an objective; see :mod:`cheaptalk.equilibrium.solvers.dictionaries`).

The equations of S determine x uniquely unless they are singular. With f the first member, x_f = 1
minus all others and w_f = 0 make every w_i a linear function of the shares of undecided strategies.
Including strategy j means solving w_j = 0 for x_j and substituting it. A pivot near 0 means that
the equations are singular or nearly singular. Such a set is returned undivided; see
:mod:`cheaptalk.equilibrium.solvers.faces`.
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
        slopes: how w_i, along the first axis, depends on x_j, along the second, for undecided
            strategies.
        conditions: those on the shares x_i (variable i) and the losses w_i (variable n + i).
        fresh: the games in which a set that begins with ``level`` must still be created.
    """

    level: int
    game: Integers
    members: Integers
    slopes: Floats
    conditions: Dictionaries
    fresh: Integers

    def chosen(self, which: Integers | slice) -> "_Sets":
        parts = (self.game[which], self.members[which], self.slopes[..., which])
        return _Sets(self.level, *parts, self.conditions.chosen(which), self.fresh)


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
    nothing = Dictionaries(
        *(np.empty((*shape, 0)) for shape in [(size, 0), (size,), (size,), (0,)])
    )
    waiting = [_Sets(0, empty, empty, np.empty((size, size, 0)), nothing, np.arange(count))]
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
    level, size = sets.level, len(columns)
    regular = _regular(sets, singular)
    conditions, which = regular.conditions.without(level)
    slopes, nothing = regular.slopes[1:, 1:, which], sets.fresh[:0]
    game, members = regular.game[which], regular.members[which]
    excluded = _Sets(level, game, members, slopes, conditions, nothing)
    conditions, which = regular.conditions.without(size + level)
    slopes, small = _substituted(regular.slopes[..., which])
    game, members = regular.game[which], regular.members[which] | 1 << level
    included = _Sets(level, game, members, slopes, conditions, nothing)
    begun = _started_with(columns, level, sets.fresh)
    parts = (excluded, included, begun)
    conditions, which = joined([part.conditions for part in parts]).feasible()
    game, members, slopes = (
        np.concatenate(arrays, axis=-1)[..., which]
        for arrays in zip(*(part[1:4] for part in parts), strict=True)
    )
    decided = _Sets(level + 1, game, members, slopes, conditions, sets.fresh)
    is_singular = np.pad(small, (len(excluded.game), len(begun.game)))[which]
    if not is_singular.any():
        return decided
    singular += _listed(decided, np.flatnonzero(is_singular))
    return decided.chosen(np.flatnonzero(~is_singular))


def _substituted(slopes: Floats) -> tuple[Floats, Flags]:
    """Solve the next strategy's loss for its share; return new slopes, and which are singular."""
    small = np.abs(slopes[0, 0]) < SINGULAR
    row = slopes[0, 1:] / np.where(small, 1.0, slopes[0, 0])
    result = slopes[1:, 1:] - slopes[1:, :1] * row
    return result, small | (np.abs(result).max(axis=(0, 1), initial=0.0) > 1 / SINGULAR)


def _regular(sets: _Sets, singular: list[Singular]) -> _Sets:
    """Return the sets in which the next strategy's loss isn't 0 throughout; list the others."""
    which, row = sets.conditions.row_of(len(sets.conditions.basic) + sets.level)
    at_most = np.abs(sets.conditions.table[row, :, which]).max(axis=1, initial=0.0)
    at_most = np.maximum(at_most, np.abs(sets.conditions.constants[row, which]))
    tied = which[(at_most < SINGULAR) & (np.abs(sets.slopes[0, 0, which]) < SINGULAR)]
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


def _started_with(columns: Floats, strategy: int, games: Integers) -> _Sets:
    """Return the sets of each game that begin with a given strategy."""
    payoffs, size = columns[..., games], len(columns)
    losses = payoffs[strategy] - payoffs  # of each row, against each strategy
    constants = losses[:, strategy].copy()
    table = losses[:, strategy + 1 :] - constants[:, None]
    table[strategy], constants[strategy] = -1.0, 1.0
    basic = np.arange(size, 2 * size)
    basic[strategy] = strategy
    basic, nonbasic = (
        np.repeat(names[:, None], len(games), axis=1)
        for names in (basic, np.arange(strategy + 1, size))
    )
    conditions = Dictionaries(table, constants, basic, nonbasic)
    members = np.full(len(games), 1 << strategy)
    return _Sets(strategy, games, members, table[strategy + 1 :], conditions, games)


def _pieces(sets: _Sets) -> list[_Sets]:
    size, width, number = sets.conditions.table.shape
    step = max(1, CELLS // (size * (width + 1)))
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
