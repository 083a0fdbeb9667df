"""Erasure: what a participant did is deleted, and no byte of it stays in the store's files.

Matches that they played go as a whole, since what others answered there answers them. Others keep
what they earned. What was paid stays as an amount that is nobody's.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from cheaptalk.records.judgements import forget_answers
from cheaptalk.records.store import schema
from cheaptalk.records.store.store import expect_what_is_stored

participants, plays, matches = schema.participants, schema.plays, schema.matches


def erase(code: str) -> Callable[[sa.Connection], None]:
    """What deletes a participant, for :meth:`.Ledger.write`; no match of theirs may be under way.

    See to it with :meth:`.Backend.wipe` afterwards that nothing stays in the files.

    Args:
        code: the participant's.
    """

    def work(connection: sa.Connection) -> None:
        found = connection.execute(
            sa.select(participants.c.id).where(participants.c.code == code)
        ).scalar_one_or_none()
        if found is not None:
            _erase_plays(connection, plays.c.participant_id == found)
            payments = schema.payments
            theirs = payments.c.participant_id == found
            connection.execute(sa.delete(payments).where(theirs, payments.c.payout_id.is_(None)))
            connection.execute(sa.delete(participants).where(participants.c.id == found))
            forget_answers(connection, code)

    return work


def erase_visit(
    code: str, number: int, visit: int, games: Sequence[int], ended: Mapping[str, Any]
) -> Callable[[sa.Connection], None]:
    """What deletes all that a participant did in their last visit, but how far they came; as
    :func:`erase`.

    At which steps they were stays, and whether an answer was right, without the answers; and what
    they did in visits before, and what they are owed.

    Args:
        code, number: the participant's.
        visit: its number.
        games: the numbers of its games.
        ended: the response by which the visit is known to have ended.
    """

    def work(connection: sa.Connection) -> None:
        here = (plays.c.participant_id == number) & plays.c.number.in_(games)
        _erase_plays(connection, here)
        connection.execute(
            sa.update(plays)
            .where(here)
            .values(state="erased", match_id=None, room=None, place=None, payoff=None, cents=None)
        )
        answers, notices = schema.responses, schema.notices
        theirs = answers.c.participant_id == number
        of_visit = sa.update(answers).where(theirs, answers.c.visit == visit)
        connection.execute(of_visit.values(answer={}, shown=None))
        connection.execute(sa.delete(notices).where(notices.c.participant_id == number))
        given = connection.scalar(sa.select(sa.func.count()).where(theirs)) or 0
        row = {"participant_id": number, "number": given, **ended}
        connection.execute(sa.insert(answers), row)
        connection.execute(
            sa.update(participants).where(participants.c.id == number).values(known_as=None)
        )
        forget_answers(connection, code)

    return work


def _erase_plays(connection: sa.Connection, which: sa.ColumnElement[bool]) -> None:
    """Delete the matches and rooms of some games of participants."""
    rows = connection.execute(sa.select(plays.c.match_id, plays.c.room).where(which)).all()
    _erase_matches(connection, [row.match_id for row in rows if row.match_id is not None])
    codes = [row.room for row in rows if row.room is not None]
    connection.execute(sa.delete(schema.rooms).where(schema.rooms.c.code.in_(codes)))


def _erase_matches(connection: sa.Connection, ids: Sequence[str]) -> None:
    """Delete matches with all that was asked, answered, judged and bought in them."""
    numbers = sa.select(matches.c.number).where(matches.c.id.in_(ids))
    for table in (schema.members, schema.purchases):
        connection.execute(sa.delete(table).where(table.c.match_number.in_(numbers)))
    calls, judgements = schema.calls, schema.judgements
    connection.execute(sa.delete(judgements).where(judgements.c.match_id.in_(ids)))
    for id_ in ids:  # a judge's calls have the match's id at the end of theirs
        connection.execute(sa.delete(calls).where(calls.c.match_id.endswith(id_)))
    connection.execute(
        sa.update(plays).where(plays.c.match_id.in_(ids)).values(match_id=None, room=None)
    )
    connection.execute(sa.delete(matches).where(matches.c.id.in_(ids)))
    expect_what_is_stored(connection)
