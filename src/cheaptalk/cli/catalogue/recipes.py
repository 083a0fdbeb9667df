"""The ``study recipes`` command, which lists the report recipes."""

from __future__ import annotations

import cheaptalk as ct
from cheaptalk.cli.shared.options import JsonOption
from cheaptalk.cli.shared.printing import hint, print_json, print_table
from cheaptalk.extras import needing


def recipes(json: JsonOption = False) -> None:
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
    rows: list[list[object]] = [
        [recipe.name, recipe.title, recipe.paper] for recipe in registered.values()
    ]
    print_table(None, ["recipe", "description", "paper"], rows)
    hint("\nUse a recipe in a report: cheaptalk report STUDY --recipe NAME")
