"""Ledger of calls: each call is recorded before it is sent, each response before it is used.

Many matches write concurrently. One thread writes everything that is pending in one transaction, so
that many answers share one disk flush. When a match ends, calls whose response was never used
remain in the ledger.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from queue import SimpleQueue
from threading import Thread
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import sqlalchemy as sa

from cheaptalk.models import Reply
from cheaptalk.records.record import ENDED_COLUMNS, SETTLED, MatchEnd, Status
from cheaptalk.records.store import schema
from cheaptalk.records.store.backend import StoreAway
from cheaptalk.records.store.reader import StoreReader, in_flight, members_of, patient
from cheaptalk.records.store.schema import insert
from cheaptalk.records.store.store import NewMatch, Store, write_matches

P = ParamSpec("P")
T = TypeVar("T")
LedgerWrite = tuple[Callable[[sa.Connection], Any], "asyncio.Future[Any]"]

calls, matches = schema.calls, schema.matches


class CallKey(NamedTuple):
    """The identity of a call: match, request, actor, and index of the call within the answer."""

    match_id: str
    request: int
    actor: str
    attempt: int


KEY = [calls.c[name] for name in CallKey._fields]
# Prepared once, because constructing a statement takes far longer than executing it.
INTEND = sa.insert(calls)
SETTLE = (
    sa.update(calls)
    .where(calls.c.id == sa.bindparam("number"))
    .values(state=sa.bindparam("now"), reply=sa.bindparam("said"), received=sa.bindparam("at"))
)
NOTED: sa.Select[Any] = (
    sa.select(*KEY, calls.c.sent, calls.c.received, schema.studies.c.name)
    .join(schema.studies, schema.studies.c.id == calls.c.study_id, isouter=True)
    .where(calls.c.match_id == sa.bindparam("of"), calls.c.state == "answered")
)


class PastCall(NamedTuple):
    """An answered call from an earlier run of the match."""

    call: dict[str, Any]
    reply: dict[str, Any]
    sending: int


class Ledger:
    """An asynchronous writer that durably records calls. Use it as a context manager."""

    def __init__(self, store: Store, study_id: int | None = None) -> None:
        self.store = store
        self.study_id = study_id
        self._jobs: SimpleQueue[LedgerWrite | None] = SimpleQueue()
        self._thread = Thread(target=self._write, name="ledger", daemon=True)

    def __enter__(self) -> "Ledger":
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._jobs.put(None)
        self._thread.join()

    async def begin(self, study_id: int, row: dict[str, Any]) -> None:
        """Record the start of a match and its seed, which makes the match visible in the viewer."""

        def work(connection: sa.Connection) -> None:
            matches, members = schema.matches, schema.members
            new = insert(matches).values(row | {"number": schema.LAST_NUMBER + 1})
            update = {"body": sa.func.coalesce(matches.c.body, new.excluded.body)}
            connection.execute(new.on_conflict_do_update(index_elements=["id"], set_=update))
            number = connection.scalar(sa.select(matches.c.number).where(matches.c.id == row["id"]))
            membership = {"study_id": study_id, "match_number": number}
            connection.execute(insert(members).values(membership).on_conflict_do_nothing())

        await self.write(work)

    async def intend(self, key: CallKey, sending: int, call: dict[str, Any]) -> int:
        """Record that a call will be sent, and return the call's number in the ledger."""
        return await self.write(
            lambda connection: record_intent(connection, key, sending, call, self.study_id)
        )

    async def settle(self, number: int, state: str, reply: Reply) -> None:
        """Record a call's reply as ``answered`` if the match uses it, else as ``failed``."""
        values = {"number": number, "now": state, "said": written_reply(reply)}
        await self.write(
            lambda connection: connection.execute(SETTLE, values | {"at": time.time()})
        )

    async def note(self, key: CallKey, call: dict[str, Any], reply: Reply) -> None:
        """Record something that happened without a call, such as a line of chat, with its time."""
        now = {"state": "answered", "sent": time.time(), "received": time.time()}
        row = key._asdict() | {"try": 1, "call": call, "reply": written_reply(reply)} | now
        row |= {"study_id": self.study_id, "batch": None}
        await self.write(lambda connection: connection.execute(sa.insert(calls), row))

    async def finish(self, study_id: int, match: NewMatch) -> None:
        """Store an ended match, and delete its answered calls, which the record now contains."""
        await self.write(lambda connection: write_matches(connection, study_id, [match]))

    async def write(self, work: Callable[[sa.Connection], T]) -> T:
        """Run a write function in a transaction after all earlier writes, and return its result."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put((work, future))
        return await future

    def _write(self) -> None:
        running = True
        while running:
            jobs = [self._jobs.get()]
            while not self._jobs.empty():
                jobs.append(self._jobs.get())
            running = None not in jobs
            batch = [job for job in jobs if job is not None]
            if batch:
                self._commit(batch)

    def _commit(self, batch: list[LedgerWrite]) -> None:
        """Commit all pending writes in one transaction or, if it fails, each one separately."""
        try:
            results = self.store.backend.commit(
                lambda connection: [work(connection) for work, _ in batch]
            )
        except Exception as error:  # noqa: BLE001 - passed to the awaiting caller
            if isinstance(error, StoreAway):  # retried for long enough
                _deliver(batch, [error] * len(batch))
            elif len(batch) > 1:
                for job in batch:
                    self._commit([job])
            else:
                _deliver(batch, [error])
        else:
            _deliver(batch, results)


def deferred(
    write: Callable[Concatenate[sa.Connection, P], T],
) -> Callable[P, Callable[[sa.Connection], T]]:
    """Decorate a function that writes to the store, so that a call returns the write to be run."""

    @wraps(write)
    def bound(*args: P.args, **kwargs: P.kwargs) -> Callable[[sa.Connection], T]:
        return lambda connection: write(connection, *args, **kwargs)

    return bound


def record_intent(
    connection: sa.Connection,
    key: CallKey,
    sending: int,
    call: dict[str, Any],
    study_id: int | None,
    batch: int | None = None,
) -> int:
    """Record that a study will send a call, and return the call's number in the ledger."""
    row = key._asdict() | {"try": sending, "state": "sent", "call": call, "sent": time.time()}
    return number_of(connection.execute(INTEND, row | {"study_id": study_id, "batch": batch}))


def written_reply(reply: Reply) -> dict[str, Any]:
    """Return a response in its stored form, :class:`.RecordedReply`."""
    return reply.model_dump(mode="json", exclude_none=True)


def number_of(result: sa.CursorResult[Any]) -> int:
    """Return the primary key of an inserted row."""
    assert result.inserted_primary_key is not None
    return int(result.inserted_primary_key[0])


def _deliver(batch: list[LedgerWrite], results: Sequence[Any]) -> None:
    """Pass results or errors to all waiting callers in one iteration of their event loop."""

    def hand_over() -> None:
        for (_, future), result in zip(batch, results, strict=True):
            if future.done():
                continue
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)

    batch[0][1].get_loop().call_soon_threadsafe(hand_over)


def mark_unresolved(store: Store) -> int:
    """Mark calls without a response as unresolved, and return their number.

    Call this only while no run is active. Calls in uncollected batches are unchanged, because their
    responses can still be collected.
    """
    marked = sa.update(calls).where(in_flight()).values(state="unresolved")
    with store.transaction() as connection:
        return connection.execute(marked).rowcount


@patient
def past_calls(store: Store, match_id: str) -> dict[CallKey, PastCall]:
    """Return the answered calls of a match that has not ended."""
    query = sa.select(*KEY, calls.c.call, calls.c.reply, calls.c["try"]).where(
        calls.c.match_id == match_id, calls.c.state == "answered"
    )
    return {CallKey(*row[:4]): PastCall(*row[4:]) for row in store.rows(query)}


@patient
def how_it_ended(store: Store, match_id: str) -> MatchEnd | None:
    """Return the result of a finished or forfeited match; None for any other match."""
    table = schema.matches
    columns = [table.c[name] for name in ENDED_COLUMNS]
    settled = table.c.status.in_([status.value for status in SETTLED])
    rows = store.rows(sa.select(*columns).where(table.c.id == match_id, settled))
    return next((MatchEnd(Status(row.status), *row[1:]) for row in rows), None)


class Noted(NamedTuple):
    """Times of an answered call in seconds since 1970, and the study that paid for it."""

    sent: float
    received: float | None
    bought_by: str | None


def annotated(
    entries: Sequence[dict[str, Any]], keys: Iterable[CallKey], noted: Mapping[CallKey, Noted]
) -> list[dict[str, Any]]:
    """Return a record's calls with their times and paying studies from the ledger."""
    return [
        entry | {name: value for name, value in noted[key]._asdict().items() if value is not None}
        if key in noted
        else entry
        for entry, key in zip(entries, keys, strict=True)
    ]


@patient
def noted_calls(store: Store, match_id: str) -> dict[CallKey, Noted]:
    """Return the times and paying study of each answered call of a match that has not ended."""
    with store.reading() as connection:
        rows = connection.execute(NOTED, {"of": match_id}).all()
    return {CallKey(*row[:4]): Noted(*row[4:]) for row in rows}


@patient
def sendings(store: Store, match_id: str) -> dict[CallKey, int]:
    """Return the number of attempts of each call of a match."""
    attempts = sa.func.max(calls.c["try"])
    query = sa.select(*KEY, attempts).where(calls.c.match_id == match_id).group_by(*KEY)
    return {CallKey(*row[:4]): int(row[4]) for row in store.rows(query)}


def lost_calls(store: StoreReader, study: str) -> Counter[str]:
    """Count a study's calls without a usable response, by outcome.

    ``timed_out`` and ``provider_error`` calls were retried or failed their match. ``unreached``
    calls reached no server. The outcome of ``unresolved`` calls is unknown, because the run was
    killed while they were in flight.
    """
    reply = calls.c.reply
    failure = sa.case(
        (reply["unreached"].as_boolean(), "unreached"),
        (calls.c.state == "sent", "unresolved"),
        else_=sa.func.coalesce(reply["failure"].as_string(), calls.c.state),
    )
    query = (
        sa.select(failure, sa.func.count())
        .join(matches, matches.c.id == calls.c.match_id)
        .where(matches.c.number.in_(members_of(study)))
        .where((calls.c.state == "failed") | store.lost())
        .group_by(failure)
        .order_by(failure)
    )
    return Counter({str(name): int(count) for name, count in store.rows(query)})
