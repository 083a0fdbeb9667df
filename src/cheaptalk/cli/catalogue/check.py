"""The ``game check`` command, which checks a game with the conformance kit."""

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
            help="Name of a game, or MODULE:NAME of its game spec, e.g. mygame:SPEC.",
            metavar="GAME",
            autocompletion=completion.games,
        ),
    ],
    seeds: Annotated[
        int, typer.Option(min=1, help="Play matches of each kind with N random seeds.", metavar="N")
    ] = 3,
    timeout: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Fail if the game's code takes longer than this between two actions; 0 turns the "
            "limit off.",
        ),
    ] = 60,
    json: JsonOption = False,
) -> None:
    """Run the conformance checks on a game."""
    if ":" in game:
        sys.path.insert(0, str(Path.cwd()))  # to import a module that is not installed
    spec = ct.conformance.spec_at(game)
    total = len(ct.conformance.CHECKS) + len(ct.conformance.SPEC_CHECKS)
    verdicts: list[ct.conformance.Verdict] = []
    numbers = [str(index + 1) for index in range(seeds)]
    with StatusLine().shown(f"{spec.name}: 0 of {total} checks done") as show:
        for verdict in ct.conformance.verdicts(spec, numbers, limit=timeout):
            verdicts.append(verdict)
            show(f"{spec.name}: {len(verdicts)} of {total} checks done")
    failures = sum(verdict.problem is not None for verdict in verdicts)
    if json:
        print_json([verdict._asdict() for verdict in verdicts])
    else:
        _print_verdicts(verdicts)
        for advice in ct.conformance.advice(spec):
            out.print("[yellow]advice[/]  ", end="")
            say(advice)
        summary = f"{len(verdicts) - failures} of {total} checks passed"
        if len(verdicts) < total:
            summary += f", {total - len(verdicts)} not run"
        strategies = counted(len(spec.strategies), "strategy")
        variants = counted(len(ct.conformance.variants(spec)), "variant")
        tested = f"{variants}, {counted(seeds, 'seed')}, {strategies}"
        say(f"{spec.name}: {summary} ({tested})")
    if failures:
        raise typer.Exit(1)


def _print_verdicts(verdicts: list[ct.conformance.Verdict]) -> None:
    """Print the passed checks, and each cause of failure with all the checks that it affects."""
    checks: dict[str | None, list[str]] = {}
    for verdict in verdicts:
        checks.setdefault(verdict.cause, []).append(verdict.check)
    for verdict in verdicts:
        first, *others = checks[verdict.cause]
        if verdict.problem is None:
            out.print("[green]passed[/]  ", end="")
            say(f"{verdict.check}: {verdict.requirement}")
        elif verdict.check == first:
            out.print("[red]failed[/]  ", end="")
            say(verdict.problem.partition(": ")[2])
            if others:
                more = counted(len(others), "more check")
                say(f"        {more} failed for the same reason: {', '.join(others)}")
