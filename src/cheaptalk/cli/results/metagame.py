"""The ``metagame`` command, which computes equilibria of empirical games and payoff files."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.interrupts import finishing
from cheaptalk.cli.shared.printing import StatusLine, err, out, print_json, print_table, say
from cheaptalk.extras import needing

AnyAnalysis: TypeAlias = "ct.equilibrium.Analysis | ct.equilibrium.SeatsAnalysis"
Analyses: TypeAlias = "tuple[Iterator[AnyAnalysis], ct.reports.Played | None]"
MAX_SUPPORTS = 20_000_000
"""Default maximum number of supports to search, which takes a minute or two."""
FILES = (".csv", ".nfg")
"""File name extensions of payoff files."""
STUDY_ONLY = ("store", "include_study", "game", "draws", "paired", "allow_single_order", "viewer")
"""Parameters of the options that are not valid for payoff files."""
ADVICE = {
    "one_sided": "use --allow-single-order",
    "paired": "use --unpaired",
    "pooled": "use --pool-configurations",
}
"""Command-line options, by the Python argument that an error message recommends."""


@finishing()
def metagame(
    context: typer.Context,
    source: Annotated[opt.StoredStudy, opt.Settings(metavar="STUDY|FILE")],
    /,
    store: opt.Store = opt.DEFAULT_STORE,
    game: list[opt.Name] | None = None,
    exclude: list[opt.Label] | None = None,
    two_populations: bool = False,
    payoff: Annotated[
        str | None, opt.Settings(metavar="METRIC", show_default="the game's payoff")
    ] = None,
    pool_configurations: bool = False,
    draws: opt.CountFromZero = 1000,
    seed: opt.DrawSeed = 0,
    paired: Annotated[
        bool | None,
        opt.Settings(
            flags=("--paired/--unpaired",),
            show_default="paired if pairs share at least half of their instances",
        ),
    ] = None,
    allow_single_order: bool = False,
    include_study: Annotated[list[opt.StoredStudy] | None, opt.Settings(metavar="STUDY")] = None,
    provider: Annotated[list[str] | None, opt.Settings(metavar="LABEL=PROVIDER")] = None,
    max_supports: opt.CountFromZero = MAX_SUPPORTS,
    propose: opt.CountFromZero = 0,
    to: Annotated[opt.NewPage | None, opt.Settings(flags=("--out",))] = None,
    save_payoffs: opt.NewFile | None = None,
    viewer: opt.Viewer = opt.VIEWER,
    json: opt.Json = False,
) -> None:
    """Compute equilibria of the empirical game among players.

    The strategies of the empirical game are the study's players. Its payoffs are the mean payoffs
    of the recorded matches, with bootstrap confidence intervals. By default the game is
    symmetrized: payoffs are averaged over both seats. With --two-populations, each seat has its own
    strategies.

    Args:
        source: Name of a study in the store, or a payoff file (.csv or .nfg).
        game: Only analyse this game: a configuration, e.g. BG4, or a mixture, e.g. BG4+BG5.
            Repeatable.
        exclude: Exclude this player from the game. Repeatable.
        two_populations: Analyse a game between two populations, e.g. sellers and buyers: one
            chooses a player for the first seat, the other for the second.
        payoff: With --two-populations: use this metric as the payoff, e.g. self_gain for the
            metrics self_gain_alice and self_gain_bob.
        pool_configurations: With --two-populations: pool a pair's matches over configurations.
            Use it only if pairs were drawn at random. By default, each pair must have played
            each configuration.
        draws: Use N bootstrap draws; 0 turns them off.
        paired: Resample the same instances for all pairs of players (paired), or separately for
            each pair (unpaired). Unpaired draws make exactly equal payoffs differ by chance.
        allow_single_order: Accept pairs that played in only one order of seats. Use it if the
            seats are interchangeable.
        include_study: Also include the matches of this study, without duplicates. Repeatable.
        provider: Set a player's provider, for the analysis of competing providers. By default,
            the model name determines it; an empty value removes it. Repeatable.
        max_supports: Search at most N supports (sets of strategies); beyond N, equilibria can
            be missing. 0 searches all supports, which can take days with over 24 players.
        propose: Propose pairings for N additional matches.
        to: Write an HTML page with tables and charts to this file.
        save_payoffs: Write the mean payoffs to this .nfg or .csv file.
    """
    with needing("analysis"):
        write_payoffs = ct.equilibrium.write_payoffs
    is_file = source.lower().endswith(FILES)
    title = Path(source).stem if is_file else source
    _check_source(source, is_file, context, (save_payoffs, to))
    options: ct.equilibrium.AnalysisOptions = {
        "draws": draws,
        "seed": seed,
        "without": exclude or (),
        "paired": paired,
        "one_sided": allow_single_order,
        "budget": propose,
        "limit": max_supports,
    }
    seats: ct.equilibrium.SeatsOptions | None = None
    if two_populations:
        _refuse_symmetric(options, provider or ())
        seats = {
            "draws": draws,
            "seed": seed,
            "without": exclude or (),
            "paired": paired,
            "payoff": payoff or ct.equilibrium.PAYOFF,
            "pooled": pool_configurations,
        }
    else:
        two_only = {"--payoff": payoff, "--pool-configurations": pool_configurations}
        _refuse(two_only, "only valid with --two-populations")
    analysis = (
        _of_file(source, options, provider or (), seats)
        if is_file
        else _of_study(
            (source, *(include_study or ())),
            store,
            game or (),
            provider or (),
            viewer,
            options,
            seats,
            bool(save_payoffs),
        )
    )
    with analysis as (games, played):
        analyses = []
        for analysed in games:
            analyses.append(analysed)
            if not json:
                _show(analysed)
        if save_payoffs:
            write_payoffs(analyses[0].table, save_payoffs)
        if to:
            with err.status(f"{source}: writing {to.name}"):
                ct.reports.metagame_report(title, analyses, to, seed=seed, played=played)
    if json:
        print_json([ct.reports.analysis_json(item, seed) for item in analyses])
        return
    for kind, file in (("Page", to), ("Payoff file", save_payoffs)):
        if file:
            say(f"{kind} written to {file.absolute()}")


def _check_source(
    source: str, is_file: bool, context: typer.Context, written: Sequence[Path | None]
) -> None:
    """Check that the options suit the source, and that no output file overwrites it."""
    exists = Path(source).is_file()
    if exists and Path(source).suffix and not is_file:
        raise typer.BadParameter(
            f"{source} is not a payoff file (.csv or .nfg); rename it, or give the name of a study "
            "in the store"
        )
    for parameter in context.command.params if is_file else ():
        origin = context.get_parameter_source(str(parameter.name))
        if parameter.name in STUDY_ONLY and origin is not None and origin.name == "COMMANDLINE":
            raise typer.BadParameter(
                "not valid for a payoff file, which contains one game and no matches",
                param_hint="/".join([*parameter.opts, *parameter.secondary_opts]),
            )
    for path in written:
        if exists and path is not None and path.exists() and path.samefile(source):
            raise typer.BadParameter(f"{path} is the input file; choose another file name")


@contextmanager
def _of_file(
    source: str,
    options: ct.equilibrium.AnalysisOptions,
    providers: Sequence[str],
    seats: ct.equilibrium.SeatsOptions | None,
) -> Iterator[Analyses]:
    """Yield the solved game of a payoff file."""
    table, title = ct.equilibrium.read_payoffs(source), Path(source).stem
    with _solving(StatusLine(), source) as progress, advising_options():
        analysis: AnyAnalysis
        if seats or not table.symmetric:
            _refuse_symmetric(options, providers)
            if seats:
                other_payoff = seats["payoff"] != ct.equilibrium.PAYOFF
                study_only = {"--payoff": other_payoff, "--pool-configurations": seats["pooled"]}
                _refuse(study_only, "not valid for a payoff file, which already contains payoffs")
            analysis = ct.equilibrium.analyse_bimatrix(title, table, without=options["without"])
        else:
            options |= {"providers": _grouping(providers, {}), "progress": progress}
            analysis = ct.equilibrium.analyse_payoffs(title, table, **options)
            _check_grouping(providers, [analysis])
    yield iter([analysis]), None


@contextmanager
def _of_study(
    studies: Sequence[str],
    store: str,
    games: Sequence[str],
    providers: Sequence[str],
    viewer: str,
    options: ct.equilibrium.AnalysisOptions,
    seats: ct.equilibrium.SeatsOptions | None,
    single: bool,
) -> Iterator[Analyses]:
    """Yield the games of studies, each solved on demand, together with their matches."""
    source = studies[0]
    with ct.Store.open(store) as opened:
        with err.status(f"{source}: reading matches"):
            played = ct.reports.Played.of(opened, *studies, viewer=viewer)
        selected = played.games(games)
        if single and len(selected) > 1:
            names = ", ".join(game.name for game in selected)
            raise ct.CheaptalkError(
                f"--save-payoffs writes one game; choose one with --game: {names}"
            )
        options["providers"] = _grouping(providers, played.providers)

        def each() -> Iterator[AnyAnalysis]:
            status, symmetric = StatusLine(), []
            count = len(selected)
            for number, game in enumerate(selected, 1):
                title = f" game {number} of {count}" if count > 1 else ""
                with _solving(status, source, title) as progress, advising_options():
                    if seats:
                        solved: AnyAnalysis = ct.equilibrium.analyse_seats(game, **seats)
                    else:
                        options["progress"] = progress
                        solved = ct.equilibrium.analyse(game, **options)
                        symmetric.append(solved)
                yield solved
            _check_grouping(providers, symmetric)

        yield each(), played


@contextmanager
def _solving(status: StatusLine, source: str, title: str = "") -> Iterator[Callable[[str], None]]:
    """Show a status line; yield a function that adds details to it."""
    line = f"{source}: solving{title}"
    with status.shown(line) as show:
        yield lambda details: show(f"{line}; {details}")


def _show(analysis: AnyAnalysis) -> None:
    heading, _, rest = str(analysis).partition("\n")
    say(heading, style="bold")
    say(rest)
    if isinstance(analysis, ct.equilibrium.Analysis):
        if analysis.providers:
            _print_providers(analysis.providers)
        if isinstance(analysis.next_cells, str):
            say(f"No pairings can be proposed: {analysis.next_cells}.")
        elif analysis.next_cells is not None:
            say(str(analysis.next_cells))
    out.print()


def _grouping(texts: Sequence[str], inferred: dict[str, str]) -> dict[str, str]:
    """Return the provider of each player: the value of ``--provider``, or the inferred one."""
    providers = dict(inferred)
    for text in texts:
        label, provider = opt.pair(text, "LABEL=PROVIDER", "--provider", last=True, empty=True)
        providers[label] = provider
    return {label: provider for label, provider in providers.items() if provider}


def _check_grouping(texts: Sequence[str], analyses: Sequence[ct.equilibrium.Analysis]) -> None:
    """Check that ``--provider`` names players, and that there are at least two providers."""
    labels = dict.fromkeys(label for analysis in analyses for label in analysis.labels)
    for label in _grouping(texts, {}):
        if label not in labels:
            raise typer.BadParameter(
                f"no player {ct.rules.suggest(label, list(labels))}", param_hint="--provider"
            )
    if texts and not any(analysis.providers for analysis in analyses):
        raise typer.BadParameter(
            "players of at least two providers are required; set the provider of another player",
            param_hint="--provider",
        )


@contextmanager
def advising_options() -> Iterator[None]:
    """Reword errors that recommend Python arguments: recommend command-line options instead."""
    try:
        yield
    except ct.CheaptalkError as error:
        advice = ct.rules.errors.Advice
        parts = (_option(part) if isinstance(part, advice) else part for part in error.args)
        raise ct.CheaptalkError(*parts) from None


def _option(advice: ct.rules.errors.Advice) -> str:
    if advice.argument == "without" and isinstance(advice.value, list):
        return shlex.join(part for label in advice.value for part in ("--exclude", label))
    return ADVICE[advice.argument]


def _print_providers(providers: ct.equilibrium.Providers) -> None:
    """Print the value that each provider gives away and its best responses, by game definition."""
    owners = list(providers.members)
    for reading in providers.readings:
        say(f"Providers: {reading.title.lower()}")
        given = ["Given"] if reading.value_given else []
        columns = ["Provider", *given, *(f"Best response to {owner}" for owner in owners)]
        rows: list[list[object]] = []
        for row, owner in enumerate(owners):
            values = reading.value_given[row : row + 1] if reading.value_given else ()
            texts = [ct.equilibrium.spread_text(value, 1) for value in values]
            rows.append([owner, *texts, *(f"{share:.1%}" for share in reading.responses[row])])
        print_table(None, columns, rows)
    for name, reason in providers.absent.items():
        say(f"{name[:1].upper()}{name[1:]} is not available: {reason}.")


def _refuse_symmetric(options: ct.equilibrium.AnalysisOptions, providers: Sequence[str]) -> None:
    values = {
        "--provider": providers,
        "--propose": options["budget"],
        "--allow-single-order": options["one_sided"],
    }
    _refuse(values, "not valid for two populations or an asymmetric game")


def _refuse(values: Mapping[str, object], reason: str) -> None:
    for option, value in values.items():
        if value:
            raise typer.BadParameter(reason, param_hint=option)
