"""The command that shows a recorded match: show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from json import dumps
from typing import Annotated, Any, NamedTuple, TypeAlias

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.options import DEFAULT_STORE, JsonOption, StoreOption
from cheaptalk.cli.shared.printing import escaped, out, print_json, say
from cheaptalk.cli.shared.sentences import counted
from cheaptalk.text import visible

COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")
Waiting: TypeAlias = dict[tuple[int, str], list[dict[str, Any]]]
"""Calls that are no part of the record, by question."""


def show(
    match: Annotated[str, typer.Argument(help="A match's id, or the beginning of one.")],
    store: StoreOption = DEFAULT_STORE,
    seat: Annotated[str | None, typer.Option(help="Only what this seat knew and said.")] = None,
    request: Annotated[
        int | None,
        typer.Option(min=0, help="Only this question, as numbered in what is shown and exported."),
    ] = None,
    calls: Annotated[bool, typer.Option("--calls", help="Also every call, word for word.")] = False,
    json: JsonOption = False,
) -> None:
    """Show a match: what each seat was told, asked and answered, and each call it took."""
    with ct.Store.open(store) as opened:
        record = opened.find(match)
        ledger = opened.open_calls(record.id)
        stands = [
            ct.records.Standing(opened, study).of(record)
            for study in ct.records.studies_of(opened, record.id)
        ]
    view = None if seat is None else ct.records.seat_view(record, seat)
    chosen = _Chosen(seat, request, calls)
    if json:
        data = _whole(record, stands) if view is None else view.as_json()
        data["open_calls"] = ledger
        for key in data.keys() & {"answers", "lines", "open_calls"}:
            data[key] = chosen.among(data[key])
        print_json(data)
        return
    if request is None:
        _header(record, stands, view)
    waiting: Waiting = {}
    for call in chosen.among(ledger):
        waiting.setdefault((call["request"], call["seat"]), []).append(call)
    if record.body.get("answers") is not None:
        _play(
            record, ct.records.transcript(record) if view is None else view.lines, chosen, waiting
        )
    for (number, name), left in waiting.items():
        out.print(f"[bold]{escaped(name)}, request {number}[/]")
        for one in ct.reports.exchanges((), left):
            _sent(one)
            if calls:
                _call(one, 0)
    if request is None:
        _payoffs(record, view)


def _whole(record: ct.MatchRecord, stands: list[ct.records.Stand]) -> dict[str, Any]:
    """The record as it is stored, with who forfeited it and how it stands in studies."""
    forfeits = [one._asdict() for one in record.forfeits]
    return record.as_json() | {"forfeits": forfeits, "studies": [one._asdict() for one in stands]}


def _payoffs(record: ct.MatchRecord, view: ct.records.SeatView | None) -> None:
    if view is not None:
        if view.payoff is not None:
            out.print(f"\n[bold]payoff[/] {view.payoff:,.10g}")
    elif record.payoffs:
        gains = ", ".join(f"{place} {gain:,.10g}" for place, gain in record.payoffs.items())
        out.print(f"\n[bold]payoffs[/] {gains}")


class _Chosen(NamedTuple):
    """What is to be shown of a match."""

    seat: str | None
    request: int | None
    calls: bool

    def has(self, seat: str, request: int | None) -> bool:
        if self.seat is not None and seat != self.seat:
            return False
        return self.request is None or request == self.request

    def among(self, some: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [one for one in some if self.has(one["seat"], one["request"])]


def _header(
    record: ct.MatchRecord, stands: list[ct.records.Stand], view: ct.records.SeatView | None
) -> None:
    """What stands above a match: all that defines it, or who a seat's player is."""
    why = f" ({record.why})" if record.why and view is None else ""
    out.print(f"[bold]{record.game}[/] {record.id}  {record.status.value}{escaped(why)}")
    if view is None:
        _definition(record, stands)
    else:
        say(_seated([view.seat], view.player, view.settings))
    source = record.body.get("source")
    if source:
        say(
            f"imported from {source['system']}, {source['id']}; the players read that "
            "system's words, not the ones below"
        )
    out.print()


def _definition(record: ct.MatchRecord, stands: list[ct.records.Stand]) -> None:
    for one in stands:
        if one.dropped:
            why = f"dropped from the measures of {one.study}: {one.dropped_because}"
            say(why)
        if one.in_place_of:
            out.print(f"dealt afresh in place of match {one.in_place_of}")
    for places, player in ct.records.runs(record.seats):
        say(_seated(places, player["label"], player["spec"]))
    say(", ".join(f"{key}={_plain(value)}" for key, value in record.parameters.items()))


def _seated(places: Sequence[str], player: str, spec: Mapping[str, Any]) -> str:
    settings = {key: value for key, value in spec.items() if value is not None}
    return f"{' to '.join(places)}: {player} {_plain(settings)}"


def _plain(value: object) -> str:
    """A value as it stands in a JSON file, but for a text alone, which has no quotes."""
    return value if isinstance(value, str) else dumps(value, ensure_ascii=False, default=str)


def _play(
    record: ct.MatchRecord, lines: list[ct.records.Line], chosen: _Chosen, waiting: Waiting
) -> None:
    """What one seat lived through, or all; of many seats together what they heard at once."""
    seats = list(dict.fromkeys(line.seat for line in lines))
    asked = sorted({line.request for line in lines if line.request is not None})
    if chosen.request is not None and chosen.request not in asked:
        of = "" if chosen.seat is None else f" for {chosen.seat}"
        has = f"match {record.id} has {counted(len(asked), 'question')}{of}"
        raise ct.CheaptalkError(f"{has}, and none of number {chosen.request}; the first is 0")
    colours = {one: COLOURS[number % len(COLOURS)] for number, one in enumerate(seats)}
    failed = {where: waiting.pop(where) for where in list(waiting) if where[0] in asked}
    wanted = [line for line in lines if chosen.has(line.seat, line.request)]
    if chosen.seat is None and len(record.seats) > ct.records.FEW:
        for scene in ct.records.gathered(wanted):
            out.print(f"[bold]{escaped(scene.head(len(seats)))}[/]")
            say(visible(scene.shown))
            for line in scene.lines:
                _answer(line, colours[line.seat], chosen.calls, failed)
            out.print()
        return
    for line in wanted:
        number = "" if line.request is None else f", request {line.request}"
        out.print(f"[{colours[line.seat]}]to {line.name} ({line.seat}){number}[/]")
        say(visible(line.text))
        _answer(line, colours[line.seat], chosen.calls, failed)
        out.print()


def _answer(line: ct.records.Line, colour: str, calls: bool, failed: Waiting) -> None:
    if line.kind is None or line.request is None:
        return
    said = "no valid answer" if line.answer is None else _plain(line.answer)
    mark = "" if line.kind == "ok" else f" [{line.kind}]"
    out.print(f"[bold {colour}]{line.name} answers{escaped(mark)}:[/] {escaped(said)}")
    sent = ct.reports.exchanges(line.calls, failed.get((line.request, line.seat), ()))
    for before, one in zip([None, *sent], sent, strict=False):
        if calls or one.state != "answered":
            _sent(one)
        if calls:
            _call(one, 0 if before is None else _shared(before.messages, one.messages))


def _shared(before: list[tuple[str, str]], now: list[tuple[str, str]]) -> int:
    """How many messages two calls have in common at their beginning."""
    alike = [one == other for one, other in zip(before, now, strict=False)]
    return alike.index(False) if False in alike else len(alike)


def _sent(one: ct.reports.Exchange) -> None:
    """One sending in a line: where it went, what came of it, and what it took."""
    took = [one.counted, "" if one.seconds is None else f"{one.seconds:.2f} s"]
    parts = [f"  call {one.call}, sending {one.sending}: {one.model} {one.state}", *took]
    detail = f": {one.detail}" if one.detail else ""
    say(visible(", ".join(filter(None, parts)) + detail), style="dim")


def _call(one: ct.reports.Exchange, known: int) -> None:
    """What was sent, but for messages that stand with the call before, and what came back."""
    facts = "; ".join(f"{name} {_plain(value)}" for name, value in one.facts.items())
    say(visible(f"  {facts}"), style="dim")
    if known:
        out.print(f"  [dim]({known} messages as in the call before)[/]")
    for role, text in one.messages[known:]:
        out.print(f"  [dim]{role}[/]")
        say(visible(text), style="dim")
    for title, came in (("reasoning", one.reasoning), ("reply", one.text)):
        if came is not None:
            out.print(f"  [dim]{title}[/]")
            say(visible(came), style="italic")
