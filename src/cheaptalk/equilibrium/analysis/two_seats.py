"""Results of analysing a game whose two seats have different sets of strategies."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cheaptalk.equilibrium.analysis.analysis import (
    CautiousAnalysis,
    called,
    mixed,
    regret_text,
    spread_text,
)
from cheaptalk.equilibrium.analysis.selection import Selected
from cheaptalk.equilibrium.empirical.bootstrap import Spread, spreads
from cheaptalk.equilibrium.empirical.empirical_games import EmpiricalBimatrix
from cheaptalk.equilibrium.empirical.model_choice import (
    WORTH_A_LINE,
    ModelChoice,
    best_responses,
    model_choice,
)
from cheaptalk.equilibrium.solvers.bimatrix import (
    bimatrix_equilibria,
    lemke_howson,
    undominated_sides,
)
from cheaptalk.equilibrium.solvers.payoff_files import PayoffTable
from cheaptalk.equilibrium.solvers.payoffs import EquilibriumError, Floats
from cheaptalk.equilibrium.solvers.profiles import Profile
from cheaptalk.printing.printout import Printout
from cheaptalk.rules import counted
from cheaptalk.text import aligned, fixed

ALL_UP_TO = 26
"""The maximum number of undominated strategies of both sides for a complete search."""
PLACES = 9
"""The decimals to which equal mixtures agree; smaller shares count as 0."""


class SeatsEquilibrium(NamedTuple):
    """An equilibrium of a bimatrix game, or an extreme point of a continuum of equilibria.

    Continua are numbered from 1; 0 is an isolated equilibrium, and None is unknown.
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
    """The equilibria of a bimatrix game: pure ones, then others by the size of their supports.

    Unless the list is complete, ``paths`` Lemke-Howson paths were followed, and ``failed_paths`` of
    these have no end because of limited precision.
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
    Lemke-Howson path is followed for every strategy. Payoffs have shape (m, n).
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


SHOWN = 10
"""The maximum number of equilibria, and of pairs, in the text."""
PAYOFF = "payoff"
"""The name of the payoff that the rules define."""


NUMBERS = ("payoff", "regret", "best response")
"""The columns of a pair of strategies for each seat."""


class Pair(NamedTuple):
    """A strategy of the first seat combined with a strategy of the second seat.

    Attributes:
        regrets: the gain in each seat from a best response, by the mean payoffs.
        best: whether each strategy is a best response, including ties, by the mean payoffs.
        replies: the share of draws in which each strategy is a best response; 1 or 0 without draws.
        stable: whether the pair is a pure equilibrium of the mean payoffs.
        support: the share of draws in which it is a pure equilibrium; None without draws.
        matches, instances: the numbers of matches and instances; 0 for given payoffs.
    """

    row: str
    column: str
    payoffs: tuple[Spread, Spread]
    regrets: tuple[float, ...]
    best: tuple[bool, ...]
    replies: tuple[float, ...]
    stable: bool
    support: float | None
    matches: int
    instances: int


@dataclass(frozen=True, eq=False, repr=False)
class SeatsAnalysis(CautiousAnalysis):
    """The equilibria of an empirical game with different strategies in its two seats.

    Attributes:
        seats: the names of the two seats, the rows' first.
        solution: the equilibria of the mean payoffs.
        choice: the pure equilibria, and their frequencies in draws.
        resampled: the mean payoffs of each draw, shape (draws, 2, rows, columns); None without
            draws.
        paired: whether all cells of a draw have the same instances.
        payoff: the metric that both sides maximise; see :func:`.analyse_seats`.
        units: the unit of the payoff in each seat; may be empty.
        pooled: whether matches of all configurations are treated as one game.
        no_draws_reason: why there are no draws; empty if there are.
        selected: the matches; None for given payoffs.
    """

    name: str
    seats: tuple[str, str]
    game: EmpiricalBimatrix
    solution: BimatrixSolution
    choice: ModelChoice
    resampled: Floats | None = None
    paired: bool = False
    payoff: str = PAYOFF
    units: tuple[str, str] = ("", "")
    pooled: bool = False
    no_draws_reason: str = ""
    selected: Selected | None = None
    seed: int = 0

    def __str__(self) -> str:
        return seats_text(self)

    def printout(self) -> Printout:
        first, second = self.seats
        columns = [first, second, *(f"{name} {seat}" for name in NUMBERS for seat in self.seats)]
        rows = []
        for pair in self.pairs:
            payoffs = [payoff.estimate for payoff in pair.payoffs]
            numbers = (*payoffs, *pair.regrets, *pair.replies)
            rows.append((pair.row, pair.column, *numbers, pair.stable, pair.support))
        title = f"{self.name}: {self.solution.in_words}"
        return Printout(title, [*columns, "equilibrium", "in draws"], rows, self.cautions)

    def __repr__(self) -> str:
        return f"<SeatsAnalysis of {self.name}: {self.solution.in_words}>"

    @property
    def labels(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the labels of the first seat's strategies and of the second seat's strategies."""
        return self.game.rows, self.game.columns

    @property
    def draws(self) -> int:
        return 0 if self.resampled is None else len(self.resampled)

    @property
    def matches(self) -> int:
        return int(self.game.counts().sum())

    @property
    def table(self) -> PayoffTable:
        """Return the mean payoffs as a table that can be written to a payoff file."""
        return PayoffTable(*self.labels, *self.game.payoffs(), self.name, self.seats)

    @cached_property
    def pairs(self) -> list[Pair]:
        """Return all strategy pairs, sorted by the share of draws in which they are equilibria."""
        means = np.array(self.game.payoffs())
        draws = means[None] if self.resampled is None else self.resampled
        payoffs = spreads(means.ravel(), draws.reshape(len(draws), -1), self.game.freedom)
        is_best = best_responses(*means[:, None])[:, 0]
        replies = best_responses(draws[:, 0], draws[:, 1]).mean(axis=1)
        short = [means[side].max(axis=side, keepdims=True) - means[side] for side in (0, 1)]
        regrets = np.where(is_best, 0.0, short)  # rounding apart
        support, counts, instances = self.choice.support, self.game.counts(), self.game.instances()
        unsorted = [
            Pair(
                self.game.rows[row],
                self.game.columns[column],
                (payoffs[index], payoffs[counts.size + index]),
                tuple(regrets[:, row, column].tolist()),
                tuple(is_best[:, row, column].tolist()),
                tuple(replies[:, row, column].tolist()),
                bool(is_best[:, row, column].all()),
                None if support is None else float(support[row, column]),
                int(counts[row, column]),
                int(instances[row, column]),
            )
            for index, (row, column) in enumerate(np.ndindex(counts.shape))
        ]
        return sorted(unsorted, key=lambda pair: (-(pair.support or 0), not pair.stable))

    @property
    def likely_pairs(self) -> list[Pair]:
        """Return the pure equilibria of the mean payoffs or of at least 1 % of draws."""
        return [pair for pair in self.pairs if pair.stable or (pair.support or 0) >= WORTH_A_LINE]


def seats_text(analysis: SeatsAnalysis) -> str:
    """Format the analysis of a game by seat: the equilibria, then a table of strategy pairs."""
    sizes = " x ".join(str(len(labels)) for labels in analysis.labels)
    played = f", {counted(analysis.matches, 'match')}" if analysis.selected else ""
    payoff_text = "" if analysis.payoff == PAYOFF else f", by {analysis.payoff}"
    seats = " x ".join(analysis.seats)
    head = f"{analysis.name}: {seats}, {sizes} strategies{played}{payoff_text}"
    lines = [head, analysis.solution.in_words]
    for equilibrium in analysis.solution.equilibria[:SHOWN]:
        chosen = "; ".join(
            f"{seat} {side}"
            for seat, side in zip(
                analysis.seats, equilibrium.in_words(analysis.labels), strict=True
            )
        )
        numbers = " and ".join(
            fixed(payoff, analysis.payoff_decimals) for payoff in equilibrium.profile.payoffs
        )
        payoffs = analysis.game.payoffs()
        regrets = " and ".join(regret_text(value, payoffs) for value in equilibrium.profile.regrets)
        extent = f", of continuum {equilibrium.continuum}" if equilibrium.continuum else ""
        lines.append(f"  {chosen}: payoffs {numbers}, regrets {regrets}{extent}")
    if len(analysis.solution.equilibria) > SHOWN:
        lines.append(f"  and {len(analysis.solution.equilibria) - SHOWN} more")
    said_below = bool(analysis.no_draws_reason)  # the first caution is why there are no intervals
    lines += [f"{caution}." for caution in analysis.cautions[said_below:]]
    without_draws = [f"No intervals: {analysis.no_draws_reason}."]
    return "\n".join([*lines, *(_pairs(analysis) if analysis.draws else without_draws)])


def _pairs(analysis: SeatsAnalysis) -> list[str]:
    head = [*analysis.seats, "Of draws", *(f"{seat} gets" for seat in analysis.seats)]
    rows = [
        [
            pair.row,
            pair.column,
            f"{pair.support:.1%}{'*' if pair.stable else ' '}",
            *(spread_text(spread, analysis.payoff_decimals) for spread in pair.payoffs),
        ]
        for pair in analysis.likely_pairs[:SHOWN]
    ]
    omitted = len(analysis.likely_pairs) - SHOWN
    omitted_line = [f"and {counted(omitted, 'pair')} more"] if omitted > 0 else []
    separate = "instances resampled separately for each cell"
    instances = "the same instances in all cells" if analysis.paired else separate
    explanation = (
        "Of draws: the share of draws in which the pair is a pure equilibrium; * marks pure "
        f"equilibria of the mean payoffs. {analysis.choice.without:.1%} of draws have none. In "
        f"brackets: 95 % of {analysis.draws:,} bootstrap draws of at least "
        f"{analysis.game.min_instances:,} instances per cell ({instances}, seed {analysis.seed})."
    )
    return [*aligned([head, *rows], {0, 1}), *omitted_line, explanation]
