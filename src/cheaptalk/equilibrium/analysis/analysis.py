"""What is said of an empirical game: its equilibria, and how sure each number is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cheaptalk.equilibrium.analysis.cautions import (
    cautions,
    uncertain_because,
    unscored_matches,
)
from cheaptalk.equilibrium.analysis.providers import Providers
from cheaptalk.equilibrium.analysis.rankings import Rankings, rankings
from cheaptalk.equilibrium.analysis.selection import Selected
from cheaptalk.equilibrium.empirical.bootstrap import (
    LEVEL,
    SHARE,
    BestResponses,
    Bootstrap,
    Spread,
    deals_in_all,
    recurs,
    shares_deals,
    spreads,
    weakly_dominated,
)
from cheaptalk.equilibrium.empirical.empirical_games import EmpiricalGame
from cheaptalk.equilibrium.empirical.metrics import against
from cheaptalk.equilibrium.empirical.next_cells import NextCells, broken_ties
from cheaptalk.equilibrium.solvers.payoff_files import PLAIN, PayoffTable
from cheaptalk.equilibrium.solvers.payoffs import TIE, Floats
from cheaptalk.equilibrium.solvers.solutions import SymmetricEquilibria
from cheaptalk.rules import MeasureTable, counted
from cheaptalk.rules.display import Printed
from cheaptalk.text import aligned, decimals, fixed

NOISE = "come out different in a draw, and what looks like a choice between them is noise"
LEAST = 0.01
"""The share of bootstrap games from which on an edge is drawn."""
SHOWN = 5
"""Equilibria that are told."""
DUST = 1e-9
"""A regret below this share of the range of payoffs is rounding, and no regret."""


class Gap(NamedTuple):
    """By how much a strategy leads the next by regret.

    Attributes:
        ahead, behind: their labels.
        lead: by how much less the first regrets.
        p, corrected: of no difference, two-sided, alone and among all rows (Holm 1979).
    """

    ahead: str
    behind: str
    lead: Spread
    p: float
    corrected: float


class Recurrence(NamedTuple):
    """How often an equilibrium of the mean payoffs is one of a draw's, by its support.

    Attributes:
        exists: in what share of draws there is an equilibrium in which the same strategies are
            played.
        chosen: in what share such a one is the one of most entropy, which is taken.
    """

    exists: float
    chosen: float


@dataclass(frozen=True, eq=False, repr=False)
class Analysis(Printed):
    """An empirical game with its equilibria.

    Attributes:
        name: what it is called.
        game: its cells.
        found: all symmetric equilibria of the mean payoffs.
        drawn: the maximum-entropy equilibrium over bootstrap draws; without draws that of the
            mean payoffs alone.
        readings: the metrics of ``drawn``, as they stand together in tables.
        unsure: why there are no draws; empty where there are.
        selected: the matches behind it, if there are any.
        providers: the game among providers, where strategies have some.
        next_cells: where to play next; or, in words, why that cannot be said; None where nobody
            asked.
    """

    name: str
    game: EmpiricalGame
    found: SymmetricEquilibria
    drawn: Bootstrap
    readings: tuple[MeasureTable, ...] = ()
    unsure: str = ""
    selected: Selected | None = field(default=None, repr=False)
    providers: Providers | None = None
    next_cells: NextCells | str | None = None

    def __str__(self) -> str:
        return analysis_text(self)

    def __repr__(self) -> str:
        return f"<Analysis of {self.name}: {self.found_in_words}>"

    @property
    def labels(self) -> tuple[str, ...]:
        """The strategies."""
        return self.game.labels

    @property
    def found_in_words(self) -> str:
        """How many equilibria there are, and whether these are all."""
        continua = sum(not one.isolated for one in self.found.components)
        single = len(self.found.components) - continua
        kinds = []
        if single:
            kinds.append(f"{single} symmetric equilibri{'um' if single == 1 else 'a'}")
        if continua:
            of_what = "of them" if single else "of symmetric equilibria"
            kinds.append(f"{continua} continu{'um' if continua == 1 else 'a'} {of_what}")
        others = "no others" if self.found.complete else "perhaps others"
        return ", ".join([*kinds, f"and {others}"])

    @property
    def places(self) -> int:
        """Decimals that suit its payoffs."""
        return payoff_places(self.game.payoffs())

    @property
    def reach_in_words(self) -> str:
        """How much of the search is left, and that nothing can be gained in a constant game."""
        payoffs = self.game.payoffs()
        if not np.ptp(payoffs):
            return (
                f"Every payoff is {fixed(payoffs[0, 0], self.places)}: nobody gains by any choice"
            )
        if self.found.bound is None:
            return ""
        return (
            "The search stopped at its limit: an equilibrium that is not listed has an entropy of "
            f"at most {self.found.bound:.3f}, that of all strategies alike; a greater limit "
            "searches on"
        )

    @property
    def ties_in_words(self) -> str:
        """Against which strategies several replies are best, which count for none of them."""
        if not self.tied:
            return ""
        against = ", ".join(
            called(label) + ("" if share > 1 - LEAST else f" ({share:.1%} of draws)")
            for label, share in self.tied.items()
        )
        return f"Best reply leaves out ties: several replies are best against {against}"

    @property
    def tied_entropy(self) -> int:
        """How many equilibria have as much entropy as the one that is taken, itself among them."""
        most = self.found.mene.entropy
        return sum(one.entropy >= most - TIE for one in self.found.equilibria)

    @property
    def choice_in_words(self) -> str:
        """By which rule the equilibrium is taken, and whether it needed the second one."""
        of_most = "the most entropy" + ("" if self.found.proven else " of those found")
        if self.tied_entropy == 1:
            return f"The first has {of_most}, and is taken"
        return (
            f"The first {self.tied_entropy} have {of_most}, equally much; of such the one "
            "that pays most is taken, here the first"
        )

    @cached_property
    def recurring(self) -> list[Recurrence | None]:
        """How often each equilibrium is one of the draws too, in order; None without draws."""
        if not self.draws:
            return [None] * len(self.found.components)
        found: list[Recurrence | None] = []
        for one in self.found.equilibria:
            chosen = ((self.drawn.mixtures > SHARE) == (one.mixture > 0)).all(axis=1)
            exists = recurs(self.drawn.payoffs, one.support) | chosen
            found.append(Recurrence(float(exists.mean()), float(chosen.mean())))
        return found

    @cached_property
    def dominated(self) -> dict[str, list[str]]:
        """By whom strategies of some equilibrium are weakly dominated, by the mean payoffs."""
        played = {at for one in self.found.equilibria for at in one.support}
        by = weakly_dominated(self.game.payoffs())
        return {
            self.labels[at]: [self.labels[other] for other in by[at]]
            for at in sorted(played) if by[at]
        }  # fmt: skip

    @property
    def dominated_in_words(self) -> str:
        """The same, in a sentence for each; empty where none is."""
        return " ".join(
            f"{label} is weakly dominated by {' and by '.join(others)}: "
            "never better, and somewhere worse."
            for label, others in self.dominated.items()
        )

    @cached_property
    def deals_in_all(self) -> tuple[int, int]:
        """How many deals all cells have, and how many some cell has."""
        return deals_in_all(self.game)

    @property
    def drawn_in_words(self) -> str:
        """Whether draws have the same deals for all cells."""
        in_all, in_any = self.deals_in_all
        if not self.drawn.paired:
            return "deals drawn for each cell"
        if in_all == in_any:
            return "the same deals in all cells"
        return f"the same deals in all cells; {counted(in_all, 'deal')} of {in_any:,} are in all"

    @property
    def uncertain(self) -> str:
        """Why draws cannot show how sure the choice is; empty if they can."""
        return uncertain_because(self.game, self.draws, self.unsure)

    @cached_property
    def unscored(self) -> tuple[dict[str, int], int]:
        """The matches that no payoff includes, by status, and the number of all matches."""
        return unscored_matches(self.selected, self.labels, self.labels)

    @property
    def cautions(self) -> list[str]:
        """What limits the answer, in sentences; see :func:`.cautions`."""
        return cautions(self.game, self.uncertain, self.unscored)

    @property
    def warnings(self) -> list[str]:
        """What makes the draws less sure than they look."""
        return [said for said in (self.game.few if self.draws else "", self.broken_ties) if said]

    @property
    def broken_ties(self) -> str:
        """What is lost where exact ties between cells come apart in draws; empty where not."""
        if self.draws and not self.drawn.paired and shares_deals(self.game):
            return (
                "Cells share their deals, yet deals were drawn for each cell: payoffs that are "
                f"exactly equal in several cells, such as outside options, {NOISE}"
            )
        tied = sum(map(broken_ties, self.game.samples)) if self.drawn.paired else 0
        if not tied:
            return ""
        return (
            f"{counted(tied, 'cell')} with payoffs that are equal on all the deals they share, "
            f"such as outside options, have different deals, so that they {NOISE}; play the same "
            "deals in all"
        )

    @property
    def table(self) -> PayoffTable:
        """The mean payoffs, to be written to a file."""
        payoffs = self.game.payoffs()
        return PayoffTable(self.labels, self.labels, payoffs, payoffs.T, self.name)

    @property
    def matches(self) -> int:
        """How many matches there are in all cells, each once."""
        return int(np.triu(self.game.counts()).sum())

    @property
    def draws(self) -> int:
        """How many bootstrap games there are; 0 where none could be drawn."""
        return 0 if self.unsure else len(self.drawn.payoffs)

    @cached_property
    def payoffs(self) -> list[list[Spread]]:
        """What each strategy gets against each."""
        drawn = self.drawn.payoffs
        return [
            spreads(row, drawn[:, at], self.drawn.freedom)
            for at, row in enumerate(self.game.payoffs())
        ]

    @cached_property
    def gets(self) -> list[Spread]:
        """What each strategy gets against the equilibrium."""
        first, drawn = (against(one.payoffs, one.mixtures) for one in self._both)
        return spreads(first[0], drawn, self.drawn.freedom)

    def against(self, metric: str) -> list[Spread]:
        """A metric, the regret or the share at equilibrium of each strategy."""
        first, drawn = (one.against(metric) for one in self._both)
        return spreads(first[0], drawn, self.drawn.freedom)

    def at_equilibrium(self, metric: str) -> Spread:
        """A metric, or the payoff, where both play the equilibrium."""
        first, drawn = (one.at_equilibrium(metric) for one in self._both)
        return spreads(first, drawn[:, None], self.drawn.freedom)[0]

    @property
    def _both(self) -> tuple[Bootstrap, Bootstrap]:
        """What all matches say, and what the draws say."""
        return self.drawn.estimate or self.drawn, self.drawn

    @cached_property
    def responses(self) -> BestResponses:
        """How often each strategy is the best reply to each."""
        return self.drawn.best_responses()

    @cached_property
    def answering(self) -> list[float]:
        """In what share of draws each strategy is the only best reply, mean over all rivals."""
        return [float(share) for share in self.responses.alone.mean(axis=1)]

    @cached_property
    def tied(self) -> dict[str, float]:
        """The share of draws in which a strategy has several best replies, where there is one."""
        shares = 1 - self.responses.alone.sum(axis=0)
        return {
            label: float(share) for label, share in zip(self.labels, shares, strict=True)
            if share >= LEAST
        }  # fmt: skip

    @cached_property
    def gaps(self) -> list[Gap]:
        """Neighbours in the order of regret; none without draws."""
        if not self.draws:
            return []
        rows = self.drawn.differences("regret", level=LEVEL).iter_rows(named=True)
        return [
            Gap(
                row["ahead"], row["behind"],
                Spread(None, -row["difference"], row["error"], -row["high"], -row["low"]),
                row["p"], row["p_holm"],
            )
            for row in rows
        ]  # fmt: skip

    @cached_property
    def rankings(self) -> Rankings:
        """How the ratings people know would rank the strategies, by all matches."""
        regrets = [one.estimate or 0.0 for one in self.against("regret")]
        matches = self.selected.frame if self.selected else None
        payoffs = self.game.payoffs()
        return rankings(payoffs, self.labels, regrets, matches, seed=self.drawn.seed)

    @property
    def ranking(self) -> list[int]:
        """The strategies in the order of their regret, then of their share."""
        regrets, shares = self.against("regret"), self.against("mixture")
        unit = float(np.ptp(self.game.payoffs())) or 1.0
        return sorted(
            range(len(self.labels)),
            key=lambda one: (_placed(regrets[one], unit), -_placed(shares[one])),
        )


def _placed(one: Spread, unit: float = 1.0) -> float:
    """The mean over draws where there are any, in this unit and without rounding errors."""
    value = one.estimate if one.mean is None else one.mean
    return 0.0 if value is None else round(value / unit, 9)


def analysis_text(one: Analysis) -> str:
    """A game's equilibria and strategies; the first line is its heading."""
    matches = f", {counted(one.matches, 'match')}" if one.selected else ""
    lines = [f"{one.name}: {counted(len(one.labels), 'strategy')}{matches}"]
    if one.selected and one.selected.apart:
        lines.append(one.selected.apart)
    lines.append(one.found_in_words)
    for component, recurrence in zip(one.found.components[:SHOWN], one.recurring, strict=False):
        point = component.point
        played = mixed(one.labels, point.support, point.mixture)
        extent = "" if component.isolated else ", of a continuum"
        regret = regret_text(point.regret, one.game.payoffs())
        lines.append(
            f"  {played}: payoff {fixed(point.payoff, one.places)}, regret {regret}{extent}"
        )
        if recurrence and not one.uncertain:
            exists, chosen = recurrence
            lines[-1] += f"; exists in {exists:.1%} of draws, taken in {chosen:.1%}"
    if len(one.found.components) > SHOWN:
        lines.append(f"  and {len(one.found.components) - SHOWN} more")
    said = (
        one.reach_in_words,
        one.choice_in_words if one.tied_entropy > 1 else "",
        one.dominated_in_words,
    )
    lines += [f"  {words.rstrip('.')}." for words in said if words]
    said_below = bool(one.unsure)  # the first caution is why there are no intervals
    lines += [f"{caution}." for caution in one.cautions[said_below:]]
    columns = {
        "Share": [spread_text(spread, 3) for spread in one.against("mixture")],
        "Payoff": [spread_text(spread, one.places) for spread in one.gets],
        "Regret": [spread_text(spread, one.places) for spread in one.against("regret")],
        "Best reply": [f"{share:.1%}" for share in one.answering],
    }
    rows = [[one.labels[at], *(cells[at] for cells in columns.values())] for at in one.ranking]
    ties = [f"{one.ties_in_words}."] if one.ties_in_words else []
    return "\n".join([*lines, *aligned([["Strategy", *columns], *rows], {0}), *ties, _made(one)])


def payoff_places(payoffs: npt.ArrayLike) -> int:
    """Decimals that suit a game's payoffs: two at least, more where they are small."""
    return max(2, decimals(np.ravel(payoffs).tolist(), noise=0.0))


def spread_text(one: Spread, places: int) -> str:
    """A number with the ends between which 95 % of its draws are; ``none`` if undefined."""
    if one.mean is None or one.low is None or one.high is None:
        return "none" if one.estimate is None else fixed(one.estimate, places)
    low, high = fixed(one.low, places), fixed(one.high, places)
    value = fixed(one.mean, places)
    return value if value == low == high else f"{value} ({low} to {high})"


def mixed(labels: Sequence[str], used: Sequence[int], shares: Sequence[float] | Floats) -> str:
    """The strategies in use with their shares.

    >>> mixed(["soft", "2"], [0, 1], [0.25, 0.75])
    'soft 0.250, "2" 0.750'
    """
    return ", ".join(f"{called(labels[at])} {shares[at]:.3f}" for at in used)


def called(label: str) -> str:
    """A strategy's name, in quotes where it would pass for a number."""
    return f'"{label}"' if PLAIN.fullmatch(label) else label


def regret_text(regret: float, payoffs: npt.ArrayLike) -> str:
    """A regret in short, 0 where it is rounding for such payoffs.

    >>> regret_text(4e-16, [[1, 0], [0, 1]]), regret_text(0.125, [[1, 0], [0, 1]])
    ('0', '0.1')
    """
    return f"{regret:.1g}" if regret > DUST * float(np.ptp(payoffs)) else "0"


def _made(one: Analysis) -> str:
    """How the intervals were made, or why there are none."""
    if one.unsure:
        return f"No intervals: {one.unsure}."
    warning = f"\n{one.broken_ties}." if one.broken_ties else ""
    return (
        "The table is of the equilibrium of most entropy, and among several with equally much the "
        "best paid, found anew in each draw: the mean, and in brackets 95 %, of "
        f"{one.draws:,} bootstrap draws of at least {one.game.fewest:,} deals a cell "
        f"({one.drawn_in_words}, seed {one.drawn.seed}). What stands above it is of the mean "
        f"payoffs.{warning}"
    )
