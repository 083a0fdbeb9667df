"""Participants in the store: their visits, responses, games and payments.

Functions of type ``Write`` are run by :meth:`.Ledger.write`, so that changes are committed before
they take effect.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import sqlalchemy as sa

from cheaptalk.records.judgements import forget_answers
from cheaptalk.records.ledger.ledger import number_of
from cheaptalk.records.store import schema
from cheaptalk.records.store.reader import StoreReader
from cheaptalk.records.store.schema import insert
from cheaptalk.records.store.store import Store, expect_what_is_stored

participants, responses, plays = schema.participants, schema.responses, schema.plays
notices, payments, recruitments = schema.notices, schema.payments, schema.recruitments
matches, rooms = schema.matches, schema.rooms
Row: TypeAlias = Mapping[str, Any]
Write: TypeAlias = Callable[[sa.Connection], Any]


class KeptParticipant(NamedTuple):
    """A participant's rows in the tables of participants, responses, plays and notices."""

    row: Row
    responses: Sequence[Row]
    plays: Sequence[Row]
    notices: Sequence[Row]


class Progress(NamedTuple):
    """Changes to a participant's data: columns of its row and rows of other tables.

    ``play`` are columns of the row of a game, with its number. Existing payments are kept.
    """

    id: int
    changed: Row
    responses: Sequence[Row] = ()
    play: Row | None = None
    owed: Sequence[Row] = ()


def admit(row: Row) -> Write:
    """Return a function that stores a new participant and returns the participant's number."""

    def work(connection: sa.Connection) -> int:
        now = {"begun": time.time(), "changed": time.time()}
        return number_of(connection.execute(sa.insert(participants), {**row, **now}))

    return work


def go_on(progress: Progress) -> Write:
    """Return a function that stores changes to a participant's data."""

    def work(connection: sa.Connection) -> None:
        if progress.responses:
            rows = [{"participant_id": progress.id, **row} for row in progress.responses]
            connection.execute(sa.insert(responses), rows)
        if progress.play is not None:
            keys = ["participant_id", "number"]
            new = insert(plays).values({**progress.play, "participant_id": progress.id})
            set_ = {name: new.excluded[name] for name in progress.play if name not in keys}
            connection.execute(new.on_conflict_do_update(index_elements=keys, set_=set_))
        if progress.owed:
            rows = [
                {"participant_id": progress.id, "made": time.time(), **row} for row in progress.owed
            ]
            keys = ["participant_id", "key"]
            connection.execute(insert(payments).on_conflict_do_nothing(index_elements=keys), rows)
        values = {"changed": time.time(), **progress.changed}
        connection.execute(
            sa.update(participants).where(participants.c.id == progress.id).values(values)
        )

    return work


def notify(rows: Sequence[Row]) -> Write:
    """Return a function that stores messages to participants and returns the messages' numbers."""

    def work(connection: sa.Connection) -> list[int]:
        return [number_of(connection.execute(sa.insert(notices), row)) for row in rows]

    return work


def answer_notice(number: int, *, correct: bool | None) -> Write:
    """Return a function that marks a prompt to a participant as answered or timed out."""

    def work(connection: sa.Connection) -> None:
        connection.execute(
            sa.update(notices)
            .where(notices.c.id == number, notices.c.answered.is_(None))
            .values(answered=time.time(), correct=correct)
        )

    return work


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


def recruit(study_id: int, state: str, keep_until: float | None = None) -> Write:
    """Return a function that sets a study's recruitment to ``open``, ``paused`` or ``closed``.

    Args:
        keep_until: the time at which participants' data is deleted, in seconds since 1970; None for
            never.
    """

    def work(connection: sa.Connection) -> None:
        row = {
            "study_id": study_id,
            "state": state,
            "keep_until": keep_until,
            "changed": time.time(),
        }
        new = insert(recruitments).values(row)
        set_ = {name: new.excluded[name] for name in row if name != "study_id"}
        connection.execute(new.on_conflict_do_update(index_elements=["study_id"], set_=set_))

    return work


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


def keep_room(study_id: int, code: str, kept: Mapping[str, Any]) -> Write:
    """Return a function that stores the current state of a room."""
    row = {"code": code, "study_id": study_id, "kept": dict(kept), "changed": time.time()}

    def work(connection: sa.Connection) -> None:
        new = insert(rooms).values(row)
        changed = {"kept": new.excluded.kept, "changed": new.excluded.changed}
        connection.execute(new.on_conflict_do_update(index_elements=["code"], set_=changed))

    return work


def kept_rooms(store: Store, study_id: int) -> list[tuple[str, dict[str, Any]]]:
    """Return all rooms of a study with their states, least recently changed first."""
    query = (
        sa.select(rooms.c.code, rooms.c.kept)
        .where(rooms.c.study_id == study_id)
        .order_by(rooms.c.changed)
    )
    return [(code, kept) for code, kept in store.rows(query)]


def erase(code: str) -> Write:
    """Return a function that deletes a participant, who must have no active match.

    Matches that the participant played are deleted completely, because the other answers respond to
    theirs. Other participants keep their earnings. Payments already made remain as anonymous
    amounts. Call :meth:`.Backend.wipe` afterwards to remove traces in the files.
    """

    def work(connection: sa.Connection) -> None:
        participant = connection.execute(
            sa.select(participants.c.id).where(participants.c.code == code)
        ).scalar_one_or_none()
        if participant is not None:
            _erase_plays(connection, plays.c.participant_id == participant)
            own_payments = payments.c.participant_id == participant
            connection.execute(
                sa.delete(payments).where(own_payments, payments.c.payout_id.is_(None))
            )
            connection.execute(sa.delete(participants).where(participants.c.id == participant))
            forget_answers(connection, code)

    return work


def erase_visit(
    code: str, number: int, visit: int, games: Sequence[int], ended: Mapping[str, Any]
) -> Write:
    """Return a function that deletes the data of a participant's last visit from the store.

    The steps reached, whether answers were correct, earlier visits, and earnings are kept.

    Args:
        code, number: the participant's code and number.
        visit, games: the visit's number, and the numbers of its games.
        ended: the response that records the end of the visit.
    """

    def work(connection: sa.Connection) -> None:
        in_visit = (plays.c.participant_id == number) & plays.c.number.in_(games)
        _erase_plays(connection, in_visit)
        connection.execute(
            sa.update(plays)
            .where(in_visit)
            .values(state="erased", match_id=None, room=None, seat=None, payoff=None, cents=None)
        )
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

    return work


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
