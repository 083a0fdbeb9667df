"""The command that finds the equilibria of empirical games, and of payoff files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.base import (
    DEFAULT_STORE,
    JsonOption,
    StoreOption,
    app,
    err,
    out,
    print_json,
    print_table,
)
from cheaptalk.cli.reporting import PORT, Port, extra
from cheaptalk.rules import counted

if TYPE_CHECKING:
    from cheaptalk.reports import Analysis, Played, Spread

FILES = (".csv", ".nfg")
"""How the names of payoff files end."""
SHOWN = 5
"""Equilibria that are printed."""


@app.command()
def metagame(
    source: Annotated[
        str,
        typer.Argument(
            help="The name of a study in the store, or a payoff file, .csv or .nfg.",
            metavar="STUDY|FILE",
        ),
    ],
    store: StoreOption = DEFAULT_STORE,
    game: Annotated[
        list[str] | None,
        typer.Option(
            "--game",
            help="A configuration, such as BG4, or several mixed, such as BG4+BG5. Repeat it for "
            "several games; without it, all of the study.",
            metavar="NAME",
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option("--without", help="Leave a strategy out. Repeat it.", metavar="LABEL"),
    ] = None,
    bootstrap: Annotated[int, typer.Option(min=0, help="Bootstrap draws; 0 for none.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
    to: Annotated[
        Path | None, typer.Option("--out", help="Write a page with tables and graphs, as HTML.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option("--export", help="Write the mean payoffs, as .nfg or .csv.")
    ] = None,
    port: Port = PORT,
    json: JsonOption = False,
) -> None:
    """Find who would be chosen to play: equilibria of an empirical game, with intervals."""
    with extra("analysis"):
        write, write_payoffs, told = (
            ct.reports.metagame_report, ct.equilibrium.write_payoffs, ct.reports.told
        )  # fmt: skip
    with _analysed(source, store, game or (), without or (), bootstrap, seed, port) as found:
        analyses, played = found
        if export:
            write_payoffs(_only(analyses).table, export)
        if to:
            with err.status(f"{source}: writing {to.name}"):
                write(_title(source), analyses, to, seed=seed, played=played)
    if json:
        print_json([told(one, seed) for one in analyses])
        return
    for one in analyses:
        _print(one, seed)
    for what, file in (("page", to), ("payoff file", export)):
        if file:
            out.print(f"The {what} is at {file.absolute()}", markup=False)


@contextmanager
def _analysed(
    source: str, store: Path, games: Sequence[str], without: Sequence[str], draws: int, seed: int,
    port: int,
) -> Iterator[tuple[list[Analysis], Played | None]]:  # fmt: skip
    """The games of a file or of a study, and the matches behind them if there are any."""
    if source.lower().endswith(FILES):
        if games:
            raise typer.BadParameter("a payoff file holds one game", param_hint="--game")
        table = ct.equilibrium.read_payoffs(source)
        yield [ct.reports.analyse_payoffs(_title(source), table, without=without)], None
        return
    with ct.Store.open(store) as opened:
        with err.status(f"{source}: reading matches"):
            played = ct.reports.Played.of(opened, source, port=port)
        with err.status(f"{source}: solving"):
            yield played.analyses(games, draws=draws, seed=seed, without=without), played


def _only(analyses: Sequence[Analysis]) -> Analysis:
    if len(analyses) > 1:
        names = ", ".join(one.name for one in analyses)
        raise ct.CheaptalkError(f"a payoff file holds one game; choose one with --game: {names}")
    return analyses[0]


def _title(source: str) -> str:
    return Path(source).stem if source.lower().endswith(FILES) else source


def _print(one: Analysis, seed: int) -> None:
    """A game's equilibria and strategies."""
    played = f", {counted(one.matches, 'match')}" if one.selected else ""
    out.print(
        f"{one.name}: {counted(len(one.labels), 'strategy')}{played}", style="bold", markup=False
    )
    out.print(one.found_in_words, markup=False)
    for component in one.found.components[:SHOWN]:
        point = component.point
        mixture = ", ".join(f"{one.labels[at]} {point.mixture[at]:.3f}" for at in point.support)
        extent = "" if component.isolated else ", of a continuum"
        numbers = f"payoff {point.payoff:,.2f}, regret {point.regret:.1g}{extent}"
        out.print(f"  {mixture}: {numbers}", markup=False)
    if len(one.found.components) > SHOWN:
        out.print(f"  and {len(one.found.components) - SHOWN} more", markup=False)
    columns = {
        "Share": [_number(spread, 3) for spread in one.against("mixture")],
        "Payoff": [_number(spread, 2) for spread in one.gets],
        "Regret": [_number(spread, 2) for spread in one.against("regret")],
        "Best reply": [f"{share:.1%}" for share in one.answering],
    }
    wide = {name: max(map(len, cells)) for name, cells in columns.items()}
    rows: list[list[object]] = [
        [one.labels[at], *(cells[at].rjust(wide[name]) for name, cells in columns.items())]
        for at in one.ranking
    ]
    print_table(None, ["Strategy", *columns], rows)
    out.print(_made(one, seed), markup=False)
    out.print()


def _number(one: Spread, places: int) -> str:
    if one.mean is None or one.error is None:
        return "none" if one.estimate is None else f"{one.estimate:,.{places}f}"
    return f"{one.mean:,.{places}f} ± {one.error:,.{places}f}"


def _made(one: Analysis, seed: int) -> str:
    """How the numbers behind ± were made, or why there are none."""
    if one.unsure:
        return f"No intervals: {one.unsure}."
    deals = "the same deals in all cells" if one.drawn.paired else "deals drawn for each cell"
    return (
        f"Of the equilibrium of most entropy: mean ± standard deviation over {one.draws:,} "
        f"bootstrap draws of at least {one.fewest:,} deals a cell ({deals}, seed {seed})."
    )
