"""The command that finds the equilibria of empirical games, and of payoff files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import cheaptalk as ct
from cheaptalk.cli.base import DEFAULT_STORE, JsonOption, StoreOption, app, err, out, print_json
from cheaptalk.cli.metagame_beside import (
    NextOption,
    OneSidedOption,
    PairedOption,
    ProviderOption,
    WithOption,
    check_grouping,
    cured,
    grouping,
    print_next,
    print_providers,
    print_text,
    refuse_of_study,
)
from cheaptalk.cli.reporting import PORT, Port, extra
from cheaptalk.cli.seating import BySeatOption, PayoffOption, PooledOption, bimatrix, seat_wishes
from cheaptalk.cli.solving import Solving

if TYPE_CHECKING:
    from cheaptalk.equilibrium import Analysis, SeatsAnalysis
    from cheaptalk.equilibrium.analysis.estimation import AnalysisOptions
    from cheaptalk.equilibrium.analysis.seats_estimation import SeatsOptions
    from cheaptalk.reports import Played

    Games = tuple[Iterator[Analysis | SeatsAnalysis], Played | None]

FILES = (".csv", ".nfg")
"""How the names of payoff files end."""


@app.command()
def metagame(
    context: typer.Context,
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
    by_seat: BySeatOption = False,
    payoff: PayoffOption = None,
    pooled: PooledOption = False,
    bootstrap: Annotated[int, typer.Option(min=0, help="Bootstrap draws; 0 for none.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
    paired: PairedOption = None,
    one_sided: OneSidedOption = False,
    others: WithOption = None,
    provider: ProviderOption = None,
    budget: NextOption = 0,
    to: Annotated[
        Path | None,
        typer.Option("--out", "--report", help="Write a page with tables and graphs, as HTML."),
    ] = None,
    export: Annotated[
        Path | None, typer.Option("--export", help="Write the mean payoffs, as .nfg or .csv.")
    ] = None,
    port: Port = PORT,
    json: JsonOption = False,
) -> None:
    """Find who would be chosen to play: equilibria of an empirical game, with intervals.

    Everybody is taken to sit in both seats, as is right for the question whom to have in general.
    With --by-seat the question is whom to send to which seat, each side choosing for its own.
    """
    with extra("analysis"):
        write_payoffs = ct.equilibrium.write_payoffs
    of_file = source.lower().endswith(FILES)
    _check_source(source, of_file, context, (export, to))
    wishes: AnalysisOptions = {
        "draws": bootstrap, "seed": seed, "without": without or (), "paired": paired,
        "one_sided": one_sided, "budget": budget,
    }  # fmt: skip
    seats = seat_wishes(by_seat, payoff, pooled, wishes, provider or ())
    opened = (
        _of_file(source, wishes, provider or (), seats)
        if of_file
        else _of_study(
            (source, *(others or ())), store, game or (), provider or (), port, wishes, seats,
            bool(export),
        )
    )  # fmt: skip
    with opened as (games, played):
        analyses = []
        for one in games:
            analyses.append(one)
            if not json:
                _show(one)
        if export:
            write_payoffs(analyses[0].table, export)
        if to:
            with err.status(f"{source}: writing {to.name}"):
                _write(_title(source), analyses, to, seed=seed, played=played)
    if json:
        print_json([_told(one, seed) for one in analyses])
        return
    for what, file in (("page", to), ("payoff file", export)):
        if file:
            out.print(f"The {what} is at {file.absolute()}", markup=False)


def _check_source(
    source: str, of_file: bool, context: typer.Context, written: Sequence[Path | None]
) -> None:
    """See that what is asked for suits a payoff file, if the source is one.

    Raises:
        BadParameter: a file has another ending, an option is for studies, or the file would be
            written over.
    """
    there = Path(source).is_file()
    if there and Path(source).suffix and not of_file:
        raise typer.BadParameter(
            f"{source} is a file whose name ends neither in .csv nor in .nfg, as payoff files do; "
            "rename it, or give the name that a study has in the store"
        )
    if of_file:
        refuse_of_study(context)
    for path in written:
        if there and path is not None and path.exists() and path.samefile(source):
            raise typer.BadParameter(f"{path} is the payoff file itself; choose another name")


@contextmanager
def _of_file(
    source: str, wishes: AnalysisOptions, providers: Sequence[str], seats: SeatsOptions | None
) -> Iterator[Games]:
    """The game of a payoff file."""
    table = ct.equilibrium.read_payoffs(source)
    with Solving(source, 1).game(source, 1) as progress, cured():
        one: Analysis | SeatsAnalysis
        if seats or not table.symmetric:
            one = bimatrix(_title(source), table, wishes, providers, seats)
        else:
            wishes |= {"providers": grouping(providers, {}), "progress": progress}
            one = ct.equilibrium.analyse_payoffs(_title(source), table, **wishes)
            check_grouping(providers, [one])
    yield iter([one]), None


@contextmanager
def _of_study(
    studies: Sequence[str], store: Path, games: Sequence[str], providers: Sequence[str], port: int,
    wishes: AnalysisOptions, seats: SeatsOptions | None, single: bool,
) -> Iterator[Games]:  # fmt: skip
    """The games of some studies, solved one after the other, and the matches behind them."""
    source = studies[0]
    with ct.Store.open(store) as opened:
        with err.status(f"{source}: reading matches"):
            played = ct.reports.Played.of(opened, *studies, port=port)
        chosen = played.games(games)
        if single and len(chosen) > 1:
            names = ", ".join(one.name for one in chosen)
            raise ct.CheaptalkError(
                f"a payoff file holds one game; choose one with --game: {names}"
            )
        wishes["providers"] = grouping(providers, played.providers)

        def each() -> Iterator[Analysis | SeatsAnalysis]:
            solving, found = Solving(source, len(chosen)), []
            for place, one in enumerate(chosen, 1):
                with solving.game(one.name, place) as progress, cured():
                    if seats:
                        solved: Analysis | SeatsAnalysis = ct.equilibrium.analyse_seats(
                            one, **seats
                        )
                    else:
                        wishes["progress"] = progress
                        solved = ct.equilibrium.analyse(one, **wishes)
                        found.append(solved)
                yield solved
            check_grouping(providers, found)

        yield each(), played


def _write(name: str, analyses: Sequence[Analysis | SeatsAnalysis], to: Path, **given: Any) -> None:
    by_seat = isinstance(analyses[0], ct.equilibrium.SeatsAnalysis)
    write: Callable[..., None] = ct.reports.seats_report if by_seat else ct.reports.metagame_report
    write(name, analyses, to, **given)


def _told(one: Analysis | SeatsAnalysis, seed: int) -> dict[str, Any]:
    if isinstance(one, ct.equilibrium.SeatsAnalysis):
        return ct.reports.seats_json(one, seed)
    return ct.reports.analysis_json(one, seed)


def _show(one: Analysis | SeatsAnalysis) -> None:
    if isinstance(one, ct.equilibrium.SeatsAnalysis):
        print_text(str(one))
        out.print()
    else:
        _print(one)


def _title(source: str) -> str:
    return Path(source).stem if source.lower().endswith(FILES) else source


def _print(one: Analysis) -> None:
    """A game's equilibria and strategies, with what stands beside them."""
    print_text(str(one))
    if one.providers:
        print_providers(one.providers)
    if one.next_cells is not None:
        print_next(one.next_cells)
    out.print()
