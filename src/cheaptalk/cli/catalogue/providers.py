"""The command that lists the providers of models, or shows one in full: providers."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.options import JsonOption
from cheaptalk.cli.shared.printing import hint, print_json, print_table, say


def providers(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Show this one in full, as it would stand in a file.",
            autocompletion=completion.providers,
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the providers of models: where their keys go, and whether they are set."""
    if name is not None:
        entry = ct.models.PROVIDERS.get(name)
        if entry is None:
            raise ct.models.providers.unknown_provider(name)
        data = {name: ct.models.providers.written(entry)}
        if json:
            print_json(data | {"trouble": entry.trouble})
        else:
            say(ct.yaml_files.as_block(data), whole=True)
        return
    found = {one: _row(entry) for one, entry in ct.models.PROVIDERS.items()}
    if json:
        print_json(found)
        return
    rows: list[list[object]] = [
        [one, row["url"], row["key"], {True: "yes", False: "no", None: ""}[row["key_is_set"]]]
        for one, row in found.items()
    ]
    print_table(None, ["provider", "where", "key", "is set"], rows)
    own = ct.models.users_file()
    variable, file = ct.models.providers.VARIABLE, ct.models.providers.FILE
    if own:
        say(f"Yours: {own}")
    hint("\nOne in full: cheaptalk providers NAME")
    if not own:
        hint(f"Add your own: {variable}=FILE, or ~/.config/{file}")


def _row(entry: ct.models.Provider) -> dict[str, Any]:
    """What a list says of a provider; never its key."""
    return {
        "url": entry.url,
        "key": entry.key,
        "key_is_set": entry.secret is not None if entry.key else None,
        "protocol": entry.protocol,
        "batch": entry.batch,
        "trouble": entry.trouble,
    }
