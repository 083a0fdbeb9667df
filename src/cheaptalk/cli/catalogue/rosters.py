"""The ``model rosters`` command, which lists the rosters of models, or shows one in full."""

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
            help="Show all players of this roster: a name or a YAML file.",
            autocompletion=completion.rosters,
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the rosters of models, or show one in full."""
    if name is not None:
        try:
            roster = ct.players.roster(name)
        except ValueError as error:
            raise ct.StudyError(str(error)) from None
        _show(roster, json)
        return
    by_name = {name: ct.players.roster(name) for name in ct.players.roster_names()}
    if json:
        print_json({name: roster.description for name, roster in by_name.items()})
        return
    rows: list[list[object]] = [
        [name, len(roster.players), roster.description] for name, roster in by_name.items()
    ]
    print_table(None, ["roster", "players", "description"], rows)
    hint("\nShow a roster in full: cheaptalk model rosters NAME")
    hint("Add a roster to a study: cheaptalk plan STUDY --roster NAME (or NAME:LABEL,...)")


def _show(roster: ct.players.Roster, json: bool) -> None:
    entries = roster.entries()
    if json:
        print_json(roster.model_dump() | {"players": entries, "notes": roster.notes})
        return
    for text in filter(None, (roster.description, roster.source)):
        say(text)
    out.print()
    for label, entry in entries.items():
        note = f" # {roster.notes[label]}" if label in roster.notes else ""
        say(f"{label}: {ct.yaml_files.as_yaml(entry)}{note}")
