"""Commands that show recorded matches: show and view."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape

import cheaptalk as ct
from cheaptalk.cli.base import DEFAULT_STORE, JsonOption, StoreOption, app, out, print_json

COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")


@app.command()
def show(
    match: Annotated[str, typer.Argument(help="A match's id, or the beginning of one.")],
    store: StoreOption = DEFAULT_STORE,
    seat: Annotated[str | None, typer.Option(help="Only what this seat saw and said.")] = None,
    calls: Annotated[bool, typer.Option("--calls", help="Also every call, word for word.")] = False,
    json: JsonOption = False,
) -> None:
    """Show a match: what each seat was told, asked and answered."""
    with ct.Store.open(store) as opened:
        record = opened.find(match)
        ledger = opened.open_calls(record.id)
    if json:
        print_json(record.as_json() | {"open_calls": ledger})
        return
    _header(record)
    if record.body.get("answers") is not None:
        _play(record, seat, calls)
    for call in ledger:
        out.print(f"request {call['request']} {call['seat']}, sending {call['try']}: "
                  f"{call['state']} {_failure(call)}", markup=False)  # fmt: skip
    if record.payoffs:
        gains = ", ".join(f"{place} {gain:,.10g}" for place, gain in record.payoffs.items())
        out.print(f"\n[bold]payoffs[/] {gains}")


def _header(record: ct.MatchRecord) -> None:
    reason = f" ({record.reason})" if record.reason else ""
    out.print(f"[bold]{record.game}[/] {record.id}  {record.status.value}{escape(reason)}")
    for places, player in ct.records.runs(record.seats):
        settings = {key: value for key, value in player["spec"].items() if value is not None}
        out.print(f"{' to '.join(places)}: {player['label']} {settings}", markup=False)
    out.print(", ".join(f"{key}={value}" for key, value in record.parameters.items()), markup=False)
    source = record.body.get("source")
    if source:
        out.print(f"imported from {source['system']}, {source['id']}; the players read that "
                  "system's words, not the ones below", markup=False)  # fmt: skip
    out.print()


def _play(record: ct.MatchRecord, seat: str | None, calls: bool) -> None:
    """What one seat lived through, or all; of many seats together what they heard at once."""
    lines = ct.records.transcript(record)
    seats = list(dict.fromkeys(line.seat for line in lines))
    if seat is not None and seat not in seats:
        raise ct.rules.unknown("seat", seat, seats)
    colours = {one: COLOURS[number % len(COLOURS)] for number, one in enumerate(seats)}
    if seat is None and len(record.seats) > ct.records.FEW:
        for scene in ct.records.gathered(lines):
            out.print(f"[bold]{escape(scene.head(len(seats)))}[/]")
            out.print(scene.shown, markup=False)
            for line in scene.lines:
                _answer(line, colours[line.seat], calls)
            out.print()
        return
    for line in lines:
        if seat is None or line.seat == seat:
            out.print(f"[{colours[line.seat]}]to {line.name} ({line.seat})[/]")
            out.print(line.text, markup=False)
            _answer(line, colours[line.seat], calls)
            out.print()


def _answer(line: ct.records.Line, colour: str, calls: bool) -> None:
    if line.kind is not None:
        said = "no valid answer" if line.answer is None else str(line.answer)
        mark = "" if line.kind == "ok" else f" [{line.kind}]"
        out.print(f"[bold {colour}]{line.name} answers{escape(mark)}:[/] {escape(said)}")
    for call in line.calls if calls else ():
        _call(call)


def _call(call: dict[str, Any]) -> None:
    for message in call["call"].get("messages", ()):
        out.print(f"  [dim]{message['role']}[/]")
        out.print(message["content"], markup=False, style="dim")
    reply = call["reply"]
    out.print(f"  [dim]reply in {reply.get('seconds', 0):.2f} s, {reply.get('usage', {})}[/]")
    out.print(reply.get("text") or reply.get("detail") or "", markup=False, style="italic")


def _failure(call: dict[str, Any]) -> str:
    reply = call["reply"] or {}
    return reply.get("detail") or ""
