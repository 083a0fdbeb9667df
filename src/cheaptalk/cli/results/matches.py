"""The command that lists recorded matches: matches."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from typing import Annotated, Any

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.options import DEFAULT_STORE, JsonOption, StoreOption, pair
from cheaptalk.cli.shared.printing import err, say
from cheaptalk.text import visible


class SortKey(StrEnum):
    """What matches can be sorted by."""

    STORED = "stored"
    BEGUN = "begun"
    FINISHED = "finished"
    GAME = "game"
    STATE = "state"
    CALLS = "calls"
    TOKENS = "tokens"
    DOLLARS = "dollars"


class State(StrEnum):
    """How far a match has come."""

    LIVE = "live"
    FINISHED = "finished"
    FORFEITED = "forfeited"
    FAILED = "failed"


def matches(
    study: Annotated[
        str | None,
        typer.Argument(help="Only this study's.", autocompletion=completion.stored_studies),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    game: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this game's. Repeat it for several.", autocompletion=completion.games
        ),
    ] = None,
    player: Annotated[
        list[str] | None,
        typer.Option(help="Only with this player, by its label. Repeat it: all of them."),
    ] = None,
    seat: Annotated[
        list[str] | None,
        typer.Option(help="Only with this player in this place.", metavar="PLACE=LABEL"),
    ] = None,
    state: Annotated[
        list[State] | None, typer.Option(help="Only of this state. Repeat it for several.")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="Only where a measure or a payoff is so, such as agreement=0 or payoff.bob>50. "
            "Repeat it: all of them.",
            metavar="NAME=NUMBER",
        ),
    ] = None,
    sort: Annotated[SortKey, typer.Option(help="What to sort by.")] = SortKey.STORED,
    reverse: Annotated[bool, typer.Option("--reverse", help="The last or greatest first.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="List so many at most.")] = None,
    json: JsonOption = False,
) -> None:
    """List recorded matches, or those that fit: id, game, state, players and payoffs."""
    seats = dict(pair(one, "PLACE=LABEL", "--seat") for one in seat or ())
    with ct.Store.open(store) as opened:
        found = ct.records.find_matches(
            opened, study, games=game or (), players=player or (), seats=seats,
            states=[one.value for one in state or State], where=where or (), sort=sort.value,
            reverse=reverse,
        )  # fmt: skip
        width = max(map(len, ct.records.games_in(opened)), default=0)
        (_print_json if json else _print_lines)(islice(found, limit), width)


def _print_lines(found: Iterator[ct.MatchRecord], width: int) -> None:
    """A line each, printed as it is read."""
    empty = True
    for record in found:
        empty = False
        state = f"{record.status.value:{max(map(len, State))}}"
        line = f"{record.id}  {record.game:{width}}  {state}  {_players(record)}"
        line += f": {' '.join(record.why.split())}" if record.why else ""
        sys.stdout.write(visible(line) + "\n")
    if empty:
        say("no match fits", to=err)


def _players(record: ct.MatchRecord) -> str:
    """Who sits where and gained what, such as ``alice gpt 30, bob fair 70``."""
    gains = record.payoffs or {}
    seated = {
        place: (player["label"], f" {gains[place]:,.10g}" if place in gains else "")
        for place, player in record.seats.items()
    }
    return ", ".join(
        f"{' to '.join(places)} {label}{gain}" for places, (label, gain) in ct.records.runs(seated)
    )


def _print_json(found: Iterator[ct.MatchRecord], _: int) -> None:
    """An array with an object each, printed as they are read."""
    between = "["
    for record in found:
        sys.stdout.write(
            f"{between}\n{ct.records.encoding.standard_json(_as_json(record), ensure_ascii=False)}"
        )
        between = ","
    sys.stdout.write("[]\n" if between == "[" else "\n]\n")


def _as_json(record: ct.MatchRecord) -> dict[str, Any]:
    players = {place: player["label"] for place, player in record.seats.items()}
    return {
        "match_id": record.id, "game": record.game, "parameters": record.parameters,
        "deal": record.deal_key, "repeat": record.repeat, "players": players,
        "status": record.status.value, "reason": record.why, "payoffs": record.payoffs,
        "calls": record.calls, "tokens": record.input_tokens + record.output_tokens,
        "dollars": record.dollars, "begun": record.begun, "finished": record.finished,
    }  # fmt: skip
