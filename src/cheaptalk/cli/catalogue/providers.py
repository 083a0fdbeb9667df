"""The ``model providers`` command, which lists the model providers, or shows one in full."""

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
            help="Show all settings of this provider, in the format of a providers file.",
            autocompletion=completion.providers,
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the model providers and whether their API keys are set."""
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
    by_name = {provider: _row(entry) for provider, entry in ct.models.PROVIDERS.items()}
    if json:
        print_json(by_name)
        return
    rows: list[list[object]] = [
        [provider, row["url"], row["key"], {True: "yes", False: "no", None: ""}[row["key_is_set"]]]
        for provider, row in by_name.items()
    ]
    print_table(None, ["provider", "URL", "key variable", "key set"], rows)
    users_file = ct.models.users_file()
    variable, file = ct.models.providers.VARIABLE, ct.models.providers.FILE
    if users_file:
        say(f"Your providers file: {users_file}")
    hint("\nShow a provider in full: cheaptalk model providers NAME")
    if not users_file:
        hint(f"Add your own providers: set {variable}=FILE, or create ~/.config/{file}")


def _row(entry: ct.models.Provider) -> dict[str, Any]:
    """Return the settings of a provider, without the value of its API key."""
    return {
        "url": entry.url,
        "key": entry.key,
        "key_is_set": entry.secret is not None if entry.key else None,
        "protocol": entry.protocol,
        "batch": entry.batch,
        "trouble": entry.trouble,
    }
