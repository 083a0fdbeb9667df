"""The ``study presets`` command, which lists the presets, or prints one."""

from __future__ import annotations

from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.options import JsonOption
from cheaptalk.cli.shared.printing import hint, print_json, print_table


def presets(
    name: Annotated[
        str | None,
        typer.Argument(help="Print this preset in full.", autocompletion=completion.presets),
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the presets, or print one as a study file."""
    if name is not None:
        preset = ct.preset(name)
        if preset is None:
            raise ct.rules.unknown("preset", name, ct.studies.preset_names())
        if json:
            print_json(preset.written())
        else:
            typer.echo(ct.studies.preset_text(name), nl=False)
        return
    studies = {name: ct.preset(name) for name in ct.studies.preset_names()}
    descriptions = {name: study.description for name, study in studies.items() if study}
    if json:
        print_json(descriptions)
        return
    print_table(None, ["preset", "description"], [[*row] for row in descriptions.items()])
    hint("\nCreate a study file from a preset: cheaptalk study presets NAME > my-study.yaml")
