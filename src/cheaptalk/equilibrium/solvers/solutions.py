"""Symmetric equilibria with their regrets."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cheaptalk.equilibrium.solvers.entropy import entropy
from cheaptalk.equilibrium.solvers.payoffs import Floats, as_numbers, symmetric_payoffs
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.rules.errors import WrongValue

SHOWN = 20
"""The maximum number of equilibria that are printed."""


def deviation_gains(payoffs: npt.ArrayLike, mixture: npt.ArrayLike) -> Floats:
    """Return each strategy's payoff against a mixture, minus the mixture's payoff against itself.

    u(i, x) - u(x, x) = (A x)_i - x' A x, in payoff units; positive if switching pays. The regret of
    strategy i at x is minus this (Li and Wellman 2024; item bargaining, section 3.3).

    Args:
        payoffs: the payoffs of a symmetric game, shape (n, n).
        mixture: the probabilities, shape (n,).

    Returns:
        The gains, shape (n,). Weighted by the mixture, they sum to 0.

    Raises:
        WrongValue: the payoffs aren't a square matrix, or the mixture doesn't match it.
    """
    matrix = symmetric_payoffs(payoffs)
    shares = as_numbers(mixture, "mixture")
    if shares.shape != matrix.shape[:1]:
        raise WrongValue(f"a mixture must have shape ({len(matrix)},), not {shares.shape}")
    if not (shares >= 0).all() or not np.isclose(shares.sum(), 1, rtol=0, atol=1e-6):
        raise WrongValue("the shares of a mixture must be >= 0 and sum to 1")
    return _gains(matrix, shares)


def regret(payoffs: npt.ArrayLike, mixture: npt.ArrayLike) -> float:
    """Return a mixture's regret: the largest gain from deviating to any pure strategy.

    max over i of (A x)_i - x' A x, in payoff units; >= 0, and 0 exactly at symmetric equilibria.

    See :func:`deviation_gains` for arguments and errors.
    """
    return max(0.0, float(deviation_gains(payoffs, mixture).max()))


def _gains(payoffs: Floats, mixture: Floats) -> Floats:
    against = (payoffs - payoffs.max(axis=0)) @ mixture  # free of what all gain alike, and exacter
    return np.asarray(against - mixture @ against)


@dataclass(frozen=True, eq=False, repr=False)
class Equilibrium(Printed):
    """A symmetric equilibrium with its regret.

    Attributes:
        mixture: the probability of each strategy, shape (n,).
        payoff: the payoff of the mixture against itself, x' A x.
        regret: the largest gain from a deviation, in payoff units; see :func:`regret`.
        entropy: minus the sum of x_i ln x_i, in nats, in [0, ln n].
    """

    mixture: Floats
    payoff: float
    regret: float
    entropy: float

    @classmethod
    def of_mixture(cls, payoffs: Floats, mixture: Floats) -> "Equilibrium":
        payoff, gain = float(mixture @ payoffs @ mixture), float(_gains(payoffs, mixture).max())
        return cls(mixture, payoff, max(0.0, gain), float(entropy(mixture)))

    @property
    def support(self) -> tuple[int, ...]:
        return tuple(np.flatnonzero(self.mixture).tolist())

    def printout(self) -> Printout:
        return _table("Symmetric equilibrium", [self], None)

    def __str__(self) -> str:
        return self.describe(range(len(self.mixture)))

    def describe(self, labels: Sequence[object]) -> str:
        """Describe the equilibrium in one line, with the labels of strategies."""
        shares = ", ".join(f"{labels[index]}: {self.mixture[index]:.4f}" for index in self.support)
        return (
            f"{{{shares}}}, payoff {self.payoff:.6g}, entropy {self.entropy:.4f}, "
            f"regret {self.regret:.1e}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Component(Printed):
    """A connected set of equilibria: a single equilibrium or a continuum.

    Attributes:
        point: the equilibrium with maximum entropy.
        vertices: the extreme points of its polytopes, shape (points, n). Mixtures of points of
            different polytopes need not be equilibria.
    """

    point: Equilibrium
    vertices: Floats

    @property
    def isolated(self) -> bool:
        """Whether the component is a single equilibrium."""
        return len(self.vertices) == 1

    def printout(self) -> Printout:
        extent = f"a continuum with {len(self.vertices)} extreme points"
        return _table(
            "Symmetric equilibrium" + f", in {extent}" * (not self.isolated), [self.point], None
        )

    def __str__(self) -> str:
        return self.describe(range(len(self.point.mixture)))

    def describe(self, labels: Sequence[object]) -> str:
        """Describe the component in one line, with the labels of strategies."""
        extent = f", in a continuum with {len(self.vertices)} extreme points" * (not self.isolated)
        return f"{self.point.describe(labels)}{extent}"


@dataclass(frozen=True, eq=False, repr=False)
class SymmetricEquilibria(Printed):
    """The symmetric equilibria of a game.

    Attributes:
        components: single equilibria and continua by decreasing entropy, then by payoff, then by
            the shares of the first strategies.
        complete: whether every support was decided, so that there are no others.
        bound: the maximum entropy, in nats, of an equilibrium not listed here; None if complete.
        labels: the labels of the strategies in text; None for their indices.
    """

    components: tuple[Component, ...]
    complete: bool
    bound: float | None
    labels: tuple[str, ...] | None = None

    @property
    def equilibria(self) -> tuple[Equilibrium, ...]:
        """Return each component's maximum-entropy equilibrium."""
        return tuple(component.point for component in self.components)

    @property
    def mene(self) -> Equilibrium:
        """Return the maximum-entropy equilibrium among those found."""
        return self.components[0].point

    @property
    def proven(self) -> bool:
        """Whether no other equilibrium can have a higher entropy than the selected one."""
        return self.bound is None or self.bound <= self.mene.entropy

    def printout(self) -> Printout:
        table = _table(self.in_words, self.equilibria, self.labels)
        continua = [
            f"equilibrium {number} is in a continuum with {len(component.vertices)} extreme points"
            for number, component in enumerate(self.components, 1)
            if not component.isolated
        ]
        return table._replace(notes=continua)

    @property
    def in_words(self) -> str:
        """Describe how many equilibria there are, and whether there can be others."""
        count = len(self.components)
        kind = "symmetric equilibrium" if count == 1 else "symmetric equilibria"
        if not all(component.isolated for component in self.components):
            single, several = "continuum of symmetric equilibria", f"{kind} or continua of them"
            kind = single if count == 1 else several
        rest_text = (
            "no others" if self.complete else f"perhaps others of entropy up to {self.bound:.4f}"
        )
        return f"{count:,} {kind}, and {rest_text}"

    def __str__(self) -> str:
        count, labels = len(self.components), self.labels or range(len(self.mene.mixture))
        lines = [f"  {component.describe(labels)}" for component in self.components[:SHOWN]]
        if count > SHOWN:
            lines.append(f"  and {count - SHOWN:,} more")
        return "\n".join([self.in_words, *lines])


def _table(title: str, equilibria: Sequence[Equilibrium], labels: Sequence[str] | None) -> Printout:
    """Return a table of equilibria, with a column for each strategy that is played."""
    played = np.flatnonzero(np.any([item.mixture > 0 for item in equilibria], axis=0)).tolist()
    names = [str(index if labels is None else labels[index]) for index in played]
    rows = [
        (number, item.payoff, item.regret, item.entropy, *item.mixture[played].tolist())
        for number, item in enumerate(equilibria, 1)
    ]
    return Printout(title, ["equilibrium", "payoff", "regret", "entropy", *names], rows)
