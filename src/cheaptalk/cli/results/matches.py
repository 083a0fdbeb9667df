"""The ``match list`` command, which lists recorded matches."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from typing import Annotated, Any

import cheaptalk as ct
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.printing import err, say
from cheaptalk.text import visible


class SortKey(StrEnum):
    """A key to sort matches by."""

    STORED = "stored"
    BEGUN = "begun"
    FINISHED = "finished"
    GAME = "game"
    STATE = "state"
    CALLS = "calls"
    TOKENS = "tokens"
    DOLLARS = "dollars"


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
    sort: SortKey = SortKey.STORED,
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
            sort=sort.value,
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
        f"{' to '.join(seats)} {label}{gain}" for seats, (label, gain) in ct.records.runs(seated)
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
        "begun": record.begun,
        "finished": record.finished,
    }
