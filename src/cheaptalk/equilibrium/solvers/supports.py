"""Which sets of strategies can be the support of a symmetric equilibrium: a search over all.

In an equilibrium x of the game A every strategy i of the support S gets the same payoff v, and no
other gets more:

    w_i = v - (A x)_i = 0 for i in S,    w_i >= 0 and x_i = 0 otherwise,    sum of x = 1.

Strategies are decided one after the other, in or out of S. With f the first that is in, x_f = 1
minus all others and w_f = 0 give every x_i and w_i as a linear function of the shares of strategies
that are still undecided. To take strategy j in is to solve w_j = 0 for x_j and put it in: one
pivot, a few operations for each coefficient, and done for thousands of sets at once. The share of
an undecided strategy is at least 0 and all of them sum to at most 1, so each x_i and w_i has an
upper bound; where one for a decided strategy is negative, no superset is a support, and none is
looked at. With everything decided the functions are constants, the equilibrium itself.

A pivot near 0 means that the equations of a set are singular or nearly so. Such a set is handed
back undivided, with all that would have come of it; see
:mod:`cheaptalk.equilibrium.solvers.symmetric`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import NamedTuple

import numpy as np

from cheaptalk.equilibrium.solvers.payoffs import Flags, Floats, Integers

SINGULAR = 1e-6
"""A pivot this small, or coefficients beyond the inverse of it, count as singular."""
LOOSE = 1e-6
"""How much a strategy outside may gain and not be ruled out: candidates are verified later."""
ZERO = 1e-10
"""A share no greater than this is no share."""
CELLS = 1 << 18
"""How many coefficients are worked on at once, so that they stay in the processor's cache."""
MOST = 48
"""The most strategies for which sets are told apart by the bits of one number."""


class Singular(NamedTuple):
    """Sets of one game that begin alike and whose equations are singular.

    Attributes:
        game: its number.
        inside: strategies that are in.
        outside: strategies that are out; the rest is undecided.
    """

    game: int
    inside: tuple[int, ...]
    outside: tuple[int, ...]


@dataclass(frozen=True)
class Search:
    """The outcome of a search over the supports of some games.

    Attributes:
        game: of every set that may be the support of an equilibrium and whose equations are
            regular, the number of its game.
        inside: which strategies are in such a set, shape (sets, n).
        singular: what was handed back.
        visited: how many sets were looked at, whole or in part.
        bound: None if every set was decided; else no equilibrium that was not found has a larger
            entropy, in nats.
    """

    game: Integers
    inside: Flags
    singular: list[Singular]
    visited: int
    bound: float | None


class _Sets(NamedTuple):
    """Sets that are decided up to some strategy, side by side along the last axis.

    Attributes:
        level: the strategy to decide next.
        game, members: for each set its game, and its strategies as bits.
        table: the linear functions, shape (n, undecided + 1, sets): row i holds x_i if i is in and
            w_i otherwise, as coefficients of the undecided shares and a constant.
        fresh: the games in which a set that begins with ``level`` is still to be made.
    """

    level: int
    game: Integers
    members: Integers
    table: Floats
    fresh: Integers


def search(
    games: Floats,
    *,
    limit: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Search:
    """Every set of strategies that may be the support of a symmetric equilibrium.

    Args:
        games: scaled payoffs, shape (games, n, n).
        limit: stop when so many sets were visited; without it when all are decided.
        progress: told now and then what share of all sets is decided, or of the limit visited, in
            [0, 1].
    """
    count, size, _ = games.shape
    columns = np.ascontiguousarray(np.moveaxis(games, 0, -1))
    none = np.empty(0, dtype=np.int64)
    waiting = [_Sets(0, none, none, np.empty((size, size + 1, 0)), np.arange(count))]
    found: list[_Sets] = []
    singular: list[Singular] = []
    visited = 0
    while waiting and (limit is None or visited < limit):
        sets = _prune(_decide(waiting.pop(), columns, singular))
        visited += len(sets.members)
        if sets.level == size:
            found.append(sets)
        else:
            waiting += _pieces(sets)
        if progress is not None:
            open_ = sum(_undecided(sets, size) for sets in waiting)
            decided = 1 - open_ / (count * (2.0**size - 1))
            progress(max(decided, min(1.0, visited / limit)) if limit else decided)
    members = np.concatenate([none, *(sets.members for sets in found)])
    inside = (members[:, None] >> np.arange(size)) & 1 == 1
    game = np.concatenate([none, *(sets.game for sets in found)])
    bound = max((_largest(sets, size) for sets in waiting), default=None)
    if bound is not None:
        bound = max([bound, *(log(size - len(sets.outside)) for sets in singular)])
    return Search(game, inside, singular, visited, bound)


def _decide(sets: _Sets, columns: Floats, singular: list[Singular]) -> _Sets:
    """The sets without the next strategy, those with it, and those that begin with it."""
    level, game, members, table, fresh = sets
    column, rest = table[:, 0], table[:, 1:]
    small = np.abs(column[level]) < SINGULAR
    row = rest[level] / np.where(small, 1.0, column[level])
    taken = rest - column[:, None] * row
    taken[level] = -row
    bad = small | (np.abs(taken).max(axis=(0, 1), initial=0) > 1 / SINGULAR)
    if bad.any():
        for number, bits in zip(game[bad].tolist(), members[bad].tolist(), strict=True):
            inside = [one for one in range(level) if bits >> one & 1]
            outside = [one for one in range(level) if not bits >> one & 1]
            singular.append(Singular(number, (*inside, level), tuple(outside)))
        taken, good = taken[..., ~bad], ~bad
    else:
        good = slice(None)
    bit = 1 << level
    return _Sets(
        level + 1,
        np.concatenate([game, game[good], fresh]),
        np.concatenate([members, members[good] | bit, np.full(len(fresh), bit)]),
        np.concatenate([rest, taken, _first(columns[..., fresh], level)], axis=2),
        fresh,
    )


def _first(columns: Floats, first: int) -> Floats:
    """The functions of the sets that hold one strategy, as the first of those to come."""
    gaps = columns[first] - columns  # how far a row falls short of it, against each strategy
    table = np.concatenate([gaps[:, first + 1 :] - gaps[:, first, None], gaps[:, first, None]], 1)
    table[first, :-1], table[first, -1] = -1.0, 1.0
    return table


def _prune(sets: _Sets) -> _Sets:
    """The sets in which every decided strategy can still be in order."""
    decided = np.arange(sets.level)
    table = sets.table[: sets.level]
    most = table[:, -1]
    if table.shape[1] > 1:
        most = most + np.maximum(table[:, :-1].max(axis=1), 0.0)
    least = np.where(sets.members >> decided[:, None] & 1, ZERO, -LOOSE)
    kept = np.flatnonzero((most > least).all(axis=0))
    return sets._replace(
        game=sets.game[kept], members=sets.members[kept], table=sets.table[..., kept]
    )


def _pieces(sets: _Sets) -> list[_Sets]:
    """The sets in pieces that fit the cache; the first carries what is still to begin."""
    size, width, number = sets.table.shape
    step = max(1, CELLS // (size * width))
    starts = range(0, max(number, 1), step)
    pieces = (
        _Sets(
            sets.level,
            sets.game[start : start + step],
            sets.members[start : start + step],
            sets.table[..., start : start + step],
            sets.fresh if start == 0 else sets.fresh[:0],
        )
        for start in starts
    )
    return [piece for piece in pieces if len(piece.members) or len(piece.fresh)]


def _undecided(sets: _Sets, size: int) -> float:
    """How many whole sets are still to come of some."""
    left = 2.0 ** (size - sets.level)
    return len(sets.members) * left + len(sets.fresh) * (left - 1)


def _largest(sets: _Sets, size: int) -> float:
    """The largest entropy of any set still to come."""
    sizes = (sets.members[:, None] >> np.arange(sets.level) & 1).sum(axis=1)
    return log(size - sets.level + int(sizes.max(initial=0)))
