"""The ``match list`` command, which lists recorded matches."""

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
    study: Annotated[
        str | None,
        typer.Argument(
            help="Only list matches of this study.", autocompletion=completion.stored_studies
        ),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    game: Annotated[
        list[str] | None,
        typer.Option(
            help="Only list matches of this game. Repeatable.",
            metavar="NAME",
            autocompletion=completion.games,
        ),
    ] = None,
    player: Annotated[
        list[str] | None,
        typer.Option(
            "--with-player",
            help="Only list matches with this player (label). Repeat the option to require several "
            "players.",
            metavar="LABEL",
        ),
    ] = None,
    seat: Annotated[
        list[str] | None,
        typer.Option(
            "--seat-player",
            help="Only list matches with this player in this seat. Repeatable.",
            metavar="SEAT=LABEL",
        ),
    ] = None,
    state: Annotated[
        list[State] | None, typer.Option(help="Only list matches in this state. Repeatable.")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="Only list matches that meet this condition on a metric or payoff, e.g. "
            "agreement=0 or payoff_bob>50. Repeat the option to require several conditions.",
            metavar="CONDITION",
        ),
    ] = None,
    sort: Annotated[SortKey, typer.Option(help="Sort by this key.")] = SortKey.STORED,
    reverse: Annotated[bool, typer.Option("--reverse", help="Sort in descending order.")] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="List at most N matches.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """List recorded matches.

    Each line has a match's ID, game, state, players and payoffs.
    """
    seats = dict(pair(text, "SEAT=LABEL", "--seat-player") for text in seat or ())
    with ct.Store.open(store) as opened:
        matching = ct.records.find_matches(
            opened, study, games=game or (), players=player or (), seats=seats,
            states=[item.value for item in state or State], where=where or (), sort=sort.value,
            reverse=reverse,
        )  # fmt: skip
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
        "match_id": record.id, "game": record.game, "parameters": record.parameters,
        "instance": record.instance_key, "repeat": record.repeat, "players": players,
        "status": record.status.value, "reason": record.why, "payoffs": record.payoffs,
        "calls": record.calls, "tokens": record.input_tokens + record.output_tokens,
        "dollars": record.dollars, "begun": record.begun, "finished": record.finished,
    }  # fmt: skip
