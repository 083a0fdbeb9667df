"""The commands ``match list`` and ``match show``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice, takewhile
from json import dumps
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import cheaptalk as ct
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.printing import err, escaped, out, print_json, say
from cheaptalk.cli.shared.sentences import counted
from cheaptalk.text import visible

SortKey = Literal["stored", "begun", "finished", "game", "state", "calls", "tokens", "dollars"]


class State(StrEnum):
    """The state of a match."""

    LIVE = "live"
    FINISHED = "finished"
    FORFEITED = "forfeited"
    FAILED = "failed"


def matches(
    study: opt.StoredStudy | None = None,
    /,
    store: opt.Store = opt.DEFAULT_STORE,
    game: Annotated[list[opt.GameName] | None, opt.Settings(metavar="NAME")] = None,
    with_player: list[opt.Label] | None = None,
    seat_player: Annotated[list[str] | None, opt.Settings(metavar="SEAT=LABEL")] = None,
    state: list[State] | None = None,
    where: Annotated[list[str] | None, opt.Settings(metavar="CONDITION")] = None,
    sort: SortKey = "stored",
    reverse: bool = False,
    limit: opt.Count | None = None,
    json: opt.Json = False,
) -> None:
    """List recorded matches.

    Each line has a match's ID, game, state, players and payoffs.

    Args:
        study: Only list matches of this study.
        game: Only list matches of this game. Repeatable.
        with_player: Only list matches with this player (label). Repeat the option to require
            several players.
        seat_player: Only list matches with this player in this seat. Repeatable.
        state: Only list matches in this state. Repeatable.
        where: Only list matches that meet this condition on a metric or payoff, e.g.
            agreement=0 or payoff_bob>50. Repeat the option to require several conditions.
        sort: Sort by this key.
        reverse: Sort in descending order.
        limit: List at most N matches.
    """
    seats = dict(opt.pair(text, "SEAT=LABEL", "--seat-player") for text in seat_player or ())
    with ct.Store.open(store) as opened:
        matching = ct.records.find_matches(
            opened,
            study,
            games=game or (),
            players=with_player or (),
            seats=seats,
            states=[item.value for item in state or State],
            where=where or (),
            sort=sort,
            reverse=reverse,
        )
        width = max(map(len, ct.records.games_in(opened)), default=0)
        (_print_json if json else _print_lines)(islice(matching, limit), width)


def _print_lines(records: Iterator[ct.MatchRecord], width: int) -> None:
    record: ct.MatchRecord | None = None
    for record in records:
        state = f"{record.status.value:{max(map(len, State))}}"
        line = f"{record.id}  {record.game:{width}}  {state}  {_players(record)}"
        line += f": {' '.join(record.why.split())}" if record.why else ""
        sys.stdout.write(visible(line) + "\n")
    if record is None:
        say("no matches found", to=err)


def _players(record: ct.MatchRecord) -> str:
    """Return the players and payoffs by seat, such as ``alice gpt 30, bob fair 70``."""
    gains = record.payoffs or {}
    seated = {
        seat: (player["label"], f" {gains[seat]:,.10g}" if seat in gains else "")
        for seat, player in record.seats.items()
    }
    return ", ".join(
        f"{' to '.join(seats)} {label}{gain}"
        for seats, (label, gain) in ct.records.group_seats(seated)
    )


def _print_json(records: Iterator[ct.MatchRecord], _: int) -> None:
    separator = "["
    for record in records:
        text = ct.records.encoding.standard_json(_as_json(record), ensure_ascii=False)
        sys.stdout.write(f"{separator}\n{text}")
        separator = ","
    sys.stdout.write("[]\n" if separator == "[" else "\n]\n")


def _as_json(record: ct.MatchRecord) -> dict[str, Any]:
    players = {seat: player["label"] for seat, player in record.seats.items()}
    return {
        "match_id": record.id,
        "game": record.game,
        "parameters": record.parameters,
        "instance": record.instance_key,
        "repeat": record.repeat,
        "players": players,
        "status": record.status.value,
        "reason": record.why,
        "payoffs": record.payoffs,
        "calls": record.calls,
        "tokens": record.input_tokens + record.output_tokens,
        "dollars": record.dollars,
    } | record.written_times


COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")
Waiting: TypeAlias = dict[tuple[int, str], list[dict[str, Any]]]
"""Calls missing from a match's record, by the number and actor of their decision request."""


def show(
    match: str | None = None,
    /,
    store: opt.Store = opt.DEFAULT_STORE,
    with_player: list[opt.Label] | None = None,
    actor: opt.Name | None = None,
    request: opt.CountFromZero | None = None,
    calls: bool = False,
    json: opt.Json = False,
) -> None:
    """Show a match: observations, requests, actions and calls.

    Failed attempts to call a model are always shown.

    Args:
        match: ID of the match, or a prefix of it; by default, the match that ended last.
        with_player: Show the last match with this player (label) instead of an ID. Repeat the
            option to require several players.
        actor: Only show what this actor (e.g. alice) saw and did.
        request: Only show decision request number N.
        calls: Also show the prompts and responses of model calls.
    """
    with ct.Store.open(store) as opened:
        record = _chosen(opened, match, with_player or ())
        ledger = opened.open_calls(record.id)
        standings = [
            ct.records.Standing(opened, study).of(record)
            for study in ct.records.studies_of(opened, record.id)
        ]
    view = None if actor is None else ct.records.seat_view(record, actor)
    selection = _Selection(actor, request, calls)
    if json:
        data = _record_json(record, standings) if view is None else view.as_json()
        data["open_calls"] = ledger
        for key in data.keys() & {"answers", "lines", "open_calls"}:
            data[key] = selection.among(data[key])
        print_json(data)
        return
    if request is None:
        _header(record, standings, view)
    waiting: Waiting = {}
    for call in selection.among(ledger):
        waiting.setdefault((call["request"], call["actor"]), []).append(call)
    if record.body.get("answers") is not None:
        lines = ct.records.transcript(record) if view is None else view.lines
        _play(record, lines, selection, waiting)
    for (number, name), attempts in waiting.items():
        out.print(f"[bold]{escaped(name)}, request {number}[/]")
        for attempt in ct.reports.exchanges((), attempts):
            _print_attempt(attempt)
            if calls:
                _print_call(attempt, 0)
    if request is None:
        _payoffs(record, view)


def _chosen(store: ct.Store, match: str | None, players: Sequence[str]) -> ct.MatchRecord:
    """Return the match with an ID or, without one, the match of these players that ended last."""
    if match is not None:
        if players:
            raise ct.CheaptalkError("give a match's ID or --with-player, not both")
        return store.find(match)
    states = [state.value for state in State if state is not State.LIVE]
    matching = ct.records.find_matches(
        store, players=players, states=states, sort="finished", reverse=True
    )
    record = next(matching, None)
    if record is None:
        label = f" of {' and '.join(players)}" if players else ""
        raise ct.CheaptalkError(f"no match{label} in {store.name} has ended")
    return record


def _record_json(record: ct.MatchRecord, standings: list[ct.records.Stand]) -> dict[str, Any]:
    forfeits = [forfeit._asdict() for forfeit in record.forfeits]
    studies = [standing._asdict() for standing in standings]
    return record.as_json() | {"forfeits": forfeits, "studies": studies}


def _payoffs(record: ct.MatchRecord, view: ct.records.SeatView | None) -> None:
    if view is not None:
        if view.payoff is not None:
            out.print(f"\n[bold]payoff[/] {view.payoff:,.10g}")
    elif record.payoffs:
        gains = ", ".join(f"{seat} {gain:,.10g}" for seat, gain in record.payoffs.items())
        out.print(f"\n[bold]payoffs[/] {gains}")


class _Selection(NamedTuple):
    """Options of ``match show``: an actor, a decision request, and whether to show model calls."""

    actor: str | None
    request: int | None
    calls: bool

    def includes(self, actor: str, request: int | None) -> bool:
        if self.actor is not None and actor != self.actor:
            return False
        return self.request is None or request == self.request

    def among(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [row for row in rows if self.includes(row["actor"], row["request"])]


def _header(
    record: ct.MatchRecord, standings: list[ct.records.Stand], view: ct.records.SeatView | None
) -> None:
    reason = f" ({record.why})" if record.why and view is None else ""
    out.print(f"[bold]{record.game}[/] {record.id}  {record.status.value}{escaped(reason)}")
    if view is None:
        _definition(record, standings)
    else:
        say(_seated([view.seat], view.player, view.settings))
    source = record.body.get("source")
    if source:
        say(
            f"imported from {source['system']}, {source['id']}; players saw the prompts of that "
            "system instead of the texts below"
        )
    out.print()


def _definition(record: ct.MatchRecord, standings: list[ct.records.Stand]) -> None:
    for standing in standings:
        if standing.dropped:
            say(f"excluded from the metrics of {standing.study}: {standing.dropped_because}")
        if standing.replaces:
            out.print(f"replaces match {standing.replaces}")
    for seats, player in ct.records.group_seats(record.seats):
        say(_seated(seats, player["label"], player["spec"]))
    say(_settings(record.parameters))


def _seated(seats: Sequence[str], player: str, spec: Mapping[str, Any]) -> str:
    shown = ct.styles.template_files.without_texts(spec)
    shown.pop("words", None)  # a digest of templates
    return f"{' to '.join(seats)}: {player} ({_settings(shown)})"


def _settings(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{key}={_plain(value)}" for key, value in values.items() if value not in (None, {}, "")
    )


def _plain(value: object) -> str:
    """Return a value as JSON, except that a string has no quotes."""
    return value if isinstance(value, str) else dumps(value, ensure_ascii=False, default=str)


def _play(
    record: ct.MatchRecord, lines: list[ct.records.Line], selection: _Selection, waiting: Waiting
) -> None:
    """Print a match's selected events; with many seats, print shared events only once."""
    actors = list(dict.fromkeys(line.actor for line in lines))
    requests = sorted({line.request for line in lines if line.request is not None})
    if selection.request is not None and selection.request not in requests:
        scope = "" if selection.actor is None else f" for {selection.actor}"
        raise ct.CheaptalkError(
            f"no decision request {selection.request}: match {record.id} has "
            f"{counted(len(requests), 'decision request')}{scope}, numbered from 0"
        )
    colours = {actor: COLOURS[index % len(COLOURS)] for index, actor in enumerate(actors)}
    failed = {key: waiting.pop(key) for key in list(waiting) if key[0] in requests}
    selected = [line for line in lines if selection.includes(line.actor, line.request)]
    if selection.actor is None and len(record.seats) > ct.records.FEW:
        for scene in ct.records.gather_scenes(selected):
            out.print(f"[bold]{escaped(scene.head(len(actors)))}[/]")
            say(visible(scene.shown))
            for line in scene.lines:
                _print_action(line, colours[line.actor], selection.calls, failed)
            out.print()
        return
    for line in selected:
        number = "" if line.request is None else f", request {line.request}"
        out.print(f"[{colours[line.actor]}]to {line.name} ({line.actor}){number}[/]")
        say(visible(line.text))
        _print_action(line, colours[line.actor], selection.calls, failed)
        out.print()


def _print_action(line: ct.records.Line, colour: str, calls: bool, failed: Waiting) -> None:
    if line.kind is None or line.request is None:
        return
    action = "no valid response" if line.answer is None else _plain(line.answer)
    mark = "" if line.kind == "ok" else f" [{line.kind}]"
    out.print(f"[bold {colour}]{line.name} responds{escaped(mark)}:[/] {escaped(action)}")
    attempts = ct.reports.exchanges(line.calls, failed.get((line.request, line.actor), ()))
    for before, attempt in zip([None, *attempts], attempts, strict=False):
        if calls or attempt.state != "answered":
            _print_attempt(attempt)
        if calls:
            pairs = zip(before.messages, attempt.messages, strict=False) if before else ()
            shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            _print_call(attempt, shared)


def _print_attempt(attempt: ct.reports.Exchange) -> None:
    seconds = "" if attempt.seconds is None else f"{attempt.seconds:.2f} s"
    state = f"  call {attempt.call}, attempt {attempt.sending}: {attempt.model} {attempt.state}"
    parts = [state, attempt.counted, seconds]
    detail = f": {attempt.detail}" if attempt.detail else ""
    say(visible(", ".join(filter(None, parts)) + detail), style="dim")


def _print_call(attempt: ct.reports.Exchange, shared: int) -> None:
    """Print an attempt's request and response, without messages from the previous call."""
    facts = "; ".join(f"{name} {_plain(value)}" for name, value in attempt.facts.items())
    say(visible(f"  {facts}"), style="dim")
    if shared:
        out.print(f"  [dim](same first {counted(shared, 'message')} as in the previous call)[/]")
    for role, text in attempt.messages[shared:]:
        out.print(f"  [dim]{role}[/]")
        say(visible(text), style="dim")
    for title, output in (("reasoning", attempt.reasoning), ("response", attempt.text)):
        if output is not None:
            out.print(f"  [dim]{title}[/]")
            say(visible(output), style="italic")
