"""The command that lists the games, or shows one in full: games."""

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
        str | None, typer.Argument(help="Show one game in full.", autocompletion=completion.games)
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the games, or show one with its parameters, measures and strategies."""
    if name is None:
        boxes = ct.rules.games()
        if json:
            print_json({box.name: _game(box) for box in boxes.values()})
            return
        rows: list[list[object]] = [
            [box.name, ", ".join(box.rules.roles), len(box.rules().places), _first_line(box.rules)]
            for box in boxes.values()
        ]
        print_table(None, ["game", "roles", "places", "what it is"], rows)
        hint("\nOne in full: cheaptalk games NAME")
        return
    box = ct.game_box(name)
    if json:
        print_json(_game(box))
        return
    out.print(f"[bold]{box.name}[/], version {box.rules.version}")
    say(inspect.cleandoc(box.rules.__doc__ or ""))
    out.print(f"\nRoles: {', '.join(box.rules.roles)}")
    out.print(f"Places, with the defaults: {', '.join(box.rules().places)}")
    say(f"Forfeit: {box.rules.forfeit}\n")
    legal = ct.rules.field_ranges(box.rules)
    parameters: list[list[object]] = [
        [key, ct.yaml_files.default_text(box.rules.model_fields[key]), legal[key], meaning]
        for key, meaning in ct.rules.field_meanings(box.rules).items()
    ]
    print_table("Parameters", ["name", "default", "legal", "meaning"], parameters)
    units, bounds = box.rules.payoff_units(), box.rules().payoff_bounds().items()
    payoffs: list[list[object]] = [
        [role, *map(ct.styles.number, pair), units[role]] for role, pair in bounds
    ]
    out.print()
    head = ["role", "from", "to", "in"]
    print_table("Payoffs of a place, with the defaults", head, payoffs)
    say(f"{_first_line(box.rules.payoffs)}\n")
    print_table(
        "Measures", ["name", "meaning"], [[m.name, m.meaning] for m in box.measures.values()]
    )
    out.print(f"\nStyles: {', '.join(box.styles)}")
    hint(f"Players: cheaptalk players {box.name}")


def _game(box: ct.GameBox) -> dict[str, Any]:
    return {
        "description": box.rules.__doc__,
        "version": box.rules.version,
        "roles": box.rules.roles,
        "places": box.rules().places,
        "parameters": box.rules.model_json_schema(),
        "payoffs": {
            "units": box.rules.payoff_units(),
            "meaning": inspect.getdoc(box.rules.payoffs),
            "bounds": box.rules().payoff_bounds(),
        },
        "forfeit": box.rules.forfeit,
        "measures": {one.name: one.meaning for one in box.measures.values()},
        "strategies": list(ct.rules.strategies(box.name)),
        "styles": list(box.styles),
    }


def _first_line(thing: object) -> str:
    return (thing.__doc__ or "").strip().partition("\n")[0]
