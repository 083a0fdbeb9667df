"""The ledger of calls: an intent before each call, its reply before anything acts on it.

Writes come from many matches at once. One thread makes them, all that are waiting in one
transaction, so that durability costs one disk flush for many answers.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from cheaptalk.models import Reply
from cheaptalk.records import schema
from cheaptalk.records.errors import clear_errors
from cheaptalk.records.store import NewMatch, Store, write_matches

T = TypeVar("T")
Job = tuple[Callable[[sa.Connection], Any], "Future[Any]"]

calls = schema.calls


class CallKey(NamedTuple):
    """Where a call belongs: the match, the question, and the call's place within the answer."""

    match_id: str
    request: int
    seat: str
    attempt: int


class PastCall(NamedTuple):
    """A call in the ledger from an earlier run of the match."""

    call: dict[str, Any]
    reply: dict[str, Any]
    sending: int


class Ledger:
    """Writes calls to a store durably, from asynchronous code. Use as a context manager."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread = Thread(target=self._write, name="ledger", daemon=True)

    def __enter__(self) -> "Ledger":
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._jobs.put(None)
        self._thread.join()

    async def begin(self, study_id: int, row: dict[str, Any]) -> None:
        """Note that a match is under way, so that it can be shown before it ends."""

        def work(connection: sa.Connection) -> None:
            matches, members = schema.matches, schema.members
            connection.execute(insert(matches).values(row).on_conflict_do_nothing(["id"]))
            number = connection.scalar(sa.select(matches.c.number).where(matches.c.id == row["id"]))
            membership = {"study_id": study_id, "match_number": number}
            connection.execute(insert(members).values(membership).on_conflict_do_nothing())

        await self._do(work)

    async def intend(self, key: CallKey, sending: int, call: dict[str, Any]) -> int:
        """Commit that a call is about to be sent; the number that :meth:`settle` wants."""

        def work(connection: sa.Connection) -> int:
            values = key._asdict() | {
                "try": sending, "state": "sent", "call": call, "sent": time.time(),
            }  # fmt: skip
            made = connection.execute(sa.insert(calls).values(values))
            assert made.inserted_primary_key is not None
            return int(made.inserted_primary_key[0])

        return await self._do(work)

    async def settle(self, number: int, state: str, reply: Reply) -> None:
        """Commit what came of a call: ``answered`` (play acts on it) or ``failed``."""
        written = reply.model_dump(mode="json", exclude_none=True)

        def work(connection: sa.Connection) -> None:
            connection.execute(
                sa.update(calls)
                .where(calls.c.id == number)
                .values(state=state, reply=written, received=time.time())
            )

        await self._do(work)

    async def finish(self, study_id: int, match: NewMatch) -> None:
        """Store a match that ended and drop its answered calls, now part of its record."""
        await self._do(lambda connection: write_matches(connection, study_id, [match]))

    async def _do(self, work: Callable[[sa.Connection], T]) -> T:
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()  # it is written even if its waiter is cancelled
        self._jobs.put((work, future))
        return await asyncio.wrap_future(future)

    def _write(self) -> None:
        going = True
        while going:
            jobs = [self._jobs.get()]
            while not self._jobs.empty():
                jobs.append(self._jobs.get())
            going = None not in jobs
            batch = [job for job in jobs if job is not None]
            if batch:
                self._commit(batch)

    def _commit(self, batch: list[Job]) -> None:
        """Write all jobs or, where one of them cannot be written, each by itself."""
        try:
            with clear_errors(self.store.path), self.store.engine.begin() as connection:
                results = [work(connection) for work, _ in batch]
        except Exception as error:  # noqa: BLE001 - handed to whoever waits for the write
            if len(batch) > 1:
                for job in batch:
                    self._commit([job])
            else:
                batch[0][1].set_exception(error)
        else:
            for (_, future), result in zip(batch, results, strict=True):
                future.set_result(result)


def mark_unresolved(store: Store) -> int:
    """Mark calls without a reply as unresolved; only while no run is under way.

    Returns:
        How many there were.
    """
    with store.transaction() as connection:
        return connection.execute(
            sa.update(calls).where(calls.c.state == "sent").values(state="unresolved")
        ).rowcount


def past_calls(store: Store, match_id: str) -> dict[CallKey, PastCall]:
    """The answered calls of a match that did not end yet."""
    query = sa.select(calls).where(calls.c.match_id == match_id, calls.c.state == "answered")
    with clear_errors(store.path), store.engine.connect() as connection:
        return {
            CallKey(row.match_id, row.request, row.seat, row.attempt): PastCall(
                row.call, row.reply, row._mapping["try"]
            )
            for row in connection.execute(query)
        }


def sendings(store: Store, match_id: str) -> dict[CallKey, int]:
    """How often each call of a match was sent so far, whatever came of it."""
    query = (
        sa.select(calls.c.match_id, calls.c.request, calls.c.seat, calls.c.attempt,
                  sa.func.max(calls.c["try"]))
        .where(calls.c.match_id == match_id)
        .group_by(calls.c.match_id, calls.c.request, calls.c.seat, calls.c.attempt)
    )  # fmt: skip
    with clear_errors(store.path), store.engine.connect() as connection:
        return {CallKey(*row[:4]): int(row[4]) for row in connection.execute(query)}


def spent(store: Store, study_id: int) -> tuple[int, int]:
    """Calls to models and tokens used for a study so far: (calls, tokens), over all sendings."""
    matches, members = schema.matches, schema.members
    ours = sa.select(members.c.match_number).where(members.c.study_id == study_id)
    ended = sa.select(
        sa.func.coalesce(sa.func.sum(matches.c.calls), 0),
        sa.func.coalesce(sa.func.sum(matches.c.input_tokens + matches.c.output_tokens), 0),
    ).where(matches.c.number.in_(ours), matches.c.status.in_(("finished", "forfeited")))
    open_calls = (
        sa.select(calls.c.reply)
        .join(matches, matches.c.id == calls.c.match_id)
        .where(matches.c.number.in_(ours), calls.c.call["model"].as_string().is_not(None))
    )
    with clear_errors(store.path), store.engine.connect() as connection:
        count, tokens = connection.execute(ended).one()
        for (reply,) in connection.execute(open_calls):
            usage = (reply or {}).get("usage", {})
            count += 1
            tokens += usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
    return count, tokens
