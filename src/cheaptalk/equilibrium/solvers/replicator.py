"""Replicator dynamics: the rest points of imitating populations."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from cheaptalk.equilibrium.solvers.payoffs import Flags, Floats, as_numbers, symmetric_payoffs
from cheaptalk.equilibrium.solvers.profiles import unit_spread, weights
from cheaptalk.equilibrium.solvers.solutions import regret
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.rules.errors import WrongValue

AT_REST = 1e-9
"""The maximum speed of shares, and gain of strategies, at rest, in scaled payoffs."""
SAME = 1e-5
"""The maximum difference in shares between equal rest points."""
ACCURACY = 1e-9
"""The relative and absolute error per step of the differential equation."""


@dataclass(frozen=True, eq=False, slots=True)
class RestPoint:
    """A population at which the dynamics come to rest.

    Attributes:
        mixture: the shares of the strategies, shape (n,).
        regret: max_i (A x)_i - x'A x in payoff units; large if the point isn't an equilibrium.
    """

    mixture: Floats
    share: float
    regret: float


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Replication(Printed):
    """The results of replicator dynamics from many starts.

    Attributes:
        starts, ends: the initial and final populations, shape (K, n).
        unrest: each end's distance from rest, in scaled payoffs, shape (K,): the larger of the
            fastest change of a share and the largest gain of a strategy present at the start.
        rest_points: the rest points, the most frequent first; their shares sum to
            ``at_rest.mean()``.
    """

    starts: Floats
    ends: Floats
    unrest: Floats
    rest_points: tuple[RestPoint, ...]

    @property
    def at_rest(self) -> Flags:
        """Return a mask of the starting populations whose dynamics came to rest."""
        return np.asarray(self.unrest <= AT_REST)

    def printout(self) -> Printout:
        rows = [(point.share, point.regret, *point.mixture.tolist()) for point in self.rest_points]
        names = map(str, range(self.starts.shape[1]))
        moving = f"{1 - self.at_rest.mean():.1%} of starts did not converge"
        return Printout(
            "Rest points of replicator dynamics", ["starts", "regret", *names], rows, [moving]
        )

    def __str__(self) -> str:
        lines = [
            f"{point.share:.1%} of starts: {weights(point.mixture)}, regret {point.regret:.1e}"
            for point in self.rest_points
        ]
        moving = 1 - self.at_rest.mean()
        return "\n".join([*lines, f"{moving:.1%} of starts did not converge"])


def replicator_dynamics(
    payoffs: ArrayLike,
    starts: ArrayLike,
    *,
    form: Literal["continuous", "discrete"] = "continuous",
    time: float = 1_000.0,
) -> Replication:
    """Simulate populations that imitate successful strategies, from given starts.

    Continuous: dx_i/dt = x_i ((A x)_i - x'A x) (Taylor and Jonker 1978, Evolutionarily Stable
    Strategies and Game Dynamics). Discrete: x_i becomes x_i (1 + (A x)_i) / (1 + x'A x) in each
    unit of time (Maynard Smith 1982, Evolution and the Theory of Games). In both forms, the payoffs
    A are scaled: each column's best payoff is 0 and the largest spread within a column is 1 (1/2 in
    the discrete form). Scaling changes the speed but no rest point.

    A start comes to rest when no share changes by more than 1e-9 per unit of time, and no strategy
    present at the start gains more than 1e-9 over the average. A population near a saddle is
    therefore not at rest. Starts inside the simplex lead to equilibria. On a face, an absent
    strategy may gain, which the regret shows.

    Args:
        payoffs: the payoffs, shape (n, n).
        starts: the initial populations, shape (K, n): >= 0, each summing to 1.
            ``rng.dirichlet(np.ones(n), K)`` draws them uniformly.
        time: the maximum duration, > 0.

    Raises:
        WrongValue: payoffs or starts are invalid, or time isn't positive.

    >>> (point,) = replicator_dynamics([[-1, 2], [0, 1]], [[0.1, 0.9], [0.8, 0.2]]).rest_points
    >>> point.mixture.round(6), point.share
    (array([0.5, 0.5]), 1.0)
    """
    matrix = symmetric_payoffs(payoffs)
    populations = _checked(starts, len(matrix))
    if not time > 0:
        raise WrongValue(f"time must be positive, not {time}")
    game = unit_spread(matrix[None])[0]
    ends = (_continuous if form == "continuous" else _discrete)(game, populations, time)
    unrest = _unrest(game, ends, populations > 0)
    return Replication(populations, ends, unrest, _rest_points(matrix, ends, unrest <= AT_REST))


def _checked(starts: ArrayLike, size: int) -> Floats:
    populations = np.atleast_2d(as_numbers(starts, "starts"))
    proper = populations.ndim == 2 and populations.shape[1] == size and len(populations) > 0
    if not proper or not (populations >= 0).all() or (abs(populations.sum(1) - 1) > 1e-9).any():
        raise WrongValue(f"starts must be rows of {size} shares >= 0 that sum to 1")
    return populations


def _gains(game: Floats, populations: Floats) -> Floats:
    fitness = populations @ game.T
    return np.asarray(fitness - (populations * fitness).sum(axis=1, keepdims=True))


def _unrest(game: Floats, populations: Floats, present: Flags) -> Floats:
    gains = _gains(game, populations)
    moving = np.abs(populations * gains).max(axis=1)
    return np.asarray(np.maximum(moving, np.where(present, gains, 0).max(axis=1)))


def _continuous(game: Floats, populations: Floats, time: float) -> Floats:
    """Integrate the logarithms of the shares in stages, until all populations are at rest."""
    shape = populations.shape
    present = populations > 0
    logs = np.log(populations, out=np.zeros(shape), where=present)
    shares = populations

    def growth(_: float, flat: Floats) -> Floats:
        return np.ravel(_gains(game, _shares(flat.reshape(shape), present)))

    start, stop = 0.0, min(10.0, time)
    while start < time and (_unrest(game, shares, present) > AT_REST).any():
        moved = solve_ivp(
            growth, (start, stop), logs.ravel(), method="DOP853", rtol=ACCURACY, atol=ACCURACY
        )
        logs = moved.y[:, -1].reshape(shape)
        shares = _shares(logs, present)
        start, stop = stop, min(4 * stop, time)
    return shares


def _shares(logs: Floats, present: Flags) -> Floats:
    logs = np.where(present, logs, -np.inf)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _discrete(game: Floats, populations: Floats, time: float) -> Floats:
    growth, present = 1 + game / 2, populations > 0
    for _ in range(int(time)):
        if (_unrest(game, populations, present) <= AT_REST).all():
            break
        grown = populations * (populations @ growth.T)
        populations = grown / grown.sum(axis=1, keepdims=True)
    return populations


def _rest_points(matrix: Floats, ends: Floats, resting: Flags) -> tuple[RestPoint, ...]:
    """Group the populations that came to rest at almost the same point."""
    remaining, points = ends[resting], list[RestPoint]()
    while len(remaining):
        first = remaining[0]
        near = np.abs(remaining - first).max(axis=1) < SAME
        share = int(near.sum()) / len(ends)
        points.append(RestPoint(first, share, regret(matrix, first)))
        remaining = remaining[~near]
    return tuple(sorted(points, key=lambda point: -point.share))
