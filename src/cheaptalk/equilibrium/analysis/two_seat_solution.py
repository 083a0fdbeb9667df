"""Solution of bimatrix games: all equilibria or, in large games, all pure and some mixed ones."""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from cheaptalk.equilibrium.analysis.analysis import called, mixed
from cheaptalk.equilibrium.empirical.model_choice import model_choice
from cheaptalk.equilibrium.solvers.bimatrix import (
    bimatrix_equilibria,
    lemke_howson,
    undominated_sides,
)
from cheaptalk.equilibrium.solvers.payoffs import EquilibriumError, Floats
from cheaptalk.equilibrium.solvers.profiles import Profile
from cheaptalk.rules import counted

ALL_UP_TO = 26
"""The maximum number of undominated strategies of both sides for a complete search."""
PLACES = 9
"""The decimals to which equal mixtures agree; smaller shares count as 0."""


class SeatsEquilibrium(NamedTuple):
    """An equilibrium of a bimatrix game, or an extreme point of a continuum of equilibria.

    Attributes:
        profile: the mixtures of both players, with payoffs and regrets.
        continuum: the number of the continuum, from 1; 0 for an isolated equilibrium, None if
            unknown.
    """

    profile: Profile
    continuum: int | None

    @property
    def pure(self) -> bool:
        """Whether both players' strategies are pure."""
        return all(len(side) == 1 for side in self.supports)

    @property
    def mixtures(self) -> tuple[Floats, Floats]:
        return self.profile.row, self.profile.column

    @property
    def supports(self) -> tuple[list[int], list[int]]:
        """Return each player's strategies with positive probability."""
        row, column = (np.flatnonzero(side.round(PLACES)).tolist() for side in self.mixtures)
        return row, column

    def in_words(self, labels: Sequence[Sequence[str]]) -> list[str]:
        """Format each player's strategy, with probabilities if it is a mixed strategy."""
        return [
            called(names[support[0]]) if len(support) == 1 else mixed(names, support, shares)
            for names, support, shares in zip(labels, self.supports, self.mixtures, strict=True)
        ]


class BimatrixSolution(NamedTuple):
    """The equilibria of a bimatrix game.

    Attributes:
        equilibria: pure ones first, then sorted by the size of their supports.
        complete: whether there are no others.
        paths: the number of Lemke-Howson paths that were followed; 0 if complete.
        failed_paths: the number of paths without an end because of limited precision.
    """

    equilibria: tuple[SeatsEquilibrium, ...]
    complete: bool
    paths: int = 0
    failed_paths: int = 0

    @property
    def in_words(self) -> str:
        """Describe how many equilibria were found, and whether there can be others."""
        isolated = [equilibrium for equilibrium in self.equilibria if not equilibrium.continuum]
        pure = sum(equilibrium.pure for equilibrium in isolated)
        continua = max((equilibrium.continuum or 0 for equilibrium in self.equilibria), default=0)
        kind = "isolated " if continua else ""
        counts = {
            f"{kind}pure equilibri": pure,
            f"{kind}mixed equilibri": len(isolated) - pure,
            "continu": continua,
        }
        parts = [
            f"{number} {name}{'um' if number == 1 else 'a'}"
            for name, number in counts.items()
            if number
        ]
        if continua:
            parts[-1] += " of equilibria"
        if not parts:
            parts = ["no pure equilibrium, and the search found no mixed equilibrium"]
        if self.complete:
            return ", ".join([*parts, "and no others"])
        failed = f", of which {self.failed_paths} did not end" if self.failed_paths else ""
        return (
            f"{', '.join(parts)}; all pure equilibria are listed, but only the mixed ones at the "
            f"ends of {counted(self.paths, 'Lemke-Howson path')}{failed}"
        )


def solve(a: Floats, b: Floats) -> BimatrixSolution:
    """Find all equilibria of a bimatrix game or, if it is large, all pure and some mixed ones.

    If more than 26 undominated strategies remain in total, or there are too many candidates, a
    Lemke-Howson path is followed for every strategy.

    Args:
        a: the row player's payoffs, shape (m, n).
        b: the column player's payoffs, of the same shape.
    """
    if sum(int(side.sum()) for side in undominated_sides(a, b)) <= ALL_UP_TO:
        with suppress(EquilibriumError):
            equilibria, continua = [], 0
            for component in bimatrix_equilibria(a, b).components:
                several = len(component) > 1
                continua += several
                equilibria += [
                    SeatsEquilibrium(profile, continua * several) for profile in component
                ]
            return BimatrixSolution(_sorted_by_support(equilibria), True)
    return _by_paths(a, b)


def _by_paths(a: Floats, b: Floats) -> BimatrixSolution:
    rows, columns = a.shape
    pure = model_choice(a, b, ("",) * rows, ("",) * columns).equilibria
    profiles = {_key(profile): profile for profile in pure}
    failed = 0
    for label in range(rows + columns):
        try:
            end = lemke_howson(a, b, label)
        except EquilibriumError:
            failed += 1
        else:
            profiles.setdefault(_key(end), end)
    ends = [SeatsEquilibrium(profile, None) for profile in profiles.values()]
    return BimatrixSolution(_sorted_by_support(ends), False, rows + columns, failed)


def _key(profile: Profile) -> tuple[float, ...]:
    return tuple(np.concatenate([profile.row, profile.column]).round(PLACES).tolist())


def _sorted_by_support(equilibria: list[SeatsEquilibrium]) -> tuple[SeatsEquilibrium, ...]:
    return tuple(sorted(equilibria, key=lambda item: (not item.pure, sum(map(len, item.supports)))))
