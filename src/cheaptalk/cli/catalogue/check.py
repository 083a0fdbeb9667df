"""The command that runs the conformance kit on a game: check."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.options import JsonOption
from cheaptalk.cli.shared.printing import out, print_json, say
from cheaptalk.cli.shared.progress import StatusLine
from cheaptalk.cli.shared.sentences import counted


def check(
    game: Annotated[
        str,
        typer.Argument(
            help="A game, or where its box stands, such as mygame:BOX.",
            metavar="GAME",
            autocompletion=completion.games,
        ),
    ],
    seeds: Annotated[int, typer.Option(min=1, help="Matches of each kind, each by a seed.")] = 3,
    limit: Annotated[
        float,
        typer.Option(
            min=0,
            help="Seconds that the game's code may take from one answer to the next; 0 for any.",
            metavar="SECONDS",
        ),
    ] = 60,
    json: JsonOption = False,
) -> None:
    """Check that a game keeps every law that games keep."""
    if ":" in game:
        sys.path.insert(0, str(Path.cwd()))  # where a module lies that nobody has installed
    box = ct.conformance.box_at(game)
    laws = len(ct.conformance.CHECKS) + len(ct.conformance.BOX_CHECKS)
    found: list[ct.conformance.Verdict] = []
    numbers = [str(one + 1) for one in range(seeds)]
    with StatusLine().shown(f"{box.name}: 0 of {laws} laws checked") as show:
        for verdict in ct.conformance.verdicts(box, numbers, limit=limit):
            found.append(verdict)
            show(f"{box.name}: {len(found)} of {laws} laws checked")
    broken = [one for one in found if one.problem is not None]
    if json:
        print_json([one._asdict() for one in found])
    else:
        _print_verdicts(found)
        for missing in ct.conformance.advice(box):
            out.print("[yellow]advice[/]  ", end="")
            say(missing)
        kept = f"{len(found) - len(broken)} of {laws} laws kept"
        if len(found) < laws:
            kept += f" and {laws - len(found)} not checked"
        strategies = counted(len(box.strategies), "strategy")
        variants = counted(len(ct.conformance.variants(box)), "variant")
        say(f"{box.name}: {kept}, in {variants} with {counted(seeds, 'seed')} and {strategies}")
    if broken:
        raise typer.Exit(1)


def _print_verdicts(found: list[ct.conformance.Verdict]) -> None:
    """Every law that is kept, and every cause for which others are not, where it came first."""
    met: dict[str | None, list[str]] = {}
    for one in found:
        met.setdefault(one.cause, []).append(one.check)
    for one in found:
        first, *others = met[one.cause]
        if one.problem is None:
            out.print("[green]kept[/]    ", end="")
            say(f"{one.check}: {one.law}")
        elif one.check == first:
            out.print("[red]broken[/]  ", end="")
            say(one.problem.partition(": ")[2])
            if others:
                say(
                    f"        the same in {counted(len(others), 'more check')}: {', '.join(others)}"
                )
