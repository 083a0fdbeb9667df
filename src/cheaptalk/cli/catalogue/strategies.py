"""The ``game strategies`` command, which lists the scripted strategies."""

from __future__ import annotations

from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.options import JsonOption
from cheaptalk.cli.shared.printing import out, print_json, print_table


def strategies(
    game: Annotated[
        str | None,
        typer.Argument(help="Only list strategies of this game.", autocompletion=completion.games),
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the scripted strategies and their settings."""
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
