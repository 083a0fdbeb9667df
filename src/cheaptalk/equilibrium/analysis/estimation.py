"""Making the analysis of an empirical game from matches, or from payoffs that are known."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypedDict, Unpack

import numpy as np
import polars as pl

from cheaptalk.equilibrium.analysis.analysis import Analysis
from cheaptalk.equilibrium.analysis.providers import GIVEN, providers_of
from cheaptalk.equilibrium.analysis.selection import NAME, Selected, metric_tables
from cheaptalk.equilibrium.analysis.two_seat_solution import solve
from cheaptalk.equilibrium.analysis.two_seats import PAYOFF, SeatsAnalysis
from cheaptalk.equilibrium.empirical.bootstrap import (
    DRAWS,
    Bootstrap,
    bootstrap_equilibrium,
    resampled,
    shares_deals,
)
from cheaptalk.equilibrium.empirical.empirical_games import (
    Empirical,
    EmpiricalBimatrix,
    EmpiricalGame,
    listed,
)
from cheaptalk.equilibrium.empirical.metrics import Metric, names_of, sided
from cheaptalk.equilibrium.empirical.model_choice import model_choice
from cheaptalk.equilibrium.empirical.next_cells import NextCells, propose_cells
from cheaptalk.equilibrium.solvers.payoff_files import PayoffTable
from cheaptalk.equilibrium.solvers.symmetric import symmetric_equilibria
from cheaptalk.frames.reader import places_in
from cheaptalk.rules import CheaptalkError, MeasureTable, counted, game_box, suggest
from cheaptalk.rules.errors import Advice


class DrawOptions(TypedDict, total=False):
    """How to analyse a game of either kind; what is left out is as said behind it.

    Attributes:
        draws: of the bootstrap, 1,000; 0 for none.
        seed: of the draws, 0.
        without: strategies to leave out, none.
        paired: draw the same deals for all cells, or each cell by itself; None, as it is without:
            the same where all cells have them (see :func:`.bootstrap_equilibrium`).
    """

    draws: int
    seed: int
    without: Sequence[str]
    paired: bool | None


class AnalysisOptions(DrawOptions, total=False):
    """How to analyse a game in which everybody sits in both seats; see also :class:`DrawOptions`.

    Attributes:
        providers: whose each strategy is, by label, for the game among providers; there is none
            where fewer than two providers have a strategy in the game.
        budget: matches for which to propose cells, 0 for no proposal.
        one_sided: accept cells whose players only ever sat in one order, False.
        limit: sets of strategies that the search for equilibria looks at, all if not given or 0;
            where there are more, equilibria may be missing, and the result says so.
        progress: told now and then what share of that search is done, in [0, 1].
    """

    providers: Mapping[str, str]
    budget: int
    one_sided: bool
    limit: int
    progress: Callable[[float], None]


class SeatsOptions(DrawOptions, total=False):
    """How to analyse a game by seat; see also :class:`DrawOptions`.

    Attributes:
        payoff: what either side wants, ``payoff``; or a measure that the game has for each role
            under names such as ``alice_gain`` and ``bob_gain``, here ``gain``.
        pooled: take all matches for one game, whatever their configuration, False. That is right
            where configurations were drawn at random for pairs, so that these differ by chance
            alone. Else every pair must have played every configuration, and these weigh alike.
    """

    payoff: str
    pooled: bool


def analyse(selected: Selected, **options: Unpack[AnalysisOptions]) -> Analysis:
    """The equilibria of a game that was played, and what stands beside them.

    Args:
        **options: see :class:`AnalysisOptions`.

    Raises:
        CheaptalkError: a cell is missing, the matches make no game, or an option makes no sense.
    """
    readings = metric_tables(selected)
    metrics = [Metric(*column) for reading in readings for column in reading.columns]
    frame = selected.frame
    if options.get("providers") and selected.view and selected.view.given:
        frame = sided(frame, selected.view.given, GIVEN)
        metrics += [Metric(name, name) for name in names_of(GIVEN)]
    measures = list(dict.fromkeys(metric.measure for metric in metrics))
    with naming_game(selected.name):
        game = EmpiricalGame.of_frame(
            frame, measures=measures, by=NAME, one_sided=options.get("one_sided", False)
        )
        return _analysed(selected.name, game, options, metrics, readings, selected)


def analyse_payoffs(name: str, table: PayoffTable, **options: Unpack[AnalysisOptions]) -> Analysis:
    """The equilibria of a game whose payoffs are known.

    Args:
        name: what it is called.
        table: its payoffs, the same for both players.
        **options: see :class:`AnalysisOptions`; those about matches make no difference.

    Raises:
        CheaptalkError: the game is not symmetric, it cannot be solved, or an option makes no sense.
    """
    with naming_game(name):
        if not table.symmetric:
            raise CheaptalkError(
                "the two players have different payoffs, so this is no symmetric game; "
                "analyse_bimatrix solves it"
            )
        return _analysed(name, EmpiricalGame.of_payoffs(table.a, table.rows), options)


def _analysed(
    name: str,
    whole: EmpiricalGame,
    options: AnalysisOptions,
    metrics: Sequence[Metric] = (),
    readings: tuple[MeasureTable, ...] = (),
    selected: Selected | None = None,
) -> Analysis:
    seed, paired = options.get("seed", 0), options.get("paired")
    game = whole.without(options.get("without", ()))
    game.check()
    payoffs = game.payoffs()
    found = symmetric_equilibria(
        payoffs, labels=game.labels, limit=options.get("limit") or None,
        progress=options.get("progress"),
    )  # fmt: skip
    draws, unsure = _draws(game, options)
    if draws and not found.complete:
        draws, unsure = 0, "the search stopped at its limit, as it would in each draw"
    if draws:
        drawn = bootstrap_equilibrium(game, metrics, draws=draws, seed=seed, paired=paired)
    else:  # the mean payoffs, in the shape of one draw
        values = {metric.name: metric.of(game.value(metric.measure))[None] for metric in metrics}
        drawn = Bootstrap(
            game.labels, tuple(metrics), False, seed, game.freedom, None, payoffs[None],
            found.mene.mixture[None], values,
        )  # fmt: skip
    next_cells: NextCells | str | None = None
    if budget := options.get("budget", 0):
        try:
            next_cells = propose_cells(game, budget, target="regret", paired=paired)
        except CheaptalkError as error:
            next_cells = str(error)
    return Analysis(
        name, game, found, drawn, readings, unsure, selected,
        providers_of(drawn, options.get("providers", {})), next_cells,
    )  # fmt: skip


def _draws(game: Empirical, options: DrawOptions) -> tuple[int, str]:
    """How many draws a game can have, or why it has none."""
    if not game.sampled:
        return 0, "the payoffs were given without the matches behind them"
    if game.thin:
        return 0, f"{counted(len(game.thin), 'cell')} with a single deal: {listed(game.thin)}"
    draws = options.get("draws", DRAWS)
    return draws, "" if draws else "no bootstrap draws were asked for"


@contextmanager
def naming_game(game: str) -> Iterator[None]:
    """Begin what is said against a game with its name."""
    try:
        yield
    except CheaptalkError as error:
        raise CheaptalkError(f"{game}: ", *error.args) from None
    except ValueError as error:
        raise CheaptalkError(f"{game}: {error}") from None


def analyse_seats(selected: Selected, **options: Unpack[SeatsOptions]) -> SeatsAnalysis:
    """The equilibria of a game that was played, each seat with strategies of its own.

    As in the game of choosing models of GLEE (footnote 13): one side chooses who sits in the first
    seat, the other who sits in the second, each for its mean over all configurations.

    Args:
        **options: see :class:`SeatsOptions`.

    Raises:
        CheaptalkError: a cell is missing, the game has no such measure, or there is no such player.
    """
    first, second = places = places_in(selected.frame)
    with naming_game(f"{selected.name}, by seat"):
        frame, units = _paid(selected, places, options.get("payoff", PAYOFF))
        players = [pl.col(f"player.{place}") for place in places]
        without = options.get("without", ())
        _know(without, sorted({name for one in players for name in frame.select(one).to_series()}))
        frame = frame.filter(~player.is_in(without) for player in players)
        pooled = options.get("pooled", False)
        game = EmpiricalBimatrix.of_frame(frame, by=None if pooled else NAME)
        try:
            game.check()
        except CheaptalkError as error:
            if len(game.samples) == 1:
                raise
            more = "; or, if pairs were drawn at random for configurations, "
            advice = Advice("say pooled=True", "pooled", True)
            raise CheaptalkError(*error.args, more, advice) from None
        return _by_seat(selected.name, (first, second), game, options, units, selected)


def analyse_bimatrix(
    name: str, table: PayoffTable, *, without: Sequence[str] = ()
) -> SeatsAnalysis:
    """The equilibria of a game of two players whose payoffs are known.

    Args:
        name: what it is called.
        table: what both get; they may have different strategies.
        without: strategies to leave out, of either player.

    Raises:
        CheaptalkError: there is no such strategy, or a player would have none left.
    """
    with naming_game(name):
        _know(without, (*table.rows, *table.columns))
        rows, columns = ([at for at, label in enumerate(side) if label not in without]
                         for side in (table.rows, table.columns))  # fmt: skip
        if not rows or not columns:
            raise CheaptalkError("a player has no strategy left; leave out fewer")
        game = EmpiricalBimatrix.of_payoffs(
            table.a[np.ix_(rows, columns)], table.b[np.ix_(rows, columns)],
            [table.rows[at] for at in rows], [table.columns[at] for at in columns],
        )  # fmt: skip
        return _by_seat(name, table.players, game, {})


def _by_seat(
    name: str,
    seats: tuple[str, str],
    game: EmpiricalBimatrix,
    options: SeatsOptions,
    units: tuple[str, str] = ("", ""),
    selected: Selected | None = None,
) -> SeatsAnalysis:
    seed, paired = options.get("seed", 0), options.get("paired")
    draws, unsure = _draws(game, options)
    drawn = resampled(game, draws, seed=seed, paired=paired) if draws else None
    a, b = game.payoffs()
    sides = None if drawn is None else (drawn[:, 0], drawn[:, 1])
    choice = model_choice(a, b, game.rows, game.columns, draws=sides)
    return SeatsAnalysis(
        name, seats, game, solve(a, b), choice, drawn,
        shares_deals(game) if paired is None else paired, options.get("payoff", PAYOFF), units,
        options.get("pooled", False), unsure, selected, seed,
    )  # fmt: skip


def _paid(
    selected: Selected, places: Sequence[str], payoff: str
) -> tuple[pl.DataFrame, tuple[str, str]]:
    """The matches with what either side wants as their payoffs, and the units of these."""
    if payoff == PAYOFF:
        return selected.frame, ("", "")
    measures = game_box(selected.box).measures
    first, second = (
        {name.removeprefix(f"{place}_"): one for name, one in measures.items()} for place in places
    )
    known = [PAYOFF, *(name for name in first if name in second and name not in measures)]
    if payoff not in known:
        raise CheaptalkError(f"no payoff {suggest(payoff, known)} that both seats have")
    frame = selected.frame.with_columns(
        pl.col(f"{place}_{payoff}").alias(f"payoff.{place}") for place in places
    )
    return frame, (first[payoff].unit, second[payoff].unit)


def _know(labels: Sequence[str], known: Sequence[str]) -> None:
    unknown = [label for label in labels if label not in known]
    if unknown:
        raise CheaptalkError(f"no strategy {suggest(unknown[0], known)} to leave out")
