"""The command that lets bots play in the browser: bots."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.options import JsonOption
from cheaptalk.cli.shared.printing import print_json, say
from cheaptalk.cli.shared.sentences import counted


def bots(
    url: Annotated[
        str,
        typer.Argument(
            help="Where they begin: the gallery, a game's page, an invitation, or the link "
            "by which participants come, with {id} where it has their id."
        ),
    ],
    people: Annotated[int, typer.Option(min=1, help="How many play at once.")] = 10,
    think: Annotated[
        float, typer.Option(min=0, help="Seconds that each thinks before a click, on average.")
    ] = 5.0,
    matches: Annotated[int, typer.Option(min=1, help="Matches that each plays.")] = 1,
    games: Annotated[
        list[str] | None,
        typer.Option(
            "--game",
            help="Choose among these games only. Repeat it for several.",
            autocompletion=completion.games,
        ),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(
            help="A YAML file of answers to questions of a study, by their names; the others "
            "are guessed.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that they choose.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Let bots play as people do, by the pages of a server, and say how it went."""
    began = time.perf_counter()
    crowd = ct.web.Crowd(url, people, think, matches, games or (), seed, answers=_told(answers))
    tally = asyncio.run(crowd.play())
    seconds = time.perf_counter() - began
    if as_json:
        print_json(tally.summary() | {"took": seconds})
    else:
        say(
            f"{counted(people, 'bot')} played {counted(tally.matches, 'match')} with "
            f"{counted(tally.moves, 'move')} in {seconds:,.0f} s; {tally.refused:,} answers were "
            f"refused"
        )
        say(
            f"{counted(tally.pages, 'page')}: half came within {tally.slowest(50):.3f} s, 95 % "
            f"within {tally.slowest(95):.3f} s, all within {tally.slowest(100):.3f} s"
        )
        say(f"{tally.slowed:,} times slowed down; {counted(tally.lost, 'connection')} lost")
        if tally.endings:
            ends = ", ".join(f"{kind} {times:,}" for kind, times in tally.endings.most_common())
            say(f"Visits ended: {ends}")
        for error, times in tally.errors.most_common():
            say(f"{times:,} x {error}")
    if tally.errors:
        raise typer.Exit(1)


def _told(answers: Path | None) -> dict[str, str]:
    """Answers from a file; what YAML reads of yes and no are words here."""
    try:
        read = {} if answers is None else ct.yaml_files.read_yaml(answers)
    except ValueError as error:
        raise ct.CheaptalkError(str(error)) from None
    if not isinstance(read, dict):
        raise ct.CheaptalkError(f"{answers} has no answers; write NAME: ANSWER in each line")
    words = {"True": "yes", "False": "no"}
    return {str(name): words.get(str(one), str(one)) for name, one in read.items()}
