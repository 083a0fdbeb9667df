"""Erasure: what a participant did is deleted, and no byte of it stays in the store's files.

Matches that they played go as a whole, since what others answered there answers them. Others keep
what they earned. What was paid stays as an amount that is nobody's.
"""

from collections.abc import Callable, Sequence

import sqlalchemy as sa

from cheaptalk.records.judgements import forget_answers
from cheaptalk.records.store import schema

participants, plays, matches = schema.participants, schema.plays, schema.matches


def erase(code: str, *, keep_count: bool = False) -> Callable[[sa.Connection], None]:
    """What deletes a participant, for :meth:`.Ledger.write`; no match of theirs may be under way.

    See to it with :meth:`.Backend.wipe` afterwards that nothing stays in the files.

    Args:
        code: the participant's.
        keep_count: keep that they came, and how far, so that reports can count them.
    """

    def work(connection: sa.Connection) -> None:
        found = connection.execute(
            sa.select(participants.c.id).where(participants.c.code == code)
        ).scalar_one_or_none()
        if found is not None:
            _erase(connection, found, keep_count)
            forget_answers(connection, code)

    return work


def _erase(connection: sa.Connection, number: int, keep_count: bool) -> None:
    own = sa.select(plays.c.match_id, plays.c.room).where(plays.c.participant_id == number)
    rows = connection.execute(own).all()
    _erase_matches(connection, [row.match_id for row in rows if row.match_id is not None])
    codes = [row.room for row in rows if row.room is not None]
    connection.execute(sa.delete(schema.rooms).where(schema.rooms.c.code.in_(codes)))
    payments = schema.payments
    theirs = payments.c.participant_id == number
    connection.execute(sa.delete(payments).where(theirs, payments.c.payout_id.is_(None)))
    if not keep_count:
        connection.execute(sa.delete(participants).where(participants.c.id == number))
        return
    for table in (schema.responses, schema.notices):
        connection.execute(sa.delete(table).where(table.c.participant_id == number))
    connection.execute(
        sa.update(plays)
        .where(plays.c.participant_id == number)
        .values(state="erased", match_id=None, room=None, place=None, payoff=None, cents=None)
    )
    connection.execute(
        sa.update(participants).where(participants.c.id == number).values(known_as=None)
    )


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
