"""The ``leaderboard`` command, which ranks players over several studies."""

from __future__ import annotations

from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.results.outputs import FiguresOption, PageOption, TablesOption, write_results
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.interrupts import finishing
from cheaptalk.cli.shared.options import (
    DEFAULT_STORE,
    VIEWER,
    DrawSeedOption,
    JsonOption,
    RawCellsOption,
    StoreOption,
    ViewerOption,
)
from cheaptalk.cli.shared.printing import err
from cheaptalk.extras import needing


@finishing()
def leaderboard(
    studies: Annotated[
        list[str],
        typer.Argument(
            help="Names of one or more studies in the store.",
            autocompletion=completion.stored_studies,
        ),
    ],
    store: StoreOption = DEFAULT_STORE,
    game: Annotated[
        list[str] | None,
        typer.Option(
            "--game",
            help="Rank players by matches of this game only. Repeatable.",
            metavar="NAME",
            autocompletion=completion.games,
        ),
    ] = None,
    newcomer: Annotated[
        list[str] | None,
        typer.Option(
            "--newcomer", help="Also report ranks without this player. Repeatable.", metavar="LABEL"
        ),
    ] = None,
    draws: Annotated[int, typer.Option(min=100, metavar="N", help="Use N bootstrap draws.")] = 1000,
    seed: DrawSeedOption = 0,
    to: PageOption = None,
    tables: TablesOption = None,
    figures: FiguresOption = None,
    raw_cells: RawCellsOption = False,
    viewer: ViewerOption = VIEWER,
    json: JsonOption = False,
) -> None:
    """Rank players across studies, with rank intervals."""
    with ct.Store.open(store) as opened, needing("analysis"):
        for name in studies:
            opened.study(name, counted=False)
        with err.status(f"ranking the players of {', '.join(studies)}"):
            findings = ct.reports.leaderboard(
                opened, studies, games=game or (), new=newcomer or (), draws=draws, seed=seed
            )
        write_results(findings, findings.tables, to, tables, figures, raw_cells, viewer, json)
