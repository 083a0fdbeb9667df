"""The command that compares two studies: compare."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.results.outputs import FiguresOption, PageOption, TablesOption, hand_over
from cheaptalk.cli.shared import completion
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
from cheaptalk.cli.shared.outside import finishing
from cheaptalk.cli.shared.printing import err
from cheaptalk.extras import needing


@finishing()
def compare(
    study: Annotated[
        str,
        typer.Argument(
            help="The name of a study.", autocompletion=completion.stored_studies, metavar="A"
        ),
    ],
    other: Annotated[
        str,
        typer.Argument(
            help="The study to compare with it.",
            autocompletion=completion.stored_studies,
            metavar="B",
        ),
    ],
    store: StoreOption = DEFAULT_STORE,
    other_store: Annotated[
        Path | None, typer.Option("--other-store", help="Where B is, if it is not in --store.")
    ] = None,
    stands: Annotated[
        list[str] | None,
        typer.Option(
            "--as",
            help="A player of B to be compared with a player of A of another name. Repeat it.",
            metavar="NEW=OLD",
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
    """Compare two studies, match by match where they share deals: B less A, with intervals."""
    renamed = dict(pair(one, "NEW=OLD", "--as") for one in stands or ())
    with (
        ct.Store.open(store) as first,
        ct.Store.open(other_store) if other_store else nullcontext(first) as second,
        needing("analysis"),
    ):
        for where, name in ((first, study), (second, other)):
            where.study(name, counted=False)
        with err.status(f"comparing {study} with {other}"):
            found = ct.reports.compare(
                first, study, other, other_store=second, renamed=renamed, as_published=as_published
            )
        changed = {name: one for name, one in found.tables.items() if name.startswith("compare-")}
        hand_over(found, changed, to, tables, figures, raw_cells, viewer, json)
