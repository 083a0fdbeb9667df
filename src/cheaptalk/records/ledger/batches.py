"""Provider batches in the store: calls that are sent together, and their results.

A batch and its calls' intents are committed together before it is submitted, and all responses
together when the batch has ended. If the run is killed in between, a later run collects the batch.
"""

import time
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import sqlalchemy as sa

from cheaptalk.models import Reply
from cheaptalk.models.structured_output import REFUSALS
from cheaptalk.records.ledger.ledger import CallKey, number_of, record_intent, written_reply
from cheaptalk.records.store import schema
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.records.store.reader import members_of
from cheaptalk.records.store.store import Store

batches, calls = schema.batches, schema.calls


class Intent(NamedTuple):
    """A call to be sent, with the number of the attempt."""

    key: CallKey
    sending: int
    call: dict[str, Any]


class BatchCall(NamedTuple):
    """A call in a batch, with its number in the ledger."""

    number: int
    call: dict[str, Any]


class Batch(NamedTuple):
    """A batch whose results have not been collected.

    ``tag`` is a unique name that the provider stores with the batch; ``planned`` is in seconds
    since 1970; ``name`` is the provider's id, or None if the batch may not have been submitted.
    """

    id: int
    model: str
    tag: str
    planned: float
    calls: Sequence[BatchCall]
    name: str | None = None


class BatchSummary(NamedTuple):
    """Summary of a batch: its state, number of calls and times.

    Attributes:
        state: ``planned``, ``submitted`` or ``collected``.
        calls: the number of calls in the batch.
        planned, submitted, collected: times in seconds since 1970; None if not reached.
    """

    model: str
    name: str | None
    state: str
    calls: int
    planned: float
    submitted: float | None
    collected: float | None


def plan_batch(
    connection: sa.Connection, model: str, tag: str, intents: Sequence[Intent], study_id: int | None
) -> Batch:
    """Record a batch and its calls before the batch is submitted."""
    now = time.time()
    values = {"model": model, "tag": tag, "state": "planned", "planned": now}
    values["calls"] = len(intents)
    number = number_of(connection.execute(sa.insert(batches).values(values)))
    batch_calls = []
    for key, sending, call in intents:
        call_number = record_intent(connection, key, sending, call, study_id, number)
        batch_calls.append(BatchCall(call_number, call))
    return Batch(number, model, tag, now, batch_calls)


def note_submitted(connection: sa.Connection, batch: Batch, name: str) -> Batch:
    """Record the provider's id of a submitted batch."""
    connection.execute(
        sa.update(batches)
        .where(batches.c.id == batch.id)
        .values(name=name, state="submitted", submitted=time.time())
    )
    return batch._replace(name=name)


def note_full(connection: sa.Connection, batch: Batch, tag: str) -> Batch:
    """Record that the provider lacks capacity for a batch, which will be resubmitted."""
    values = {"name": None, "state": "planned", "submitted": None, "tag": tag}
    connection.execute(sa.update(batches).where(batches.c.id == batch.id).values(values))
    return batch._replace(name=None, tag=tag)


def collect(
    connection: sa.Connection, batch: Batch, replies: Iterable[tuple[int, str, Reply | None]]
) -> None:
    """Record the states and responses of all calls of a batch in one transaction."""
    now = time.time()
    for number, state, reply in replies:
        written = None if reply is None else written_reply(reply)
        connection.execute(
            sa.update(calls)
            .where(calls.c.id == number)
            .values(state=state, reply=written, received=now)
        )
    connection.execute(
        sa.update(batches).where(batches.c.id == batch.id).values(state="collected", collected=now)
    )


def open_batches(store: Store, matches: Iterable[str]) -> list[Batch]:
    """Return the batches that contain calls of the given matches and have not been collected."""
    query = (
        sa.select(batches, calls.c.id.label("number"), calls.c.match_id, calls.c.call)
        .join(calls, calls.c.batch == batches.c.id)
        .where(batches.c.state != "collected")
        .order_by(batches.c.id, calls.c.id)
    )
    rows = store.rows(query)
    waiting = {row.match_id for row in rows}
    selected = {id_ for id_ in matches if id_ in waiting} if waiting else set()
    open_: list[Batch] = []
    for _, group in groupby(rows, key=attrgetter("id")):
        of_batch = list(group)
        if any(row.match_id in selected for row in of_batch):
            batch = of_batch[0]
            batch_calls = [BatchCall(row.number, row.call) for row in of_batch]
            columns = batch.id, batch.model, batch.tag, batch.planned
            open_.append(Batch(*columns, batch_calls, batch.name))
    return open_


def calls_in_batches(store: Store, matches: Iterable[str]) -> int:
    """Count all calls in uncollected batches that contain a call of at least one given match."""
    return sum(len(batch.calls) for batch in open_batches(store, matches))


def refusals(store: Store) -> list[tuple[str, Reply]]:
    """Return error responses that structured output may have caused, each with its model."""
    model, reply = calls.c.call["model"].as_string(), calls.c.reply
    refused = reply["status"].as_integer().in_(REFUSALS)
    query = sa.select(model, reply).where(refused)
    return [(row[0], Reply.model_validate(row[1])) for row in store.rows(query)]


@reads
def all_batches(store: StoreLike) -> list[BatchSummary]:
    """Return all batches of a store, oldest first."""
    assert isinstance(store, Store)
    return _summaries(store, sa.true())


@reads
def waiting_batches(store: StoreLike, study: StudyLike) -> list[BatchSummary]:
    """Return the uncollected batches that contain calls of a study, oldest first."""
    assert isinstance(store, Store)
    assert isinstance(study, str)
    matches = schema.matches
    query = (
        sa.select(calls.c.batch)
        .join(matches, matches.c.id == calls.c.match_id)
        .where(matches.c.number.in_(members_of(study, past=True)))
    )
    return _summaries(store, sa.and_(batches.c.state != "collected", batches.c.id.in_(query)))


def _summaries(store: Store, where: sa.ColumnElement[bool]) -> list[BatchSummary]:
    columns = (batches.c[name] for name in BatchSummary._fields)
    query = sa.select(*columns).where(where).order_by(batches.c.id)
    return [BatchSummary(*row) for row in store.rows(query)]
