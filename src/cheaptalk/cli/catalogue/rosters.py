"""The command that lists the rosters of models, or shows one in full: rosters."""

from __future__ import annotations

from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.options import JsonOption
from cheaptalk.cli.shared.printing import hint, out, print_json, print_table, say


def rosters(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Show this one in full: a name or a file.", autocompletion=completion.rosters
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the rosters of models, or show one with the settings of its players."""
    if name is not None:
        try:
            chosen = ct.players.roster(name)
        except ValueError as error:
            raise ct.StudyError(str(error)) from None
        _show(chosen, json)
        return
    known = {one: ct.players.roster(one) for one in ct.players.roster_names()}
    if json:
        print_json({one: found.description for one, found in known.items()})
        return
    rows: list[list[object]] = [
        [one, len(found.players), found.description] for one, found in known.items()
    ]
    print_table(None, ["roster", "players", "who they are"], rows)
    hint("\nOne in full: cheaptalk rosters NAME")
    hint("Let them play: cheaptalk plan STUDY --roster NAME, or NAME:LABEL,...")


def _show(found: ct.players.Roster, json: bool) -> None:
    entries = found.entries()
    if json:
        print_json(found.model_dump() | {"players": entries, "notes": found.notes})
        return
    for about in filter(None, (found.description, found.source)):
        say(about)
    out.print()
    for label, entry in entries.items():
        note = f" # {found.notes[label]}" if label in found.notes else ""
        say(f"{label}: {ct.yaml_files.as_yaml(entry)}{note}")
