"""A game of two different seats: who would send whom to which, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cheaptalk.equilibrium.analysis.analysis import (
    called,
    mixed,
    payoff_places,
    regret_text,
    spread_text,
)
from cheaptalk.equilibrium.analysis.cautions import (
    cautions,
    uncertain_because,
    unscored_matches,
)
from cheaptalk.equilibrium.analysis.selection import Selected
from cheaptalk.equilibrium.analysis.two_seat_solution import Solved
from cheaptalk.equilibrium.empirical.bootstrap import Spread, spreads
from cheaptalk.equilibrium.empirical.empirical_games import EmpiricalBimatrix
from cheaptalk.equilibrium.empirical.model_choice import (
    WORTH_A_LINE,
    ModelChoice,
    best_replies,
)
from cheaptalk.equilibrium.solvers.payoff_files import PayoffTable
from cheaptalk.equilibrium.solvers.payoffs import Floats
from cheaptalk.rules import counted
from cheaptalk.rules.display import Printed
from cheaptalk.text import aligned, fixed

SHOWN = 10
"""Equilibria, and pairs, that are told."""
PAYOFF = "payoff"
"""What players of any game get, as its rules pay it."""


class Pair(NamedTuple):
    """A strategy in the first seat meets one in the second.

    Attributes:
        row, column: their labels.
        gets: what either gets.
        regrets: what either would gain by its best reply to the other, by the mean payoffs.
        best: whether either is a best reply to the other, by the mean payoffs, ties too.
        replies: in what share of draws either is one; without draws as ``best``, 1 or 0.
        stable: whether neither would gain, so that the pair is a pure equilibrium.
        support: the share of draws in which it is one; None without draws.
        matches, deals: behind the numbers; 0 where these were given.
    """

    row: str
    column: str
    gets: tuple[Spread, Spread]
    regrets: tuple[float, ...]
    best: tuple[bool, ...]
    replies: tuple[float, ...]
    stable: bool
    support: float | None
    matches: int
    deals: int


@dataclass(frozen=True, eq=False, repr=False)
class SeatsAnalysis(Printed):
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
        return seats_text(self)

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
    def uncertain(self) -> str:
        """Why draws cannot show how sure the choice is; empty if they can."""
        return uncertain_because(self.game, self.draws, self.unsure)

    @cached_property
    def unscored(self) -> tuple[dict[str, int], int]:
        """The matches that no payoff includes, by status, and the number of all matches."""
        return unscored_matches(self.selected, *self.labels)

    @property
    def cautions(self) -> list[str]:
        """What limits the answer, in sentences; see :func:`.cautions`."""
        return cautions(self.game, self.uncertain, self.unscored)

    @property
    def matches(self) -> int:
        """How many matches there are in all cells."""
        return int(self.game.counts().sum())

    @property
    def table(self) -> PayoffTable:
        """The mean payoffs, to be written to a file."""
        return PayoffTable(*self.labels, *self.game.payoffs(), self.name, self.seats)

    @cached_property
    def pairs(self) -> list[Pair]:
        """All pairs, those that most often are an equilibrium first."""
        means = np.array(self.game.payoffs())
        drawn = means[None] if self.drawn is None else self.drawn
        gets = spreads(means.ravel(), drawn.reshape(len(drawn), -1), self.game.freedom)
        best = best_replies(*means[:, None])[:, 0]
        replies = best_replies(drawn[:, 0], drawn[:, 1]).mean(axis=1)
        short = [means[side].max(axis=side, keepdims=True) - means[side] for side in (0, 1)]
        regrets = np.where(best, 0.0, short)  # rounding apart
        support, counts, deals = self.choice.support, self.game.counts(), self.game.deals()
        found = [
            Pair(
                self.game.rows[row], self.game.columns[column],
                (gets[at], gets[counts.size + at]),
                tuple(regrets[:, row, column].tolist()),
                tuple(best[:, row, column].tolist()),
                tuple(replies[:, row, column].tolist()),
                bool(best[:, row, column].all()),
                None if support is None else float(support[row, column]),
                int(counts[row, column]), int(deals[row, column]),
            )
            for at, (row, column) in enumerate(np.ndindex(counts.shape))
        ]  # fmt: skip
        return sorted(found, key=lambda one: (-(one.support or 0), not one.stable))

    @cached_property
    def places(self) -> int:
        """How many decimals suit its payoffs; at least two, since many are money."""
        return payoff_places(self.game.payoffs())

    @property
    def standing(self) -> list[Pair]:
        """The pairs that are an equilibrium, or one in at least a hundredth of the draws."""
        return [one for one in self.pairs if one.stable or (one.support or 0) >= WORTH_A_LINE]


def seats_text(one: SeatsAnalysis) -> str:
    """A game's equilibria by seat, and the pairs from which neither side would switch."""
    sizes = " x ".join(str(len(labels)) for labels in one.labels)
    played = f", {counted(one.matches, 'match')}" if one.selected else ""
    wanted = "" if one.payoff == PAYOFF else f", by {one.payoff}"
    head = f"{one.name}: {one.seats[0]} x {one.seats[1]}, {sizes} strategies{played}{wanted}"
    lines = [head, one.solved.in_words]
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
    said_below = bool(one.unsure)  # the first caution is why there are no intervals
    lines += [f"{caution}." for caution in one.cautions[said_below:]]
    return "\n".join([*lines, *(_pairs(one) if one.draws else [f"No intervals: {one.unsure}."])])


def _pairs(one: SeatsAnalysis) -> list[str]:
    """The pairs, what the draws say of them, and how these were made."""
    head = [*one.seats, "Of draws", *(f"{seat} gets" for seat in one.seats)]
    rows = [
        [pair.row, pair.column, f"{pair.support:.1%}{'*' if pair.stable else ' '}",
         *(spread_text(got, one.places) for got in pair.gets)]
        for pair in one.standing[:SHOWN]
    ]  # fmt: skip
    more = len(one.standing) - SHOWN
    rest = [f"and {counted(more, 'pair')} more"] if more > 0 else []
    deals = "the same deals in all cells" if one.paired else "deals drawn for each cell"
    made = (
        f"Of draws: how many have the pair as a pure equilibrium; * marks those of the mean "
        f"payoffs. {one.choice.without:.1%} of draws have none. In brackets: 95 % of "
        f"{one.draws:,} bootstrap draws of at least {one.game.fewest:,} deals a cell "
        f"({deals}, seed {one.seed})."
    )
    return [*aligned([head, *rows], {0, 1}), *rest, made]
