"""A game of two different seats: who would send whom to which, and how sure that is."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from cheaptalk.equilibrium.bootstrap import TIE
from cheaptalk.equilibrium.choosing import WORTH_A_LINE, ModelChoice
from cheaptalk.equilibrium.games import EmpiricalBimatrix
from cheaptalk.equilibrium.payoffs import Flags, Floats
from cheaptalk.equilibrium.tables import PayoffTable
from cheaptalk.reports.metagame.naming import Selected
from cheaptalk.reports.metagame.seats_solving import Solved
from cheaptalk.reports.metagame.seats_texts import seats_text
from cheaptalk.reports.metagame.spreads import Spread, spreads
from cheaptalk.reports.scores import decimals

PAYOFF = "payoff"
"""What players of any game get, as its rules pay it."""
Cells: TypeAlias = dict[tuple[int, int], Spread]
"""Numbers by row and column."""


class Pair(NamedTuple):
    """A strategy in the first seat meets one in the second.

    Attributes:
        row, column: their labels.
        gets: what either gets.
        regrets: what either would gain by its best reply to the other, by the mean payoffs.
        best: whether either is a best reply to the other, by the mean payoffs, ties too.
        replies: in what share of draws either is one.
        stable: whether neither would gain, so that the pair is a pure equilibrium.
        support: the share of draws in which it is one; None without draws.
        matches, deals: behind the numbers; 0 where these were given.
    """

    row: str
    column: str
    gets: tuple[Spread, Spread]
    regrets: tuple[float, float]
    best: tuple[bool, bool]
    replies: tuple[float, float]
    stable: bool
    support: float | None
    matches: int
    deals: int


@dataclass(frozen=True, eq=False, repr=False)
class SeatsAnalysis:
    """A game of two seats with its equilibria.

    Attributes:
        name: what it is called.
        seats: what the two seats are called, the rows' first.
        game: its cells.
        solved: the equilibria of the mean payoffs.
        choice: pairs from which neither side would switch, and how often that is so in draws.
        drawn: mean payoffs over bootstrap draws, shape (draws, 2, rows, columns); None without.
        paired: whether all cells of a draw had the same deals.
        payoff: what either side wants; see :func:`.analyse_seats`.
        units: of that, for either seat; empty where only the game's page knows.
        pooled: whether all matches were taken for one game.
        unsure: why there are no draws; empty where there are.
        selected: the matches behind it, if there are any.
        seed: of the draws.
    """

    name: str
    seats: tuple[str, str]
    game: EmpiricalBimatrix
    solved: Solved
    choice: ModelChoice
    drawn: Floats | None = None
    paired: bool = False
    payoff: str = PAYOFF
    units: tuple[str, str] = ("", "")
    pooled: bool = False
    unsure: str = ""
    selected: Selected | None = None
    seed: int = 0

    def __str__(self) -> str:
        return seats_text(self, PAYOFF)

    def __repr__(self) -> str:
        return f"<SeatsAnalysis of {self.name}: {self.solved.in_words}>"

    @property
    def labels(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The strategies of both seats."""
        return self.game.rows, self.game.columns

    @property
    def draws(self) -> int:
        """How many bootstrap games there are."""
        return 0 if self.drawn is None else len(self.drawn)

    @property
    def matches(self) -> int:
        """How many matches there are in all cells."""
        return int(self.game.counts().sum())

    @property
    def table(self) -> PayoffTable:
        """The mean payoffs, to be written to a file."""
        return PayoffTable(*self.labels, *self.game.payoffs(), self.name, self.seats)

    @cached_property
    def best(self) -> Flags:
        """Which strategies are best replies by the mean payoffs, ties too; (2, rows, columns).

        First of the rows' seat to every column, then of the columns' seat to every row.
        """
        return np.asarray(_best(np.array(self.game.payoffs())[None])[0])

    @cached_property
    def replies(self) -> Floats:
        """The same over draws: in what share of them each is a best reply, in [0, 1]."""
        found = self.best if self.drawn is None else _best(self.drawn).mean(axis=0)
        return np.asarray(found, dtype=np.float64)

    @cached_property
    def pairs(self) -> list[Pair]:
        """All pairs, those that most often are an equilibrium first."""
        cells = np.ndindex(self.game.counts().shape)
        found = [self._pair(int(row), int(column)) for row, column in cells]
        return sorted(found, key=lambda one: (-(one.support or 0), not one.stable))

    def _pair(self, row: int, column: int) -> Pair:
        at = (row, column)
        support = self.choice.support
        return Pair(
            self.game.rows[row],
            self.game.columns[column],
            (self._gets[0][at], self._gets[1][at]),
            (float(self._regrets[0, *at]), float(self._regrets[1, *at])),
            (bool(self.best[0, *at]), bool(self.best[1, *at])),
            (float(self.replies[0, *at]), float(self.replies[1, *at])),
            at in self._stable,
            None if support is None else float(support[at]),
            int(self.game.counts()[at]),
            int(self.game.deals()[at]),
        )

    @cached_property
    def _stable(self) -> set[tuple[int, int]]:
        """Where the pure equilibria of the mean payoffs are."""
        return {(int(one.row.argmax()), int(one.column.argmax())) for one in self.choice.equilibria}

    @cached_property
    def _regrets(self) -> Floats:
        """By how much either seat could do better than in each cell, rounding apart."""
        means = self.game.payoffs()
        short = [means[side].max(axis=side, keepdims=True) - means[side] for side in (0, 1)]
        return np.where(self.best, 0.0, short)

    @cached_property
    def _gets(self) -> tuple[Cells, Cells]:
        return self._spreads(0), self._spreads(1)

    @cached_property
    def places(self) -> int:
        """How many decimals suit its payoffs; at least two, since many are money."""
        return max(2, decimals(np.ravel(self.game.payoffs()).tolist()))

    @property
    def standing(self) -> list[Pair]:
        """The pairs that are an equilibrium, or one in at least a hundredth of the draws."""
        return [one for one in self.pairs if one.stable or (one.support or 0) >= WORTH_A_LINE]

    def _spreads(self, side: int) -> Cells:
        """What a seat gets in every cell."""
        means = self.game.payoffs()[side]
        drawn = means[None] if self.drawn is None else self.drawn[:, side]
        found = spreads(means.ravel(), drawn.reshape(len(drawn), -1), sure=bool(self.draws))
        return dict(zip(np.ndindex(means.shape), found, strict=True))


def _best(values: Floats) -> Flags:
    """Best replies of both seats in many games, shape (games, 2, rows, columns)."""
    near = TIE * np.abs(values).max(axis=(2, 3), keepdims=True)
    reach = values + near
    return np.stack(
        [reach[:, side] >= values[:, side].max(axis=1 + side, keepdims=True) for side in (0, 1)],
        axis=1,
    )
