"""Making the analysis of a game of two seats from matches, or from payoffs that are known."""

from collections.abc import Sequence
from typing import TypedDict, Unpack

import numpy as np
import polars as pl

from cheaptalk.equilibrium.analysis.bimatrix import PAYOFF, SeatsAnalysis
from cheaptalk.equilibrium.analysis.bimatrix_solution import Solved, solve
from cheaptalk.equilibrium.analysis.estimation import naming_game, why_unsure
from cheaptalk.equilibrium.analysis.selection import NAME, Selected
from cheaptalk.equilibrium.empirical.bootstrap import DRAWS, resampled, shares_deals
from cheaptalk.equilibrium.empirical.games import EmpiricalBimatrix
from cheaptalk.equilibrium.empirical.model_choice import ModelChoice, model_choice
from cheaptalk.equilibrium.solvers.payoff_files import PayoffTable
from cheaptalk.equilibrium.solvers.payoffs import Floats
from cheaptalk.frames.reader import places_in
from cheaptalk.rules import CheaptalkError, game_box, suggest
from cheaptalk.rules.errors import Advice

GIVEN = "the payoffs were given without the matches behind them"


class SeatsOptions(TypedDict, total=False):
    """How to analyse a game by seat; what is left out is as said behind it.

    Attributes:
        payoff: what either side wants, ``payoff``; or a measure that the game has for each role
            under names such as ``alice_gain`` and ``bob_gain``, here ``gain``.
        pooled: take all matches for one game, whatever their configuration, False. That is right
            where configurations were drawn at random for pairs, so that these differ by chance
            alone. Else every pair must have played every configuration, and these weigh alike.
        draws: of the bootstrap, 1,000; 0 for none.
        seed: of the draws, 0.
        paired: draw the same deals for all cells, or each cell by itself; None, as it is without:
            the same where all cells have them (see :func:`.bootstrap_equilibrium`).
        without: players to leave out, none.
    """

    payoff: str
    pooled: bool
    draws: int
    seed: int
    paired: bool | None
    without: Sequence[str]


def analyse_seats(selected: Selected, **options: Unpack[SeatsOptions]) -> SeatsAnalysis:
    """The equilibria of a game that was played, each seat with strategies of its own.

    As in the game of choosing models of GLEE (footnote 13): one side chooses who sits in the first
    seat, the other who sits in the second, each for its mean over all configurations.

    Args:
        **options: see :class:`SeatsOptions`.

    Raises:
        CheaptalkError: a cell is missing, the game has no such measure, or there is no such player.
    """
    payoff, pooled = options.get("payoff", PAYOFF), options.get("pooled", False)
    draws, paired = options.get("draws", DRAWS), options.get("paired")
    places = places_in(selected.frame)
    with naming_game(f"{selected.name}, by seat"):
        frame, units = _paid(selected, places, payoff)
        frame = _left(frame, places, options.get("without", ()))
        game = EmpiricalBimatrix.of_frame(frame, by=None if pooled else NAME)
        _check(game)
        unsure = why_unsure(game, draws)
        drawn = (
            None if unsure else resampled(game, draws, seed=options.get("seed", 0), paired=paired)
        )
        found = _solved(game, drawn)
    together = shares_deals(game) if paired is None else paired
    return SeatsAnalysis(
        selected.name, (places[0], places[1]), game, *found, drawn, together,
        payoff, units, pooled, unsure, selected, options.get("seed", 0),
    )  # fmt: skip


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
        raise CheaptalkError(f"{name}: a player has no strategy left; leave out fewer")
    game = EmpiricalBimatrix.of_payoffs(
        table.a[np.ix_(rows, columns)], table.b[np.ix_(rows, columns)],
        [table.rows[at] for at in rows], [table.columns[at] for at in columns],
    )  # fmt: skip
    return SeatsAnalysis(name, table.players, game, *_solved(game, None), unsure=GIVEN)


def _check(game: EmpiricalBimatrix) -> None:
    try:
        game.check()
    except CheaptalkError as error:
        if len(game.samples) == 1:
            raise
        raise CheaptalkError(
            *error.args,
            "; or, if pairs were drawn at random for configurations, ",
            Advice("say pooled=True", "pooled", True),
        ) from None


def _solved(game: EmpiricalBimatrix, drawn: Floats | None) -> tuple[Solved, ModelChoice]:
    a, b = game.payoffs()
    sides = None if drawn is None else (drawn[:, 0], drawn[:, 1])
    return solve(a, b), model_choice(a, b, game.rows, game.columns, draws=sides)


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


def _left(frame: pl.DataFrame, places: Sequence[str], without: Sequence[str]) -> pl.DataFrame:
    """The matches in which nobody plays who is left out."""
    players = [pl.col(f"player.{place}") for place in places]
    _know(without, sorted({name for one in players for name in frame.select(one).to_series()}))
    for player in players:
        frame = frame.filter(~player.is_in(without))
    return frame


def _know(labels: Sequence[str], known: Sequence[str]) -> None:
    unknown = [label for label in labels if label not in known]
    if unknown:
        raise CheaptalkError(f"no strategy {suggest(unknown[0], known)} to leave out")
