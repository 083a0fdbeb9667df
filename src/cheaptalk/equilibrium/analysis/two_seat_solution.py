"""The equilibria of a bimatrix: all of them, or where it is large those that paths lead to."""

from contextlib import suppress
from typing import NamedTuple

import numpy as np

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
"""Strategies of both sides together, after strict dominance, up to which all are looked for."""
PLACES = 9
"""Decimals to which the same mixture agrees, found in two ways; a share below counts as none."""


class SeatsEquilibrium(NamedTuple):
    """An equilibrium, or an extreme point of a continuum of them.

    Attributes:
        profile: what both do, with payoffs and regrets.
        continuum: which continuum it belongs to, from 1; 0 for none; None where that is not known.
    """

    profile: Profile
    continuum: int | None

    @property
    def pure(self) -> bool:
        """Whether both sides choose one strategy."""
        return all(len(side) == 1 for side in self.supports)

    @property
    def mixtures(self) -> tuple[Floats, Floats]:
        """The probabilities of the rows and of the columns."""
        return self.profile.row, self.profile.column

    @property
    def supports(self) -> tuple[list[int], list[int]]:
        """The strategies in use of the rows and of the columns."""
        row, column = (np.flatnonzero(side.round(PLACES)).tolist() for side in self.mixtures)
        return row, column


class Solved(NamedTuple):
    """The equilibria of a bimatrix.

    Attributes:
        found: pure ones first, then by the size of their supports.
        complete: whether there are no others.
        paths: how many paths of Lemke and Howson were followed instead; 0 where complete.
        lost: how many of these ended nowhere, for want of precision.
    """

    found: tuple[SeatsEquilibrium, ...]
    complete: bool
    paths: int = 0
    lost: int = 0

    @property
    def in_words(self) -> str:
        """How many equilibria there are, and whether these are all."""
        alone = [one for one in self.found if not one.continuum]
        pure = sum(one.pure for one in alone)
        continua = max((one.continuum or 0 for one in self.found), default=0)
        kind = "isolated " if continua else ""
        counts = {
            f"{kind}pure equilibri": pure, f"{kind}mixed equilibri": len(alone) - pure,
            "continu": continua,
        }  # fmt: skip
        parts = [
            f"{number} {what}{'um' if number == 1 else 'a'}"
            for what, number in counts.items() if number
        ]  # fmt: skip
        if continua:
            parts[-1] += " of equilibria"
        if not parts:
            parts = ["no pure equilibrium, and no mixed one was found"]
        if self.complete:
            return ", ".join([*parts, "and no others"])
        lost = f", of which {self.lost} found no end" if self.lost else ""
        return (
            f"{', '.join(parts)}; all pure ones are here, but of the mixed ones only those at the "
            f"ends of {counted(self.paths, 'path')} of Lemke and Howson{lost}"
        )


def solve(a: Floats, b: Floats) -> Solved:
    """All equilibria of a bimatrix, or if it is large all pure and some mixed ones.

    Where strict dominance leaves more than 26 strategies on both sides together, or there are too
    many candidates, a path of Lemke and Howson is followed for every strategy.

    Args:
        a: the row player's payoffs, shape (m, n).
        b: the column player's, of the same shape.
    """
    if sum(int(side.sum()) for side in undominated_sides(a, b)) <= ALL_UP_TO:
        with suppress(EquilibriumError):
            found, continua = [], 0
            for component in bimatrix_equilibria(a, b).components:
                several = len(component) > 1
                continua += several
                found += [SeatsEquilibrium(one, continua * several) for one in component]
            return Solved(_in_order(found), True)
    return _by_paths(a, b)


def _by_paths(a: Floats, b: Floats) -> Solved:
    rows, columns = a.shape
    pure = model_choice(a, b, ("",) * rows, ("",) * columns).equilibria
    found = {_key(one): one for one in pure}
    lost = 0
    for label in range(rows + columns):
        try:
            end = lemke_howson(a, b, label)
        except EquilibriumError:
            lost += 1
        else:
            found.setdefault(_key(end), end)
    ends = [SeatsEquilibrium(one, None) for one in found.values()]
    return Solved(_in_order(ends), False, rows + columns, lost)


def _key(one: Profile) -> tuple[float, ...]:
    return tuple(np.concatenate([one.row, one.column]).round(PLACES).tolist())


def _in_order(found: list[SeatsEquilibrium]) -> tuple[SeatsEquilibrium, ...]:
    return tuple(sorted(found, key=lambda one: (not one.pure, sum(map(len, one.supports)))))
