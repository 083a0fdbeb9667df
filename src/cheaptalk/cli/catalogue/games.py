"""The ``game list`` command, which lists the games, or shows one in full."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.options import JsonOption
from cheaptalk.cli.shared.printing import hint, out, print_json, print_table, say


def games(
    name: Annotated[
        str | None, typer.Argument(help="Show this game in full.", autocompletion=completion.games)
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the games, or show one in full.

    The full description includes the game's parameters, payoffs, metrics and prompt styles.
    """
    if name is None:
        specs = ct.rules.games()
        if json:
            print_json({spec.name: _game(spec) for spec in specs.values()})
            return
        rows: list[list[object]] = [
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
    parameters: list[list[object]] = [
        [key, ct.yaml_files.default_text(spec.rules.model_fields[key]), ranges[key], meaning]
        for key, meaning in ct.rules.field_meanings(spec.rules).items()
    ]
    print_table("Parameters", ["name", "default", "values", "meaning"], parameters)
    units, bounds = spec.rules.payoff_units(), spec.rules().payoff_bounds().items()
    payoffs: list[list[object]] = [
        [role, *map(ct.styles.number, pair), units[role]] for role, pair in bounds
    ]
    out.print()
    columns = ["role", "min", "max", "unit"]
    print_table("Payoffs per seat (default parameters)", columns, payoffs)
    say(f"{_first_line(spec.rules.payoffs)}\n")
    metrics: list[list[object]] = [[name, metric.meaning] for name, metric in spec.metrics.items()]
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
