"""Analysis of empirical games from matches or from known payoffs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypedDict, Unpack

import numpy as np
import polars as pl

from cheaptalk.equilibrium.analysis.analysis import Analysis
from cheaptalk.equilibrium.analysis.providers import GIVEN, providers_of
from cheaptalk.equilibrium.analysis.selection import NAME, Selected, metric_tables
from cheaptalk.equilibrium.analysis.two_seats import PAYOFF, SeatsAnalysis, solve
from cheaptalk.equilibrium.empirical.bootstrap import (
    DRAWS,
    Bootstrap,
    bootstrap_equilibrium,
    resample,
    shares_instances,
)
from cheaptalk.equilibrium.empirical.empirical_games import (
    Empirical,
    EmpiricalBimatrix,
    EmpiricalGame,
    listed,
)
from cheaptalk.equilibrium.empirical.metrics import EquilibriumMetric, names_of, sided
from cheaptalk.equilibrium.empirical.model_choice import model_choice
from cheaptalk.equilibrium.empirical.next_cells import NextCells, propose_cells
from cheaptalk.equilibrium.solvers.payoff_files import PayoffTable
from cheaptalk.equilibrium.solvers.symmetric import symmetric_equilibria
from cheaptalk.frames.reader import places_in
from cheaptalk.rules import CheaptalkError, MetricTable, counted, get_game, suggest
from cheaptalk.rules.errors import Advice


class DrawOptions(TypedDict, total=False):
    """Bootstrap and selection options for all empirical games.

    Attributes:
        draws: the number of bootstrap draws, 1,000 by default; 0 for none.
        seed: the seed of the draws, 0 by default.
        paired: whether to draw the same instances for all cells, or each cell separately; by
            default, the same if the cells share instances (see :func:`.bootstrap_equilibrium`).
    """

    draws: int
    seed: int
    without: Sequence[str]
    paired: bool | None


class AnalysisOptions(DrawOptions, total=False):
    """Options for the analysis of symmetric games.

    Attributes:
        providers: the provider of each strategy, by label, for the game among providers; it needs
            two providers with a strategy in the game.
        budget: the number of further matches to propose, 0 (none) by default.
        one_sided: accept cells whose players always sat in one order, False by default.
        limit: the maximum number of strategy sets that the search for equilibria visits, unlimited
            by default or with 0; if the search stops, the result says that equilibria may be
            missing.
        processes: the number of processes that solve bootstrap draws, 1 by default.
        progress: called repeatedly with a text, such as "250 of 1,000 draws solved".
    """

    providers: Mapping[str, str]
    budget: int
    one_sided: bool
    limit: int
    processes: int
    progress: Callable[[str], None]


class SeatsOptions(DrawOptions, total=False):
    """Options for games whose seats have different sets of strategies.

    Attributes:
        payoff: the metric that both sides maximise: ``payoff`` by default, or the metrics of each
            role's payoff, such as ``self_gain`` for ``self_gain_alice`` and ``self_gain_bob``.
        pooled: treat matches of all configurations as one game, False by default. Use it if
            configurations were randomly assigned to pairs. Otherwise every pair must have played
            every configuration, and configurations have equal weights.
    """

    payoff: str
    pooled: bool


def analyse(selected: Selected, **options: Unpack[AnalysisOptions]) -> Analysis:
    """Analyse the equilibria of a symmetric game from its matches.

    Args:
        **options: see :class:`AnalysisOptions`.

    Raises:
        CheaptalkError: a cell is missing, the matches form no game, or an option is invalid.
    """
    readings = metric_tables(selected)
    metrics = [EquilibriumMetric(*column) for reading in readings for column in reading.columns]
    frame = selected.frame
    if options.get("providers") and selected.view and selected.view.given:
        frame = sided(frame, selected.view.given, GIVEN)
        metrics += [EquilibriumMetric(name, name) for name in names_of(GIVEN)]
    game_metrics = list(dict.fromkeys(metric.metric for metric in metrics))
    with naming_game(selected.name):
        game = EmpiricalGame.of_frame(
            frame, metrics=game_metrics, by=NAME, one_sided=options.get("one_sided", False)
        )
        return _analyse_game(selected.name, game, options, metrics, readings, selected)


def analyse_payoffs(name: str, table: PayoffTable, **options: Unpack[AnalysisOptions]) -> Analysis:
    """Analyse the equilibria of a symmetric game from a payoff table.

    Args:
        table: the payoffs, equal for both players.
        **options: see :class:`AnalysisOptions`; options on matches have no effect.

    Raises:
        CheaptalkError: the game isn't symmetric, it cannot be solved, or an option is invalid.
    """
    with naming_game(name):
        if not table.symmetric:
            raise CheaptalkError(
                "the two players have different payoffs, so this game isn't symmetric; "
                "analyse_bimatrix solves it"
            )
        return _analyse_game(name, EmpiricalGame.of_payoffs(table.a, table.rows), options)


def _analyse_game(
    name: str,
    full_game: EmpiricalGame,
    options: AnalysisOptions,
    metrics: Sequence[EquilibriumMetric] = (),
    readings: tuple[MetricTable, ...] = (),
    selected: Selected | None = None,
) -> Analysis:
    seed, paired = options.get("seed", 0), options.get("paired")
    progress = options.get("progress", _ignore)
    game = full_game.without(options.get("without", ()))
    game.check()
    payoffs = game.payoffs()
    solution = symmetric_equilibria(
        payoffs,
        labels=game.labels,
        limit=options.get("limit") or None,
        progress=lambda share: progress(f"{name}, {100 * share:.2g} % searched"),
    )
    draws, no_draws_reason = _draws(game, options)
    if draws and not solution.complete:
        draws = 0
        no_draws_reason = "the search stopped at its limit, as it would in each draw; increase it"
    if draws:
        bootstrap = bootstrap_equilibrium(
            game,
            metrics,
            draws=draws,
            seed=seed,
            paired=paired,
            processes=options.get("processes", 1),
            progress=lambda solved: progress(f"{name}, {solved:,} of {draws:,} draws solved"),
        )
    else:  # the mean payoffs, in the shape of one draw
        values = {metric.name: metric.scaled(game.value(metric.metric))[None] for metric in metrics}
        sample = (None, payoffs[None], solution.mene.mixture[None], values)
        bootstrap = Bootstrap(game.labels, tuple(metrics), False, seed, game.freedom, *sample)
    next_cells: NextCells | str | None = None
    if budget := options.get("budget", 0):
        try:
            next_cells = propose_cells(game, budget, target="regret", paired=paired)
        except CheaptalkError as error:
            next_cells = str(error)
    providers = providers_of(bootstrap, options.get("providers", {}))
    rest = (no_draws_reason, selected, providers, next_cells)
    return Analysis(name, game, solution, bootstrap, readings, *rest)


def _ignore(_: str) -> None:
    """Take the place of a function that shows progress."""


def _draws(game: Empirical, options: DrawOptions) -> tuple[int, str]:
    if not game.sampled:
        return 0, "the payoffs were given without matches"
    if game.thin:
        return 0, f"{counted(len(game.thin), 'pair')} with a single instance: {listed(game.thin)}"
    draws = options.get("draws", DRAWS)
    return draws, "" if draws else "no bootstrap draws were requested"


@contextmanager
def naming_game(game: str) -> Iterator[None]:
    """Prefix error messages with the name of a game."""
    try:
        yield
    except CheaptalkError as error:
        raise CheaptalkError(f"{game}: ", *error.args) from None
    except ValueError as error:
        raise CheaptalkError(f"{game}: {error}") from None


def analyse_seats(selected: Selected, **options: Unpack[SeatsOptions]) -> SeatsAnalysis:
    """Analyse the equilibria of a game in which each seat has its own set of strategies.

    As in GLEE's game of model choice (footnote 13), one side chooses the player of the first seat
    and the other that of the second. Each maximises its mean over all configurations.

    Args:
        **options: see :class:`SeatsOptions`.

    Raises:
        CheaptalkError: a cell is missing, or the game has no such metric or player.
    """
    row_seat, column_seat = seats = places_in(selected.frame)
    with naming_game(f"{selected.name}, by seat"):
        frame, units = _with_payoff(selected, seats, options.get("payoff", PAYOFF))
        players = [pl.col(f"player_{seat}") for seat in seats]
        without = options.get("without", ())
        labels = {label for player in players for label in frame.select(player).to_series()}
        _check_labels(without, sorted(labels))
        frame = frame.filter(~player.is_in(without) for player in players)
        pooled = options.get("pooled", False)
        game = EmpiricalBimatrix.of_frame(frame, by=None if pooled else NAME)
        try:
            game.check()
        except CheaptalkError as error:
            if len(game.samples) == 1:
                raise
            alternative = "; or, if configurations were randomly assigned to pairs, "
            advice = Advice("use pooled=True", "pooled", True)
            raise CheaptalkError(*error.args, alternative, advice) from None
        return _by_seat(selected.name, (row_seat, column_seat), game, options, units, selected)


def analyse_bimatrix(
    name: str, table: PayoffTable, *, without: Sequence[str] = ()
) -> SeatsAnalysis:
    """Analyse the equilibria of a two-player game from a payoff table.

    Args:
        table: the payoffs of both players, who may have different strategies.

    Raises:
        CheaptalkError: a strategy is unknown, or a player would have none.
    """
    with naming_game(name):
        _check_labels(without, (*table.rows, *table.columns))
        rows, columns = (
            [index for index, label in enumerate(side) if label not in without]
            for side in (table.rows, table.columns)
        )
        if not rows or not columns:
            raise CheaptalkError("all strategies of a player are omitted; keep at least one")
        game = EmpiricalBimatrix.of_payoffs(
            table.a[np.ix_(rows, columns)],
            table.b[np.ix_(rows, columns)],
            [table.rows[index] for index in rows],
            [table.columns[index] for index in columns],
        )
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
    draws, no_draws_reason = _draws(game, options)
    means = resample(game, draws, seed=seed, paired=paired) if draws else None
    a, b = game.payoffs()
    sides = None if means is None else (means[:, 0], means[:, 1])
    choice = model_choice(a, b, game.rows, game.columns, draws=sides)
    is_paired = shares_instances(game) if paired is None else paired
    view = (options.get("payoff", PAYOFF), units, options.get("pooled", False))
    rest = (is_paired, *view, no_draws_reason, selected, seed)
    return SeatsAnalysis(name, seats, game, solve(a, b), choice, means, *rest)


def _with_payoff(
    selected: Selected, seats: Sequence[str], payoff: str
) -> tuple[pl.DataFrame, tuple[str, str]]:
    if payoff == PAYOFF:
        return selected.frame, ("", "")
    metrics = get_game(selected.game_spec).metrics
    of_roles = {name: metric for name, metric in metrics.items() if metric.role}
    row_metrics, column_metrics = (
        {name.removesuffix(f"_{seat}"): metric for name, metric in of_roles.items()}
        for seat in seats
    )
    shared = [name for name in row_metrics if name in column_metrics and name not in of_roles]
    if payoff not in shared:
        raise CheaptalkError(f"the seats share no metric {suggest(payoff, [PAYOFF, *shared])}")
    frame = selected.frame.with_columns(
        pl.col(f"{payoff}_{seat}").alias(f"payoff_{seat}") for seat in seats
    )
    return frame, (row_metrics[payoff].unit, column_metrics[payoff].unit)


def _check_labels(labels: Sequence[str], labels_in_game: Sequence[str]) -> None:
    unknown = [label for label in labels if label not in labels_in_game]
    if unknown:
        raise CheaptalkError(f"no strategy {suggest(unknown[0], labels_in_game)} in this game")
