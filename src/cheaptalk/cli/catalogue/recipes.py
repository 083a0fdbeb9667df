"""The command that lists the report recipes: recipes."""

from __future__ import annotations

import cheaptalk as ct
from cheaptalk.cli.shared.options import JsonOption
from cheaptalk.cli.shared.printing import hint, print_json, print_table
from cheaptalk.extras import needing


def recipes(json: JsonOption = False) -> None:
    """List the report recipes: the tables and figures of papers, made from any study."""
    with needing("analysis"):
        known = ct.reports.RECIPES
    if json:
        print_json(
            {
                one.name: {
                    "title": one.title,
                    "paper": one.paper,
                    "parts": {part.title: part.source for part in one.parts},
                    "options": dict(one.options),
                }
                for one in known.values()
            }
        )
        return
    rows: list[list[object]] = [[one.name, one.title, one.paper] for one in known.values()]
    print_table(None, ["recipe", "what it makes", "paper"], rows)
    hint("\nMake one of a study: cheaptalk report STUDY --recipe NAME")
