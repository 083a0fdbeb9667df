"""The ``study bots`` command, which runs bots in a web study."""

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
            help="Address to start from: the gallery, a game's page, an invitation, or the "
            "participants' link with {id} in place of the participant ID."
        ),
    ],
    people: Annotated[
        int, typer.Option("--bots", min=1, metavar="N", help="Run N bots at once.")
    ] = 10,
    think: Annotated[
        float,
        typer.Option(
            "--think-time",
            min=0,
            metavar="SECONDS",
            help="Wait this long, on average, before each click.",
        ),
    ] = 5.0,
    matches: Annotated[
        int, typer.Option("--matches-per-bot", min=1, metavar="N", help="Play N matches per bot.")
    ] = 1,
    games: Annotated[
        list[str] | None,
        typer.Option(
            "--game",
            help="Only play this game. Repeatable.",
            metavar="NAME",
            autocompletion=completion.games,
        ),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(
            help="Read answers to survey and quiz questions from this YAML file (NAME: ANSWER). "
            "Bots guess all other answers.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Set the random seed of the bots' choices.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Run bots that play through the web pages.

    The command prints page load times, refused moves and errors. The exit status is 1 after an
    error.
    """
    started = time.perf_counter()
    prepared = _read_answers(answers)
    crowd = ct.web.Crowd(url, people, think, matches, games or (), seed, answers=prepared)
    tally = asyncio.run(crowd.play())
    seconds = time.perf_counter() - started
    if as_json:
        print_json(tally.summary() | {"took": seconds})
    else:
        say(
            f"{counted(people, 'bot')} played {counted(tally.matches, 'match')} with "
            f"{counted(tally.moves, 'move')} in {seconds:,.0f} s; {tally.refused:,} moves were "
            "refused"
        )
        say(
            f"{counted(tally.pages, 'page')}: load time {tally.slowest(50):.3f} s (median), "
            f"{tally.slowest(95):.3f} s (95th percentile), {tally.slowest(100):.3f} s (max)"
        )
        lost = counted(tally.lost, "connection")
        say(f"{counted(tally.slowed, 'request')} rate limited, {lost} lost")
        if tally.endings:
            endings = ", ".join(f"{kind} {count:,}" for kind, count in tally.endings.most_common())
            say(f"Visits by outcome: {endings}")
        for error, count in tally.errors.most_common():
            say(f"{count:,} x {error}")
    if tally.errors:
        raise typer.Exit(1)


def _read_answers(answers: Path | None) -> dict[str, str]:
    """Read answers by name from a YAML file, and convert true and false to yes and no."""
    try:
        data = {} if answers is None else ct.yaml_files.read_yaml(answers)
    except ValueError as error:
        raise ct.CheaptalkError(str(error)) from None
    if not isinstance(data, dict):
        raise ct.CheaptalkError(f"{answers} is not a mapping; expected lines NAME: ANSWER")
    booleans = {"True": "yes", "False": "no"}
    return {str(name): booleans.get(str(value), str(value)) for name, value in data.items()}
