"""Empirical games: who gets what against whom, estimated from matches, with the matches kept."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, milp

from cheaptalk.equilibrium.cells import Cell, Integers, Key, Sample, given
from cheaptalk.equilibrium.empirical import Empirical
from cheaptalk.equilibrium.payoffs import Floats, symmetric_payoffs
from cheaptalk.equilibrium.profiles import checked
from cheaptalk.rules import counted


class EmpiricalGame(Empirical):
    """A symmetric game of two players, estimated from matches in both orders of the seats.

    ``payoffs()[i, j]`` is what strategy i gets against strategy j, the mean over both seats; a
    strategy against itself gets the mean of its two seats (item bargaining, section 3.5).
    """

    swapped: ClassVar[bool] = True
    _payoffs: ClassVar[int] = 1

    @classmethod
    def of_payoffs(
        cls, payoffs: npt.ArrayLike, labels: Sequence[str] | None = None
    ) -> "EmpiricalGame":
        """A game of known payoffs, without samples.

        Args:
            payoffs: what each strategy gets against each, shape (n, n).
            labels: of the strategies; their numbers from 1 without.

        Raises:
            ValueError: the payoffs are no square matrix of finite numbers, or labels do not fit.
        """
        matrix = symmetric_payoffs(payoffs)
        names = _names(labels, len(matrix), "")
        cells = combinations_with_replacement(range(len(matrix)), 2)
        sample = given(matrix, matrix.T, cells)
        return cls(names, names, (), (sample,), (1.0,))

    @property
    def labels(self) -> tuple[str, ...]:
        """The strategies."""
        return self.rows

    def __str__(self) -> str:
        """How much was played, then what each strategy gets against each, to two decimals."""
        matches = sum(cell.matches for sample in self.samples for cell in sample.cells.values())
        behind = counted(matches, "match") if self.sampled else "given payoffs"
        lacking = f", {counted(len(self.missing), 'cell')} missing" if self.missing else ""
        lines = [f"{counted(len(self.labels), 'strategy')}, {behind}{lacking}"]
        if not self.missing:
            numbers = [[f"{payoff:.2f}" for payoff in row] for row in self.payoffs()]
            rows = [
                ["", *self.labels],
                *([label, *row] for label, row in zip(self.labels, numbers, strict=True)),
            ]
            widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
            lines += ["  ".join(map(str.rjust, row, widths)) for row in rows]
        return "\n".join(lines)

    @property
    def keys(self) -> list[Key]:
        """The cells, each pair once."""
        return list(combinations_with_replacement(range(len(self.rows)), 2))

    def payoffs(self) -> Floats:
        """What each strategy gets against each, shape (n, n).

        Raises:
            CheaptalkError: a cell is missing.
        """
        return np.asarray(self.means[0])

    def _placed(self, values: Mapping[Key, Floats]) -> Floats:
        upper = super()._placed(values)
        lower = np.swapaxes(upper, -1, -2)
        mine = np.where(np.isnan(upper[..., 0, :, :]), lower[..., 1, :, :], upper[..., 0, :, :])
        rest = np.where(np.isnan(upper), lower, upper)[..., 2:, :, :]
        return np.concatenate([mine[..., None, :, :], rest], axis=-3)

    def _counted(self, number: Callable[[Cell], int]) -> Integers:
        upper = super()._counted(number)
        return np.asarray(upper + np.triu(upper, 1).T)

    def only(self, labels: Sequence[str]) -> "EmpiricalGame":
        """The game among some of its strategies, in this order.

        Raises:
            ValueError: a label is unknown or given twice, or there is none.
        """
        names = _names(labels, len(labels), "")
        self._know(names)
        if not names:
            raise ValueError(f"No strategy is left of {', '.join(self.labels)}")
        place = {self.labels.index(label): at for at, label in enumerate(names)}
        samples = tuple(_reordered(sample, place) for sample in self.samples)
        return replace(self, rows=names, columns=names, samples=samples)

    def without(self, labels: Sequence[str]) -> "EmpiricalGame":
        """The game without these strategies.

        Raises:
            ValueError: a label is unknown, or none would be left.
        """
        self._know(labels)
        return self.only([label for label in self.labels if label not in labels])

    def _know(self, labels: Sequence[str]) -> None:
        unknown = [label for label in labels if label not in self.labels]
        if unknown:
            raise ValueError(f'No strategy "{unknown[0]}"; there are: {", ".join(self.labels)}')

    def largest_complete(self) -> tuple[str, ...]:
        """As many strategies as possible among whom no cell is missing.

        A strategy is left out for each missing cell, as few as can be (a vertex cover, by integer
        programming).
        """
        size = len(self.labels)
        pairs = {
            (self.labels.index(one.row), self.labels.index(one.column)) for one in self.missing
        }
        if not pairs:
            return self.labels
        limits = np.zeros((len(pairs), size))
        for at, pair in enumerate(sorted(pairs)):
            limits[at, list(pair)] = 1
        tops = [1.0 if len(set(pair)) == 2 else 0.0 for pair in sorted(pairs)]
        found = milp(
            -np.ones(size), integrality=np.ones(size), bounds=Bounds(0, 1),
            constraints=LinearConstraint(limits, ub=tops),
        )  # fmt: skip
        return tuple(label for label, kept in zip(self.labels, found.x, strict=True) if kept > 0.5)

    def _cure(self) -> str:
        kept = self.largest_complete()
        left_out = [label for label in self.labels if label not in kept]
        return f": without({left_out}) has every cell" if kept else "; no strategy has every cell"


class EmpiricalBimatrix(Empirical):
    """A game of two different seats: rows fill the first place, columns the second.

    As in GLEE, whose Alice and Bob have different tasks.
    """

    swapped: ClassVar[bool] = False
    _payoffs: ClassVar[int] = 2

    @classmethod
    def of_payoffs(
        cls,
        a: npt.ArrayLike,
        b: npt.ArrayLike,
        rows: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> "EmpiricalBimatrix":
        """A game of known payoffs, without samples.

        Args:
            a: what the row player gets, shape (rows, columns).
            b: what the column player gets, of the same shape.
            rows: labels of the row player's strategies; numbers from 1 without.
            columns: those of the column player's.

        Raises:
            ValueError: the payoffs are not two finite matrices of one shape, or labels do not fit.
        """
        gets, other = checked(a, b)
        names = _names(rows, gets.shape[0], "row "), _names(columns, gets.shape[1], "column ")
        sample = given(gets, other, np.ndindex(gets.shape))
        return cls(*names, (), (sample,), (1.0,))

    def payoffs(self) -> tuple[Floats, Floats]:
        """What rows and columns get, each of shape (rows, columns).

        Raises:
            CheaptalkError: a cell is missing.
        """
        return np.asarray(self.means[0]), np.asarray(self.means[1])


def _reordered(sample: Sample, place: Mapping[int, int]) -> Sample:
    """A sample under new numbers; a cell whose players change sides has its payoffs exchanged."""
    cells = {}
    for (row, column), cell in sample.cells.items():
        if row in place and column in place:
            key = place[row], place[column]
            if key[0] > key[1]:
                order = [1, 0, *range(2, cell.sums.shape[1])]
                cell = replace(cell, sums=cell.sums[:, order], weights=cell.weights[:, order])
            cells[min(key), max(key)] = cell
    return replace(sample, cells=cells)


def _names(labels: Sequence[str] | None, size: int, kind: str) -> tuple[str, ...]:
    names = tuple(labels) if labels is not None else tuple(f"{kind}{at + 1}" for at in range(size))
    if len(names) != size:
        raise ValueError(f"{counted(len(names), 'label')} for {size} strategies")
    twice = [name for at, name in enumerate(names) if name in names[:at]]
    if twice:
        raise ValueError(f'Two strategies are called "{twice[0]}"; every label must be unique')
    return names
