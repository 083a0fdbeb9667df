"""Making the analysis of an empirical game from matches, or from payoffs that are known."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypedDict, Unpack

from cheaptalk.equilibrium.analysis.analysis import Analysis
from cheaptalk.equilibrium.analysis.providers import GIVEN, providers_of
from cheaptalk.equilibrium.analysis.selection import NAME, Selected, metric_tables
from cheaptalk.equilibrium.empirical.bootstrap import DRAWS, Bootstrap, bootstrap_equilibrium
from cheaptalk.equilibrium.empirical.games import Empirical, EmpiricalGame, listed
from cheaptalk.equilibrium.empirical.metrics import Metric, names_of, sided
from cheaptalk.equilibrium.empirical.next_cells import NextCells, propose_cells
from cheaptalk.equilibrium.solvers.payoff_files import PayoffTable
from cheaptalk.equilibrium.solvers.solutions import SymmetricEquilibria
from cheaptalk.equilibrium.solvers.symmetric import symmetric_equilibria
from cheaptalk.rules import CheaptalkError, counted


class AnalysisOptions(TypedDict, total=False):
    """How to analyse a game; what is left out is as said behind it.

    Attributes:
        draws: of the bootstrap, 1,000; 0 for none.
        seed: of the draws, 0.
        without: strategies to leave out, none.
        providers: whose each strategy is, by label, for the game among providers; there is none
            where fewer than two providers have a strategy in the game.
        budget: matches for which to propose cells, 0 for no proposal.
        one_sided: accept cells whose players only ever sat in one order, False.
        paired: draw the same deals for all cells, or each cell by itself; None, as it is without:
            the same where all cells have them (see :func:`.bootstrap_equilibrium`).
        progress: told now and then what share of the search for equilibria is done, in [0, 1].
    """

    draws: int
    seed: int
    without: Sequence[str]
    providers: Mapping[str, str]
    budget: int
    one_sided: bool
    paired: bool | None
    progress: Callable[[float], None]


def analyse(selected: Selected, **options: Unpack[AnalysisOptions]) -> Analysis:
    """The equilibria of a game that was played, and what stands beside them.

    Args:
        **options: see :class:`AnalysisOptions`.

    Raises:
        CheaptalkError: a cell is missing, the matches make no game, or an option makes no sense.
    """
    draws, seed = options.get("draws", DRAWS), options.get("seed", 0)
    providers = options.get("providers", {})
    readings = metric_tables(selected)
    metrics = [metric for reading in readings for metric in reading.metrics]
    frame = selected.frame
    offers = selected.view.given if providers and selected.view else ""
    if offers:
        frame = sided(frame, offers, GIVEN)
        metrics += [Metric(name, name) for name in names_of(GIVEN)]
    measures = list(dict.fromkeys(metric.measure for metric in metrics))
    with naming_game(selected.name):
        game = EmpiricalGame.of_frame(
            frame, measures=measures, by=NAME, one_sided=options.get("one_sided", False)
        )
        game = _left(game, options)
        game.check()
        unsure = why_unsure(game, draws)
        found = _equilibria(game, options)
        drawn = (
            _point(game, found, metrics, seed)
            if unsure
            else bootstrap_equilibrium(
                game, metrics, draws=draws, seed=seed, paired=options.get("paired")
            )
        )
        return Analysis(
            selected.name, game, found, drawn, readings, unsure,
            selected, providers_of(drawn, providers, draws=not unsure, given=bool(offers)),
            _proposed(game, options),
        )  # fmt: skip


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
        game = _left(EmpiricalGame.of_payoffs(table.a, table.rows), options)
        found = _equilibria(game, options)
        drawn = _point(game, found, (), options.get("seed", 0))
        return Analysis(
            name, game, found, drawn,
            unsure="the payoffs were given without the matches behind them",
            providers=providers_of(drawn, options.get("providers", {}), draws=False, given=False),
            next_cells=_proposed(game, options),
        )  # fmt: skip


def _left(game: EmpiricalGame, options: AnalysisOptions) -> EmpiricalGame:
    """The game without what is to be left out."""
    without = options.get("without", ())
    return game.without(without) if without else game


def why_unsure(game: Empirical, draws: int) -> str:
    """Why a game has no bootstrap draws; empty where it can have them."""
    if game.thin:
        return f"{counted(len(game.thin), 'cell')} with a single deal: {listed(game.thin)}"
    return "" if draws else "no bootstrap draws were asked for"


def _equilibria(game: EmpiricalGame, options: AnalysisOptions) -> SymmetricEquilibria:
    return symmetric_equilibria(
        game.payoffs(), labels=game.labels, progress=options.get("progress")
    )


def _point(
    game: EmpiricalGame, found: SymmetricEquilibria, metrics: Sequence[Metric], seed: int
) -> Bootstrap:
    """The equilibrium of the mean payoffs, in the shape of one draw."""
    values = {metric.name: metric.of(game.value(metric.measure))[None] for metric in metrics}
    return Bootstrap(
        game.labels, tuple(metrics), False, seed, None, game.payoffs()[None],
        found.mene.mixture[None], values,
    )  # fmt: skip


def _proposed(game: EmpiricalGame, options: AnalysisOptions) -> NextCells | str | None:
    """The cells to play next; or, in words, why none can be proposed."""
    budget = options.get("budget", 0)
    if not budget:
        return None
    try:
        return propose_cells(game, budget, target="regret", paired=options.get("paired"))
    except CheaptalkError as error:
        return str(error)


@contextmanager
def naming_game(game: str) -> Iterator[None]:
    """Begin what is said against a game with its name."""
    try:
        yield
    except CheaptalkError as error:
        raise CheaptalkError(f"{game}: ", *error.args) from None
    except ValueError as error:
        raise CheaptalkError(f"{game}: {error}") from None
