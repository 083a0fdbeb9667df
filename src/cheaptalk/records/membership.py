"""Which of the matches in a store a study consists of.

A study that is changed and run again consists of other matches. Those that it no longer plans are
set aside: they stay in the store and its exports, and no report counts them.
"""

from collections.abc import Iterable

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from cheaptalk.records import schema
from cheaptalk.records.errors import clear_errors
from cheaptalk.records.reading import StoreReader, members_of
from cheaptalk.records.store import Store

matches, members = schema.matches, schema.members
NEW = insert(members)
JOIN = NEW.on_conflict_do_update(set_={"current": NEW.excluded.current})


def adopt(store: Store, study_id: int, ids: Iterable[str], *, only: bool = False) -> int:
    """Count matches that are in the store already as matches of a study.

    Args:
        only: set the study's other matches aside.

    Returns:
        How many were set aside.
    """
    ours = sa.and_(members.c.match_number == matches.c.number, members.c.study_id == study_id)
    query = sa.select(matches.c.id, matches.c.number, members.c.current).outerjoin(members, ours)
    wanted = set(ids)
    with store.transaction() as connection:
        found = connection.execute(query).all()
        current = {number: True for id_, number, now in found if id_ in wanted and not now}
        leaving = [number for id_, number, now in found if only and now and id_ not in wanted]
        rows = [
            {"study_id": study_id, "match_number": number, "current": now}
            for number, now in (current | dict.fromkeys(leaving, False)).items()
        ]
        if rows:
            connection.execute(JOIN, rows)
    return len(leaving)


def set_aside(store: StoreReader, study: str) -> frozenset[str]:
    """The matches of a study that it no longer plans."""
    query = sa.select(matches.c.id).where(
        matches.c.number.in_(members_of(study, past=True)),
        matches.c.number.not_in(members_of(study)),
    )
    with clear_errors(store.path), store.engine.connect() as connection:
        return frozenset(connection.scalars(query))
