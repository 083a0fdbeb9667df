"""Options of the command ``metagame`` on games of two seats, and what it prints of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.base import out, print_table
from cheaptalk.cli.metagame_beside import plus_minus
from cheaptalk.rules import counted

if TYPE_CHECKING:
    from cheaptalk.equilibrium import PayoffTable
    from cheaptalk.reports import SeatsAnalysis
    from cheaptalk.reports.metagame.making import Wishes
    from cheaptalk.reports.metagame.seats_making import SeatWishes

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

SHOWN = 10
"""Equilibria, and pairs, that are printed."""


def seat_wishes(
    by_seat: bool, payoff: str | None, pooled: bool, wishes: Wishes, providers: Sequence[str]
) -> SeatWishes | None:
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
        "payoff": payoff or ct.reports.PAYOFF, "pooled": pooled, "draws": wishes["draws"],
        "seed": wishes["seed"], "paired": wishes["paired"], "without": wishes["without"],
    }  # fmt: skip


def refuse_symmetric(wishes: Wishes, providers: Sequence[str]) -> None:
    """See that nothing is asked for that only a symmetric game has.

    Raises:
        BadParameter: it is.
    """
    asked = {"--provider": providers, "--next": wishes["budget"],
             "--one-sided": wishes["one_sided"]}  # fmt: skip
    _refuse(asked, "it is for games in which everybody sits in both seats")


def bimatrix(
    name: str, table: PayoffTable, wishes: Wishes, providers: Sequence[str],
    seats: SeatWishes | None,
) -> SeatsAnalysis:  # fmt: skip
    """The game of two seats in a payoff file.

    Raises:
        BadParameter: something is asked for that only a study, or a symmetric game has.
    """
    refuse_symmetric(wishes, providers)
    if seats:
        asked = {"--payoff": seats["payoff"] != ct.reports.PAYOFF, "--pooled": seats["pooled"]}
        _refuse(asked, "a payoff file says what either side gets")
    return ct.reports.analyse_bimatrix(name, table, without=wishes["without"])


def _refuse(options: Mapping[str, object], why: str) -> None:
    for option, given in options.items():
        if given:
            raise typer.BadParameter(why, param_hint=option)


def print_seats(one: SeatsAnalysis, seed: int) -> None:
    """A game's equilibria by seat, and the pairs from which neither side would switch."""
    out.print(_heading(one), style="bold", markup=False)
    out.print(one.solved.in_words, markup=False)
    for found in one.solved.found[:SHOWN]:
        sides = zip(one.seats, one.labels, found.supports, found.mixtures, strict=True)
        chosen = "; ".join(
            f"{seat} {_mixed(labels, used, shares)}" for seat, labels, used, shares in sides
        )
        numbers = " and ".join(f"{payoff:,.{one.places}f}" for payoff in found.profile.payoffs)
        regrets = " and ".join(f"{regret:.1g}" for regret in found.profile.regrets)
        extent = f", of continuum {found.continuum}" if found.continuum else ""
        out.print(f"  {chosen}: payoffs {numbers}, regrets {regrets}{extent}", markup=False)
    if len(one.solved.found) > SHOWN:
        out.print(f"  and {len(one.solved.found) - SHOWN} more", markup=False)
    if one.draws:
        _print_pairs(one)
        out.print(_made(one, seed), markup=False)
    else:
        out.print(f"No intervals: {one.unsure}.", markup=False)
    out.print()


def _heading(one: SeatsAnalysis) -> str:
    sizes = " x ".join(str(len(labels)) for labels in one.labels)
    played = f", {counted(one.matches, 'match')}" if one.selected else ""
    wanted = "" if one.payoff == ct.reports.PAYOFF else f", by {one.payoff}"
    return f"{one.name}: {one.seats[0]} x {one.seats[1]}, {sizes} strategies{played}{wanted}"


def _mixed(labels: tuple[str, ...], used: list[int], shares: list[float]) -> str:
    if len(used) == 1:
        return labels[used[0]]
    return ", ".join(f"{labels[at]} {shares[at]:.3f}" for at in used)


def _print_pairs(one: SeatsAnalysis) -> None:
    columns = [*one.seats, "Equilibrium", "Of draws", *(f"{seat} gets" for seat in one.seats)]
    numbers = [
        [f"{pair.support:.1%}", *(plus_minus(got, one.places) for got in pair.gets)]
        for pair in one.standing[:SHOWN]
    ]
    wide = [max(map(len, column)) for column in zip(*numbers, strict=True)]
    rows: list[list[object]] = [
        [pair.row, pair.column, "of the means" if pair.stable else "in draws",
         *map(str.rjust, cells, wide)]
        for pair, cells in zip(one.standing, numbers, strict=False)
    ]  # fmt: skip
    print_table(None, columns, rows)
    more = len(one.standing) - SHOWN
    if more > 0:
        out.print(f"and {counted(more, 'pair')} more", markup=False)


def _made(one: SeatsAnalysis, seed: int) -> str:
    """What the draws say, and how they were made."""
    deals = "the same deals in all cells" if one.paired else "deals drawn for each cell"
    return (
        f"No pure equilibrium in {one.choice.without:.1%} of draws. Of draws: how many have the "
        f"pair as a pure equilibrium. ±: standard deviation over {one.draws:,} bootstrap draws of "
        f"at least {one.fewest:,} deals a cell ({deals}, seed {seed})."
    )
