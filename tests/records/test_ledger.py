"""The ledger: grouped, ordered commits, and errors that reach the waiting caller."""

import asyncio
import gc
import threading
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa

from cheaptalk.models import Failure, Reply, Usage
from cheaptalk.records import Status, Store, StoreError
from cheaptalk.records.ledger.ledger import (
    CallKey,
    Ledger,
    PastCall,
    mark_unresolved,
    past_calls,
    sendings,
)
from cheaptalk.records.store import schema
from cheaptalk.records.store.backend import StoreAway
from tests.records.stored import CALL, Shelf, call_row, insert_calls, set_pragma

T = TypeVar("T")
REPLY = Reply(text="Yes.", model="tiny", usage=Usage(input_tokens=9, output_tokens=1))


def key(request: int, match: str = "m", seat: str = "alice", attempt: int = 0) -> CallKey:
    return CallKey(match, request, seat, attempt)


@contextmanager
def commits(store: Store) -> Iterator[list[object]]:
    """Collect the connection of each committed transaction."""
    made: list[object] = []

    def record_commit(connection: sa.Connection) -> None:
        made.append(connection)

    sa.event.listen(store.engine, "commit", record_commit)
    yield made
    sa.event.remove(store.engine, "commit", record_commit)


async def all_at_once(store: Store, *writes: Awaitable[T]) -> list[T | BaseException]:
    """Run writes that are all queued before the first one is made."""
    with store.transaction() as connection:
        connection.execute(sa.delete(schema.calls).where(sa.false()))
        tasks = [asyncio.ensure_future(write) for write in writes]
        await asyncio.sleep(0)
    return await asyncio.gather(*tasks, return_exceptions=True)


def test_queued_writes_are_committed_together_in_order(store: Store) -> None:
    async def play() -> list[int | BaseException]:
        with Ledger(store) as ledger:
            intents = [ledger.intend(key(n), 1, CALL | {"n": n}) for n in range(100)]
            return await all_at_once(store, *intents)

    with commits(store) as made:
        numbers = asyncio.run(play())
    assert numbers == list(range(1, 101))
    assert len(made) <= 3, "the blocking transaction, the first write, and the rest"
    rows = store.open_calls("m")
    assert [(row["id"], row["request"]) for row in rows] == [(n + 1, n) for n in range(100)]
    assert all(row["call"] == CALL | {"n": row["request"]} for row in rows)
    assert {row["state"] for row in rows} == {"sent"}


def test_reply_is_stored_with_its_call(store: Store) -> None:
    failure = Reply(failure=Failure.TIMED_OUT, detail="too late", retry=True)

    async def play() -> None:
        with Ledger(store) as ledger:
            first = await ledger.intend(key(0), 1, CALL)
            second = await ledger.intend(key(0), 2, CALL)
            await ledger.settle(second, "answered", REPLY)
            await ledger.settle(first, "failed", failure)

    asyncio.run(play())
    first, second = store.open_calls("m")
    assert (first["try"], first["state"], second["try"], second["state"]) == (
        1, "failed", 2, "answered",
    )  # fmt: skip
    assert Reply.model_validate(first["reply"]) == failure
    assert Reply.model_validate(second["reply"]) == REPLY
    assert first["sent"] <= first["received"]


def test_failed_write_raises_only_for_its_caller(store: Store) -> None:
    async def play() -> tuple[list[Any], int]:
        with Ledger(store) as ledger:
            results = await all_at_once(
                store,
                ledger.intend(key(0), 1, CALL),
                ledger.intend(key(1), 1, CALL),
                ledger.intend(key(1), 1, CALL),
                ledger.intend(key(2), 1, CALL),
            )
            return results, await ledger.intend(key(3), 1, CALL)

    outcomes, later = asyncio.run(play())
    assert isinstance(outcomes[2], StoreError)
    assert "unique constraint" in str(outcomes[2]).lower()
    good = [number for number in outcomes if isinstance(number, int)]
    rows = {row["id"]: row["request"] for row in store.open_calls("m")}
    assert rows == dict(zip([*good, later], range(4), strict=True))


@pytest.mark.file
def test_full_disk_fails_all_waiting_writes(store: Store) -> None:
    long = CALL | {"words": "x" * 50_000}

    async def play() -> tuple[list[Any], int]:
        with Ledger(store) as ledger:
            results = await all_at_once(
                store, *(ledger.intend(key(number), 1, long) for number in range(5))
            )
            set_pragma(store, "max_page_count=100000")
            return results, await ledger.intend(key(9), 1, long)

    set_pragma(store, "max_page_count=1")  # SQLite raises it to the current size
    outcomes, later = asyncio.run(play())
    assert [type(error) for error in outcomes] == [StoreError] * 5
    assert all("free some disk space and resume" in str(error) for error in outcomes)
    assert [row["id"] for row in store.open_calls("m")] == [later]


def test_unreachable_server_is_awaited_once_for_all_writes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[object] = []

    def commit(work: object) -> None:
        waited.append(work)
        raise StoreAway("the server is away")

    async def play() -> list[int | BaseException]:
        ledger = Ledger(store)
        writes = [asyncio.ensure_future(ledger.intend(key(n), 1, CALL)) for n in range(9)]
        await asyncio.sleep(0)
        with ledger:
            return await asyncio.gather(*writes, return_exceptions=True)

    monkeypatch.setattr(store.backend, "commit", commit)
    assert [type(error) for error in asyncio.run(play())] == [StoreAway] * 9
    assert len(waited) == 1


def test_closing_ledger_writes_queued_calls(store: Store) -> None:
    async def play() -> list[asyncio.Task[int]]:
        with Ledger(store) as ledger:
            tasks = [asyncio.ensure_future(ledger.intend(key(n), 1, CALL)) for n in range(20)]
            await asyncio.sleep(0)
        assert len(store.open_calls("m")) == 20
        await asyncio.gather(*tasks)
        return tasks

    tasks = asyncio.run(play())
    assert [task.result() for task in tasks] == list(range(1, 21))
    assert "ledger" not in [thread.name for thread in threading.enumerate()]


def test_cancelled_writes_are_still_committed(store: Store) -> None:
    complaints: list[dict[str, Any]] = []

    async def play() -> int:
        asyncio.get_running_loop().set_exception_handler(lambda _, what: complaints.append(what))
        with Ledger(store) as ledger:
            with store.transaction() as connection:
                connection.execute(sa.delete(schema.calls))
                leaving = [
                    asyncio.ensure_future(ledger.intend(key(request), 1, CALL))
                    for request in (0, 1, 1)
                ]
                await asyncio.sleep(0)
                for task in leaving:
                    task.cancel()
                await asyncio.gather(*leaving, return_exceptions=True)
            assert all(task.cancelled() for task in leaving)
            last = await ledger.intend(key(2), 1, CALL)
            await asyncio.sleep(0)
        del leaving, task
        gc.collect()
        return last

    asyncio.run(play())
    assert [row["request"] for row in store.open_calls("m")] == [0, 1, 2]
    assert complaints == [], "errors of cancelled writes are ignored"


def test_match_is_visible_from_start_to_end(store: Store) -> None:
    shelf, other = Shelf(store), Shelf(store, "other")

    async def play() -> None:
        with Ledger(store) as ledger:
            for study in (shelf.study, other.study, shelf.study):
                await ledger.begin(study, shelf.live("m"))
            assert store.statuses(["m"]) == {"m": Status.LIVE}
            number = await ledger.intend(key(0), 1, CALL)
            await ledger.settle(number, "answered", REPLY)
            await ledger.finish(shelf.study, shelf.match("m", calls=1, tokens=(9, 1)))
            await ledger.begin(shelf.study, shelf.live("m"))  # an ended match does not restart

    asyncio.run(play())
    for study in ("shelf", "other"):
        (record,) = store.records(study)
        assert (record.id, record.status, record.calls) == ("m", Status.FINISHED, 1)
    assert store.open_calls("m") == []


def test_past_calls_and_attempts_are_loaded(store: Store) -> None:
    written = REPLY.model_dump(mode="json", exclude_none=True)
    again: dict[str, Any] = {"try": 2, "reply": written}
    insert_calls(
        store,
        call_row("m", 0, "failed", reply={"failure": "timed_out"}),
        call_row("m", 0, "answered", **again),
        call_row("m", 1, "unresolved", actor="bob"),
        call_row("m", 1, actor="bob") | {"try": 3},
        call_row("other", 0, "answered", reply=written),
    )
    assert past_calls(store, "m") == {key(0): PastCall(CALL, written, 2)}
    assert sendings(store, "m") == {key(0): 2, key(1, seat="bob"): 3}
    assert past_calls(store, "unknown") == {}
    assert sendings(store, "unknown") == {}


def test_calls_without_a_reply_become_unresolved(store: Store) -> None:
    states = ("sent", "answered", "failed", "sent", "unresolved")
    insert_calls(store, *(call_row("m", number, state) for number, state in enumerate(states)))
    with store.writing():
        assert [call["request"] for call in store.unresolved()] == [4], "replies may still arrive"
    assert [call["request"] for call in store.unresolved()] == [0, 3, 4], "nothing waits for them"
    assert mark_unresolved(store) == 2
    assert [call["request"] for call in store.unresolved()] == [0, 3, 4]
    assert mark_unresolved(store) == 0
