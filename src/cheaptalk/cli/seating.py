"""Options of the command ``metagame`` on games of two seats, and what it prints of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

import cheaptalk as ct

if TYPE_CHECKING:
    from cheaptalk.equilibrium import PayoffTable, SeatsAnalysis
    from cheaptalk.equilibrium.analysis.estimation import AnalysisOptions
    from cheaptalk.equilibrium.analysis.seats_estimation import SeatsOptions

BySeatOption = Annotated[
    bool,
    typer.Option(
        "--by-seat",
        help="Keep the seats apart: one side chooses who sits in the first, the other who sits in "
        "the second. For games whose seats differ, such as a seller and a buyer; without it, "
        "everybody is taken to sit in both. A payoff file whose players differ needs no option.",
    ),
]
PayoffOption = Annotated[
    str | None,
    typer.Option(
        "--payoff",
        help="With --by-seat: what either side wants, such as gain, for measures that the game "
        "calls alice_gain and bob_gain.",
        metavar="MEASURE",
        show_default="the game's payoff",
    ),
]
PooledOption = Annotated[
    bool,
    typer.Option(
        "--pooled",
        help="With --by-seat: take all matches of a pair alike, as is right where pairs were drawn "
        "at random; else each pair must have played each configuration.",
    ),
]


def seat_wishes(
    by_seat: bool,
    payoff: str | None,
    pooled: bool,
    wishes: AnalysisOptions,
    providers: Sequence[str],
) -> SeatsOptions | None:
    """How to analyse by seat; None where nobody asked for it.

    Args:
        by_seat, payoff, pooled, providers: as on the command line.
        wishes: those that both ways may share.

    Raises:
        BadParameter: options do not go together.
    """
    if not by_seat:
        _refuse({"--payoff": payoff, "--pooled": pooled}, "it goes with --by-seat")
        return None
    refuse_symmetric(wishes, providers)
    return {
        "payoff": payoff or ct.equilibrium.PAYOFF, "pooled": pooled, "draws": wishes["draws"],
        "seed": wishes["seed"], "paired": wishes["paired"], "without": wishes["without"],
    }  # fmt: skip


def refuse_symmetric(wishes: AnalysisOptions, providers: Sequence[str]) -> None:
    """See that nothing is asked for that only a symmetric game has.

    Raises:
        BadParameter: it is.
    """
    asked = {"--provider": providers, "--next": wishes["budget"],
             "--one-sided": wishes["one_sided"]}  # fmt: skip
    _refuse(asked, "it is for games in which everybody sits in both seats")


def bimatrix(
    name: str, table: PayoffTable, wishes: AnalysisOptions, providers: Sequence[str],
    seats: SeatsOptions | None,
) -> SeatsAnalysis:  # fmt: skip
    """The game of two seats in a payoff file.

    Raises:
        BadParameter: something is asked for that only a study, or a symmetric game has.
    """
    refuse_symmetric(wishes, providers)
    if seats:
        asked = {"--payoff": seats["payoff"] != ct.equilibrium.PAYOFF, "--pooled": seats["pooled"]}
        _refuse(asked, "a payoff file says what either side gets")
    return ct.equilibrium.analyse_bimatrix(name, table, without=wishes["without"])


def _refuse(options: Mapping[str, object], why: str) -> None:
    for option, given in options.items():
        if given:
            raise typer.BadParameter(why, param_hint=option)
