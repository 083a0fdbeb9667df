"""Rankings of a game's strategies by alpha-rank and Nash averaging."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from cheaptalk.equilibrium.solvers.payoffs import EquilibriumError, Floats, symmetric_payoffs
from cheaptalk.equilibrium.solvers.profiles import checked
from cheaptalk.equilibrium.solvers.symmetric import symmetric_equilibria
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.rules import WrongValue, counted

SEARCHED = 10_000_000
"""The maximum number of strategy sets that Nash averaging searches."""
BALANCE = 1e-9
"""The maximum relative difference between a state's inflow and outflow."""
SETTLED = 1e-3
"""The minimum change of a mass in a sweep that hasn't settled."""


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class AlphaSweep(Printed):
    """Results of alpha-rank at increasing selection intensities.

    Attributes:
        alphas: the intensities, ascending, in 1 / payoff units.
        masses: the stationary masses at each, shape (alphas, n) or (alphas, m, n).
        settled: the lowest alpha from which all masses are within 1e-3 of those at the highest
            alpha; None if the sweep ended too early.
    """

    alphas: Floats
    masses: Floats
    settled: float | None

    def printout(self) -> Printout:
        settled = "not stable" if self.settled is None else f"stable from {self.settled:.4g} on"
        shape = self.masses.shape[1:]
        names = [", ".join(map(str, index)) for index in np.ndindex(shape)]
        masses = self.masses.reshape(len(self.alphas), -1).tolist()
        rows = [(alpha, *row) for alpha, row in zip(self.alphas.tolist(), masses, strict=True)]
        title = f"{counted(len(self.alphas), 'intensity')}, {settled}"
        return Printout(title, ["alpha", *names], rows)


def alpha_rank(payoffs: ArrayLike, *, alpha: float, population: int = 50) -> Floats:
    """Rank a symmetric game's strategies by alpha-rank with one finite population.

    In a population of strategy i, a mutant of strategy j takes over with probability rho = (1 -
    exp(-alpha d)) / (1 - exp(-population alpha d)), d = A[j, i] - A[i, j], or 1 / population where
    d = 0; mutants are drawn uniformly. The mass of a strategy is its long-run share of time in the
    population (Omidshafiei et al. 2019, alpha-Rank: Multi-Agent Evaluation by Evolution, Scientific
    Reports 9:9937; here for one population).

    The computation uses logarithms without subtractions (Grassmann, Taksar and Heyman 1985), so any
    alpha is possible. Every state's inflow equals its outflow to within 1e-9.

    Args:
        payoffs: the payoffs, shape (n, n).
        alpha: the selection intensity, > 0, in 1 / payoff units.
        population: the population size, >= 2.

    Returns:
        The masses, shape (n,), summing to 1.

    Raises:
        WrongValue: an argument is out of range.
        EquilibriumError: the flows don't balance.

    >>> alpha_rank([[3, 0], [5, 1]], alpha=10).round(6)
    array([0., 1.])
    """
    matrix = symmetric_payoffs(payoffs)
    rates = _log_fixation(matrix.T - matrix, *_intensity(alpha, population))
    np.fill_diagonal(rates, -np.inf)
    return _stationary(rates)


def alpha_rank_bimatrix(
    a: ArrayLike, b: ArrayLike, *, alpha: float, population: int = 50
) -> Floats:
    """Rank a bimatrix game's strategy profiles by alpha-rank with two finite populations.

    The rates are those of :func:`alpha_rank`, with d = a[k, j] - a[i, j] from profile (i, j) to (k,
    j), and d = b[i, k] - b[i, j] to (i, k) (Omidshafiei et al. 2019).

    Args:
        a: the row player's payoffs, shape (m, n).
        b: the column player's payoffs, of the same shape and in the same units.
        alpha: the selection intensity, > 0, in 1 / payoff units.
        population: the size of each population, >= 2.

    Returns:
        The masses of the profiles, shape (m, n), summing to 1.

    Raises:
        ValueError, EquilibriumError: as for :func:`alpha_rank`.
    """
    a, b = checked(a, b)
    rows, columns = a.shape
    settings = _intensity(alpha, population)
    rates = np.full((rows, columns, rows, columns), -np.inf)
    for j in range(columns):
        rates[:, j, :, j] = _log_fixation(a[None, :, j] - a[:, None, j], *settings)
    for i in range(rows):
        rates[i, :, i, :] = _log_fixation(b[i, None, :] - b[i, :, None], *settings)
    flat = rates.reshape(a.size, a.size)
    np.fill_diagonal(flat, -np.inf)
    return _stationary(flat).reshape(a.shape)


def alpha_sweep(
    a: ArrayLike, b: ArrayLike | None = None, *, alphas: Iterable[float], population: int = 50
) -> AlphaSweep:
    """Compute alpha-rank for increasing selection intensities until its masses converge.

    Args:
        a: the payoffs of a symmetric game, or of the row player.
        b: the payoffs of the column player; None for a symmetric game.
        alphas: the intensities, > 0, in 1 / payoff units, for example ``np.geomspace(0.1, 100, 31)
            / spread`` for payoffs with a range of ``spread``.
        population: the population size, >= 2.

    Raises:
        ValueError, EquilibriumError: as for :func:`alpha_rank`.
    """
    ascending = np.array(sorted(alphas), dtype=np.float64)
    if not len(ascending):
        raise WrongValue("alphas must contain at least one intensity")
    masses = np.array(
        [
            alpha_rank(a, alpha=alpha, population=population)
            if b is None
            else alpha_rank_bimatrix(a, b, alpha=alpha, population=population)
            for alpha in ascending.tolist()
        ]
    )
    distance = np.abs(masses - masses[-1]).reshape(len(masses), -1).max(axis=1)
    settled_index = 1 + int(np.flatnonzero(distance >= SETTLED).max(initial=-1))
    settled = float(ascending[settled_index]) if settled_index < len(ascending) - 1 else None
    return AlphaSweep(ascending, masses, settled)


def _intensity(alpha: float, population: int) -> tuple[float, int]:
    if not 0 < alpha < np.inf:
        raise WrongValue(f"alpha must be positive and finite, not {alpha}")
    if population < 2:
        raise WrongValue(f"population must be at least 2, not {population}")
    return alpha, population


def _log_fixation(gains: Floats, alpha: float, population: int) -> Floats:
    """Return the log probability that a mutant with a given payoff gain takes over a population."""
    size = alpha * np.abs(gains)
    even = size == 0
    safe = np.where(even, 1.0, size)
    ratio = np.log(-np.expm1(-safe)) - np.log(-np.expm1(-population * safe))
    ratio -= np.where(gains < 0, (population - 1) * safe, 0)
    return np.asarray(np.where(even, -np.log(population), ratio), dtype=np.float64)


def _stationary(rates: Floats) -> Floats:
    """Return a Markov chain's stationary distribution from the logarithms of its rates."""
    size = len(rates)
    censored = rates.copy()
    for last in range(size - 1, 0, -1):
        censored[:last, last] -= logsumexp(censored[last, :last])
        through = censored[:last, last, None] + censored[None, last, :last]
        censored[:last, :last] = np.logaddexp(censored[:last, :last], through)
    masses = np.zeros(size)
    for state in range(1, size):
        masses[state] = logsumexp(masses[:state] + censored[:state, state])
    if size > 1:
        inflow = logsumexp(masses[:, None] + rates, axis=0)
        outflow = masses + logsumexp(rates, axis=1)
        if not (np.abs(inflow - outflow) <= BALANCE).all():
            raise EquilibriumError(
                "alpha-rank's flows do not balance in floating point; lower alpha"
            )
    return np.asarray(np.exp(masses - logsumexp(masses)), dtype=np.float64)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class NashAverage(Printed):
    """The ratings of strategies by Nash averaging.

    Attributes:
        ratings: each strategy's net payoff against the mixture, in payoff units, at most 0 (up to
            rounding), and 0 for strategies in its support.
        mixture: the maximum-entropy equilibrium of the game of payoff differences, shape (n,).
        regret: the regret of that mixture, >= 0, in payoff units.
    """

    ratings: Floats
    mixture: Floats
    regret: float

    def printout(self) -> Printout:
        pairs = zip(self.ratings.tolist(), self.mixture.tolist(), strict=True)
        rows = [(str(index), *pair) for index, pair in enumerate(pairs)]
        title = f"Nash averaging of {counted(len(rows), 'strategy')}; regret {self.regret:.1e}"
        return Printout(title, ["strategy", "rating", "share"], rows)


def nash_average(payoffs: ArrayLike) -> NashAverage:
    """Rate strategies by Nash averaging, which is unaffected by copies of strategies.

    The equilibria of the game of payoff differences, S = A - A', form a convex set. With p its
    maximum-entropy element, the ratings are S p (Balduzzi, Tuyls, Perolat and Graepel 2018,
    Re-evaluating Evaluation, NeurIPS; payoff differences are the antisymmetric matrix). For a
    matrix that is antisymmetric already, such as log-odds of winning, pass half of it.

    Args:
        payoffs: A, shape (n, n).

    Raises:
        WrongValue: the payoffs aren't a square matrix of finite numbers.
        EquilibriumError: no equilibrium was found within the solver's tolerance, or there are too
            many strategies to search.

    >>> nash_average([[3, 0], [5, 1]]).ratings
    array([-5.,  0.])
    """
    matrix = symmetric_payoffs(payoffs)
    outscored = matrix - matrix.T
    solution = symmetric_equilibria(outscored, limit=SEARCHED)
    if not solution.complete:
        raise EquilibriumError(
            f"there are more than {SEARCHED:,} sets of strategies to search for its equilibrium; "
            "leave some strategies out"
        )
    mene = solution.mene
    return NashAverage(outscored @ mene.mixture, mene.mixture, mene.regret)
