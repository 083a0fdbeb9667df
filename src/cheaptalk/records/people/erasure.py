"""Erasure of a participant's data, including all traces in the store's files.

Matches that the participant played are deleted completely, because the other answers respond to
theirs. Other participants keep their earnings. Payments already made remain as anonymous amounts.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from cheaptalk.records.judgements import forget_answers
from cheaptalk.records.store import schema
from cheaptalk.records.store.store import expect_what_is_stored

participants, plays, matches = schema.participants, schema.plays, schema.matches


def erase(code: str) -> Callable[[sa.Connection], None]:
    """Return a function that deletes a participant, who must have no active match.

    Pass the function to :meth:`.Ledger.write`, then call :meth:`.Backend.wipe` to remove traces in
    the files.
    """

    def work(connection: sa.Connection) -> None:
        participant = connection.execute(
            sa.select(participants.c.id).where(participants.c.code == code)
        ).scalar_one_or_none()
        if participant is not None:
            _erase_plays(connection, plays.c.participant_id == participant)
            payments = schema.payments
            own_payments = payments.c.participant_id == participant
            connection.execute(
                sa.delete(payments).where(own_payments, payments.c.payout_id.is_(None))
            )
            connection.execute(sa.delete(participants).where(participants.c.id == participant))
            forget_answers(connection, code)

    return work


def erase_visit(
    code: str, number: int, visit: int, games: Sequence[int], ended: Mapping[str, Any]
) -> Callable[[sa.Connection], None]:
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
        answers, notices = schema.responses, schema.notices
        own_answers = answers.c.participant_id == number
        of_visit = sa.update(answers).where(own_answers, answers.c.visit == visit)
        connection.execute(of_visit.values(answer={}, shown=None))
        connection.execute(sa.delete(notices).where(notices.c.participant_id == number))
        count = connection.scalar(sa.select(sa.func.count()).where(own_answers)) or 0
        row = {"participant_id": number, "number": count, **ended}
        connection.execute(sa.insert(answers), row)
        connection.execute(
            sa.update(participants).where(participants.c.id == number).values(known_as=None)
        )
        forget_answers(connection, code)

    return work


def _erase_plays(connection: sa.Connection, which: sa.ColumnElement[bool]) -> None:
    rows = connection.execute(sa.select(plays.c.match_id, plays.c.room).where(which)).all()
    _erase_matches(connection, [row.match_id for row in rows if row.match_id is not None])
    codes = [row.room for row in rows if row.room is not None]
    connection.execute(sa.delete(schema.rooms).where(schema.rooms.c.code.in_(codes)))


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
