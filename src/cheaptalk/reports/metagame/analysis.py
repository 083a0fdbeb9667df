"""What is said of an empirical game: its equilibria, and how sure each number is."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cheaptalk.equilibrium.bootstrap import BestResponses, Bootstrap, bootstrap_equilibrium
from cheaptalk.equilibrium.drawing import DRAWS
from cheaptalk.equilibrium.empirical import listed
from cheaptalk.equilibrium.games import EmpiricalGame
from cheaptalk.equilibrium.metrics import Metric, against
from cheaptalk.equilibrium.payoffs import Floats
from cheaptalk.equilibrium.results import SymmetricEquilibria
from cheaptalk.equilibrium.summaries import summary
from cheaptalk.equilibrium.symmetric import mene_mixtures, symmetric_equilibria
from cheaptalk.equilibrium.tables import PayoffTable
from cheaptalk.reports.metagame.graph import LEAST
from cheaptalk.reports.metagame.naming import NAME, Selected
from cheaptalk.reports.metagame.readings import Reading, readings_of
from cheaptalk.rules import CheaptalkError, counted

LEVEL = 0.95
"""What share of the draws an interval holds."""


class Spread(NamedTuple):
    """A number with what the bootstrap says of it.

    Attributes:
        estimate: of all matches; None where it is undefined.
        mean, error: the mean and the standard deviation over draws; None without draws.
        low, high: the ends of the percentile interval; None without draws.
    """

    estimate: float | None
    mean: float | None = None
    error: float | None = None
    low: float | None = None
    high: float | None = None


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


@dataclass(frozen=True, eq=False)
class Analysis:
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
    """

    name: str
    game: EmpiricalGame
    found: SymmetricEquilibria
    drawn: Bootstrap
    readings: tuple[Reading, ...] = ()
    unsure: str = ""
    selected: Selected | None = field(default=None, repr=False)

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
    def table(self) -> PayoffTable:
        """The mean payoffs, to be written to a file."""
        payoffs = self.game.payoffs()
        return PayoffTable(self.labels, self.labels, payoffs, payoffs.T, self.name)

    @property
    def matches(self) -> int:
        """How many matches there are in all cells, each once."""
        return int(np.triu(self.game.counts()).sum())

    @property
    def fewest(self) -> int:
        """The deals of the cell with the fewest."""
        return int(self.game.deals().min())

    @property
    def most(self) -> int:
        """The deals of the cell with the most."""
        return int(self.game.deals().max())

    @property
    def draws(self) -> int:
        """How many bootstrap games there are; 0 where none could be drawn."""
        return 0 if self.unsure else len(self.drawn.payoffs)

    @cached_property
    def payoffs(self) -> list[list[Spread]]:
        """What each strategy gets against each."""
        size = len(self.labels)
        cells = self._spreads(self.game.payoffs().ravel(), self.drawn.payoffs.reshape(-1, size**2))
        return [cells[row * size : (row + 1) * size] for row in range(size)]

    @cached_property
    def gets(self) -> list[Spread]:
        """What each strategy gets against the equilibrium."""
        first, drawn = (against(one.payoffs, one.mixtures) for one in self._both)
        return self._spreads(first[0], drawn)

    def against(self, metric: str) -> list[Spread]:
        """A metric, the regret or the share at equilibrium of each strategy."""
        first, drawn = (one.against(metric) for one in self._both)
        return self._spreads(first[0], drawn)

    def at_equilibrium(self, metric: str) -> Spread:
        """A metric, or the payoff, where both play the equilibrium."""
        first, drawn = (one.at_equilibrium(metric) for one in self._both)
        return self._spreads(first, drawn[:, None])[0]

    @property
    def _both(self) -> tuple[Bootstrap, Bootstrap]:
        """What all matches say, and what the draws say."""
        return self.drawn.estimate or self.drawn, self.drawn

    def _spreads(self, estimate: Floats, drawn: Floats) -> list[Spread]:
        rows = summary(estimate, drawn, level=LEVEL).select(Spread._fields).iter_rows()
        found = [Spread(*row) for row in rows]
        return found if self.draws else [Spread(one.estimate) for one in found]

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

    @property
    def ranking(self) -> list[int]:
        """The strategies in the order of their regret, then of their share."""
        regrets, shares = self.against("regret"), self.against("mixture")
        return sorted(
            range(len(self.labels)),
            key=lambda one: (_placed(regrets[one]), -_placed(shares[one])),
        )


def _placed(one: Spread) -> float:
    """The mean over draws where there are any."""
    value = one.estimate if one.mean is None else one.mean
    return 0.0 if value is None else round(value, 9)


def analyse(
    selected: Selected, *, draws: int = DRAWS, seed: int = 0, without: Sequence[str] = ()
) -> Analysis:
    """The equilibria of a game that was played.

    Args:
        draws: of the bootstrap; 0 for none.
        seed: of the draws.
        without: strategies to leave out.

    Raises:
        CheaptalkError: a cell is missing, or the matches make no game.
    """
    readings = readings_of(selected)
    metrics = [metric for reading in readings for metric in reading.metrics]
    measures = list(dict.fromkeys(metric.measure for metric in metrics))
    with _named(selected.name):
        game = EmpiricalGame.of_frame(selected.frame, measures=measures, by=NAME)
        game = game.without(without) if without else game
        game.check()
        unsure = _why_unsure(game, draws)
        drawn = (
            _point(game, metrics)
            if unsure
            else bootstrap_equilibrium(game, metrics, draws=draws, seed=seed)
        )
        found = symmetric_equilibria(game.payoffs())
    return Analysis(selected.name, game, found, drawn, readings, unsure, selected)


def analyse_payoffs(name: str, table: PayoffTable, *, without: Sequence[str] = ()) -> Analysis:
    """The equilibria of a game whose payoffs are known.

    Args:
        name: what it is called.
        table: its payoffs, the same for both players.
        without: strategies to leave out.

    Raises:
        CheaptalkError: the game is not symmetric, or it cannot be solved.
    """
    with _named(name):
        if not table.symmetric:
            raise CheaptalkError(
                "the two players have different payoffs, so this is no symmetric game; "
                "cheaptalk.equilibrium.bimatrix_equilibria solves it in Python"
            )
        game = EmpiricalGame.of_payoffs(table.a, table.rows)
        game = game.without(without) if without else game
        found = symmetric_equilibria(game.payoffs())
    unsure = "the payoffs were given without the matches behind them"
    return Analysis(name, game, found, _point(game, ()), unsure=unsure)


def _why_unsure(game: EmpiricalGame, draws: int) -> str:
    if game.thin:
        return f"{counted(len(game.thin), 'cell')} with a single deal: {listed(game.thin)}"
    return "" if draws else "no bootstrap draws were asked for"


def _point(game: EmpiricalGame, metrics: Sequence[Metric]) -> Bootstrap:
    """The equilibrium of the mean payoffs, in the shape of one draw."""
    payoffs = game.payoffs()[None]
    values = {metric.name: metric.of(game.value(metric.measure))[None] for metric in metrics}
    return Bootstrap(
        game.labels, tuple(metrics), False, 0, None, payoffs, mene_mixtures(payoffs), values
    )


@contextmanager
def _named(game: str) -> Iterator[None]:
    """Begin what is said against a game with its name."""
    try:
        yield
    except (CheaptalkError, ValueError) as error:
        raise CheaptalkError(f"{game}: {error}") from None
