"""The commands ``game list``, ``strategies``, ``check`` and ``new``."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.printing import StatusLine, hint, out, print_json, print_table, say
from cheaptalk.cli.shared.sentences import counted


def games(name: opt.GameName | None = None, /, json: opt.Json = False) -> None:
    """List the games, or show one in full.

    The full description includes the game's parameters, payoffs, metrics and prompt styles.

    Args:
        name: Show this game in full.
    """
    if name is None:
        specs = ct.rules.games()
        if json:
            print_json({spec.name: _game(spec) for spec in specs.values()})
            return
        rows = [
            [name, ", ".join(spec.rules.roles), len(spec.rules().seats), _first_line(spec.rules)]
            for name, spec in specs.items()
        ]
        print_table(None, ["game", "roles", "seats", "description"], rows)
        hint("\nShow a game in full: cheaptalk game list NAME")
        return
    spec = ct.get_game(name)
    if json:
        print_json(_game(spec))
        return
    out.print(f"[bold]{spec.name}[/], version {spec.rules.version}")
    say(inspect.cleandoc(spec.rules.__doc__ or ""))
    out.print(f"\nRoles: {', '.join(spec.rules.roles)}")
    out.print(f"Seats (default parameters): {', '.join(spec.rules().seats)}")
    say(f"Forfeit: {spec.rules.forfeit}\n")
    ranges = ct.rules.field_ranges(spec.rules)
    parameters = [
        [key, ct.yaml_files.default_text(spec.rules.model_fields[key]), ranges[key], meaning]
        for key, meaning in ct.rules.field_meanings(spec.rules).items()
    ]
    print_table("Parameters", ["name", "default", "values", "meaning"], parameters)
    units, bounds = spec.rules.payoff_units(), spec.rules().payoff_bounds().items()
    payoffs = [[role, *map(ct.styles.number, pair), units[role]] for role, pair in bounds]
    out.print()
    columns = ["role", "min", "max", "unit"]
    print_table("Payoffs per seat (default parameters)", columns, payoffs)
    say(f"{_first_line(spec.rules.payoffs)}\n")
    metrics = [[name, metric.meaning] for name, metric in spec.metrics.items()]
    print_table("Metrics", ["name", "meaning"], metrics)
    out.print(f"\nPrompt styles: {', '.join(spec.styles)}")
    hint(f"List its strategies: cheaptalk game strategies {spec.name}")


def _game(spec: ct.GameSpec) -> dict[str, Any]:
    rules = spec.rules
    payoffs = {
        "units": rules.payoff_units(),
        "meaning": inspect.getdoc(rules.payoffs),
        "bounds": rules().payoff_bounds(),
    }
    return {
        "description": rules.__doc__,
        "version": rules.version,
        "roles": rules.roles,
        "seats": rules().seats,
        "parameters": rules.model_json_schema(),
        "payoffs": payoffs,
        "forfeit": rules.forfeit,
        "metrics": {metric.name: metric.meaning for metric in spec.metrics.values()},
        "strategies": list(ct.rules.strategies(spec.name)),
        "styles": list(spec.styles),
    }


def _first_line(thing: object) -> str:
    return (thing.__doc__ or "").strip().partition("\n")[0]


def strategies(game: opt.GameName | None = None, /, json: opt.Json = False) -> None:
    """List the scripted strategies and their settings.

    Args:
        game: Only list strategies of this game.
    """
    names = [game] if game is not None else list(ct.rules.games())
    by_game = {name: ct.rules.strategies(name) for name in names}
    if json:
        print_json(
            {
                name: {
                    strategy.name: {
                        "roles": strategy.roles,
                        "meaning": strategy.function.__doc__,
                        "settings": strategy.settings.model_json_schema()["properties"],
                    }
                    for strategy in registered.values()
                }
                for name, registered in by_game.items()
            }
        )
        return
    for name, registered in by_game.items():
        rows: list[list[object]] = []
        for strategy in registered.values():
            settings = ", ".join(
                f"{field_name}: {ct.yaml_files.default_text(field)}"
                for field_name, field in strategy.settings.model_fields.items()
            )
            rows.append([strategy.name, ", ".join(strategy.roles), settings, strategy.meaning])
        print_table(name, ["strategy", "roles", "settings", "description"], rows)
        out.print()
    out.print("Other players: {model: PROVIDER/NAME}, {person: terminal} and {recorded: MATCH}")
    out.print(f"Model providers: {', '.join(ct.models.PROVIDERS)}")


def check(
    game: Annotated[opt.GameName, opt.Settings(metavar="GAME")],
    /,
    seeds: opt.Count = 3,
    timeout: opt.Seconds = 60,
    json: opt.Json = False,
) -> None:
    """Run the conformance checks on a game.

    Args:
        game: Name of a game, or MODULE:NAME of its game spec, e.g. mygame:SPEC.
        seeds: Play matches of each kind with N random seeds.
        timeout: Fail if the game's code takes longer than this between two actions; 0 turns the
            limit off.
    """
    if ":" in game:
        sys.path.insert(0, str(Path.cwd()))  # to import a module that is not installed
    spec = ct.conformance.spec_at(game)
    total = len(ct.conformance.CHECKS) + len(ct.conformance.SPEC_CHECKS)
    verdicts: list[ct.conformance.Verdict] = []
    numbers = [str(index + 1) for index in range(seeds)]
    with StatusLine().shown(f"{spec.name}: 0 of {total} checks done") as show:
        for verdict in ct.conformance.verdicts(spec, numbers, limit=timeout):
            verdicts.append(verdict)
            show(f"{spec.name}: {len(verdicts)} of {total} checks done")
    failures = sum(verdict.problem is not None for verdict in verdicts)
    if json:
        print_json([verdict._asdict() for verdict in verdicts])
    else:
        _print_verdicts(verdicts)
        for advice in ct.conformance.advice(spec):
            out.print("[yellow]advice[/]  ", end="")
            say(advice)
        summary = f"{len(verdicts) - failures} of {total} checks passed"
        if len(verdicts) < total:
            summary += f", {total - len(verdicts)} not run"
        strategies = counted(len(spec.strategies), "strategy")
        variants = counted(len(ct.conformance.variants(spec)), "variant")
        tested = f"{variants}, {counted(seeds, 'seed')}, {strategies}"
        say(f"{spec.name}: {summary} ({tested})")
    if failures:
        raise typer.Exit(1)


def _print_verdicts(verdicts: list[ct.conformance.Verdict]) -> None:
    """Print the passed checks, and each cause of failure with all the checks that it affects."""
    checks: dict[str | None, list[str]] = {}
    for verdict in verdicts:
        checks.setdefault(verdict.cause, []).append(verdict.check)
    for verdict in verdicts:
        first, *others = checks[verdict.cause]
        if verdict.problem is None:
            out.print("[green]passed[/]  ", end="")
            say(f"{verdict.check}: {verdict.requirement}")
        elif verdict.check == first:
            out.print("[red]failed[/]  ", end="")
            say(verdict.problem.partition(": ")[2])
            if others:
                more = counted(len(others), "more check")
                say(f"        {more} failed for the same reason: {', '.join(others)}")


def new(
    kind: Literal["game", "player", "style"],
    name: str,
    /,
    game: Annotated[opt.GameName | None, opt.Settings(show_default="bargaining")] = None,
    out: Annotated[
        opt.NewFile | None, opt.Settings(show_default="NAME, with dashes for underscores")
    ] = None,
) -> None:
    """Create a package with a new game, strategy or prompt style.

    The new package works and passes its tests; edit it to implement your own game, strategy or
    prompt style.

    Args:
        kind: Kind of package: game, player (a scripted strategy) or style (a prompt style).
        name: Name of the new game, strategy or style.
        game: Write the strategy or prompt style for this game.
        out: Create the package in this new folder.
    """
    if kind == "game" and game is not None:
        raise ct.CheaptalkError("--game is only valid with the kinds player and style; remove it")
    if kind == "game":
        files = ct.starters.write_game(name, out)
    else:
        write = ct.starters.write_player if kind == "player" else ct.starters.write_style
        files = write(name, game or "bargaining", out)
    for file in files:
        say(file, wrap=False)
    folder = next(file.parent for file in files if file.name == "pyproject.toml")
    hint(f"\n{folder / 'README.md'} describes the files and the next steps")
