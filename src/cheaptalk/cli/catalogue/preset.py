"""The command that lists the presets, or prints one: preset."""

from __future__ import annotations

from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.options import JsonOption
from cheaptalk.cli.shared.printing import hint, print_json, print_table


def preset(
    name: Annotated[
        str | None,
        typer.Argument(help="Print this one in full.", autocompletion=completion.presets),
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the presets, or print one as YAML to start a study file of one's own from."""
    if name is not None:
        found = ct.preset(name)
        if found is None:
            raise ct.rules.unknown("preset", name, ct.studies.preset_names())
        if json:
            print_json(found.written())
        else:
            typer.echo(ct.studies.preset_text(name), nl=False)
        return
    found_all = {known: ct.preset(known) for known in ct.studies.preset_names()}
    about = {known: study.description for known, study in found_all.items() if study}
    if json:
        print_json(about)
        return
    print_table(None, ["preset", "what it is"], [[known, text] for known, text in about.items()])
    hint("\nStart a study of your own: cheaptalk preset NAME > my-study.yaml")
