"""Failed attempts: timeouts and errors after which a call was retried."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from cheaptalk.records.ledger.ledger import CallKey
from cheaptalk.records.store import schema
from cheaptalk.records.store.reader import StoreReader, members_of, patient

calls, matches = schema.calls, schema.matches


class FailedAttempt(NamedTuple):
    """A failed attempt of a call, whose response the match did not use.

    Attributes:
        key: the call.
        reply: the recorded failure; see :class:`.Reply`.
    """

    key: CallKey
    reply: Mapping[str, Any]


@patient
def failed_attempts(store: StoreReader, study: str) -> dict[str, list[FailedAttempt]]:
    """Return the failed attempts of model and agent calls by match, oldest first.

    A final timeout is not included, because play uses it: it is in the match's record.
    """
    query = (
        sa.select(calls.c.match_id, calls.c.request, calls.c.actor, calls.c.attempt, calls.c.reply)
        .join(matches, matches.c.id == calls.c.match_id)
        .where(
            matches.c.number.in_(members_of(study)),
            calls.c.state == "failed",
            calls.c.call["model"].as_string().is_not(None),
        )
        .order_by(calls.c.id)
    )
    failed: dict[str, list[FailedAttempt]] = {}
    with store.reading() as connection:
        for *key, reply in connection.execute(query):
            attempt = FailedAttempt(CallKey(*key), reply or {})
            failed.setdefault(attempt.key.match_id, []).append(attempt)
    return failed
