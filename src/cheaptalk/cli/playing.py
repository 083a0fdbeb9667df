"""The command with which a person plays at the terminal."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from typing import Annotated, Any

import typer
import yaml
from rich.markup import escape
from rich.panel import Panel

import cheaptalk as ct
from cheaptalk.cli.base import DEFAULT_STORE, StoreOption, app, out


@app.command()
def play(
    game: Annotated[str, typer.Argument(help="The game, such as bargaining.")],
    against: Annotated[
        str | None,
        typer.Option(help="A strategy, or a model string such as ollama/llama3.", metavar="PLAYER"),
    ] = None,
    role: Annotated[str | None, typer.Option("--as", help="The role you play.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="A parameter of the game.", metavar="NAME=VALUE"),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the deal; random without.")] = None,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Play a game yourself at the terminal; the match is recorded like any other."""
    box = ct.game_box(game)
    roles = box.rules.roles
    mine = role or roles[0]
    if mine not in roles:
        raise ct.rules.unknown("role", mine, list(roles))
    rival = against or "random"
    entry = {"model": rival} if "/" in rival else {"strategy": rival}
    study = ct.studies.parse_study(
        {
            "name": f"played-{game}",
            "seed": secrets.randbelow(2**31) if seed is None else seed,
            "games": [{"game": game, "fixed": _parameters(set_ or [])}],
            "players": {"you": {"person": "terminal"}, "rival": entry},
            "pairing": [["you" if one == mine else "rival" for one in roles]],
        },
        "cheaptalk play",
    )
    with ct.Store.open(store, create=True) as opened:
        progress = ct.run(study, opened, ask_person=_at_the_terminal, concurrency=1)
        laid = ct.studies.lay_out(study, opened)
        record = opened.find(laid.matches[0].id)
    _end(record, mine, progress)


def _parameters(written: list[str]) -> dict[str, Any]:
    values = {}
    for one in written:
        name, equals, value = one.partition("=")
        if not equals:
            raise typer.BadParameter(f'"{one}" is not NAME=VALUE', param_hint="--set")
        values[name] = yaml.safe_load(value)
    return values


def _end(record: ct.MatchRecord, mine: str, progress: ct.Progress) -> None:
    for line in ct.records.transcript(record)[-2:] if record.body.get("answers") else ():
        if line.seat.partition("_")[0] == mine and line.kind is None:
            out.print(Panel(escape(line.text), title="the end"), soft_wrap=False)
    if record.payoffs is None:
        out.print(f"The match ended as {record.status.value}: {record.reason}", markup=False)
    else:
        for role, gain in record.payoffs.items():
            out.print(f"{role}: {gain:,.10g}")
    out.print(f"\nRead it again with: cheaptalk show {record.id}")
    if progress.failed:
        raise typer.Exit(1)


async def _at_the_terminal(call: ct.players.PersonCall) -> ct.models.Reply:
    text = await asyncio.to_thread(_ask, call)
    return ct.models.Reply(text=text)


def _ask(call: ct.players.PersonCall) -> str:
    if call.problem is None:
        for paragraph in call.news:
            out.print(Panel(escape(paragraph)), soft_wrap=False)
        out.print(escape(call.question))
    else:
        out.print(f"[red]That does not count: {escape(call.problem)}.[/]")
    return json.dumps({name: _field(name, spec) for name, spec in call.form["properties"].items()})


def _field(name: str, spec: dict[str, Any]) -> object:
    """Ask for one field of the answer; a choice may be shortened to its first letters."""
    options = [str(option) for option in spec.get("enum", ())]
    hint = f" ({' / '.join(options)})" if options else ""
    while True:
        out.print(f"[bold]{name.replace('_', ' ')}[/]{hint}: ", end="")
        line = sys.stdin.readline()
        if not line:
            raise KeyboardInterrupt
        text = line.rstrip("\n")
        if not options:
            return text
        chosen = [option for option in options if text and option.startswith(text.strip().lower())]
        if len(chosen) == 1:
            return chosen[0]
        out.print(f"[red]Please write one of {', '.join(options)}.[/]")
