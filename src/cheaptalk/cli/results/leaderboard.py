"""The command that ranks players over several studies: leaderboard."""

from __future__ import annotations

from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.results.outputs import FiguresOption, PageOption, TablesOption, hand_over
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.options import (
    DEFAULT_STORE,
    VIEWER,
    DrawSeedOption,
    JsonOption,
    RawCellsOption,
    StoreOption,
    ViewerOption,
)
from cheaptalk.cli.shared.outside import finishing
from cheaptalk.cli.shared.printing import err
from cheaptalk.extras import needing


@finishing()
def leaderboard(
    studies: Annotated[
        list[str],
        typer.Argument(
            help="Names of studies, one or several.", autocompletion=completion.stored_studies
        ),
    ],
    store: StoreOption = DEFAULT_STORE,
    game: Annotated[
        list[str] | None,
        typer.Option("--game", help="Only this game. Repeat it.", autocompletion=completion.games),
    ] = None,
    new: Annotated[
        list[str] | None,
        typer.Option(
            "--new",
            help="A player who joined: give ranks without it too. Repeat it.",
            metavar="LABEL",
        ),
    ] = None,
    draws: Annotated[int, typer.Option(min=100, help="Bootstrap draws.")] = 1000,
    seed: DrawSeedOption = 0,
    to: PageOption = None,
    tables: TablesOption = None,
    figures: FiguresOption = None,
    raw_cells: RawCellsOption = False,
    viewer: ViewerOption = VIEWER,
    json: JsonOption = False,
) -> None:
    """Rank players over all games of some studies, with ranges of their ranks."""
    with ct.Store.open(store) as opened, needing("analysis"):
        for name in studies:
            opened.study(name, counted=False)
        with err.status(f"ranking the players of {', '.join(studies)}"):
            found = ct.reports.leaderboard(
                opened, studies, games=game or (), new=new or (), draws=draws, seed=seed
            )
        hand_over(found, found.tables, to, tables, figures, raw_cells, viewer, json)
