"""The command that finds the equilibria of empirical games, and of payoff files: metagame."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.options import (
    DEFAULT_STORE,
    VIEWER,
    DrawSeedOption,
    JsonOption,
    StoreOption,
    ViewerOption,
    file_to_write,
    page_to_write,
    pair,
)
from cheaptalk.cli.shared.outside import finishing
from cheaptalk.cli.shared.printing import err, out, print_json, print_table, say
from cheaptalk.cli.shared.progress import StatusLine
from cheaptalk.extras import needing

AnyAnalysis: TypeAlias = "ct.equilibrium.Analysis | ct.equilibrium.SeatsAnalysis"
Analyses: TypeAlias = "tuple[Iterator[AnyAnalysis], ct.reports.Played | None]"
SEARCHED = 20_000_000
"""Sets of strategies that a search looks at unless told otherwise: a minute's work or two."""
FILES = (".csv", ".nfg")
"""How the names of payoff files end."""
OF_STUDY = ("store", "others", "game", "bootstrap", "paired", "one_sided", "viewer")
"""Options that make no difference to a payoff file."""
ADVICE = {"one_sided": "use --one-sided", "paired": "use --unpaired", "pooled": "use --pooled"}
"""How the command line says what an error advises in Python."""


@finishing()
def metagame(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            help="The name of a study in the store, or a payoff file, .csv or .nfg.",
            autocompletion=completion.stored_studies,
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
    by_seat: Annotated[
        bool,
        typer.Option(
            "--by-seat",
            help="Keep the seats apart: one side chooses who sits in the first, the other who sits "
            "in the second. For games whose seats differ, such as a seller and a buyer; without "
            "it, everybody is taken to sit in both. A payoff file whose players differ needs no "
            "option.",
        ),
    ] = False,
    payoff: Annotated[
        str | None,
        typer.Option(
            "--payoff",
            help="With --by-seat: what either side wants, such as gain, for measures that the game "
            "calls alice_gain and bob_gain.",
            metavar="MEASURE",
            show_default="the game's payoff",
        ),
    ] = None,
    pooled: Annotated[
        bool,
        typer.Option(
            "--pooled",
            help="With --by-seat: take all matches of a pair alike, as is right where pairs were "
            "drawn at random; else each pair must have played each configuration.",
        ),
    ] = False,
    bootstrap: Annotated[int, typer.Option(min=0, help="Bootstrap draws; 0 for none.")] = 1000,
    seed: DrawSeedOption = 0,
    paired: Annotated[
        bool | None,
        typer.Option(
            "--paired/--unpaired",
            help="Draw the same deals for all cells, or deals for each cell, which breaks exact "
            "ties between cells that share deals.",
            show_default="paired where cells share deals",
        ),
    ] = None,
    one_sided: Annotated[
        bool,
        typer.Option(
            "--one-sided",
            help="Accept pairs that only ever sat in one order, as is right where seats are alike.",
        ),
    ] = False,
    others: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            help="Take the matches of another study of the store too; one in both counts once. "
            "Repeat it.",
            metavar="STUDY",
            autocompletion=completion.stored_studies,
        ),
    ] = None,
    provider: Annotated[
        list[str] | None,
        typer.Option(
            "--provider",
            help="Whose strategy it is, for the game among providers. Repeat it. Models whose name "
            "says so have theirs already; an empty one takes it away.",
            metavar="LABEL=PROVIDER",
        ),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            min=0,
            help="Sets of strategies to search for equilibria, 0 for all; all sets of more than "
            "two dozen strategies may take days.",
        ),
    ] = SEARCHED,
    budget: Annotated[
        int, typer.Option("--next", min=0, help="Propose where to play so many matches more.")
    ] = 0,
    to: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "--report",
            help="Write a page with tables and graphs, as HTML.",
            callback=page_to_write,
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export", help="Write the mean payoffs, as .nfg or .csv.", callback=file_to_write
        ),
    ] = None,
    viewer: ViewerOption = VIEWER,
    json: JsonOption = False,
) -> None:
    """Find who would be chosen to play: equilibria of an empirical game, with intervals.

    Everybody is taken to sit in both seats, as is right for the question whom to have in general.
    With --by-seat the question is whom to send to which seat, each side choosing for its own.
    """
    with needing("analysis"):
        write_payoffs = ct.equilibrium.write_payoffs
    of_file = source.lower().endswith(FILES)
    title = Path(source).stem if of_file else source
    _check_source(source, of_file, context, (export, to))
    wishes: ct.equilibrium.AnalysisOptions = {
        "draws": bootstrap, "seed": seed, "without": without or (), "paired": paired,
        "one_sided": one_sided, "budget": budget, "limit": limit,
    }  # fmt: skip
    seats: ct.equilibrium.SeatsOptions | None = None
    if by_seat:
        _refuse_symmetric(wishes, provider or ())
        seats = {
            "draws": bootstrap, "seed": seed, "without": without or (), "paired": paired,
            "payoff": payoff or ct.equilibrium.PAYOFF, "pooled": pooled,
        }  # fmt: skip
    else:
        _refuse({"--payoff": payoff, "--pooled": pooled}, "it goes with --by-seat")
    opened = (
        _of_file(source, wishes, provider or (), seats)
        if of_file
        else _of_study(
            (source, *(others or ())), store, game or (), provider or (), viewer, wishes, seats,
            bool(export),
        )
    )  # fmt: skip
    with opened as (games, played):
        analyses = []
        for one in games:
            analyses.append(one)
            if not json:
                _show(one)
        write: Callable[..., None] = ct.reports.metagame_report
        told: Callable[..., dict[str, Any]] = ct.reports.analysis_json
        if isinstance(analyses[0], ct.equilibrium.SeatsAnalysis):
            write, told = ct.reports.seats_report, ct.reports.seats_json
        if export:
            write_payoffs(analyses[0].table, export)
        if to:
            with err.status(f"{source}: writing {to.name}"):
                write(title, analyses, to, seed=seed, played=played)
    if json:
        print_json([told(one, seed) for one in analyses])
        return
    for what, file in (("page", to), ("payoff file", export)):
        if file:
            say(f"The {what} is at {file.absolute()}")


def _check_source(
    source: str, of_file: bool, context: typer.Context, written: Sequence[Path | None]
) -> None:
    """See that what is asked for suits a payoff file, if the source is one."""
    there = Path(source).is_file()
    if there and Path(source).suffix and not of_file:
        raise typer.BadParameter(
            f"{source} is a file whose name ends neither in .csv nor in .nfg, as payoff files do; "
            "rename it, or give the name that a study has in the store"
        )
    for one in context.command.params if of_file else ():
        given = context.get_parameter_source(str(one.name))
        if one.name in OF_STUDY and given is not None and given.name == "COMMANDLINE":
            raise typer.BadParameter(
                "it is for a study; a payoff file holds one game, and no matches",
                param_hint="/".join([*one.opts, *one.secondary_opts]),
            )
    for path in written:
        if there and path is not None and path.exists() and path.samefile(source):
            raise typer.BadParameter(f"{path} is the payoff file itself; choose another name")


@contextmanager
def _of_file(
    source: str,
    wishes: ct.equilibrium.AnalysisOptions,
    providers: Sequence[str],
    seats: ct.equilibrium.SeatsOptions | None,
) -> Iterator[Analyses]:
    table, title = ct.equilibrium.read_payoffs(source), Path(source).stem
    with _solving(StatusLine(), source) as progress, advising_options():
        one: AnyAnalysis
        if seats or not table.symmetric:
            _refuse_symmetric(wishes, providers)
            if seats:
                other_payoff = seats["payoff"] != ct.equilibrium.PAYOFF
                asked = {"--payoff": other_payoff, "--pooled": seats["pooled"]}
                _refuse(asked, "a payoff file says what either side gets")
            one = ct.equilibrium.analyse_bimatrix(title, table, without=wishes["without"])
        else:
            wishes |= {"providers": _grouping(providers, {}), "progress": progress}
            one = ct.equilibrium.analyse_payoffs(title, table, **wishes)
            _check_grouping(providers, [one])
    yield iter([one]), None


@contextmanager
def _of_study(
    studies: Sequence[str], store: str, games: Sequence[str], providers: Sequence[str], viewer: str,
    wishes: ct.equilibrium.AnalysisOptions, seats: ct.equilibrium.SeatsOptions | None, single: bool,
) -> Iterator[Analyses]:  # fmt: skip
    """The games of some studies, solved one after the other, and the matches behind them."""
    source = studies[0]
    with ct.Store.open(store) as opened:
        with err.status(f"{source}: reading matches"):
            played = ct.reports.Played.of(opened, *studies, viewer=viewer)
        chosen = played.games(games)
        if single and len(chosen) > 1:
            names = ", ".join(one.name for one in chosen)
            raise ct.CheaptalkError(
                f"a payoff file holds one game; choose one with --game: {names}"
            )
        wishes["providers"] = _grouping(providers, played.providers)

        def each() -> Iterator[AnyAnalysis]:
            status, found = StatusLine(), []
            for place, one in enumerate(chosen, 1):
                which = f" {one.name}, game {place} of {len(chosen)}" if len(chosen) > 1 else ""
                with _solving(status, source, which) as progress, advising_options():
                    if seats:
                        solved: AnyAnalysis = ct.equilibrium.analyse_seats(one, **seats)
                    else:
                        wishes["progress"] = progress
                        solved = ct.equilibrium.analyse(one, **wishes)
                        found.append(solved)
                yield solved
            _check_grouping(providers, found)

        yield each(), played


@contextmanager
def _solving(status: StatusLine, source: str, which: str = "") -> Iterator[Callable[[float], None]]:
    """Say what is being solved; yields what takes the share of the search that is done."""
    line = f"{source}: solving{which}"
    with status.shown(line) as tell:
        yield lambda share: tell(f"{line}, {100 * share:.2g} % searched")


def _show(one: AnyAnalysis) -> None:
    """Print a game's equilibria and strategies, with what stands beside them."""
    heading, _, rest = str(one).partition("\n")
    say(heading, style="bold")
    say(rest)
    if isinstance(one, ct.equilibrium.Analysis):
        if one.providers:
            _print_providers(one.providers)
        if isinstance(one.next_cells, str):
            say(f"No cells can be proposed: {one.next_cells}.")
        elif one.next_cells is not None:
            say(str(one.next_cells))
    out.print()


def _grouping(written: Sequence[str], known: dict[str, str]) -> dict[str, str]:
    """The provider of each strategy, as written and else as known."""
    found = dict(known)
    for one in written:
        label, provider = pair(one, "LABEL=PROVIDER", "--provider", last=True, empty=True)
        found[label] = provider
    return {label: provider for label, provider in found.items() if provider}


def _check_grouping(written: Sequence[str], analyses: Sequence[ct.equilibrium.Analysis]) -> None:
    """See that what was written groups some game's strategies."""
    labels = dict.fromkeys(label for one in analyses for label in one.labels)
    for label in _grouping(written, {}):
        if label not in labels:
            raise typer.BadParameter(
                f"no strategy {ct.rules.suggest(label, list(labels))}", param_hint="--provider"
            )
    if written and not any(one.providers for one in analyses):
        raise typer.BadParameter(
            "strategies of two providers at least make a game among them; name another one's",
            param_hint="--provider",
        )


@contextmanager
def advising_options() -> Iterator[None]:
    """Let errors advise options of the command where they advise arguments of Python.

    Raises:
        CheaptalkError: as raised, in these words.
    """
    try:
        yield
    except ct.CheaptalkError as error:
        parts = (
            _option(part) if isinstance(part, ct.rules.errors.Advice) else part
            for part in error.args
        )
        raise ct.CheaptalkError(*parts) from None


def _option(advice: ct.rules.errors.Advice) -> str:
    """What an error advises, as options of the command."""
    if advice.argument == "without" and isinstance(advice.value, list):
        return shlex.join(part for label in advice.value for part in ("--without", label))
    return ADVICE[advice.argument]


def _print_providers(among: ct.equilibrium.Providers) -> None:
    """The best-response table and the value given, in both readings."""
    owners = list(among.members)
    for reading in among.readings:
        say(f"Providers: {reading.title.lower()}")
        given = ["Given"] if reading.given else []
        columns = ["Provider", *given, *(f"Best reply to {owner}" for owner in owners)]
        rows: list[list[object]] = [
            [
                owner,
                *([ct.equilibrium.spread_text(reading.given[at], 1)] if reading.given else []),
                *(f"{share:.1%}" for share in reading.responses[at]),
            ]
            for at, owner in enumerate(owners)
        ]
        print_table(None, columns, rows)
    for what, why in among.absent.items():
        say(f"{what[:1].upper()}{what[1:]} is missing: {why}.")


def _refuse_symmetric(wishes: ct.equilibrium.AnalysisOptions, providers: Sequence[str]) -> None:
    """See that nothing is asked for that only a symmetric game has."""
    asked = {"--provider": providers, "--next": wishes["budget"],
             "--one-sided": wishes["one_sided"]}  # fmt: skip
    _refuse(asked, "it is for games in which everybody sits in both seats")


def _refuse(options: Mapping[str, object], why: str) -> None:
    for option, given in options.items():
        if given:
            raise typer.BadParameter(why, param_hint=option)
