"""Calls that brought no answer that play acted on: they stay in the ledger when a match ends."""

from collections import Counter

import sqlalchemy as sa

from cheaptalk.records import schema
from cheaptalk.records.errors import clear_errors
from cheaptalk.records.reading import StoreReader, members_of

matches, calls = schema.matches, schema.calls


def lost_calls(store: StoreReader, study: str) -> Counter[str]:
    """How many calls of a study's matches were lost, by what became of them.

    ``timed_out`` and ``provider_error`` calls were sent again or failed their match; ``unreached``
    ones found no server. Of
    ``unresolved`` ones nobody knows: the run was killed while they were under way.
    """
    reply = calls.c.reply
    failure = sa.case(
        (reply["unreached"].as_boolean(), "unreached"),
        else_=sa.func.coalesce(reply["failure"].as_string(), calls.c.state),
    )
    query = (
        sa.select(failure, sa.func.count())
        .join(matches, matches.c.id == calls.c.match_id)
        .where(matches.c.number.in_(members_of(study)))
        .where(calls.c.state.in_(("failed", "unresolved")))
        .group_by(failure)
        .order_by(failure)
    )
    with clear_errors(store.path), store.engine.connect() as connection:
        found = connection.execute(query).all()
    return Counter({str(name): int(count) for name, count in found})
