"""Many systems of linear inequalities, checked together by the dual simplex method.

A dictionary expresses basic variables by the others: basic = constants + table @ nonbasic (Chvatal
1983, Linear Programming, chapter 2). All variables are nonnegative. A row with a negative constant
and without positive coefficients proves that the system has no solution. Any other row with a
negative constant is exchanged with a variable of positive coefficient, until all constants are
nonnegative: then setting the nonbasic variables to 0 is a solution.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cheaptalk.equilibrium.solvers.payoffs import Flags, Floats, Integers

LOOSE = 1e-6
"""Constants above minus this count as nonnegative."""
PIVOT = 1e-6
"""The minimum size of a coefficient for an exchange with a variable that becomes 0."""
POSITIVE = 1e-9
"""Coefficients up to this count as 0 in proofs that a system has no solution."""
MOST_EXCHANGES = 64
"""The maximum number of exchanges per check; after more, a system counts as feasible."""
UNUSED = -1
"""Stands for the variable of a column without coefficients."""


@dataclass(frozen=True)
class Dictionaries:
    """Dictionaries of equal size, along the last axis.

    Attributes:
        table: the coefficients, shape (rows, columns, dictionaries).
        constants: shape (rows, dictionaries).
        basic, nonbasic: the variables of rows and columns.
    """

    table: Floats
    constants: Floats
    basic: Integers
    nonbasic: Integers

    def chosen(self, which: Integers | slice) -> "Dictionaries":
        table, constants = self.table[..., which], self.constants[:, which]
        return Dictionaries(table, constants, self.basic[:, which], self.nonbasic[:, which])

    def row_of(self, variable: int) -> tuple[Integers, Integers]:
        """Return the dictionaries in which a variable is basic, and its row in them."""
        at = self.basic == variable
        which = np.flatnonzero(at.any(axis=0))
        return which, at[:, which].argmax(axis=0)

    def without(self, variable: int) -> "Dictionaries":
        """Set a variable to 0.

        If the variable is basic, it is exchanged first. If its row is 0, it is 0 in all solutions,
        and no column is removed. If it can't be 0, the result has no solution.
        """
        result = self.chosen(np.arange(self.constants.shape[1]))
        which, row = result.row_of(variable)
        if len(which):
            result._drive_out(which, row)
        return result._without_column(result.nonbasic == variable)

    def _drive_out(self, which: Integers, row: Integers) -> None:
        """Exchange the variables of rows that become 0, in place."""
        coefficients = self.table[row, :, which].T
        lowest = coefficients.min(axis=0, initial=0.0)
        impossible = (self.constants[row, which] > LOOSE) & (lowest >= -POSITIVE)
        self.table[row[impossible], :, which[impossible]] = 0.0
        self.constants[row[impossible], which[impossible]] = -1.0
        if len(self.nonbasic):
            sizes = np.where(lowest < -PIVOT, -coefficients, np.abs(coefficients))
            exchanged = ~impossible & (sizes.max(axis=0) >= PIVOT)
            if exchanged.any():
                column = sizes.argmax(axis=0)
                self._exchange(row[exchanged], column[exchanged], which[exchanged])

    def feasible(self) -> Flags:
        """Return whether each dictionary has a solution; exchanges variables in place."""
        feasible = np.ones(self.constants.shape[1], dtype=bool)
        active = np.arange(len(feasible))
        for _ in range(MOST_EXCHANGES):
            constants = self.constants[:, active]
            row = constants.argmin(axis=0)
            negative = constants[row, np.arange(len(active))] < -LOOSE
            active, row = active[negative], row[negative]
            if not len(active):
                break
            coefficients = self.table[row, :, active].T
            possible = coefficients.max(axis=0, initial=0.0) > POSITIVE
            feasible[active[~possible]] = False
            active, row = active[possible], row[possible]
            if len(active):
                self._exchange(row, coefficients[:, possible].argmax(axis=0), active)
        return feasible

    def _exchange(self, row: Integers, column: Integers, which: Integers) -> None:
        """Exchange the variables of a row and a column of each of some dictionaries, in place."""
        table, number = self.table[..., which], np.arange(len(which))
        pivot = table[row, column, number]
        entering = table[:, column, number]
        new_row = -table[row, :, number].T / pivot
        constant = -self.constants[row, which] / pivot
        table += entering[:, None] * new_row
        table[:, column, number] = entering / pivot
        new_row[column, number] = 1 / pivot
        table[row, :, number] = new_row.T
        self.table[..., which] = table
        self.constants[:, which] += entering * constant
        self.constants[row, which] = constant
        leaving = self.basic[row, which]
        self.basic[row, which] = self.nonbasic[column, which]
        self.nonbasic[column, which] = leaving

    def _without_column(self, at: Flags) -> "Dictionaries":
        """Return the dictionaries without the flagged columns, one or none of each."""
        which = np.flatnonzero(at.any(axis=0))
        if len(which):
            removed = at[:, which].argmax(axis=0)
            last = (self.nonbasic[:, which] != UNUSED).sum(axis=0) - 1
            self.table[:, removed, which] = self.table[:, last, which]
            self.nonbasic[removed, which] = self.nonbasic[last, which]
            self.table[:, last, which] = 0.0
            self.nonbasic[last, which] = UNUSED
        width = int((self.nonbasic != UNUSED).sum(axis=0).max(initial=0))
        return replace(self, table=self.table[:, :width], nonbasic=self.nonbasic[:width])


def joined(parts: Sequence[Dictionaries]) -> Dictionaries:
    """Return dictionaries with the same number of rows as one batch."""
    width = max(len(part.nonbasic) for part in parts)
    parts = [part if len(part.nonbasic) == width else _widened(part, width) for part in parts]
    return Dictionaries(
        np.concatenate([part.table for part in parts], axis=-1),
        np.concatenate([part.constants for part in parts], axis=-1),
        np.concatenate([part.basic for part in parts], axis=-1),
        np.concatenate([part.nonbasic for part in parts], axis=-1),
    )


def _widened(part: Dictionaries, width: int) -> Dictionaries:
    missing = width - len(part.nonbasic)
    table = np.pad(part.table, ((0, 0), (0, missing), (0, 0)))
    nonbasic = np.pad(part.nonbasic, ((0, missing), (0, 0)), constant_values=UNUSED)
    return replace(part, table=table, nonbasic=nonbasic)
