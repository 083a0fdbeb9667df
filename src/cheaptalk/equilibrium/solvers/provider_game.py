"""The game among providers: each fields a mixture of its strategies.

"The paper" is *Measuring Competition and Cooperation in LLM Bargaining: An Empirical Meta-Game
Analysis*, section 6.5 and appendix K.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from cheaptalk.equilibrium.solvers.bimatrix import Indices, lemke_howson_mixtures
from cheaptalk.equilibrium.solvers.payoffs import NOISE, EquilibriumError, Flags, Floats
from cheaptalk.equilibrium.solvers.profiles import TOLERANCE
from cheaptalk.equilibrium.solvers.symmetric import mene_mixtures
from cheaptalk.rules.display import Printed, brief

Construction = Literal["mixtures", "selected"]
TakenEnd = Literal["first", "highest", "lowest"]


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class ProviderGame(Printed):
    """The game among providers, for each of some payoff matrices (bootstrap draws).

    Attributes:
        providers: their names, P of them.
        payoffs: what the row provider gets against the column provider, shape (draws, P, P).
        given: what the row provider gives away to it, by its own valuation; None if not asked for.
        regrets: the larger regret of the two in each inner equilibrium, shape (draws, P, P), in
            payoff units; None where strategies were selected, which are no equilibrium.
        several: the share of draws in which Lemke and Howson's paths end at equilibria that differ
            in the row provider's payoff, shape (P, P); where it is above 0, what is taken matters.
    """

    providers: tuple[str, ...]
    payoffs: Floats
    given: Floats | None
    regrets: Floats | None
    several: Floats

    def best_responses(self) -> Floats:
        """How often the row provider is a best response to the column provider, shape (P, P).

        Columns sum to 1; providers that are equally good share a draw (the paper's table 14).
        """
        highest = self.payoffs.max(axis=1, keepdims=True)
        span = np.ptp(self.payoffs, axis=(1, 2))[:, None, None]
        best = self.payoffs >= highest - TOLERANCE * span
        return np.asarray((best / best.sum(axis=1, keepdims=True)).mean(axis=0))

    def mixtures(self) -> Floats:
        """The maximum-entropy equilibrium among providers of each draw, shape (draws, P)."""
        return mene_mixtures(self.payoffs)

    def value_given(self) -> Floats:
        """What each provider gives away on average against that equilibrium, shape (draws, P).

        The means and standard deviations over draws are the paper's table 13.

        Raises:
            ValueError: the game was made without ``given``.
        """
        if self.given is None:
            raise ValueError("pass given to provider_game to know what providers give away")
        return np.asarray(np.einsum("dab,db->da", self.given, self.mixtures()), dtype=np.float64)

    def __repr__(self) -> str:
        return brief(self, ", ".join(self.providers))

    def __str__(self) -> str:
        """The best-response table, and where several equilibria leave a choice."""
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
    taken: TakenEnd = "first",
) -> ProviderGame:
    """Group strategies by provider and find what providers get against each other.

    The paper describes two constructions. ``mixtures`` (appendix K.1): for each ordered pair of
    providers A and B, the bimatrix game between their strategies is solved by Lemke and Howson's
    algorithm, and v(A, B) = sigma' R tau is what A gets in that equilibrium. Which one, where there
    are several, the paper does not say. ``first`` takes the end of the path for label 0, A's first
    strategy; ``highest`` and ``lowest`` take, among the ends for all labels, the one that is best
    or worst for A. In a pair of a provider with itself the equilibrium need not be symmetric.
    ``selected`` (section 6.5): each provider fields the one strategy that gets most against the
    maximum-entropy equilibrium of all other providers' strategies.

    Args:
        payoffs: what strategy i gets against j at [i, j]; shape (n, n), or (draws, n, n).
        providers: the provider of each strategy, n of them, two different ones at least.
        given: what strategy i gives away against j, by its own valuation; of the payoffs' shape.
        reading: which construction.
        taken: which equilibrium, in ``mixtures``.

    Raises:
        ValueError: shapes do not fit, a number is not finite, or there is one provider.
        EquilibriumError: an inner equilibrium misses the tolerance.
    """
    draws = _draws(payoffs, providers, "payoffs")
    gifts = None if given is None else _draws(given, providers, "given")
    if gifts is not None and gifts.shape != draws.shape:
        raise ValueError(f"given must have the shape of payoffs, {draws.shape}, not {gifts.shape}")
    names = tuple(dict.fromkeys(providers))
    if len(names) < 2:
        raise ValueError(f"all strategies are of {names[0]}; a game takes two providers at least")
    members = [np.flatnonzero([name == one for one in providers]) for name in names]
    size = len(draws), len(names), len(names)
    values, gives, regrets = np.zeros(size), np.zeros(size), np.zeros(size)
    several = np.zeros(size[1:])
    chosen = _selected(draws, members) if reading == "selected" else []
    for a, own in enumerate(members):
        for b, other in enumerate(members):
            if chosen:
                row, column = chosen[a], chosen[b]
            else:
                inner = draws[:, own[:, None], other], draws[:, other[:, None], own]
                row, column, differ = _inner(*inner, taken)
                regrets[:, a, b] = _regrets(*inner, row, column)
                several[a, b] = differ.mean()
                row, column = _spread(row, own, draws), _spread(column, other, draws)
            values[:, a, b] = _met(row, draws, column)
            gives[:, a, b] = _met(row, gifts, column) if gifts is not None else 0
    return ProviderGame(
        names,
        values,
        None if gifts is None else gives,
        None if chosen else regrets,
        several,
    )


def _draws(numbers: ArrayLike, providers: Sequence[str], what: str) -> Floats:
    array = np.asarray(numbers, dtype=np.float64)
    array = array[None] if array.ndim == 2 else array
    size = len(providers)
    if array.ndim != 3 or array.shape[1:] != (size, size) or not array.size:
        raise ValueError(
            f"{what} must have shape ({size}, {size}) or (draws, {size}, {size}) for {size} "
            f"providers' names, not {np.shape(numbers)}"
        )
    if not np.isfinite(array).all():
        draw, i, j = map(int, np.argwhere(~np.isfinite(array))[0])
        raise ValueError(
            f"{what} of strategy {i} against {j} is {array[draw, i, j]} in draw {draw}; "
            "play that pair, or leave one of the two out"
        )
    return array


def _spread(mixtures: Floats, members: Indices, draws: Floats) -> Floats:
    """A provider's mixtures over all strategies of the game."""
    whole = np.zeros(draws.shape[:2])
    whole[:, members] = mixtures
    return whole


def _met(row: Floats, numbers: Floats, column: Floats) -> Floats:
    return np.asarray(np.einsum("di,dij,dj->d", row, numbers, column), dtype=np.float64)


def _inner(own: Floats, other: Floats, taken: TakenEnd) -> tuple[Floats, Floats, Flags]:
    """The mixtures of two providers in each draw, and where paths end at different payoffs.

    Args:
        own: what the row provider gets, shape (draws, m, n).
        other: what the column provider gets, shape (draws, n, m).
    """
    back = np.swapaxes(other, 1, 2)
    ends = [lemke_howson_mixtures(own, back, label) for label in range(sum(own.shape[1:]))]
    values = np.array([_met(row, own, column) for row, column in ends])
    ends_taken = {
        "first": np.zeros(len(own), dtype=np.intp),
        "highest": values.argmax(axis=0),
        "lowest": values.argmin(axis=0),
    }
    each = np.arange(len(own))
    row, column = (np.array(side)[ends_taken[taken], each] for side in zip(*ends, strict=True))
    return row, column, np.ptp(values, axis=0) > _rounding(own)


def _regrets(own: Floats, other: Floats, row: Floats, column: Floats) -> Floats:
    """The larger regret of two providers in each draw, once it is seen to be within tolerance."""
    regrets = np.zeros(len(own))
    for payoffs, mine, theirs in ((own, row, column), (other, column, row)):
        answers = np.einsum("dij,dj->di", payoffs, theirs)
        regret = np.maximum(answers.max(axis=1) - (answers * mine).sum(axis=1), 0)
        off = regret > _rounding(payoffs)
        if off.any():
            raise EquilibriumError(
                f"An inner equilibrium of draw {off.argmax()} has regret {regret[off][0]:.2g}; "
                "its payoffs are too close to a tie for floating point, so leave that draw out"
            )
        regrets = np.maximum(regrets, regret)
    return regrets


def _rounding(payoffs: Floats) -> Floats:
    """Up to where payoffs of each draw count as equal."""
    span, size = np.ptp(payoffs, axis=(1, 2)), np.abs(payoffs).max(axis=(1, 2))
    return np.asarray(TOLERANCE * span + NOISE * size, dtype=np.float64)


def _selected(draws: Floats, members: list[Indices]) -> list[Floats]:
    """Each provider's strategy that does best against the others' equilibrium, as pure mixtures."""
    everyone = np.arange(draws.shape[1])
    chosen = []
    for own in members:
        others = np.setdiff1d(everyone, own)
        rivals = mene_mixtures(draws[:, others[:, None], others])
        scores = np.einsum("dij,dj->di", draws[:, own[:, None], others], rivals)
        chosen.append(np.eye(len(everyone))[own[scores.argmax(axis=1)]])
    return chosen
