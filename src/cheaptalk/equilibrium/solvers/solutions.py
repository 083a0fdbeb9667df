"""What is said of equilibria: each with its regret."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cheaptalk.equilibrium.solvers.entropy import entropy
from cheaptalk.equilibrium.solvers.payoffs import Floats, symmetric_payoffs
from cheaptalk.rules.display import Printed

SHOWN = 20
"""How many equilibria are printed."""


def deviation_gains(payoffs: npt.ArrayLike, mixture: npt.ArrayLike) -> Floats:
    """What each strategy gets more against a mixture than the mixture itself does.

    u(i, x) - u(x, x) = (A x)_i - x' A x, in payoff units; positive where it pays to switch. The
    regret of strategy i at x is minus this (Li and Wellman 2024; item bargaining, section 3.3).

    Args:
        payoffs: a symmetric game, shape (n, n).
        mixture: probabilities, shape (n,).

    Returns:
        Gains, shape (n,). Weighted by the mixture they sum to 0.

    Raises:
        ValueError: the payoffs are no square matrix, or the mixture does not fit it.
    """
    matrix = symmetric_payoffs(payoffs)
    shares = np.asarray(mixture, dtype=np.float64)
    if shares.shape != matrix.shape[:1]:
        raise ValueError(f"a mixture of {len(matrix)} strategies has not the shape {shares.shape}")
    if not (shares >= 0).all() or not np.isclose(shares.sum(), 1, rtol=0, atol=1e-6):
        raise ValueError("the shares of a mixture are at least 0 and sum to 1")
    return _gains(matrix, shares)


def regret(payoffs: npt.ArrayLike, mixture: npt.ArrayLike) -> float:
    """The most that any strategy gains over a mixture against that mixture, in payoff units.

    max over i of (A x)_i - x' A x; at least 0, and 0 exactly at the symmetric equilibria.

    Args, errors: as of :func:`deviation_gains`.
    """
    return max(0.0, float(deviation_gains(payoffs, mixture).max()))


def _gains(payoffs: Floats, mixture: Floats) -> Floats:
    against = (payoffs - payoffs.max(axis=0)) @ mixture  # free of what all gain alike, and exacter
    return np.asarray(against - mixture @ against)


@dataclass(frozen=True, eq=False, repr=False)
class Equilibrium(Printed):
    """A symmetric equilibrium, with what vouches for it.

    Attributes:
        mixture: the probability of each strategy, shape (n,).
        payoff: what the mixture gets against itself, x' A x.
        regret: the most that a strategy gains by leaving it, in payoff units; see :func:`regret`.
        entropy: minus the sum of x_i ln x_i, in nats, in [0, ln n].
    """

    mixture: Floats
    payoff: float
    regret: float
    entropy: float

    @classmethod
    def at(cls, payoffs: Floats, mixture: Floats) -> "Equilibrium":
        """The equilibrium at a mixture that was found to be one."""
        worst = max(0.0, float(_gains(payoffs, mixture).max()))
        return cls(mixture, float(mixture @ payoffs @ mixture), worst, float(entropy(mixture)))

    @property
    def support(self) -> tuple[int, ...]:
        """The strategies with a share, in order."""
        return tuple(np.flatnonzero(self.mixture).tolist())

    def __str__(self) -> str:
        return self.describe(range(len(self.mixture)))

    def describe(self, labels: Sequence[object]) -> str:
        """It in a line, with what the strategies are called."""
        shares = ", ".join(f"{labels[one]}: {self.mixture[one]:.4f}" for one in self.support)
        return (
            f"{{{shares}}}, payoff {self.payoff:.6g}, entropy {self.entropy:.4f}, "
            f"regret {self.regret:.1e}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Component(Printed):
    """Equilibria that hang together: a single one, or a continuum.

    Attributes:
        point: the one of most entropy.
        vertices: extreme points of the polytopes that it consists of, shape (points, n). Mixtures
            between those of different polytopes need not be equilibria.
    """

    point: Equilibrium
    vertices: Floats

    @property
    def isolated(self) -> bool:
        """Whether it is a single equilibrium."""
        return len(self.vertices) == 1

    def __str__(self) -> str:
        return self.describe(range(len(self.point.mixture)))

    def describe(self, labels: Sequence[object]) -> str:
        """It in a line, with what the strategies are called."""
        extent = (
            "" if self.isolated else f", in a continuum with {len(self.vertices)} extreme points"
        )
        return f"{self.point.describe(labels)}{extent}"


@dataclass(frozen=True, eq=False, repr=False)
class SymmetricEquilibria(Printed):
    """The symmetric equilibria of a game.

    Attributes:
        components: single equilibria and continua, those of most entropy first; equal ones by
            payoff, then by the shares of the first strategies.
        complete: whether every support was decided, so that there are no others.
        bound: the most entropy, in nats, that an equilibrium not listed here can have; None if
            there is none.
        labels: what the strategies are called in print; their indices if nobody named them.
    """

    components: tuple[Component, ...]
    complete: bool
    bound: float | None
    labels: tuple[str, ...] | None = None

    @property
    def equilibria(self) -> tuple[Equilibrium, ...]:
        """Each component's point of most entropy."""
        return tuple(component.point for component in self.components)

    @property
    def mene(self) -> Equilibrium:
        """The maximum-entropy equilibrium among those found; see ``proven``."""
        return self.components[0].point

    @property
    def proven(self) -> bool:
        """Whether no equilibrium has more entropy than ``mene``."""
        return self.bound is None or self.bound <= self.mene.entropy

    def __str__(self) -> str:
        count = len(self.components)
        what = "symmetric equilibrium" if count == 1 else "symmetric equilibria"
        if not all(component.isolated for component in self.components):
            single, several = "continuum of symmetric equilibria", f"{what} or continua of them"
            what = single if count == 1 else several
        labels = self.labels or range(len(self.mene.mixture))
        lines = [f"  {component.describe(labels)}" for component in self.components[:SHOWN]]
        if count > SHOWN:
            lines.append(f"  and {count - SHOWN:,} more")
        more = "no others" if self.complete else f"perhaps others of entropy up to {self.bound:.4f}"
        return "\n".join([f"{count:,} {what}, and {more}", *lines])
