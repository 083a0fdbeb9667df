"""The command that writes a package to begin with: new."""

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
    """What can be written."""

    GAME = "game"
    PLAYER = "player"
    STYLE = "style"


def new(
    kind: Annotated[Kind, typer.Argument(help="What to write: game, player or style.")],
    name: Annotated[str, typer.Argument(help="Its name, such as haggle.")],
    game: Annotated[
        str | None,
        typer.Option(
            help="Whose player or style it is.",
            show_default="bargaining",
            autocompletion=completion.games,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The folder to write.",
            show_default="the name with dashes, in this folder",
            callback=file_to_write,
        ),
    ] = None,
) -> None:
    """Write a small package with a game, player or style of your own, which passes its tests."""
    if kind is Kind.GAME and game is not None:
        raise ct.CheaptalkError("--game says whose player or style it is; a new game is its own")
    of = game or "bargaining"
    match kind:
        case Kind.GAME:
            files = ct.starters.write_game(name, out)
        case Kind.PLAYER:
            files = ct.starters.write_player(name, of, out)
        case Kind.STYLE:
            files = ct.starters.write_style(name, of, out)
    for file in files:
        say(file, whole=True)
    folder = next(file.parent for file in files if file.name == "pyproject.toml")
    hint(f"\n{folder / 'README.md'} says what is what and how to go on")
