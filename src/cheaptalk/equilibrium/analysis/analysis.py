"""Results of analysing an empirical game: equilibria with their uncertainty and limitations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from cheaptalk.equilibrium.analysis.providers import Providers
from cheaptalk.equilibrium.analysis.rankings import Rankings, rankings
from cheaptalk.equilibrium.analysis.selection import Selected
from cheaptalk.equilibrium.empirical.bootstrap import (
    LEVEL,
    SHARE,
    BestResponses,
    Bootstrap,
    Spread,
    instances_in_all,
    recurs,
    shares_instances,
    spreads,
    weakly_dominated,
)
from cheaptalk.equilibrium.empirical.empirical_games import EmpiricalBimatrix, EmpiricalGame
from cheaptalk.equilibrium.empirical.metrics import against
from cheaptalk.equilibrium.empirical.next_cells import NextCells, broken_ties
from cheaptalk.equilibrium.solvers.payoff_files import PLAIN, PayoffTable
from cheaptalk.equilibrium.solvers.payoffs import TIE, Floats
from cheaptalk.equilibrium.solvers.solutions import SymmetricEquilibria
from cheaptalk.frames.reader import places_in
from cheaptalk.frames.unscored import unscored, unscored_text
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.rules import MetricTable, counted
from cheaptalk.statistics.ranks import ENOUGH_FREEDOM
from cheaptalk.text import aligned, decimals, fixed

NOISE = "differ within a draw, so choices between them are random"
LEAST = 0.01
"""The minimum share of bootstrap games for a value to be shown."""
SHOWN = 5
"""The maximum number of equilibria in the text."""
DUST = 1e-9
"""A regret below this share of the range of payoffs counts as 0."""


class Gap(NamedTuple):
    """The difference (``lead``) between the regrets of two strategies with adjacent ranks.

    ``p`` is the two-sided p-value of no difference, ``corrected`` for the number of rows (Holm
    1979).
    """

    ahead: str
    behind: str
    lead: Spread
    p: float
    corrected: float


class Recurrence(NamedTuple):
    """The shares of draws in which an equilibrium's support exists, and in which it is selected."""

    exists: float
    chosen: float


class CautiousAnalysis(Printed):
    """An analysis of an empirical game that describes its own limitations."""

    game: EmpiricalGame | EmpiricalBimatrix
    no_draws_reason: str
    selected: Selected | None

    @property
    def draws(self) -> int:
        """Return the number of bootstrap draws, which may be 0."""
        raise NotImplementedError

    @property
    def uncertain(self) -> str:
        """Return why the bootstrap draws can't measure uncertainty, or "" if they can."""
        game = self.game
        if not self.draws:
            return self.no_draws_reason
        if game.constant:
            return "each pair had the same payoffs on all its instances, but others can differ"
        if game.freedom >= ENOUGH_FREEDOM:
            return ""
        needed = ENOUGH_FREEDOM + len(game.samples)
        played = counted(game.min_instances, "instance")
        return f"the pair with the fewest has {played}; at least {needed:,} are needed"

    @cached_property
    def unscored(self) -> tuple[dict[str, int], int]:
        """Return the number of unscored matches by status, and the number of all matches."""
        if self.selected is None:
            return {}, 0
        seats = zip(
            places_in(self.selected.frame), (self.game.rows, self.game.columns), strict=True
        )
        played = [pl.col(f"player_{seat}").is_in(labels) for seat, labels in seats]
        frame = self.selected.frame.filter(*played)
        return unscored(frame), frame.height

    @property
    def cautions(self) -> list[str]:
        """Return the limitations of the result, as sentences without a full stop."""
        counts, total = self.unscored
        uncertain = self.uncertain
        sentences = [f"The uncertainty cannot be estimated: {uncertain}"] if uncertain else []
        if not uncertain and self.game.few_instances:
            sentences.append(self.game.few_instances)
        if counts:
            sentences.append(
                f"{unscored_text(counts, total)}, and only finished matches count; if a strategy "
                "fails on bad instances, its payoff is overestimated"
            )
        return sentences

    @cached_property
    def payoff_decimals(self) -> int:
        """Return the number of decimals for payoffs: at least 2, more if payoffs are small."""
        return max(2, decimals(np.ravel(self.game.payoffs()).tolist(), noise=0.0))


@dataclass(frozen=True, eq=False, repr=False)
class Analysis(CautiousAnalysis):
    """The equilibria of a symmetric empirical game, with their uncertainty.

    Attributes:
        solution: the symmetric equilibria of the mean payoffs.
        bootstrap: the maximum-entropy equilibrium of each bootstrap draw, or of the mean payoffs if
            there are no draws.
        readings: the metrics of ``bootstrap``, grouped into tables.
        no_draws_reason: why there are no draws; empty if there are.
        selected: the matches; None for given payoffs.
        providers: the game among model providers; None without providers.
        next_cells: the proposed cells, or why there is no proposal; None if not requested.
    """

    name: str
    game: EmpiricalGame
    solution: SymmetricEquilibria
    bootstrap: Bootstrap
    readings: tuple[MetricTable, ...] = ()
    no_draws_reason: str = ""
    selected: Selected | None = field(default=None, repr=False)
    providers: Providers | None = None
    next_cells: NextCells | str | None = None

    def __str__(self) -> str:
        return analysis_text(self)

    def printout(self) -> Printout:
        return self.bootstrap.printout()._replace(
            title=f"{self.name}: strategies at the maximum-entropy equilibrium",
            notes=self.cautions,
        )

    def _repr_html_(self) -> str:
        return f"{self.solution._repr_html_()}{super()._repr_html_()}"

    def __repr__(self) -> str:
        return f"<Analysis of {self.name}: {self.count_in_words}>"

    @property
    def labels(self) -> tuple[str, ...]:
        return self.game.labels

    @property
    def count_in_words(self) -> str:
        """Describe how many equilibria were found, and whether there can be others."""
        continua = sum(not component.isolated for component in self.solution.components)
        single = len(self.solution.components) - continua
        kinds = []
        if single:
            kinds.append(f"{single} symmetric equilibri{'um' if single == 1 else 'a'}")
        if continua:
            of_what = "of them" if single else "of symmetric equilibria"
            kinds.append(f"{continua} continu{'um' if continua == 1 else 'a'} {of_what}")
        rest_text = "no others" if self.solution.complete else "perhaps others"
        return ", ".join([*kinds, f"and {rest_text}"])

    @property
    def reach_in_words(self) -> str:
        """Return a note if the equilibrium search is incomplete or all payoffs are equal."""
        payoffs = self.game.payoffs()
        if not np.ptp(payoffs):
            return (
                f"Every payoff is {fixed(payoffs[0, 0], self.payoff_decimals)}: no deviation gains "
                "anything"
            )
        if self.solution.bound is None:
            return ""
        return (
            "The search stopped at its limit: an unlisted equilibrium has an entropy of "
            f"at most {self.solution.bound:.3f}, that of a uniform mixture; increase "
            "the limit to search further"
        )

    @property
    def ties_in_words(self) -> str:
        """List the strategies that have several best responses."""
        if not self.tied:
            return ""
        against = ", ".join(
            called(label) + ("" if share > 1 - LEAST else f" ({share:.1%} of draws)")
            for label, share in self.tied.items()
        )
        return f"Best responses exclude ties: several strategies do equally well against {against}"

    @property
    def tied_entropy(self) -> int:
        """Return the number of equilibria with the maximum entropy."""
        maximum = self.solution.mene.entropy
        return sum(equilibrium.entropy >= maximum - TIE for equilibrium in self.solution.equilibria)

    @property
    def choice_in_words(self) -> str:
        """Describe the rule that selects the equilibrium."""
        maximum = "the maximum entropy" + ("" if self.solution.proven else " of those found")
        if self.tied_entropy == 1:
            return f"The first equilibrium has {maximum} and is selected"
        return (
            f"The first {self.tied_entropy} equilibria tie for {maximum}. The first equilibrium is "
            "selected because it has the highest payoff of these"
        )

    @cached_property
    def recurring(self) -> list[Recurrence | None]:
        """Return how often each equilibrium recurs in the bootstrap draws; None without draws."""
        if not self.draws:
            return [None] * len(self.solution.components)
        recurrences: list[Recurrence | None] = []
        for equilibrium in self.solution.equilibria:
            chosen = ((self.bootstrap.mixtures > SHARE) == (equilibrium.mixture > 0)).all(axis=1)
            exists = recurs(self.bootstrap.payoffs, equilibrium.support) | chosen
            recurrences.append(Recurrence(float(exists.mean()), float(chosen.mean())))
        return recurrences

    @cached_property
    def dominated(self) -> dict[str, list[str]]:
        """Return the weakly dominated strategies in equilibrium supports, with their dominators."""
        played = {
            index for equilibrium in self.solution.equilibria for index in equilibrium.support
        }
        dominators = weakly_dominated(self.game.payoffs())
        return {
            self.labels[index]: [self.labels[dominator] for dominator in dominators[index]]
            for index in sorted(played)
            if dominators[index]
        }

    @property
    def dominated_in_words(self) -> str:
        return " ".join(
            f"{label} is weakly dominated by {' and by '.join(dominators)}: "
            "never better and sometimes worse."
            for label, dominators in self.dominated.items()
        )

    @cached_property
    def instances_in_all(self) -> tuple[int, int]:
        return instances_in_all(self.game)

    @property
    def drawn_in_words(self) -> str:
        """Describe whether the bootstrap draws use the same instances in all cells."""
        in_all, in_any = self.instances_in_all
        if not self.bootstrap.paired:
            return "instances resampled separately for each cell"
        if in_all == in_any:
            return "the same instances in all cells"
        return (
            f"the same instances in all cells; {counted(in_all, 'instance')} of {in_any:,} are in "
            "all"
        )

    @property
    def warnings(self) -> list[str]:
        """Return warnings about the reliability of the bootstrap draws."""
        return [
            warning
            for warning in (self.game.few_instances if self.draws else "", self.broken_ties)
            if warning
        ]

    @property
    def broken_ties(self) -> str:
        """Return a warning if resampling breaks exact ties between payoffs; otherwise ""."""
        if self.draws and not self.bootstrap.paired and shares_instances(self.game):
            return (
                "Cells share instances, but each cell was resampled separately: payoffs that are "
                f"exactly equal in several cells, such as outside options, {NOISE}"
            )
        tied = sum(map(broken_ties, self.game.samples)) if self.bootstrap.paired else 0
        if not tied:
            return ""
        return (
            f"{counted(tied, 'cell')} with equal payoffs on all shared instances, such as outside "
            f"options, also have other instances; the payoffs {NOISE}. Play the same instances in "
            "all cells"
        )

    @property
    def table(self) -> PayoffTable:
        """Return the mean payoffs as a table that can be written to a payoff file."""
        payoffs = self.game.payoffs()
        return PayoffTable(self.labels, self.labels, payoffs, payoffs.T, self.name)

    @property
    def matches(self) -> int:
        return int(np.triu(self.game.counts()).sum())

    @property
    def draws(self) -> int:
        """Return the number of bootstrap draws, which may be 0."""
        return 0 if self.no_draws_reason else len(self.bootstrap.payoffs)

    @cached_property
    def payoffs(self) -> list[list[Spread]]:
        """Return the payoff of each strategy (rows) against each strategy (columns)."""
        draws = self.bootstrap.payoffs
        return [
            spreads(row, draws[:, index], self.bootstrap.freedom)
            for index, row in enumerate(self.game.payoffs())
        ]

    @cached_property
    def equilibrium_payoffs(self) -> list[Spread]:
        """Return the payoff of each strategy against the equilibrium."""
        return self._spreads(lambda games: against(games.payoffs, games.mixtures))

    def against(self, metric: str) -> list[Spread]:
        """Return each strategy's value of a metric at equilibrium, such as ``regret``."""
        return self._spreads(lambda games: games.against(metric))

    def at_equilibrium(self, metric: str) -> Spread:
        """Return the mean payoff or another metric when both players play the equilibrium."""
        return self._spreads(lambda games: games.at_equilibrium(metric)[:, None])[0]

    def _spreads(self, values: Callable[[Bootstrap], Floats]) -> list[Spread]:
        estimate, draws = values(self.bootstrap.estimate or self.bootstrap), values(self.bootstrap)
        return spreads(estimate[0], draws, self.bootstrap.freedom)

    @cached_property
    def responses(self) -> BestResponses:
        """Return the share of draws in which each strategy is a best response to each strategy."""
        return self.bootstrap.best_responses()

    @cached_property
    def answering(self) -> list[float]:
        """Return how often, in bootstrap draws, each strategy is the unique best response."""
        return [float(share) for share in self.responses.unique.mean(axis=1)]

    @cached_property
    def tied(self) -> dict[str, float]:
        """Return the strategies with tied best responses, and the share of draws with such ties."""
        shares = 1 - self.responses.unique.sum(axis=0)
        return {
            label: float(share)
            for label, share in zip(self.labels, shares, strict=True)
            if share >= LEAST
        }

    @cached_property
    def gaps(self) -> list[Gap]:
        """Return regret differences between strategies at adjacent ranks; empty without draws."""
        if not self.draws:
            return []
        rows = self.bootstrap.differences("regret", level=LEVEL).iter_rows(named=True)
        return [
            Gap(
                row["ahead"],
                row["behind"],
                Spread(None, -row["difference"], row["error"], -row["high"], -row["low"]),
                row["p"],
                row["p_holm"],
            )
            for row in rows
        ]

    @cached_property
    def rankings(self) -> Rankings:
        """Return ratings of the strategies by common methods, such as Elo and alpha-rank."""
        regrets = [spread.estimate or 0.0 for spread in self.against("regret")]
        matches = self.selected.frame if self.selected else None
        payoffs = self.game.payoffs()
        return rankings(payoffs, self.labels, regrets, matches, seed=self.bootstrap.seed)

    @property
    def ranking(self) -> list[int]:
        """Return the strategies' indices, sorted by regret and then by equilibrium share."""
        regrets, shares = self.against("regret"), self.against("mixture")
        unit = float(np.ptp(self.game.payoffs())) or 1.0
        return sorted(
            range(len(self.labels)),
            key=lambda index: (_rounded(regrets[index], unit), -_rounded(shares[index])),
        )


def _rounded(spread: Spread, unit: float = 1.0) -> float:
    value = spread.estimate if spread.mean is None else spread.mean
    return 0.0 if value is None else round(value / unit, 9)


def analysis_text(analysis: Analysis) -> str:
    """Format an analysis as text: the equilibria, then a table of strategies."""
    matches = f", {counted(analysis.matches, 'match')}" if analysis.selected else ""
    lines = [f"{analysis.name}: {counted(len(analysis.labels), 'strategy')}{matches}"]
    if analysis.selected and analysis.selected.seats_note:
        lines.append(analysis.selected.seats_note)
    lines.append(analysis.count_in_words)
    for component, recurrence in zip(
        analysis.solution.components[:SHOWN], analysis.recurring, strict=False
    ):
        point = component.point
        played = mixed(analysis.labels, point.support, point.mixture)
        extent = "" if component.isolated else ", of a continuum"
        regret = regret_text(point.regret, analysis.game.payoffs())
        lines.append(
            f"  {played}: payoff {fixed(point.payoff, analysis.payoff_decimals)}, regret "
            f"{regret}{extent}"
        )
        if recurrence and not analysis.uncertain:
            exists, chosen = recurrence
            lines[-1] += f"; exists in {exists:.1%} of draws, selected in {chosen:.1%}"
    if len(analysis.solution.components) > SHOWN:
        lines.append(f"  and {len(analysis.solution.components) - SHOWN} more")
    sentences = (
        analysis.reach_in_words,
        analysis.choice_in_words if analysis.tied_entropy > 1 else "",
        analysis.dominated_in_words,
    )
    lines += [f"  {sentence.rstrip('.')}." for sentence in sentences if sentence]
    said_below = bool(analysis.no_draws_reason)  # the first caution is why there are no intervals
    lines += [f"{caution}." for caution in analysis.cautions[said_below:]]
    columns = {
        "Share": [spread_text(spread, 3) for spread in analysis.against("mixture")],
        "Payoff": [
            spread_text(spread, analysis.payoff_decimals) for spread in analysis.equilibrium_payoffs
        ],
        "Regret": [
            spread_text(spread, analysis.payoff_decimals) for spread in analysis.against("regret")
        ],
        "Best response": [f"{share:.1%}" for share in analysis.answering],
    }
    rows = [
        [analysis.labels[index], *(cells[index] for cells in columns.values())]
        for index in analysis.ranking
    ]
    ties = [f"{analysis.ties_in_words}."] if analysis.ties_in_words else []
    return "\n".join(
        [*lines, *aligned([["Strategy", *columns], *rows], {0}), *ties, _interval_note(analysis)]
    )


def spread_text(spread: Spread, decimals: int) -> str:
    """Format an estimate with its 95 % interval; ``none`` if undefined."""
    if spread.mean is None or spread.low is None or spread.high is None:
        return "none" if spread.estimate is None else fixed(spread.estimate, decimals)
    low, high = fixed(spread.low, decimals), fixed(spread.high, decimals)
    value = fixed(spread.mean, decimals)
    return value if value == low == high else f"{value} ({low} to {high})"


def mixed(labels: Sequence[str], support: Sequence[int], shares: Sequence[float] | Floats) -> str:
    """Format a mixed strategy: the strategies of its support with their probabilities.

    >>> mixed(["soft", "2"], [0, 1], [0.25, 0.75])
    'soft 0.250, "2" 0.750'
    """
    return ", ".join(f"{called(labels[index])} {shares[index]:.3f}" for index in support)


def called(label: str) -> str:
    """Return a strategy's label, in quotes if it looks like a number."""
    return f'"{label}"' if PLAIN.fullmatch(label) else label


def regret_text(regret: float, payoffs: npt.ArrayLike) -> str:
    """Format a regret with one significant digit; 0 if it is a rounding error.

    >>> regret_text(4e-16, [[1, 0], [0, 1]]), regret_text(0.125, [[1, 0], [0, 1]])
    ('0', '0.1')
    """
    return f"{regret:.1g}" if regret > DUST * float(np.ptp(payoffs)) else "0"


def _interval_note(analysis: Analysis) -> str:
    if analysis.no_draws_reason:
        return f"No intervals: {analysis.no_draws_reason}."
    warning = f"\n{analysis.broken_ties}." if analysis.broken_ties else ""
    return (
        "The table shows, for the maximum-entropy equilibrium of each draw (among ties, the one "
        "with the highest payoff), the mean and, in brackets, 95 % of "
        f"{analysis.draws:,} bootstrap draws of at least {analysis.game.min_instances:,} "
        f"instances per cell ({analysis.drawn_in_words}, seed {analysis.bootstrap.seed}). The "
        f"text above the table refers to the mean payoffs.{warning}"
    )
