"""The ``game new`` command, which creates a package with a new game, strategy or prompt style."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.options import file_to_write
from cheaptalk.cli.shared.printing import hint, say


class Kind(StrEnum):
    """A kind of package to create."""

    GAME = "game"
    PLAYER = "player"
    STYLE = "style"


def new(
    kind: Annotated[
        Kind,
        typer.Argument(
            help="Kind of package: game, player (a scripted strategy) or style (a prompt style)."
        ),
    ],
    name: Annotated[str, typer.Argument(help="Name of the new game, strategy or style.")],
    game: Annotated[
        str | None,
        typer.Option(
            help="Write the strategy or prompt style for this game.",
            show_default="bargaining",
            autocompletion=completion.games,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Create the package in this new folder.",
            show_default="NAME, with dashes for underscores",
            callback=file_to_write,
        ),
    ] = None,
) -> None:
    """Create a package with a new game, strategy or prompt style.

    The new package works and passes its tests; edit it to implement your own game, strategy or
    prompt style.
    """
    if kind is Kind.GAME and game is not None:
        raise ct.CheaptalkError("--game is only valid with the kinds player and style; remove it")
    if kind is Kind.GAME:
        files = ct.starters.write_game(name, out)
    else:
        write = ct.starters.write_player if kind is Kind.PLAYER else ct.starters.write_style
        files = write(name, game or "bargaining", out)
    for file in files:
        say(file, whole=True)
    folder = next(file.parent for file in files if file.name == "pyproject.toml")
    hint(f"\n{folder / 'README.md'} describes the files and the next steps")
