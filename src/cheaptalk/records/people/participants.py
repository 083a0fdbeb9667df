"""Participants in the store: their visits, responses, games and payments.

:meth:`.Ledger.write` runs deferred functions, so that changes are committed before they take
effect.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import sqlalchemy as sa

from cheaptalk.records.judgements import forget_answers
from cheaptalk.records.ledger.ledger import deferred, number_of
from cheaptalk.records.store import schema
from cheaptalk.records.store.reader import StoreReader
from cheaptalk.records.store.schema import insert, upsert
from cheaptalk.records.store.store import Store, expect_what_is_stored

participants, responses, plays = schema.participants, schema.responses, schema.plays
notices, payments, recruitments = schema.notices, schema.payments, schema.recruitments
matches, rooms = schema.matches, schema.rooms
Row: TypeAlias = Mapping[str, Any]


class KeptParticipant(NamedTuple):
    """A participant's rows in the tables of participants, responses, plays and notices."""

    row: Row
    responses: Sequence[Row]
    plays: Sequence[Row]
    notices: Sequence[Row]


class Progress(NamedTuple):
    """Changes to a participant's data: columns of its row and rows of other tables.

    ``play`` are columns of the row of a game, with its number. Existing payments are kept.
    ``selected`` is whether each game of a visit that ended was selected for payment, by number.
    """

    id: int
    changed: Row
    responses: Sequence[Row] = ()
    play: Row | None = None
    owed: Sequence[Row] = ()
    selected: Mapping[int, bool] = MappingProxyType({})


@deferred
def admit(connection: sa.Connection, row: Row) -> int:
    """Store a new participant and return the participant's number."""
    now = {"begun": time.time(), "changed": time.time()}
    return number_of(connection.execute(sa.insert(participants), {**row, **now}))


@deferred
def go_on(connection: sa.Connection, progress: Progress) -> None:
    """Store changes to a participant's data."""
    own = {"participant_id": progress.id}
    if progress.responses:
        connection.execute(sa.insert(responses), [{**own, **row} for row in progress.responses])
    if progress.play is not None:
        keys = ["participant_id", "number"]
        update = [name for name in progress.play if name not in keys]
        connection.execute(upsert(plays, keys, update), {**progress.play, **own})
    own_plays = sa.update(plays).where(plays.c.participant_id == progress.id)
    for number, paid in progress.selected.items():
        connection.execute(own_plays.where(plays.c.number == number).values(paid=paid))
    if progress.owed:
        new = insert(payments).on_conflict_do_nothing(index_elements=["participant_id", "key"])
        made = {"made": time.time()}
        connection.execute(new, [{**own, **made, **row} for row in progress.owed])
    values = {"changed": time.time(), **progress.changed}
    connection.execute(
        sa.update(participants).where(participants.c.id == progress.id).values(values)
    )


@deferred
def notify(connection: sa.Connection, rows: Sequence[Row]) -> list[int]:
    """Store messages to participants and return the messages' numbers."""
    return [number_of(connection.execute(sa.insert(notices), row)) for row in rows]


@deferred
def answer_notice(connection: sa.Connection, number: int, *, correct: bool | None) -> None:
    """Mark a prompt to a participant as answered or timed out."""
    connection.execute(
        sa.update(notices)
        .where(notices.c.id == number, notices.c.answered.is_(None))
        .values(answered=time.time(), correct=correct)
    )


@deferred
def set_due(connection: sa.Connection, number: int, due: float) -> None:
    """Change the deadline of an open prompt; ``due`` is in seconds since 1970."""
    connection.execute(sa.update(notices).where(notices.c.id == number).values(due=due))


@deferred
def resume(
    connection: sa.Connection, numbers: Sequence[int], moment: float, dues: Mapping[int, float]
) -> None:
    """Record the end of pauses, and the new deadlines of open prompts by number."""
    ended = sa.update(notices).where(notices.c.id.in_(numbers)).values(answered=moment)
    connection.execute(ended)
    for number, due in dues.items():
        connection.execute(sa.update(notices).where(notices.c.id == number).values(due=due))


@deferred
def note_hidden(connection: sa.Connection, id_: int, seconds: float, times: int) -> None:
    """Store for how long and how often a participant's page was hidden, in total."""
    hidden = {"hidden_seconds": seconds, "hidden_times": times}
    connection.execute(sa.update(participants).where(participants.c.id == id_).values(hidden))


@deferred
def suspend(connection: sa.Connection, study_id: int, since: float | None) -> None:
    """Record since when all participants of a study are paused; None if they are not."""
    row = sa.update(recruitments).where(recruitments.c.study_id == study_id)
    connection.execute(row.values(suspended=since))


def kept_participants(store: StoreReader, study_id: int) -> list[KeptParticipant]:
    """Return all participants of a study in the order of arrival."""
    ids = sa.select(participants.c.id).where(participants.c.study_id == study_id)

    def rows(connection: sa.Connection, table: sa.Table, order: str) -> dict[int, list[Row]]:
        by_participant: dict[int, list[Row]] = defaultdict(list)
        query = sa.select(table).where(table.c.participant_id.in_(ids)).order_by(table.c[order])
        for row in connection.execute(query).mappings():
            by_participant[row["participant_id"]].append(dict(row))
        return by_participant

    with store.reading() as connection:
        people = connection.execute(
            sa.select(participants)
            .where(participants.c.study_id == study_id)
            .order_by(participants.c.id)
        ).mappings()
        answered = rows(connection, responses, "number")
        played = rows(connection, plays, "number")
        notices_by_id = rows(connection, notices, "id")
        return [
            KeptParticipant(
                dict(row), answered[row["id"]], played[row["id"]], notices_by_id[row["id"]]
            )
            for row in people
        ]


@deferred
def recruit(
    connection: sa.Connection, study_id: int, state: str, keep_until: float | None = None
) -> None:
    """Set a study's recruitment to ``open``, ``paused`` or ``closed``.

    ``keep_until`` is when participants' data is deleted, in seconds since 1970; None for never.
    """
    changed = {"state": state, "keep_until": keep_until, "changed": time.time()}
    new = upsert(recruitments, ["study_id"], changed)
    connection.execute(new, {"study_id": study_id, **changed})


def recruitment(store: StoreReader, study_id: int) -> Row | None:
    """Return a study's recruitment state; None if recruitment has not begun."""
    query = sa.select(recruitments).where(recruitments.c.study_id == study_id)
    return next((dict(row._mapping) for row in store.rows(query)), None)


def owed_rows(study_id: int, owed: Iterable[tuple[str, str, int]]) -> list[Row]:
    """Return the database rows for payments, which are given as (key, kind, cents)."""
    return [
        {"study_id": study_id, "key": key, "kind": kind, "cents": amount}
        for key, kind, amount in owed
    ]


@deferred
def keep_room(connection: sa.Connection, study_id: int, code: str, kept: Mapping[str, Any]) -> None:
    """Store the current state of a room."""
    row = {"code": code, "study_id": study_id, "kept": dict(kept), "changed": time.time()}
    connection.execute(upsert(rooms, ["code"], ["kept", "changed"]), row)


def kept_rooms(store: Store, study_id: int) -> list[tuple[str, dict[str, Any]]]:
    """Return all rooms of a study with their states, least recently changed first."""
    query = (
        sa.select(rooms.c.code, rooms.c.kept)
        .where(rooms.c.study_id == study_id)
        .order_by(rooms.c.changed)
    )
    return [(code, kept) for code, kept in store.rows(query)]


@deferred
def erase(connection: sa.Connection, code: str) -> None:
    """Delete a participant, who must have no active match.

    Matches that the participant played are deleted completely, because the other answers respond to
    theirs. Other participants keep their earnings. Payments already made remain as anonymous
    amounts. Call :meth:`.Backend.wipe` afterwards to remove traces in the files.
    """
    participant = connection.scalar(sa.select(participants.c.id).where(participants.c.code == code))
    if participant is not None:
        _erase_plays(connection, plays.c.participant_id == participant)
        own_payments = payments.c.participant_id == participant
        connection.execute(sa.delete(payments).where(own_payments, payments.c.payout_id.is_(None)))
        connection.execute(sa.delete(participants).where(participants.c.id == participant))
        forget_answers(connection, code)


@deferred
def erase_visit(
    connection: sa.Connection,
    code: str,
    number: int,
    visit: int,
    games: Sequence[int],
    ended: Mapping[str, Any],
) -> None:
    """Delete the data of the last visit of the participant with a code and a number.

    The steps reached, whether answers were correct, earlier visits, and earnings are kept.
    ``games`` are the numbers of the visit's games; ``ended`` is the response that records its end.
    """
    in_visit = (plays.c.participant_id == number) & plays.c.number.in_(games)
    _erase_plays(connection, in_visit)
    erased = dict.fromkeys(("match_id", "room", "seat", "payoff", "cents"))
    connection.execute(sa.update(plays).where(in_visit).values(state="erased", **erased))
    own_answers = responses.c.participant_id == number
    of_visit = sa.update(responses).where(own_answers, responses.c.visit == visit)
    connection.execute(of_visit.values(answer={}, shown=None))
    connection.execute(sa.delete(notices).where(notices.c.participant_id == number))
    count = connection.scalar(sa.select(sa.func.count()).where(own_answers)) or 0
    row = {"participant_id": number, "number": count, **ended}
    connection.execute(sa.insert(responses), row)
    connection.execute(
        sa.update(participants).where(participants.c.id == number).values(known_as=None)
    )
    forget_answers(connection, code)


def _erase_plays(connection: sa.Connection, which: sa.ColumnElement[bool]) -> None:
    rows = connection.execute(sa.select(plays.c.match_id, plays.c.room).where(which)).all()
    _erase_matches(connection, [row.match_id for row in rows if row.match_id is not None])
    codes = [row.room for row in rows if row.room is not None]
    connection.execute(sa.delete(rooms).where(rooms.c.code.in_(codes)))


def _erase_matches(connection: sa.Connection, ids: Sequence[str]) -> None:
    numbers = sa.select(matches.c.number).where(matches.c.id.in_(ids))
    for table in (schema.members, schema.purchases):
        connection.execute(sa.delete(table).where(table.c.match_number.in_(numbers)))
    calls, judgements = schema.calls, schema.judgements
    connection.execute(sa.delete(judgements).where(judgements.c.match_id.in_(ids)))
    for id_ in ids:  # the ids of judges' calls end with the match's id
        connection.execute(sa.delete(calls).where(calls.c.match_id.endswith(id_)))
    connection.execute(
        sa.update(plays).where(plays.c.match_id.in_(ids)).values(match_id=None, room=None)
    )
    connection.execute(sa.delete(matches).where(matches.c.id.in_(ids)))
    expect_what_is_stored(connection)
