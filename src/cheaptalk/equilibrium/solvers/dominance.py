"""Strategies that no equilibrium uses: iterated strict dominance."""

import numpy as np
from scipy.optimize import linprog

from cheaptalk.equilibrium.solvers.payoffs import Flags, Floats

MARGIN = 1e-9
"""By how much of the scale a strategy must be worse everywhere to count as dominated."""


def undominated(games: Floats) -> Flags:
    """The strategies that survive iterated strict dominance by pure strategies, game by game.

    Strategy i is strictly dominated by j if j gets more than i against every strategy that is left.
    A dominated strategy gains less than some other in any mixture of those left, so it is in the
    support of no equilibrium, and striking it out loses none (Osborne and Rubinstein 1994, A
    Course in Game Theory, section 4.2). The order of striking out does not matter.

    Args:
        games: scaled payoffs, shape (games, n, n).

    Returns:
        Whether a strategy is left, shape (games, n).
    """
    left = np.ones(games.shape[:2], dtype=bool)
    better = games[:, None] > games[:, :, None] + MARGIN  # game, worse, better, against
    while True:
        everywhere = (better | ~left[:, None, None]).all(axis=3)
        gone = left & (everywhere & left[:, None]).any(axis=2)
        if not gone.any():
            return left
        left &= ~gone


def undominated_by_mixtures(game: Floats) -> Flags:
    """The strategies of one game that survive iterated strict dominance by mixed strategies.

    One linear program a strategy and round: the largest margin by which a mixture of the others
    beats it against every strategy left.

    Args:
        game: scaled payoffs, shape (n, n).

    Returns:
        Whether a strategy is left, shape (n,).
    """
    left = np.ones(len(game), dtype=bool)
    while True:
        inner = game[np.ix_(left, left)]
        gone = np.array([_margin(inner, strategy) > MARGIN for strategy in range(len(inner))])
        if not gone.any():
            return left
        left[np.flatnonzero(left)[gone]] = False


def _margin(game: Floats, strategy: int) -> float:
    """The most by which a mixture beats a strategy against every other at once."""
    count = len(game)
    costs = np.append(np.zeros(count), -1.0)
    beaten = np.column_stack([game[strategy][:, None] - game.T, np.ones(count)])
    bounds = [(0.0, None)] * count + [(None, None)]
    total = np.append(np.ones(count), 0.0)[None]
    found = linprog(costs, beaten, np.zeros(count), total, [1.0], bounds, method="highs")
    return -float(found.fun) if found.success else 0.0
