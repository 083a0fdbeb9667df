"""The commands ``study presets`` and ``study recipes``."""

from __future__ import annotations

from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.printing import hint, print_json, print_table
from cheaptalk.extras import needing


def presets(
    name: Annotated[str | None, opt.Settings(autocompletion=completion.presets)] = None,
    /,
    json: opt.Json = False,
) -> None:
    """List the presets, or print one as a study file.

    Args:
        name: Print this preset in full.
    """
    if name is not None:
        if json:
            print_json(ct.preset(name).written())
        else:
            typer.echo(ct.studies.preset_text(name), nl=False)
        return
    studies = {name: ct.preset(name) for name in ct.studies.preset_names()}
    descriptions = {name: study.description for name, study in studies.items()}
    if json:
        print_json(descriptions)
        return
    print_table(None, ["preset", "description"], [[*row] for row in descriptions.items()])
    hint("\nCreate a study file from a preset: cheaptalk study presets NAME > my-study.yaml")


def recipes(json: opt.Json = False) -> None:
    """List the recipes for the tables and figures of papers."""
    with needing("analysis"):
        registered = ct.reports.RECIPES
    if json:
        print_json(
            {
                recipe.name: {
                    "title": recipe.title,
                    "paper": recipe.paper,
                    "parts": {part.title: part.source for part in recipe.parts},
                    "options": dict(recipe.options),
                }
                for recipe in registered.values()
            }
        )
        return
    rows = [[recipe.name, recipe.title, recipe.paper] for recipe in registered.values()]
    print_table(None, ["recipe", "description", "paper"], rows)
    hint("\nUse a recipe in a report: cheaptalk report STUDY --recipe NAME")
