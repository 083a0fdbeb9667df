"""Detection of responses that a server or gateway returned for two requests by mistake."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from cheaptalk.models import ModelCall
from cheaptalk.models.reply_ids import request_digest
from cheaptalk.records.ledger.ledger import CallKey
from cheaptalk.records.record import MatchRecord
from cheaptalk.records.store import schema
from cheaptalk.records.store.reader import StoreReader
from cheaptalk.rules.errors import shown


class RepeatedReply(NamedTuple):
    """A response that is recorded for two requests.

    Attributes:
        call, other: the calls for which the response is recorded.
        id: the server's id of the response.
    """

    call: CallKey
    other: CallKey
    id: str

    def __str__(self) -> str:
        return (
            f"the response to {_place(self.call)} is also recorded for {_place(self.other)} of "
            f"match {self.other.match_id} (id {shown(self.id)}): the server or a gateway mixed up "
            "two requests, so do not rely on either match"
        )


class RepeatedReplies:
    """A detector of responses that are recorded for two requests."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, str], tuple[bytes, CallKey]] = {}

    def of_match(self, record: MatchRecord) -> Iterator[RepeatedReply]:
        """Yield the responses of an ended match that are also recorded for another request."""
        for answer in record.answers:
            for attempt, entry in enumerate(answer.calls):
                key = CallKey(record.id, answer.request, answer.actor, attempt)
                yield from self._of_call(key, entry["call"], entry["reply"])

    def of_open_calls(self, store: StoreReader) -> Iterator[RepeatedReply]:
        """Yield the responses in the ledger that are also recorded for another request."""
        calls = schema.calls
        keys = [calls.c[name] for name in CallKey._fields]
        query = sa.select(*keys, calls.c.call, calls.c.reply).where(calls.c.state == "answered")
        with store.reading() as connection:
            for row in connection.execute(query.order_by(calls.c.id)):
                yield from self._of_call(CallKey(*row[:4]), row.call, row.reply)

    def _of_call(
        self, key: CallKey, call: Mapping[str, Any], reply: Mapping[str, Any]
    ) -> Iterator[RepeatedReply]:
        reply_id = reply.get("id")
        if reply_id is None or reply.get("cached"):
            return
        request = request_digest(ModelCall.model_validate(call))
        first, other = self._first.setdefault((call["model"], reply_id), (request, key))
        if first != request:
            yield RepeatedReply(key, other, reply_id)


def _place(call: CallKey) -> str:
    return f"{call.actor} in request {call.request}"
