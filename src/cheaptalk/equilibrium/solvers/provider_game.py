"""A game among model providers, each of which uses a mixture of its strategies.

The paper is *Measuring Competition and Cooperation in LLM Bargaining: An Empirical Meta-Game
Analysis*, section 6.5 and appendix K.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from cheaptalk.equilibrium.solvers.bimatrix import Indices, lemke_howson_mixtures
from cheaptalk.equilibrium.solvers.payoffs import NOISE, EquilibriumError, Flags, Floats, as_numbers
from cheaptalk.equilibrium.solvers.profiles import TOLERANCE
from cheaptalk.equilibrium.solvers.symmetric import mene_mixtures
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.rules.display import brief
from cheaptalk.rules.errors import WrongValue

Construction = Literal["mixtures", "selected"]
TakenEnd = Literal["first", "highest", "lowest"]


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class ProviderGame(Printed):
    """A game among model providers, solved for one or several payoff matrices.

    Attributes:
        payoffs: the row provider's payoff against the column provider, shape (draws, P, P).
        given: the value that the row provider gives away, by its own valuation; None if not
            computed.
        regrets: the larger regret of both in each inner equilibrium, shape (draws, P, P), in payoff
            units; None for selected strategies, which aren't an equilibrium.
        several: the share of draws in which Lemke-Howson paths end at equilibria with different
            payoffs of the row provider, shape (P, P); if it is above 0, ``end`` matters.
    """

    providers: tuple[str, ...]
    payoffs: Floats
    given: Floats | None
    regrets: Floats | None
    several: Floats

    def best_responses(self) -> Floats:
        """Return how often each provider (row) is a best response to each (column), shape (P, P).

        Columns sum to 1; equally good providers share a draw (the paper's table 14).
        """
        highest = self.payoffs.max(axis=1, keepdims=True)
        span = np.ptp(self.payoffs, axis=(1, 2))[:, None, None]
        is_best = self.payoffs >= highest - TOLERANCE * span
        return np.asarray((is_best / is_best.sum(axis=1, keepdims=True)).mean(axis=0))

    def mixtures(self) -> Floats:
        """Return the maximum-entropy equilibrium among providers, shape (draws, P)."""
        return mene_mixtures(self.payoffs)

    def value_given(self) -> Floats:
        """Return the value that each provider gives away at equilibrium, shape (draws, P).

        The means and standard deviations over draws are the paper's table 13.

        Raises:
            WrongValue: the game lacks ``given``.
        """
        if self.given is None:
            raise WrongValue("the value given is unknown; pass `given` to provider_game")
        return np.asarray(np.einsum("dab,db->da", self.given, self.mixtures()), dtype=np.float64)

    def __repr__(self) -> str:
        return brief(self, ", ".join(self.providers))

    def printout(self) -> Printout:
        shares = self.best_responses().tolist()
        rows = [(name, *row) for name, row in zip(self.providers, shares, strict=True)]
        return Printout("Frequencies of best responses", ["against", *self.providers], rows)

    def __str__(self) -> str:
        width = max(map(len, self.providers))
        cells = [f"{name[:9]:>9}" for name in self.providers]
        lines = [f"{'':{width}} {' '.join(cells)}"]
        for name, shares in zip(self.providers, self.best_responses(), strict=True):
            lines.append(f"{name:{width}} {' '.join(f'{share:9.2f}' for share in shares)}")
        if self.several.any():
            row, column = np.unravel_index(self.several.argmax(), self.several.shape)
            lines.append(
                f"several inner equilibria, most often {self.providers[row]} against "
                f"{self.providers[column]}: in {self.several.max():.0%} of draws"
            )
        return "\n".join(lines)


def provider_game(
    payoffs: ArrayLike,
    providers: Sequence[str],
    *,
    given: ArrayLike | None = None,
    reading: Construction = "mixtures",
    end: TakenEnd = "first",
) -> ProviderGame:
    """Group strategies by provider, and compute the payoffs between providers.

    The paper describes two constructions. ``mixtures`` (appendix K.1): for each ordered pair of
    providers A and B, the bimatrix game between their strategies is solved by Lemke and Howson's
    algorithm, and v(A, B) = sigma' R tau is A's payoff in that equilibrium. If there are several,
    the paper doesn't say which to use. ``first`` uses the end of the path for label 0, A's first
    strategy; ``highest`` and ``lowest`` use the end, over all labels, that is best or worst for A.
    If A is B, the equilibrium need not be symmetric. ``selected`` (section 6.5): each provider uses
    the strategy with the highest payoff against the maximum-entropy equilibrium of all other
    providers' strategies.

    Args:
        payoffs: the payoff of strategy i against j at [i, j]; shape (n, n), or (draws, n, n).
        providers: the provider of each of n strategies; at least two different ones.
        given: the value that strategy i gives away against j, by its own valuation; of the payoffs'
            shape.

    Raises:
        WrongValue: shapes differ, a number isn't finite, or there is only one provider.
        EquilibriumError: an inner equilibrium exceeds the tolerance.
    """
    draws = _draws(payoffs, providers, "payoffs")
    gifts = None if given is None else _draws(given, providers, "given")
    if gifts is not None and gifts.shape != draws.shape:
        raise WrongValue(f"given must have the shape of payoffs, {draws.shape}, not {gifts.shape}")
    names = tuple(dict.fromkeys(providers))
    if len(names) < 2:
        raise WrongValue(
            f"all strategies belong to {names[0]}; the game needs at least two providers"
        )
    members = [np.flatnonzero([name == provider for provider in providers]) for name in names]
    size = len(draws), len(names), len(names)
    values, gives, regrets = np.zeros(size), np.zeros(size), np.zeros(size)
    several = np.zeros(size[1:])
    chosen = _selected(draws, members) if reading == "selected" else []
    for a, row_members in enumerate(members):
        for b, column_members in enumerate(members):
            if chosen:
                row, column = chosen[a], chosen[b]
            else:
                inner = (
                    draws[:, row_members[:, None], column_members],
                    draws[:, column_members[:, None], row_members],
                )
                row, column, differ = _inner(*inner, end)
                regrets[:, a, b] = _regrets(*inner, row, column)
                several[a, b] = differ.mean()
                row = _spread(row, row_members, draws)
                column = _spread(column, column_members, draws)
            values[:, a, b] = _met(row, draws, column)
            gives[:, a, b] = _met(row, gifts, column) if gifts is not None else 0
    gives_or_none = None if gifts is None else gives
    return ProviderGame(names, values, gives_or_none, None if chosen else regrets, several)


def _draws(numbers: ArrayLike, providers: Sequence[str], name: str) -> Floats:
    array = as_numbers(numbers, name)
    array = array[None] if array.ndim == 2 else array
    size = len(providers)
    if array.ndim != 3 or array.shape[1:] != (size, size) or not array.size:
        raise WrongValue(
            f"{name} must have shape ({size}, {size}) or (draws, {size}, {size}) for {size} "
            f"providers' names, not {np.shape(numbers)}"
        )
    if not np.isfinite(array).all():
        draw, i, j = map(int, np.argwhere(~np.isfinite(array))[0])
        raise WrongValue(
            f"{name} of strategy {i} against {j} is {array[draw, i, j]} in draw {draw}; "
            "play that pair, or leave one of the two out"
        )
    return array


def _spread(mixtures: Floats, members: Indices, draws: Floats) -> Floats:
    mixtures_of_all = np.zeros(draws.shape[:2])
    mixtures_of_all[:, members] = mixtures
    return mixtures_of_all


def _met(row: Floats, numbers: Floats, column: Floats) -> Floats:
    return np.asarray(np.einsum("di,dij,dj->d", row, numbers, column), dtype=np.float64)


def _inner(
    row_payoffs: Floats, column_payoffs: Floats, end: TakenEnd
) -> tuple[Floats, Floats, Flags]:
    """Return both providers' mixtures, and whether other Lemke-Howson paths yield other payoffs."""
    transposed = np.swapaxes(column_payoffs, 1, 2)
    ends = [
        lemke_howson_mixtures(row_payoffs, transposed, label)
        for label in range(sum(row_payoffs.shape[1:]))
    ]
    values = np.array([_met(row, row_payoffs, column) for row, column in ends])
    draw = np.arange(len(row_payoffs))
    path = {"first": 0 * draw, "highest": values.argmax(axis=0), "lowest": values.argmin(axis=0)}
    row, column = (np.array(side)[path[end], draw] for side in zip(*ends, strict=True))
    return row, column, np.ptp(values, axis=0) > _rounding(row_payoffs)


def _regrets(row_payoffs: Floats, column_payoffs: Floats, row: Floats, column: Floats) -> Floats:
    regrets = np.zeros(len(row_payoffs))
    for payoffs, mixture, opponent in ((row_payoffs, row, column), (column_payoffs, column, row)):
        answers = np.einsum("dij,dj->di", payoffs, opponent)
        regret = np.maximum(answers.max(axis=1) - (answers * mixture).sum(axis=1), 0)
        inexact = regret > _rounding(payoffs)
        if inexact.any():
            raise EquilibriumError(
                f"An inner equilibrium of draw {inexact.argmax()} has regret "
                f"{regret[inexact][0]:.2g}; "
                "its payoffs are too close to a tie for floating point, so leave that draw out"
            )
        regrets = np.maximum(regrets, regret)
    return regrets


def _rounding(payoffs: Floats) -> Floats:
    span, size = np.ptp(payoffs, axis=(1, 2)), np.abs(payoffs).max(axis=(1, 2))
    return np.asarray(TOLERANCE * span + NOISE * size, dtype=np.float64)


def _selected(draws: Floats, members: list[Indices]) -> list[Floats]:
    """Return each provider's best pure strategy against the equilibrium of the other providers."""
    everyone = np.arange(draws.shape[1])
    chosen = []
    for strategies in members:
        rival_strategies = np.setdiff1d(everyone, strategies)
        rivals = mene_mixtures(draws[:, rival_strategies[:, None], rival_strategies])
        scores = np.einsum("dij,dj->di", draws[:, strategies[:, None], rival_strategies], rivals)
        chosen.append(np.eye(len(everyone))[strategies[scores.argmax(axis=1)]])
    return chosen
