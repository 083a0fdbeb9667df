"""The ``compare`` command, which compares two studies."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.results.outputs import FiguresOption, PageOption, TablesOption, write_results
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.interrupts import finishing
from cheaptalk.cli.shared.options import (
    DEFAULT_STORE,
    VIEWER,
    JsonOption,
    PublishedOption,
    RawCellsOption,
    StoreOption,
    ViewerOption,
    pair,
)
from cheaptalk.cli.shared.printing import err
from cheaptalk.extras import needing


@finishing()
def compare(
    study: Annotated[
        str,
        typer.Argument(
            help="Name of the first study.", autocompletion=completion.stored_studies, metavar="A"
        ),
    ],
    other: Annotated[
        str,
        typer.Argument(
            help="Name of the second study.", autocompletion=completion.stored_studies, metavar="B"
        ),
    ],
    store: StoreOption = DEFAULT_STORE,
    other_store: Annotated[
        Path | None,
        typer.Option(
            "--other-store", help="Read the second study (B) from this store instead of --store."
        ),
    ] = None,
    alias: Annotated[
        list[str] | None,
        typer.Option(
            "--alias",
            help="Treat the player ALIAS of study B as the player NAME of study A. Repeatable.",
            metavar="ALIAS=NAME",
        ),
    ] = None,
    to: PageOption = None,
    tables: TablesOption = None,
    figures: FiguresOption = None,
    raw_cells: RawCellsOption = False,
    as_published: PublishedOption = False,
    viewer: ViewerOption = VIEWER,
    json: JsonOption = False,
) -> None:
    """Compare two studies on their common instances.

    The command reports the difference B - A of each player's metrics with confidence intervals.
    Matches on an instance that both studies contain are compared as pairs.
    """
    renamed = dict(pair(text, "ALIAS=NAME", "--alias") for text in alias or ())
    with (
        ct.Store.open(store) as first,
        ct.Store.open(other_store) if other_store else nullcontext(first) as second,
        needing("analysis"),
    ):
        for opened, name in ((first, study), (second, other)):
            opened.study(name, counted=False)
        with err.status(f"comparing {study} with {other}"):
            findings = ct.reports.compare(
                first, study, other, other_store=second, renamed=renamed, as_published=as_published
            )
        tables_ = findings.tables.items()
        changes = {name: table for name, table in tables_ if name.startswith("compare-")}
        write_results(findings, changes, to, tables, figures, raw_cells, viewer, json)
