"""Iterated strict dominance, which eliminates strategies that no equilibrium uses."""

import numpy as np
from scipy.optimize import linprog

from cheaptalk.equilibrium.solvers.payoffs import Flags, Floats

MARGIN = 1e-9
"""The minimum margin of strict dominance, as a share of the payoff scale."""


def undominated(games: Floats) -> Flags:
    """Flag the strategies of each game that survive iterated strict dominance by pure strategies.

    Strategy j strictly dominates i if j's payoff exceeds i's against every remaining strategy. A
    dominated strategy is in the support of no equilibrium, so eliminating it loses none (Osborne
    and Rubinstein 1994, A Course in Game Theory, section 4.2). The order of elimination doesn't
    matter.

    Args:
        games: scaled payoffs, shape (games, n, n).
    """
    remaining = np.ones(games.shape[:2], dtype=bool)
    beats = games[:, None] > games[:, :, None] + MARGIN  # game, worse, better, against
    while True:
        everywhere = (beats | ~remaining[:, None, None]).all(axis=3)
        dominated = remaining & (everywhere & remaining[:, None]).any(axis=2)
        if not dominated.any():
            return remaining
        remaining &= ~dominated


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
