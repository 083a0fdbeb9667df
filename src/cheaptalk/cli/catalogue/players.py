"""The command that lists the scripted strategies: players."""

from __future__ import annotations

from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.options import JsonOption
from cheaptalk.cli.shared.printing import out, print_json, print_table


def players(
    game: Annotated[
        str | None, typer.Argument(help="Only for this game.", autocompletion=completion.games)
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the scripted strategies with their settings."""
    names = [game] if game is not None else list(ct.rules.games())
    found = {name: ct.rules.strategies(name) for name in names}
    if json:
        print_json(
            {
                name: {
                    one.name: {
                        "roles": one.roles,
                        "meaning": one.function.__doc__,
                        "settings": one.settings.model_json_schema()["properties"],
                    }
                    for one in known.values()
                }
                for name, known in found.items()
            }
        )
        return
    for name, known in found.items():
        rows: list[list[object]] = []
        for one in known.values():
            fields = one.settings.model_fields.items()
            settings = ", ".join(
                f"{name}: {ct.yaml_files.default_text(field)}" for name, field in fields
            )
            rows.append([one.name, ", ".join(one.roles), settings, one.meaning])
        print_table(name, ["strategy", "roles", "settings", "what it does"], rows)
        out.print()
    out.print("Also: language models {model: provider/NAME}, people {person: terminal},")
    out.print("recorded moves {recorded: MATCH}. Providers: " + ", ".join(ct.models.PROVIDERS))
