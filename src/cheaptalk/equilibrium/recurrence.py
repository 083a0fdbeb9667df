"""How often an equilibrium of estimated payoffs is one of the draws' too."""

import numpy as np
from scipy.optimize import linprog

from cheaptalk.equilibrium.payoffs import Flags, Floats

TIE = 1e-9
"""Payoffs are tied if they differ by no more than this share of the largest."""
SHARE = 1e-9
"""Strategies played less than this are outside a support."""


def recurs(payoffs: Floats, support: tuple[int, ...]) -> Flags:
    """Which of some games have a symmetric equilibrium in which just these strategies are played.

    Args:
        payoffs: shape (draws, n, n).
        support: the strategies, at least one.

    Returns:
        Shape (draws,).
    """
    inside = list(support)
    most = np.abs(payoffs).max(axis=(1, 2))
    near = TIE * np.where(most > 0, most, 1.0)
    count = len(inside)
    system = np.zeros((len(payoffs), count + 1, count + 1))
    system[:, :count, :count] = payoffs[:, inside][:, :, inside] / near[:, None, None] * TIE
    system[:, :count, count], system[:, count, :count] = -1, 1
    regular = np.linalg.matrix_rank(system) == count + 1
    found = np.zeros(len(payoffs), dtype=bool)
    right = np.append(np.zeros(count), 1.0)[:, None]
    shares = np.linalg.solve(system[regular], right)[:, :count, 0]
    answers = np.einsum("dij,dj->di", payoffs[regular][:, :, inside], shares)
    best = answers.max(axis=1) - answers[:, inside].min(axis=1) <= near[regular]
    found[regular] = (shares > SHARE).all(axis=1) & best
    for draw in np.flatnonzero(~regular):
        found[draw] = _one_of_many(payoffs[draw] / near[draw] * TIE, inside)
    return found


def _one_of_many(payoffs: Floats, inside: list[int]) -> bool:
    """The same of a game whose equations for the support are singular, by a linear program.

    It maximises the smallest share within the support.
    """
    count, size = len(inside), len(payoffs)
    equal = np.zeros((count + 1, count + 2))
    equal[:count, :count], equal[:count, count] = payoffs[np.ix_(inside, inside)], -1
    equal[count, :count] = 1
    limits = np.zeros((size + count, count + 2))
    limits[:size, :count], limits[:size, count] = payoffs[:, inside], -1
    limits[size:, :count], limits[size:, -1] = -np.eye(count), 1
    found = linprog(
        np.append(np.zeros(count + 1), -1.0),
        A_ub=limits, b_ub=np.append(np.full(size, TIE), np.zeros(count)),
        A_eq=equal, b_eq=np.append(np.zeros(count), 1.0), bounds=(None, None),
    )  # fmt: skip
    return bool(found.success and found.x[-1] > SHARE)


def weakly_dominated(payoffs: Floats) -> list[tuple[int, ...]]:
    """By which strategies each is weakly dominated: nowhere better than they, somewhere worse.

    Payoffs within 1e-9 of the largest of each other count as equal.

    Args:
        payoffs: shape (n, n).
    """
    lead = payoffs[:, None] - payoffs[None]  # of the first strategy over the second
    near = TIE * np.abs(payoffs).max()
    dominates = (lead >= -near).all(axis=2) & (lead > near).any(axis=2)
    return [tuple(np.flatnonzero(column).tolist()) for column in dominates.T]
