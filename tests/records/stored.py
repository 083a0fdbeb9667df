"""Stored matches and records that are made without running a study."""

import csv
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from cheaptalk.records import (
    AnswerRecord,
    MatchEnd,
    MatchRecord,
    NewMatch,
    Status,
    Store,
    match_end,
    pack,
)
from cheaptalk.records.identity import Configuration
from cheaptalk.records.record import SETTLED, scripted_answers
from cheaptalk.records.store import schema
from cheaptalk.rules import Table, replay
from tests.fakes import essence

SEED = "a seed"
CALL = {"model": "vllm/tiny", "messages": []}


class Shelf:
    """A study with one configuration and two players, for matches without moves."""

    def __init__(self, store: Store, name: str = "shelf") -> None:
        self.store = store
        self.study = store.register_study(name, {"name": name})
        game = ("bargaining", 1, {"money": 100.0})
        self.configuration = store.register_configurations({"game": game})["game"]
        specs = {label: {"strategy": label} for label in ("fair", "firm")}
        players = store.register_players(specs)
        store.register_roster(self.study, {players[label]: label for label in specs})
        self.seats = {"alice": players["fair"], "bob": players["firm"]}

    def match(
        self, id_: str, status: Status = Status.FINISHED, reason: str | None = None,
        calls: int = 0, tokens: tuple[int, int] = (0, 0), **changes: Any,
    ) -> NewMatch:  # fmt: skip
        """Return a match that ended with this status."""
        payoffs = {"alice": 1.0, "bob": 2.0} if status is Status.FINISHED else None
        kinds = {"alice": {"ok": 2}, "bob": {"ok": 1, "repaired": 1}}
        body: dict[str, Any] = {"seed": id_}
        if status in SETTLED:
            body |= {"format": 1, "package": "0", "instance": {}, "answers": []}
        outcome = {"stage": 1} if status is Status.FINISHED else None
        end = MatchEnd(status, reason, outcome, payoffs, kinds, calls, *tokens, 5.0, pack(body))
        match = NewMatch(id_, self.configuration, f"instance of {id_}", 0, self.seats, end)
        return match._replace(**changes)

    def add(self, *ids: str, status: Status = Status.FINISHED, reason: str | None = None) -> None:
        """Store matches that ended with this status."""
        self.store.add(self.study, [self.match(id_, status, reason) for id_ in ids])

    def live(self, id_: str) -> dict[str, Any]:
        """Return the row of a match that has started."""
        return {
            "id": id_, "configuration_id": self.configuration, "instance": f"instance of {id_}",
            "repeat": 0, "seats": self.seats, "status": Status.LIVE.value,
            "calls": 0, "input_tokens": 0, "output_tokens": 0,
        }  # fmt: skip


def call_row(match: str, request: int = 0, state: str = "sent", **more: Any) -> dict[str, Any]:
    """Return the row of a call of Alice in the ledger."""
    return {
        "match_id": match, "request": request, "actor": "alice", "attempt": 0, "try": 1,
        "state": state, "call": CALL, "sent": 1.0,
    } | more  # fmt: skip


def insert_calls(store: Store, *rows: dict[str, Any]) -> None:
    """Insert calls directly into the store."""
    with store.transaction() as connection:
        for row in rows:
            connection.execute(sa.insert(schema.calls), row)


def set_pragma(store: Store, pragma: str) -> None:
    """Run a pragma at the start of every connection of a store."""

    def run(connection: sqlite3.Connection, _: object) -> None:
        connection.execute(f"PRAGMA {pragma}")

    sa.event.listen(store.engine, "connect", run)
    store.engine.dispose()


def play_moves(
    game: Any, instance: Any, *given: tuple[int, str, Mapping[str, object] | None], seed: str = SEED
) -> Table:
    """Replay these answers: request, seat, and the action's fields (None: forfeited)."""
    return replay(game, instance, seed, given)


def record_of(
    table: Table,
    answers: Sequence[AnswerRecord] | None = None,
    specs: Mapping[str, Mapping[str, Any]] | None = None,
    **changes: Any,
) -> MatchRecord:
    """Return the record of an ended match.

    Args:
        answers: with kinds and calls; default: those of scripted players.
        specs: player specs by seat.
        changes: other values of the record's attributes.
    """
    end = match_end(table, SEED, scripted_answers(table.given) if answers is None else answers)
    seats = {
        place: {"label": f"{place}'s player", "spec": dict((specs or {}).get(place, {}))}
        for place in table.game.seats
    }
    game = table.game
    made: dict[str, Any] = {
        "id": "0123456789",
        "configuration": Configuration(game.name, game.version, game.model_dump(mode="json")),
        "instance_key": "instance", "repeat": 0,
        "seats": seats, "status": end.status, "reason": end.reason, "outcome": end.outcome,
        "payoffs": end.payoffs, "kinds": end.kinds, "calls": end.calls,
        "input_tokens": end.input_tokens, "output_tokens": end.output_tokens,
        "finished": end.finished, "packed": end.body,
    }  # fmt: skip
    return MatchRecord(**made | changes)


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def read_files(folder: Path) -> dict[str, bytes]:
    """Return the contents of a folder's files, by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def essences(store: Store, study: str | None = None) -> dict[str, Any]:
    """Return what must be equal in two runs of a study, or of all studies, by match."""
    return {record.id: essence(record) for record in store.records(study, bodies=True)}
