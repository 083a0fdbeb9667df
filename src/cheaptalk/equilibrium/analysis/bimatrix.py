"""A game of two different seats: who would send whom to which, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from cheaptalk.equilibrium.analysis.analysis import called, mixed, plus_minus, regret_text
from cheaptalk.equilibrium.analysis.bimatrix_solution import Solved
from cheaptalk.equilibrium.analysis.selection import Selected
from cheaptalk.equilibrium.analysis.spreads import Spread, spreads
from cheaptalk.equilibrium.empirical.bootstrap import TIE
from cheaptalk.equilibrium.empirical.games import EmpiricalBimatrix
from cheaptalk.equilibrium.empirical.model_choice import WORTH_A_LINE, ModelChoice
from cheaptalk.equilibrium.solvers.payoff_files import PayoffTable
from cheaptalk.equilibrium.solvers.payoffs import Flags, Floats
from cheaptalk.rules import counted
from cheaptalk.text import aligned, decimals, fixed

SHOWN = 10
"""Equilibria, and pairs, that are told."""
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


def seats_text(one: SeatsAnalysis, usual: str) -> str:
    """A game's equilibria by seat, and the pairs from which neither side would switch.

    Args:
        usual: what sides want where there is no need to say it.
    """
    lines = [_heading(one, usual), one.solved.in_words]
    for found in one.solved.found[:SHOWN]:
        sides = zip(one.seats, one.labels, found.supports, found.mixtures, strict=True)
        chosen = "; ".join(
            f"{seat} {called(labels[used[0]]) if len(used) == 1 else mixed(labels, used, shares)}"
            for seat, labels, used, shares in sides
        )
        numbers = " and ".join(fixed(payoff, one.places) for payoff in found.profile.payoffs)
        payoffs = one.game.payoffs()
        regrets = " and ".join(regret_text(value, payoffs) for value in found.profile.regrets)
        extent = f", of continuum {found.continuum}" if found.continuum else ""
        lines.append(f"  {chosen}: payoffs {numbers}, regrets {regrets}{extent}")
    if len(one.solved.found) > SHOWN:
        lines.append(f"  and {len(one.solved.found) - SHOWN} more")
    return "\n".join([*lines, *(_pairs(one) if one.draws else [f"No intervals: {one.unsure}."])])


def _heading(one: SeatsAnalysis, usual: str) -> str:
    sizes = " x ".join(str(len(labels)) for labels in one.labels)
    played = f", {counted(one.matches, 'match')}" if one.selected else ""
    wanted = "" if one.payoff == usual else f", by {one.payoff}"
    return f"{one.name}: {one.seats[0]} x {one.seats[1]}, {sizes} strategies{played}{wanted}"


def _pairs(one: SeatsAnalysis) -> list[str]:
    """The pairs, what the draws say of them, and how these were made."""
    head = [*one.seats, "Of draws", *(f"{seat} gets" for seat in one.seats)]
    rows = [
        [pair.row, pair.column, f"{pair.support:.1%}{'*' if pair.stable else ' '}",
         *(plus_minus(got, one.places) for got in pair.gets)]
        for pair in one.standing[:SHOWN]
    ]  # fmt: skip
    more = len(one.standing) - SHOWN
    rest = [f"and {counted(more, 'pair')} more"] if more > 0 else []
    deals = "the same deals in all cells" if one.paired else "deals drawn for each cell"
    made = (
        f"Of draws: how many have the pair as a pure equilibrium; * marks those of the mean "
        f"payoffs. {one.choice.without:.1%} of draws have none. ±: standard deviation over "
        f"{one.draws:,} bootstrap draws of at least {one.game.fewest:,} deals a cell "
        f"({deals}, seed {one.seed})."
    )
    return [*aligned([head, *rows], {0, 1}), *rest, made]
